"""Each patch at the pin, and again at the target, in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ciwm.records.sync_patches import FailedHunk, QueuedPatch
from ciwm.upstream.names import readable_path, readable_text
from ciwm.upstream.patch_queue.applying import Fit, tree_of
from ciwm.upstream.patch_queue.culprits import History
from ciwm.upstream.patch_queue.diffs import parts_of, shown
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.upstream.patch_queue.applying import Refused, Tree
    from ciwm.upstream.patch_queue.files import Patch
    from ciwm.upstream.patch_queue.ground import Bases

HUNK_LENGTH = 4_000  # characters of one refused hunk that are kept
ALL_HUNKS_LENGTH = 200_000
SUBJECT_LENGTH = 300
_IDENTITY = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "ciwm"), ("EMAIL", "ciwm@localhost"), ("DATE", "@0 +0000"))
}
_NOT_THERE = Fit("fails", message="the series names it, but there is no such file")


@dataclass(frozen=True)
class AtPin:
    """How each patch goes on at the pin, and the pin with those on top that do, a commit each."""

    fits: tuple[Fit, ...]
    commits: tuple[str | None, ...]
    tip: str


def fit_at_pin(bases: Bases, patches: Sequence[Patch]) -> AtPin:
    """Apply the queue where it belongs."""
    fits: list[Fit] = []
    commits: list[str | None] = []
    tip = bases.pin
    with tree_of(bases.scratch, bases.pin) as tree:
        for patch in patches:
            fit = _NOT_THERE if patch.missing else tree.apply(patch)
            fits.append(fit)
            applied = fit.fits in ("applies", "offset", "fuzz")
            if applied:
                tip = _commit(bases, tree, patch, tip)
            commits.append(tip if applied else None)
    return AtPin(tuple(fits), tuple(commits), tip)


def _commit(bases: Bases, tree: Tree, patch: Patch, parent: str) -> str:
    message = f"{patch.subject or patch.name}\n\n{patch.header}\n"
    return read(
        bases.scratch.with_variables(**_IDENTITY),
        *("commit-tree", "-p", parent, "-F", "-", tree.written()),
        stdin=message.encode("utf-8", "surrogateescape"),
    ).text.strip()


@dataclass
class _Walk:
    """What has to be remembered from patch to patch."""

    bases: Bases
    history: History
    failed: dict[str, set[str]] = field(default_factory=dict)  # the files of failing patches
    kept_length: int = 0


def fit_at_target(bases: Bases, patches: Sequence[Patch], at_pin: AtPin) -> list[QueuedPatch]:
    """Apply the queue to the target, hunk by hunk where a patch fails as a whole."""
    walk = _Walk(bases, History(bases.scratch, bases.pin, bases.target))
    with tree_of(bases.scratch, bases.target) as tree:
        return [
            _fitted(walk, tree, patch, fit) for patch, fit in zip(patches, at_pin.fits, strict=True)
        ]


def _fitted(walk: _Walk, tree: Tree, patch: Patch, at_pin: Fit) -> QueuedPatch:
    parts = parts_of(patch.diff)
    paths = {part.path(patch.strip) for part in parts}
    fit = _NOT_THERE if patch.missing else tree.apply(patch)
    found = QueuedPatch(
        name=readable_path(patch.name),
        subject=readable_text(patch.subject)[:SUBJECT_LENGTH],
        fits=fit.fits,
        at_pin=at_pin.fits,
        offset_lines=fit.offset_lines,
        fuzz=fit.fuzz,
        hunks=sum(max(1, len(part.hunks)) for part in parts),
        message=readable_text(fit.message),
    )
    if fit.fits != "fails" or patch.missing:
        return found
    refused, there = tree.apply_in_part(patch)
    earlier = [name for name, touched in walk.failed.items() if touched & paths]
    walk.failed[found.name] = {each.part.path(patch.strip) for each in refused}
    return found.model_copy(
        update={
            "hunks_there": there,
            "hunks_failed": sum(each.hunks for each in refused),
            "failed": tuple(_failed(walk, each, patch) for each in refused),
            "after_failed": tuple(earlier),
        }
    )


def _failed(walk: _Walk, refused: Refused, patch: Patch) -> FailedHunk:
    text = shown(refused.hunk, HUNK_LENGTH) if refused.hunk else ""
    if walk.kept_length + len(text) > ALL_HUNKS_LENGTH:
        text = ""
    walk.kept_length += len(text)
    return FailedHunk(
        path=readable_path(refused.part.path(patch.strip)),
        number=refused.number,
        start_line=refused.hunk.start if refused.hunk else 0,
        reason=readable_text(refused.reason),
        text=text,
        culprits=walk.history.culprits(refused, patch.strip),
    )
