"""What a side changed since the merge base: paths, lines, and lines by path class."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ciwm.records.sync import Additive, ClassCost, Deleted, Intrusive
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ciwm.git import Repository


@dataclass(frozen=True)
class Change:
    """One path that differs; `status` is git's letter (A, M, D, T), the ids are the contents'."""

    path: str
    status: str
    old_id: str
    new_id: str
    submodule: bool


class LineCount(NamedTuple):
    """Lines of one path as `--numstat` counts them; None for a binary."""

    added: int | None
    removed: int | None


NO_LINES = LineCount(0, 0)


def net_changes(repository: Repository, base: str, tip: str) -> tuple[Change, ...]:
    """Paths that differ between two commits or trees, without rename detection."""
    raw = read(
        repository, "diff-tree", "-r", "--no-renames", "--raw", "--no-abbrev", "-z", base, tip
    )
    fields = raw.text.split("\0")[:-1]
    return tuple(
        _change(meta.removeprefix(":").split(" "), path)
        for meta, path in zip(fields[0::2], fields[1::2], strict=True)
    )


def _change(meta: Sequence[str], path: str) -> Change:
    old_mode, new_mode, old_id, new_id, status = meta
    return Change(path, status[0], old_id, new_id, "160000" in (old_mode, new_mode))


def line_counts(repository: Repository, base: str, tip: str) -> dict[str, LineCount]:
    """Lines added and removed by path, as `git diff --no-renames --numstat base tip` has them."""
    found = read(repository, "diff-tree", "-r", "--no-renames", "--numstat", "-z", base, tip)
    counts = {}
    for field in found.text.split("\0")[:-1]:
        added, removed, path = field.split("\t", 2)
        binary = added == "-"
        counts[path] = LineCount(None, None) if binary else LineCount(int(added), int(removed))
    return counts


def class_costs(
    paths: Iterable[str], counts: Mapping[str, LineCount], path_class: Callable[[str], str]
) -> tuple[ClassCost, ...]:
    """Files and lines by path class, the most lines first; a path without a count adds no lines."""
    files: Counter[str] = Counter()
    added: Counter[str] = Counter()
    removed: Counter[str] = Counter()
    for path in paths:
        name, count = path_class(path), counts.get(path, NO_LINES)
        files[name] += 1
        added[name] += count.added or 0
        removed[name] += count.removed or 0
    costs = (
        ClassCost(
            name=name, files=files[name], lines_added=added[name], lines_removed=removed[name]
        )
        for name in files
    )
    return tuple(
        sorted(costs, key=lambda cost: (-cost.lines_added - cost.lines_removed, cost.name))
    )


def additive(changes: Sequence[Change], counts: Mapping[str, LineCount]) -> Additive:
    """New files."""
    files, added, _ = _total(changes, counts, "A")
    return Additive(files=files, lines_added=added)


def intrusive(changes: Sequence[Change], counts: Mapping[str, LineCount]) -> Intrusive:
    """Files changed in place, in content or in type."""
    files, added, removed = _total(changes, counts, "MT")
    return Intrusive(files=files, lines_added=added, lines_removed=removed)


def deleted(changes: Sequence[Change], counts: Mapping[str, LineCount]) -> Deleted:
    """Removed files."""
    files, _, removed = _total(changes, counts, "D")
    return Deleted(files=files, lines_removed=removed)


def _total(
    changes: Sequence[Change], counts: Mapping[str, LineCount], statuses: str
) -> tuple[int, int, int]:
    """Files, lines added and lines removed of the changes with one of git's status letters."""
    chosen = [change for change in changes if change.status in statuses]
    lines = [counts.get(change.path, NO_LINES) for change in chosen]
    return (
        len(chosen),
        sum(count.added or 0 for count in lines),
        sum(count.removed or 0 for count in lines),
    )
