"""Where along the main line more files come to conflict, and which."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ciwm.upstream.mainline.line import Line


@dataclass(frozen=True)
class Rise:
    """From one commit known to the next, more files conflict; `files` are those added.

    `later_names` of them are others of them that were renamed since.
    """

    earlier: int
    later: int
    files: set[str]
    later_names: set[str] = field(default_factory=set)


def rises(line: Line) -> list[Rise]:
    """Where the number of conflicting files rises.

    Where some come and as many go, a conflict has moved with its file (renamed, split): the new
    name goes to the commit that brought the old one.
    """
    found: list[Rise] = []
    origin: dict[str, Rise] = {}
    for earlier, later in line.intervals():
        before, after = line.at(earlier), line.at(later)
        if len(after) > len(before):
            found.append(Rise(earlier, later, set(after - before)))
            origin.update(dict.fromkeys(after - before, found[-1]))
            continue
        moved_from = [origin[path] for path in sorted(before - after) if path in origin]
        for path in after - before if moved_from else ():
            rise = origin[path] = moved_from[0]
            if path not in rise.files:
                rise.files.add(path)
                rise.later_names.add(path)
    return found
