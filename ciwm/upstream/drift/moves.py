"""Where something that is gone may be found now."""

from __future__ import annotations

import difflib
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ciwm.upstream.drift.outcome import Found, Hop
    from ciwm.upstream.drift.pair import Worlds

_CLOSE = 0.72
_COMMON = 4  # a name defined in that many new places is too common to be a hint


class Move(NamedTuple):
    """A new place; `sure` when nothing there had the name before."""

    symbol: str
    place: str
    sure: bool


class Moves:
    """Looks for names in the target's modules."""

    def __init__(self, worlds: Worlds) -> None:
        self.worlds = worlds

    @cached_property
    def _by_name(self) -> dict[str, list[tuple[str, str]]]:
        """Module and qualified name of every definition at module level, by name."""
        found: dict[str, list[tuple[str, str]]] = {}
        index = self.worlds.upstream[1]
        for module in index.modules:
            summary = index.summary(module)
            for name, rows in summary.names.items() if summary else ():
                if "." not in name and rows[0].kind != "import":
                    found.setdefault(name, []).append((module, name))
        return found

    def of(self, before: Found, hop: Hop | None) -> Move | None:
        """Where a symbol is now; None when nothing is like it."""
        if before.symbol is None and not before.name:
            return self._module(before.module)
        new = self.worlds.new
        top, _, member = before.name.partition(".")
        other = hop is not None and (hop.module, hop.name) != (before.module, before.name)
        if other and new.rows(before.module, before.name):
            line = new.rows(before.module, before.name)[0].line
            return Move(before.dotted, new.place(before.module, line), sure=True)
        if new.rows(before.module, top) and member:
            return self._renamed(before)
        return self._elsewhere(before, top, member)

    def _elsewhere(self, before: Found, top: str, member: str) -> Move | None:
        kinds = {row.kind for row in self.worlds.old.rows(before.module, top)}
        found = []
        for module, name in self._by_name.get(top, ()):
            rows = self.worlds.new.rows(module, f"{name}.{member}" if member else name)
            if module == before.module or not rows:
                continue
            same = bool(member) or not kinds or rows[0].kind in kinds
            fresh = not self.worlds.old.rows(module, name)
            if same:
                found.append((fresh, module, rows[0].line))
        fresh_ones = [each for each in found if each[0]] or found
        if not fresh_ones or len(fresh_ones) > _COMMON:
            return None
        fresh, module, line = min(fresh_ones, key=lambda each: _distance(each[1], before.module))
        place = self.worlds.new.place(module, line)
        return Move(f"{module}.{before.name}", place, sure=fresh and len(fresh_ones) == 1)

    def _renamed(self, before: Found) -> Move | None:
        """A member new to the same class whose name is close."""
        scope, _, name = before.name.rpartition(".")
        new, old = self.worlds.new, self.worlds.old
        after, earlier = new.summary(before.module), old.summary(before.module)
        if after is None or earlier is None:
            return None
        fresh = {
            key.rpartition(".")[2]: rows[0].line
            for key, rows in after.names.items()
            if key.rpartition(".")[0] == scope and key not in earlier.names
        }
        close = difflib.get_close_matches(name, fresh, 1, _CLOSE)
        if not close:
            return None
        symbol = f"{before.module}.{scope}.{close[0]}"
        return Move(symbol, new.place(before.module, fresh[close[0]]), sure=False)

    def _module(self, module: str) -> Move | None:
        last = module.rpartition(".")[2]
        old, new = self.worlds.upstream
        fresh = [m for m in new.modules if m.rpartition(".")[2] == last and m not in old.modules]
        if len(fresh) != 1:
            return None
        return Move(fresh[0], self.worlds.new.place(fresh[0], 1), sure=True)


def _distance(module: str, other: str) -> int:
    """How far apart two modules are in the tree of packages."""
    first, second = module.split("."), other.split(".")
    shared = 0
    for one, two in zip(first, second, strict=False):
        if one != two:
            break
        shared += 1
    return len(first) + len(second) - 2 * shared
