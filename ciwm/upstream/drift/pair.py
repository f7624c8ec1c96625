"""The two worlds that are compared: the plugin at the pin, and the same plugin at the target."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from ciwm.upstream.drift.outcome import ON_DEMAND, Found, Hop, Missing, Unseen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ciwm.upstream.drift.index import Index
    from ciwm.upstream.drift.uses import Use
    from ciwm.upstream.drift.world import World


class Where(NamedTuple):
    """A definition to look for in upstream's history: module and qualified name in it."""

    module: str
    name: str


class Change(NamedTuple):
    """One finding at one use, before the uses of the same symbol are put together.

    before, after   `path:line` upstream at the pin and at the target; "" where there is none
    trace           what to look for in the history: the definition, and what of it changed
    """

    kind: str
    severity: str
    symbol: str
    use: Use
    before: str = ""
    after: str = ""
    detail: str = ""
    mend: str = ""
    trace: tuple[Where, str] | None = None


@dataclass(frozen=True)
class Worlds:
    """Both worlds; `upstream` are the indexes of upstream alone, `plugin` is in both worlds."""

    old: World
    new: World
    upstream: tuple[Index, Index]
    plugin: Index

    def is_upstream(self, module: str) -> bool:
        """Whether a module is upstream's, at either revision."""
        return any(module in index.modules for index in self.upstream)

    def originals(self, uses: Iterable[Use]) -> dict[str, list[tuple[int, str]]]:
        """Upstream functions and classes that plugin files read or call: line and name, by file."""
        found: dict[str, list[tuple[int, str]]] = {}
        for use in uses:
            if use.kind not in ("attribute", "call"):
                continue
            for path in use.paths:
                outcome = self.old.resolve(path)
                if isinstance(outcome, Found) and self.is_upstream(outcome.module):
                    found.setdefault(use.path, []).append((use.line, outcome.dotted))
        return found

    def reached(self, path: str) -> tuple[str, Found] | None:
        """The longest part of a path that leads into upstream at the pin, and what it means."""
        while True:
            outcome = self.old.resolve(path)
            if isinstance(outcome, Found):
                return (path, outcome) if self.is_upstream(outcome.module) else None
            if isinstance(outcome, Missing | Unseen) and "." in path:
                path = path.rpartition(".")[0]
                continue
            return None

    def gone(self, path: str) -> Missing | None:
        """How a path that meant something at the pin fails at the target; None when it does not."""
        after = self.new.resolve(path)
        if isinstance(after, Missing):
            unsure = set(after.opaque) - self._opaque_before(path)
            return None if unsure or self._below_has(after) else after
        if not isinstance(after, Unseen):
            return None
        front, _, wanted = path.rpartition(".")
        if after.why == ON_DEMAND and self._was_on_demand(after.module):
            return Missing(after.module, "", wanted, ())
        owner, owned = self.new.resolve(front), self.old.resolve(front)
        if not isinstance(owner, Found) or not isinstance(owned, Found):
            return None
        value = owner.symbol.value if owner.kind == "value" and owner.symbol else None
        if owned.kind == "class" and value is not None and "(" not in value:
            return Missing(owner.module, owner.name, wanted, owner.hops)
        return None

    def _below_has(self, after: Missing) -> bool:
        """Whether a class below has the member: what is declared as the base may be that one."""
        if not after.name or not self.is_upstream(after.module):
            return False
        cls = (after.module, after.name)
        return any(cls in self.new.order(owner)[1:] for owner in self._having.get(after.wanted, ()))

    @cached_property
    def _having(self) -> dict[str, list[tuple[str, str]]]:
        """Classes at the target, by the names their bodies define."""
        found: dict[str, list[tuple[str, str]]] = {}
        for index in (self.upstream[1], self.plugin):
            for module in index.modules:
                summary = index.summary(module)
                for full in summary.names if summary else ():
                    owner, _, name = full.rpartition(".")
                    if owner:
                        found.setdefault(name, []).append((module, owner))
        return found

    def _opaque_before(self, path: str) -> set[str]:
        """Bases that nobody reads, of the class whose member a path names, at the pin."""
        outcome = self.old.resolve(path)
        cls = outcome.receiver if isinstance(outcome, Found) else None
        return {name for module, name in self.old.order(cls) if not module} if cls else set()

    def _was_on_demand(self, module: str) -> bool:
        summary = self.old.summary(module)
        return summary is not None and summary.on_demand is not None

    def broken_hop(self, before: Found) -> Hop | None:
        """The first upstream definition on the way that the target does not have any more."""
        for hop in before.hops:
            if not self.is_upstream(hop.module):
                continue
            if hop.name and not self.new.at_run_time(hop.module, hop.name):
                return hop
            if not hop.name and self.new.entry(hop.module) is None:
                after = before.hops[before.hops.index(hop) :]
                return next((h for h in after if h.name and self.is_upstream(h.module)), hop)
        return None
