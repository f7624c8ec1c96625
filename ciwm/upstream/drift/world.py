"""Resolution: what an access path means where one upstream revision and the plugin meet."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from ciwm.upstream.drift.mro import c3
from ciwm.upstream.drift.on_demand import why_unseen
from ciwm.upstream.drift.outcome import (
    CALLED,
    ON_DEMAND,
    RUNNING,
    SUPER,
    External,
    Found,
    Hop,
    Missing,
    Outcome,
    Unseen,
)
from ciwm.upstream.drift.unsure import may_have

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ciwm.upstream.drift.index import Index, Module
    from ciwm.upstream.drift.symbols import Summary, Symbol

Class = tuple[str, str]  # module and qualified name; an external class has no module
_DEEPEST = 40
_LOOPED = Unseen("names that lead to each other")
_OBJECT_HAS = {name for name in dir(type) if name.startswith("__")} | {"__dict__", "__weakref__"}


class World:
    """One upstream revision and the plugin; answers are remembered."""

    def __init__(self, *indexes: Index) -> None:
        self.indexes = indexes
        self.tops = {name.partition(".")[0] for index in indexes for name in index.modules}
        self._answers: dict[str, Outcome] = {}
        self._orders: dict[Class, tuple[Class, ...]] = {}
        self._busy: set[tuple[str, str]] = set()

    def resolve(self, path: str) -> Outcome:
        """What an absolute access path means."""
        known = self._answers.get(path)
        if known is None:
            known = self._answers[path] = self._resolved(path)
        return known

    def entry(self, module: str) -> Module | None:
        """A module by name, in whichever index has it."""
        return next((ix.modules[module] for ix in self.indexes if module in ix.modules), None)

    def place(self, module: str, line: int) -> str:
        """`path:line` of a definition."""
        entry = self.entry(module)
        return f"{entry.path or module}:{line}" if entry else ""

    def summary(self, module: str) -> Summary | None:
        """What a module defines; None when it does not parse, or is none of ours."""
        return next((ix.summary(module) for ix in self.indexes if module in ix.modules), None)

    def rows(self, module: str, name: str) -> tuple[Symbol, ...]:
        """All definitions of a qualified name in a module."""
        summary = self.summary(module)
        return summary.names.get(name, ()) if summary else ()

    def at_run_time(self, module: str, name: str) -> list[Symbol]:
        """The definitions without those that only type checkers see."""
        summary = self.summary(module)
        lazy = summary is not None and summary.on_demand is not None
        return [row for row in self.rows(module, name) if lazy or "typing" not in row.marks]

    def _resolved(self, path: str) -> Outcome:
        front, _, last = path.rpartition(".")
        if path.endswith("..()"):  # not made by the collector, but a string could look like it
            return Unseen("not a path")
        if not front:
            found = path in self.tops and self.entry(path)
            return Found("module", path, "", None, ()) if found else External(path)
        before = self.resolve(front)
        if isinstance(before, External):
            return External(path)
        return self.step(before, last) if isinstance(before, Found) else before

    def step(self, found: Found, name: str) -> Outcome:
        """What `found.name` means, or calling `found`, or its super()."""
        if found.kind == "module":
            return self.attribute(found.module, name, found.hops)
        if found.kind == "value":
            held = self.held(found)
            return self.step(held, name) if isinstance(held, Found) else held
        if name == CALLED:
            return self._called(found)
        if name == SUPER:
            return found._replace(kind="super") if found.kind == "class" else Unseen("super()")
        if found.kind in ("class", "instance", "super"):
            return self.member(found, name)
        return Unseen("an attribute of a function")

    def attribute(self, module: str, name: str, hops: tuple[Hop, ...] = ()) -> Outcome:
        """What a module has under a name."""
        summary = self.summary(module)
        if summary is None:
            return Unseen("a file that does not parse", module)
        if (module, name) in self._busy and self.entry(inner := f"{module}.{name}"):
            # `from . import x` in a package's __init__: the submodule itself
            return Found("module", inner, "", None, (*hops, Hop(inner, "", 1)))
        if (module, name) in self._busy or len(hops) > _DEEPEST:
            return _LOOPED
        self._busy.add((module, name))
        try:
            return self._attribute(summary, module, name, hops)
        finally:
            self._busy.discard((module, name))

    def _attribute(
        self, summary: Summary, module: str, name: str, hops: tuple[Hop, ...]
    ) -> Outcome:
        lazy = summary.on_demand is not None
        rows = self.at_run_time(module, name)
        if rows:
            return self._best(rows, module, name, hops)
        if self.entry(inner := f"{module}.{name}"):
            return Found("module", inner, "", None, (*hops, Hop(inner, "", 1)))
        outcomes = [self._starred(star, module, name, hops) for star in summary.stars]
        for outcome in outcomes:
            if isinstance(outcome, Found):
                return outcome
        if lazy and name in (summary.on_demand or ()):
            rows = list(summary.names["__getattr__"])
            hop = Hop(module, name, rows[0].line)
            return Found("value", module, name, None, (*hops, hop))
        if lazy or may_have(summary.unsure, "", name):
            return Unseen(ON_DEMAND if lazy else RUNNING, module)
        unsure = next((o for o in outcomes if not isinstance(o, Missing)), None)
        return unsure or Missing(module, "", name, hops)

    def _starred(self, star: str, module: str, name: str, hops: tuple[Hop, ...]) -> Outcome:
        source = self.absolute(star, module)
        if self.entry(source) is None:
            inside = source.partition(".")[0] in self.tops
            return Missing(source, "", name, hops) if inside else Unseen("a star import", module)
        summary = self.summary(source)
        exported = summary.exported if summary else None
        if name not in exported if exported is not None else name.startswith("_"):
            return Missing(source, "", name, hops)
        return self.attribute(source, name, hops)

    def _best(
        self, rows: Sequence[Symbol], module: str, name: str, hops: tuple[Hop, ...]
    ) -> Outcome:
        """The first definition that leads somewhere; a fallback to None is the last resort."""
        outcomes = []
        for row in sorted(rows, key=lambda each: each.value == "None"):
            outcome = self._meaning(row, module, name, (*hops, Hop(module, name, row.line)))
            if isinstance(outcome, Found | External):
                return outcome
            outcomes.append(outcome)
        return outcomes[0]

    def _meaning(self, row: Symbol, module: str, name: str, hops: tuple[Hop, ...]) -> Outcome:
        if row.kind == "import":
            return self._at(self.absolute(row.target, module), hops)
        if row.kind in ("class", "function"):
            return Found(row.kind, module, name, row, hops)
        if row.target and row.target != name:
            aim = self.in_scope(row.target, module, name.rpartition(".")[0], hops)
            if isinstance(aim, Found) and aim.kind in ("class", "function", "module"):
                return aim
        return Found("value", module, name, row, hops)

    def _at(self, path: str, hops: tuple[Hop, ...]) -> Outcome:
        """What a path means, with the hops that led to it put in front."""
        outcome = self.resolve(path) if len(hops) < _DEEPEST else _LOOPED
        if isinstance(outcome, Found | Missing):
            return outcome._replace(hops=(*hops, *outcome.hops))
        return outcome

    def in_scope(
        self, path: str, module: str, scope: str = "", hops: tuple[Hop, ...] = ()
    ) -> Outcome:
        """What a path written in a module (inside class `scope`) means there."""
        first, _, rest = path.partition(".")
        found: Outcome = Missing(module, scope, first, hops)
        while scope and isinstance(found, Missing):
            if rows := self.rows(module, f"{scope}.{first}"):
                found = self._best(rows, module, f"{scope}.{first}", hops)
            scope = scope.rpartition(".")[0]
        if isinstance(found, Missing):
            found = self._typed_attribute(module, first, hops)
        if isinstance(found, Missing) and hasattr(builtins, first):
            found = External(f"builtins.{first}")
        for part in rest.split(".") if rest else ():
            if isinstance(found, Found):
                found = self.step(found, part)
            elif isinstance(found, External):
                found = External(f"{found.dotted}.{part}")
        return found

    def _typed_attribute(self, module: str, name: str, hops: tuple[Hop, ...]) -> Outcome:
        """Like `attribute`, but annotations may also use what only type checkers import."""
        found = self.attribute(module, name, hops)
        if isinstance(found, Missing) and (rows := self.rows(module, name)):
            return self._best(rows, module, name, hops)
        return found

    def absolute(self, target: str, module: str) -> str:
        """The absolute name for one with leading dots, written in a module."""
        bare = target.lstrip(".")
        level = len(target) - len(bare)
        if not level:
            return target
        entry = self.entry(module)
        parts = module.split(".")
        up = level - 1 if entry and entry.package else level
        return ".".join([*parts[: len(parts) - up], *([bare] if bare else [])])

    def held(self, found: Found) -> Outcome:
        """The instance an attribute or property holds, where an annotation or a call says it."""
        symbol = found.symbol
        if symbol is None or not symbol.type:
            return Unseen("a value of unknown type", found.module)
        if symbol.type == "Self" and found.receiver:
            return Found("instance", *found.receiver, None, found.hops)
        scope = found.name.rpartition(".")[0]
        outcome = self.in_scope(symbol.type.removesuffix("()"), found.module, scope, found.hops)
        if not isinstance(outcome, Found):
            return outcome if isinstance(outcome, External) else Unseen("a type we did not find")
        if outcome.kind == "class":
            return outcome._replace(kind="instance")
        if symbol.type.endswith("()") and outcome.kind in ("function", "bound"):
            return self._called(outcome)
        return Unseen("a value of unknown type", found.module)

    def _called(self, found: Found) -> Outcome:
        if found.kind == "class":
            return found._replace(kind="instance")
        if found.kind in ("function", "bound") and found.symbol and found.symbol.type:
            return self.held(found)
        return Unseen("what a call returns", found.module)

    def member(self, found: Found, name: str) -> Outcome:
        """What a class, an instance or a super() has under a name."""
        cls = (
            found.receiver
            if found.kind == "super" and found.receiver
            else (found.module, found.name)
        )
        order = self.order((found.module, found.name))[1 if found.kind == "super" else 0 :]
        for module, owner in order:
            if module and (rows := self.rows(module, f"{owner}.{name}")):
                full = f"{owner}.{name}"
                outcome = self._best(rows, module, full, found.hops)
                if not isinstance(outcome, Found):
                    return outcome
                kind = "bound" if outcome.kind == "function" and found.kind != "class" else None
                return outcome._replace(kind=kind or outcome.kind, receiver=cls)
        if name in _OBJECT_HAS:
            return Unseen("an attribute every object has")
        if why := why_unseen(self, order, found.kind, name):
            return Unseen(why, found.module)
        opaque = tuple(o for module, o in order if not module)
        return Missing(found.module, found.name, name, found.hops, opaque)

    def order(self, cls: Class) -> tuple[Class, ...]:
        """The method resolution order; classes we did not read have an empty module."""
        known = self._orders.get(cls)
        if known is None:
            self._orders[cls] = (cls,)  # a class that inherits from itself ends here
            bases = [self._base_order(outcome) for outcome in self.bases(cls)]
            known = self._orders[cls] = c3(cls, bases)
        return known

    def bases(self, cls: Class) -> Iterator[Outcome]:
        """What the bases of a class are, as its first definition writes them."""
        module, name = cls
        rows = [row for row in self.rows(module, name) if row.kind == "class"]
        for base in rows[0].bases if rows else ():
            if base == "?":
                yield Unseen("a computed base")
            elif base.startswith("="):  # already absolute: a class inside a function
                yield self.resolve(base[1:])
            else:
                yield self.in_scope(base, module, name.rpartition(".")[0])

    def _base_order(self, base: Outcome) -> tuple[Class, ...]:
        if isinstance(base, Found) and base.kind == "class":
            return self.order((base.module, base.name))
        if isinstance(base, External):
            return () if base.dotted == "builtins.object" else (("", base.dotted),)
        if isinstance(base, Missing):
            return (("", f"{base.owner}.{base.wanted}"),)
        return (("", "?"),)
