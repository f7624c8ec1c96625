"""Two sides' coverage and a change: the delta, and the changed lines that no test reached."""

from __future__ import annotations

from collections import defaultdict
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from ciwm.records.coverage import Coverage, SideCoverage, UncoveredLines

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ciwm.coverage.reading import Hits

_FILES = 200  # with uncovered lines that are kept; more are for the tool that measured


def compared(
    base: Hits | None,
    head: Hits | None,
    changed: Mapping[str, set[int]],
    *,
    tracked: Iterable[str] = (),
    files: Mapping[str, Sequence[str]],
) -> Coverage:
    """The comparison; `tracked` are the paths of head, `files` the coverage files of each side.

    A coverage file's path is head's where it ends in it, folder by folder, and in no other one.
    """
    here = _on_repository(head or {}, tracked)
    touched = {path: set(here[path]) & lines for path, lines in changed.items() if path in here}
    missed = {
        path: sorted(line for line in lines if not here[path][line])
        for path, lines in touched.items()
    }
    count = sum(map(len, touched.values()))
    uncovered = [
        UncoveredLines(path=path, ranges=_ranges(lines)) for path, lines in missed.items() if lines
    ]
    uncovered.sort(key=lambda one: (-one.count, one.path))
    return Coverage(
        base=_side(base, files.get("base", ())),
        head=_side(head, files.get("head", ())),
        changed=count,
        changed_covered=count - sum(map(len, missed.values())),
        uncovered=tuple(uncovered[:_FILES]),
    )


def _side(hits: Hits | None, files: Sequence[str]) -> SideCoverage | None:
    if hits is None:
        return None
    lines = [reached for each in hits.values() for reached in each.values()]
    return SideCoverage(files=tuple(files), lines=len(lines), covered=sum(lines))


def _on_repository(hits: Hits, tracked: Iterable[str]) -> Hits:
    """The hits by paths of the repository; a file that is none of it, or might be two, is not."""
    known = set(tracked)
    by_name: dict[str, list[str]] = defaultdict(list)
    for path in known:
        by_name[PurePosixPath(path).name].append(path)
    found: Hits = {}
    for written, lines in hits.items():
        path = written.replace("\\", "/").removeprefix("./")
        if path not in known:
            meant = _meant(path, by_name[PurePosixPath(path).name])
            if meant is None:
                continue
            path = meant
        merged = found.setdefault(path, {})
        for line, reached in lines.items():
            merged[line] = reached or merged.get(line, False)
    return found


def _meant(path: str, candidates: Sequence[str]) -> str | None:
    """Which of the paths a coverage tool means by another one; None where it may be several."""
    within = [one for one in candidates if f"/{path}".endswith(f"/{one}")]
    if within:
        return max(within, key=len)
    around = [one for one in candidates if one.endswith(f"/{path}")]
    return around[0] if len(around) == 1 else None


def _ranges(lines: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Sorted line numbers as ranges."""
    found: list[tuple[int, int]] = []
    for line in lines:
        if found and found[-1][1] == line - 1:
            found[-1] = (found[-1][0], line)
        else:
            found.append((line, line))
    return tuple(found)
