"""What became of the upstream methods that a plugin's classes override or inherit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ciwm.upstream.drift.mentions import mentions
from ciwm.upstream.drift.outcome import SUPER
from ciwm.upstream.drift.pair import Change, Where
from ciwm.upstream.drift.replaced import Replaced, replaced_changes
from ciwm.upstream.drift.uses import Use

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from ciwm.upstream.drift.bodies import Bodies
    from ciwm.upstream.drift.pair import Worlds
    from ciwm.upstream.drift.symbols import Symbol
    from ciwm.upstream.drift.world import Class, World

_CALLABLE = ("function", "property")


class Own(NamedTuple):
    """A plugin class below an upstream one, and the names its body defines."""

    cls: Class
    path: str
    line: int
    members: dict[str, Symbol]


def plugin_classes(worlds: Worlds) -> list[Own]:
    """The plugin's classes that have an upstream class above them at the pin."""
    found = []
    for module, entry in worlds.plugin.modules.items():
        summary = worlds.plugin.summary(module)
        for name, rows in summary.names.items() if summary else ():
            if rows[0].kind == "class" and any(
                worlds.is_upstream(owner) for owner, _ in worlds.old.order((module, name))
            ):
                members = {
                    key[len(name) + 1 :]: inner[0]
                    for key, inner in (summary.names.items() if summary else ())
                    if key.startswith(f"{name}.") and "." not in key[len(name) + 1 :]
                }
                found.append(Own((module, name), entry.path, rows[0].line, members))
    return found


def override_changes(worlds: Worlds, uses: Sequence[Use], bodies: Bodies) -> Iterator[Change]:
    """A change for each override whose original changed."""
    used = {path for use in uses for path in use.paths}
    called = worlds.originals(uses)
    replaced: list[Replaced] = []
    orphans: list[Change] = []
    for own in plugin_classes(worlds):
        for name, symbol in own.members.items():
            old = _original(worlds, worlds.old, own.cls, name)
            if old is None or symbol.kind in ("instance", "import", "class"):
                continue
            new = _original(worlds, worlds.new, own.cls, name)
            calls_super = any(
                f"{'.'.join(own.cls)}.{SUPER}.{name}{tail}" in used for tail in ("", ".()")
            )
            use = Use("override", (), own.path, symbol.line)
            if new is None:
                orphans += _orphaned(worlds, own, name, old, use, calls_super=calls_super)
            elif symbol.kind in _CALLABLE:
                named = any(
                    symbol.line <= line <= symbol.end and dotted == f"{old.module}.{old.name}"
                    for line, dotted in called.get(own.path, ())
                )
                continues = calls_super or named
                replaced.append(Replaced(use, symbol, old, new, "override", continues))
    yield from _told(worlds, orphans)
    yield from replaced_changes(worlds, replaced, bodies)


def _original(worlds: Worlds, world: World, cls: Class, name: str) -> Where | None:
    """The first definition of a member in the upstream classes above a plugin's class."""
    for module, owner in world.order(cls)[1:]:
        if worlds.is_upstream(module) and world.rows(module, f"{owner}.{name}"):
            return Where(module, f"{owner}.{name}")
    return None


def _orphaned(
    worlds: Worlds, own: Own, name: str, old: Where, use: Use, *, calls_super: bool
) -> Iterator[Change]:
    """Nothing to override any more: unless the whole base is gone, which is told elsewhere."""
    owner = old.name.rpartition(".")[0]
    order = worlds.new.order(own.cls)
    row = worlds.old.rows(*old)[0]
    if (name.startswith("__") and name.endswith("__")) or not worlds.new.rows(old.module, owner):
        return
    if not any(worlds.is_upstream(module) for module, _ in order) or row.kind == "instance":
        return
    line = worlds.new.rows(old.module, owner)[0].line
    yield Change(
        "orphaned override",
        "hard" if calls_super else "soft",  # super() raises; the rest is never called
        f"{old.module}.{old.name}",
        use,
        before=worlds.old.place(old.module, row.line),
        after=worlds.new.place(old.module, line),
        detail=f"{own.cls[1]}.{name} overrides nothing any more"
        + (", and calls super()" if calls_super else ""),
        mend=f"remove {own.cls[1]}.{name}, or move it to what replaced it",
        trace=(old, "presence"),
    )


def _told(worlds: Worlds, orphans: list[Change]) -> Iterator[Change]:
    """Orphans with what upstream's sources still say of their name."""
    names = {change.symbol.rpartition(".")[2] for change in orphans}
    found = mentions(worlds.upstream[1], names)
    for change in orphans:
        name = change.symbol.rpartition(".")[2]
        place = found.get(name)
        left = f"the name is left at {place}" if place else f"nothing in upstream names {name} now"
        yield change._replace(detail=f"{change.detail}; {left}")


def deleted_overrides(worlds: Worlds, used: Collection[str]) -> Iterator[Change]:
    """A change for each inherited upstream method that is deleted, and had one further up."""
    for own in plugin_classes(worlds):
        for name, (old, new) in _changed_owners(worlds, own).items():
            called = any(
                path.startswith(f"{'.'.join(own.cls)}.") and name in path.split(".")
                for path in used
            )
            row, other = worlds.old.rows(*old)[0], worlds.new.rows(*new)[0]
            yield Change(
                "upstream deleted an override",
                "soft",
                f"{old.module}.{old.name}",
                Use("inherited", (), own.path, own.line),
                before=worlds.old.place(old.module, row.line),
                after=worlds.new.place(new.module, other.line),
                detail=f"{own.cls[1]} now inherits {new.module}.{new.name}"
                + (", and uses it" if called else ""),
                mend=f"check that {new.name} does what {own.cls[1]} needs, or bring {name} back",
                trace=(old, "presence"),
            )


def _changed_owners(worlds: Worlds, own: Own) -> dict[str, tuple[Where, Where]]:
    """Methods, by name, that come from another class of the same bases than at the pin."""
    found: dict[str, tuple[Where, Where]] = {}
    above = [cls for cls in worlds.old.order(own.cls)[1:] if worlds.is_upstream(cls[0])]
    covered = set(own.members)
    for module, owner in worlds.old.order(own.cls)[1:]:
        names = _methods(worlds.old, module, owner) if module else set()
        if not worlds.is_upstream(module):
            covered |= names
            continue
        for name in names - covered:
            covered.add(name)
            old = Where(module, f"{owner}.{name}")
            new = _original(worlds, worlds.new, own.cls, name)
            if new is None or new == old or not worlds.new.rows(module, owner):
                continue
            further = [
                Where(m, f"{o}.{name}") for m, o in above[above.index((module, owner)) + 1 :]
            ]
            if (
                new in further
                and worlds.old.rows(*new)
                and worlds.new.rows(*new)[0].kind in _CALLABLE
            ):
                found[name] = (old, new)
    return found


def _methods(world: World, module: str, owner: str) -> set[str]:
    summary = world.summary(module)
    start = f"{owner}."
    return {
        key[len(start) :]
        for key, rows in (summary.names.items() if summary else ())
        if key.startswith(start) and "." not in key[len(start) :] and rows[0].kind in _CALLABLE
    }
