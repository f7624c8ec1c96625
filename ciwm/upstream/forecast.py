"""The trial merge: what `git merge` of upstream into the downstream would stumble over.

`git merge-tree` works on objects alone: no work tree, no index, no ref. Run it on a repository
with scratch objects, and the object store stays as it is too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ciwm.errors import GitError
from ciwm.records.sync import ConflictedFile, Conflicts
from ciwm.upstream.hunks import Regions, conflict_regions
from ciwm.upstream.names import readable_path, readable_text
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ciwm.git import Repository

NEEDED_GIT = (2, 38)
# Git may name several for one path; the first of this order is the reason a person must know.
_KINDS = (
    "submodule",
    "distinct types",
    "file/directory",
    "rename/rename",
    "rename/delete",
    "modify/delete",
    "file location",
    "binary",
    "add/add",
    "content",
)
_BY_STAGES = {  # when git left no message: which of base (1), ours (2) and theirs (3) there are
    frozenset("123"): "content",
    frozenset("23"): "add/add",
    frozenset("12"): "modify/delete",
    frozenset("13"): "modify/delete",
}


@dataclass(frozen=True)
class Names:
    """What the two sides are called in messages, in place of their ids."""

    ours: str
    theirs: str
    labels: tuple[str, str] = ("downstream", "upstream")

    def told(self, text: str) -> str:
        """Git's words with the ids replaced."""
        return text.replace(self.ours, self.labels[0]).replace(self.theirs, self.labels[1])


@dataclass
class _Trouble:
    """What git said about one conflicted path."""

    stages: set[str] = field(default_factory=set)
    kinds: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)

    @property
    def kind(self) -> str:
        known = [kind for kind in _KINDS if kind in self.kinds]
        named = known or self.kinds or [_BY_STAGES.get(frozenset(self.stages), "unmerged")]
        return named[0]


@dataclass(frozen=True)
class TrialMerge:
    """The forecast, with what a reader should know about how it came to be."""

    conflicts: Conflicts
    notes: tuple[str, ...] = ()


def can_merge(repository: Repository) -> bool:
    """Whether this git has `merge-tree --write-tree`."""
    return repository.version >= NEEDED_GIT


def trial_merge(scratch: Repository, ours: str, theirs: str) -> TrialMerge:
    """Merge commit `theirs` into commit `ours`; raises GitError when git cannot.

    `scratch` writes its objects to a temporary store.
    """
    merged = read(scratch, "merge-tree", "--write-tree", "-z", ours, theirs, accept=(1,))
    tree, troubles = parse_merge(merged.text)
    names = Names(ours, theirs)
    regions = conflict_regions(scratch, tree, sorted(troubles), (ours, theirs))
    conflicts = Conflicts(
        clean=merged.status == 0,
        count=len(troubles),
        hunks=sum(found.count for found in regions.files.values()),
        files=tuple(
            _conflicted_file(path, troubles[path], regions, names) for path in sorted(troubles)
        ),
    )
    return TrialMerge(conflicts, (*_warnings(merged.stderr), *regions.notes))


def _conflicted_file(
    path: str, trouble: _Trouble, regions: Regions, names: Names
) -> ConflictedFile:
    found = regions.files.get(path)
    return ConflictedFile(
        path=readable_path(names.told(path)),
        kind=trouble.kind,
        message=readable_text(names.told("\n".join(trouble.messages))),
        hunk_count=found.count if found else 0,
        hunks=found.hunks if found else (),
    )


def parse_merge(output: str) -> tuple[str, dict[str, _Trouble]]:
    """The merged tree and the conflicted paths, from `merge-tree --write-tree -z`."""
    fields = output.split("\0")
    # A merge driver may print before git does; the tree is the last word of the first field.
    tree = re.search(r"(?:[0-9a-f]{64}|[0-9a-f]{40})$", fields[0])
    if tree is None:
        raise GitError(f"git merge-tree gave no tree but {fields[0][:80]!r}")
    troubles: dict[str, _Trouble] = {}
    rest = iter(fields[1:])
    for entry in rest:
        if not entry:
            break
        info, path = entry.split("\t", 1)
        troubles.setdefault(path, _Trouble()).stages.add(info.split(" ")[2])
    _add_messages(rest, troubles)
    return tree[0], troubles


def _add_messages(fields: Iterator[str], troubles: dict[str, _Trouble]) -> None:
    """Blocks of: number of paths, the paths, the type, the message.

    After the last one git may give advice (on submodules) to a person, not in this form.
    """
    while (number := next(fields, "")).isdecimal():
        paths = [next(fields, "") for _ in range(int(number))]
        kind = _kind(next(fields, ""), message := next(fields, "").strip())
        if kind is None:
            continue
        touched = [path for path in paths if path in troubles] or paths[:1]
        for path in touched:
            trouble = troubles.setdefault(path, _Trouble())
            trouble.kinds.append(kind)
            trouble.messages.append(message)


def _kind(conflict_type: str, message: str) -> str | None:
    """The kind git's message names (its type is coarser); None for a mere information."""
    if not conflict_type.startswith("CONFLICT"):
        return None
    if conflict_type == "CONFLICT (binary)":
        return "binary"
    found = re.match(r"CONFLICT ?\(([^)]+)\)", message) or re.search(r"\(([^)]+)\)", conflict_type)
    return found[1] if found else "unmerged"


def _warnings(stderr: str) -> Sequence[str]:
    """What git warns of, rename detection given up for instance."""
    lines = (line.removeprefix("warning: ") for line in stderr.splitlines() if "warning:" in line)
    return [f"trial merge: {readable_text(line)}" for line in lines]
