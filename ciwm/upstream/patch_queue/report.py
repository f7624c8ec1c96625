"""The sync report of a patch queue: the report of the fork it amounts to, and each patch's fate."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ciwm.errors import ConfigError, UsageError
from ciwm.records.sync import Ahead, Downstream, Upstream
from ciwm.records.sync_patches import PatchCounts, PatchQueue
from ciwm.upstream.classes import path_classifier
from ciwm.upstream.dates import committed_at
from ciwm.upstream.fork import Effort, Told, fork_report
from ciwm.upstream.names import readable_text
from ciwm.upstream.pair import Pair
from ciwm.upstream.patch_queue.advice import advised
from ciwm.upstream.patch_queue.claims import read_claims
from ciwm.upstream.patch_queue.files import find_queue
from ciwm.upstream.patch_queue.fitting import fit_at_pin, fit_at_target
from ciwm.upstream.patch_queue.ground import found_bases
from ciwm.upstream.pin_moves import pin_moved_back
from ciwm.upstream.reading import read
from ciwm.upstream.references import landed
from ciwm.upstream.setting import repository_name
from ciwm.upstream.shape import Ground

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from ciwm.config import UpstreamConfig
    from ciwm.git import Repository
    from ciwm.records.sync import SyncReport
    from ciwm.records.sync_patches import PatchClaims, QueuedPatch
    from ciwm.upstream.patch_queue.files import Queue
    from ciwm.upstream.patch_queue.fitting import AtPin
    from ciwm.upstream.patch_queue.ground import Bases


def patches_report(
    repository: Repository,
    upstream: str | None,
    *,
    downstream: str,
    config: UpstreamConfig,
    now: datetime,
    culprits_s: float = 0,
) -> SyncReport:
    """The report of the queue at `downstream` (which fetches nothing) against `upstream`.

    Raises ConfigError for a queue without a folder or pin, UsageError for what is not there.
    """
    if config.patches is None:
        raise ConfigError("a patch queue needs a folder", '[upstream] patches = "patches/"')
    ours = repository.commit(downstream)
    with found_bases(repository, ours, upstream, config) as bases:
        queue = find_queue(repository, ours, config.patches)
        at_pin = fit_at_pin(bases, queue.patches)
        fitted = fit_at_target(bases, queue.patches, at_pin)
        told = Told(
            repository_name(repository),
            _upstream(bases),
            _downstream(repository, downstream, ours),
            now,
            path_classifier(config.classes),
        )
        pair = Pair(bases.target_ref, bases.target, downstream, at_pin.tip)
        evidence = _evidence(bases, queue, fitted)
        ground = Ground("patches", pair, "shared", evidence, _joint(bases))
        effort = Effort(culprits_s, url=config.url)
        report = fork_report(bases.scratch, ground, told, effort)
        explained = _explained(bases, queue, fitted, at_pin, report)
    (pin,) = config.lanes.values()
    package = pin.package or next(iter(config.packages), "")
    moved_back = pin_moved_back(repository, ours, pin, bases.clone, package)
    joined = _joined(report, bases, queue, explained)
    return joined.model_copy(update={"pin_back": moved_back})


def _upstream(bases: Bases) -> Upstream:
    when = committed_at(bases.scratch, (bases.target,))[bases.target]
    return Upstream(ref=readable_text(bases.target_ref), sha=bases.target, committed_at=when)


def _downstream(repository: Repository, ref: str, sha: str) -> Downstream:
    when = committed_at(repository, (sha,))[sha]
    return Downstream(ref=readable_text(ref), sha=sha, committed_at=when)


def _evidence(bases: Bases, queue: Queue, fitted: Sequence[QueuedPatch]) -> tuple[str, ...]:
    lines = [
        f"{len(queue.patches):,} patches in {queue.folder}, in the order of {queue.order}",
        f"made for upstream {bases.pin[:12]} ({bases.pin_source})",
    ]
    if not _within(bases, bases.pin):
        lines.append("the target does not hold the pin: a release branch, or one rewritten since")
    astray = [patch.name for patch in fitted if patch.at_pin in ("fails", "upstream")]
    if astray:
        more = f" and {len(astray) - 1} more" if len(astray) > 1 else ""
        lines.append(
            f"not even at that pin do all of them apply: {astray[0]}{more}; the figures of what is "
            "carried leave them out"
        )
    return tuple(readable_text(line) for line in lines)


def _joint(bases: Bases) -> dict[str, tuple[str, ...]]:
    """A graft that makes the pin the merge base, where the target does not hold it."""
    if _within(bases, bases.pin):
        return {}
    walk = ("rev-list", "--no-walk", "--parents", bases.target)
    return {bases.target: (*read(bases.scratch, *walk).text.split()[1:], bases.pin)}


def _within(bases: Bases, sha: str) -> bool:
    """Whether the target holds an upstream commit."""
    asked = ("merge-base", "--is-ancestor", sha, bases.target)
    return read(bases.scratch, *asked, accept=(1,)).status == 0


def _explained(
    bases: Bases,
    queue: Queue,
    fitted: Sequence[QueuedPatch],
    at_pin: AtPin,
    report: SyncReport,
) -> tuple[QueuedPatch, ...]:
    """The patches with what their headers, upstream's subjects and equal patches say."""
    slug = bases.name if "/" in bases.name else None
    claims = [read_claims(patch.header, slug) for patch in queue.patches]
    merged = landed(bases.scratch, bases.target, [f"#{n}" for c in claims for n in c.pulls])
    carried = report.carried
    same = {c.sha: c.evidence for c in carried.upstreamed} if carried else {}
    explained = []
    for patch, claim, commit in zip(fitted, claims, at_pin.commits, strict=True):
        sha, evidence = _held(bases, claim)
        if commit in same:
            evidence = same[commit]
            sha = bases.scratch.commit(evidence.rpartition(" ")[2])
        numbers = tuple(number for number in claim.pulls if number in merged.numbers)
        found = {"claims": claim, "landed": numbers, "upstream_commit": sha, "evidence": evidence}
        if numbers and sha is None:
            found["upstream_commit"] = merged.numbers[numbers[0]]
        explained.append(advised(patch.model_copy(update=found), {}))
    return tuple(explained)


def _held(bases: Bases, claim: PatchClaims) -> tuple[str | None, str]:
    """The commit a header says it was applied as, where the target has it."""
    for named in claim.commits:
        for name in (named, f"refs/tags/{named}", f"refs/tags/v{named}"):
            try:
                sha = bases.clone.commit(name)
            except UsageError:
                continue
            if _within(bases, sha):
                return sha, f"its header says upstream has it ({named}), and the target holds that"
    return None, ""


def _joined(
    report: SyncReport, bases: Bases, queue: Queue, patches: tuple[QueuedPatch, ...]
) -> SyncReport:
    counts = Counter(patch.fits for patch in patches)
    found = PatchQueue(
        folder=queue.folder,
        order=queue.order,
        pin=bases.pin,
        pin_source=readable_text(bases.pin_source),
        target=bases.target,
        counts=PatchCounts(
            applies=counts["applies"],
            offset=counts["offset"],
            fuzz=counts["fuzz"],
            fails=counts["fails"],
            upstream=counts["upstream"],
        ),
        failed_hunks=sum(patch.hunks_failed for patch in patches),
        patches=patches,
    )
    carried = report.carried
    if carried is not None:  # commits that only we made, for a while
        carried = carried.model_copy(update={"list": (), "upstreamed": ()})
    return report.model_copy(
        update={
            "patches": found,
            "carried": carried,
            "ahead": Ahead(commits=len(patches)),
            "notes": (*report.notes, *queue.notes),
        }
    )
