"""Where conflicts come and go along the main line, by merges of whole trees alone.

First forward from the merge base until one conflicts, which needs no assumption. Then between
commits whose conflicts differ, halving; then, as long as there is time, every other commit, since
conflicts can also come and go in between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ciwm.upstream.mainline.line import Line

FORWARD = 32


def search(line: Line) -> None:
    """Try as many commits as there is time for, all of them if possible."""
    if _first_conflict(line) is None:
        return
    while not line.over:
        steps = [
            (earlier + later) // 2
            for earlier, later in line.intervals()
            if later - earlier > 1 and line.at(earlier) != line.at(later)
        ]
        if not steps:
            steps = _coarse_to_fine(line)
        if not steps:
            return
        line.learn(steps)


def _first_conflict(line: Line) -> int | None:
    for start in range(0, len(line.commits), FORWARD):
        line.learn(range(start, min(start + FORWARD, len(line.commits))))
        if line.first is not None or line.prefix < min(start + FORWARD, len(line.commits)):
            break
    return line.first


def _coarse_to_fine(line: Line) -> list[int]:
    """The middles of the longest stretches not looked into."""
    gaps = [(later - earlier, earlier, later) for earlier, later in line.intervals()]
    longest = max((length for length, _, _ in gaps), default=0)
    if longest <= 1:
        return []
    return [(earlier + later) // 2 for length, earlier, later in gaps if 2 * length > longest > 1]
