"""Values the plugin reads: enum members and class attributes that are set to something else now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.upstream.drift.callables import record_signature
from ciwm.upstream.drift.outcome import Found
from ciwm.upstream.drift.overrides import plugin_classes
from ciwm.upstream.drift.pair import Change, Where
from ciwm.upstream.drift.uses import Use

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ciwm.upstream.drift.pair import Worlds
    from ciwm.upstream.drift.world import World

_ENUMS = ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag")


def value_changes(worlds: Worlds, uses: Sequence[Use]) -> Iterator[Change]:
    """A change for each enum member or field that is read, and has another value at the target."""
    for use in uses:
        if use.kind not in ("attribute", "string") or not use.paths:
            continue
        reached = worlds.reached(use.paths[0])
        if reached is None or reached[1].kind != "value":
            continue
        new = worlds.new.resolve(reached[0])
        if isinstance(new, Found) and new.kind == "value":
            yield from _value(worlds, use, reached[1], new)


def _value(worlds: Worlds, use: Use, old: Found, new: Found) -> Iterator[Change]:
    before, after = old.symbol, new.symbol
    if before is None or after is None or before.value == after.value:
        return
    if before.value is None or after.value is None or before.target or after.target:
        return
    if old.receiver is None or new.receiver is None:
        return
    is_enum = _is_enum(worlds.old, old.receiver) and _is_enum(worlds.new, new.receiver)
    if not is_enum and before.kind != "field":
        return
    yield Change(
        "enum member changed" if is_enum else "dataclass field changed",
        "soft",
        new.dotted,
        use,
        before=worlds.old.place(old.module, before.line),
        after=worlds.new.place(new.module, after.line),
        detail=f"was {before.value}, is {after.value}",
        mend="check that the plugin expects the new value",
        trace=(Where(new.module, new.name), "value"),
    )


def _is_enum(world: World, cls: tuple[str, str]) -> bool:
    return any(
        not module and name.rpartition(".")[2] in _ENUMS for module, name in world.order(cls)
    )


def broken_records(worlds: Worlds) -> Iterator[Change]:
    """Dataclasses of the plugin that Python refuses once upstream's fields come before theirs."""
    for own in plugin_classes(worlds):
        rows = worlds.plugin.summary(own.cls[0])
        marks = rows.names[own.cls[1]][0].marks if rows else ()
        if not any(mark.rpartition(".")[2] == "dataclass" for mark in marks):
            continue
        old, new = (_misplaced(world, own.cls) for world in (worlds.old, worlds.new))
        if old or not new:
            continue
        base = next((c for c in worlds.new.order(own.cls)[1:] if worlds.is_upstream(c[0])), None)
        if base is None:
            continue
        before = worlds.old.rows(*base)
        yield Change(
            "dataclass field changed",
            "hard",
            ".".join(base),
            Use("subclass", (), own.path, own.line),
            before=worlds.old.place(base[0], before[0].line) if before else "",
            after=worlds.new.place(base[0], worlds.new.rows(*base)[0].line),
            detail=f"the field {new} has no default and follows one that has",
            mend=f"give {new} a default, or make {own.cls[1]} kw_only",
            trace=(Where(*base), "fields"),
        )


def _misplaced(world: World, cls: tuple[str, str]) -> str:
    """The first positional field without a default after one with a default; "" for none."""
    defaulted = False
    for each in record_signature(world, cls) or ():
        if each.kind == 3:  # noqa: PLR2004  keyword-only fields come last
            continue
        if each.default is None and defaulted:
            return each.name
        defaulted = defaulted or each.default is not None
    return ""
