"""Names that resolved at the pin and do not at the target: removed, or moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.upstream.drift.moves import Moves
from ciwm.upstream.drift.outcome import Found
from ciwm.upstream.drift.pair import Change, Where

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ciwm.upstream.drift.moves import Move
    from ciwm.upstream.drift.outcome import Hop
    from ciwm.upstream.drift.pair import Worlds
    from ciwm.upstream.drift.uses import Use

_SILENT = {"patch", "set"}  # putting something where nothing is raises nothing


def removals(worlds: Worlds, uses: Sequence[Use]) -> Iterator[Change]:
    """A change for each use of a name that is gone."""
    moves = Moves(worlds)
    for use in uses:
        found = _first_gone(worlds, use)
        if found is not None:
            yield _change(worlds, moves, use, found)


def _first_gone(worlds: Worlds, use: Use) -> Found | None:
    """What a use meant at the pin, when none of its paths means anything at the target."""
    meant: Found | None = None
    for path in use.paths:
        reached = worlds.reached(path)
        if reached is None:
            if isinstance(worlds.new.resolve(path), Found):
                return None
            continue
        if worlds.gone(reached[0]) is None:
            return None
        meant = meant or reached[1]
    return meant


def _change(worlds: Worlds, moves: Moves, use: Use, before: Found) -> Change:
    hop = worlds.broken_hop(before)
    symbol, where = before.dotted, Where(before.module, before.name)
    line = before.symbol.line if before.symbol else 1
    if hop is not None:
        symbol = f"{hop.module}.{hop.name}" if hop.name else hop.module
        where, line = Where(hop.module, hop.name), hop.line
    move = moves.of(_whole(worlds, before, hop), hop)
    sure = move is not None and move.sure
    return Change(
        "moved" if sure else "removed",
        "soft" if use.guard else "hard",
        symbol,
        use,
        before=worlds.old.place(where.module, line),
        after=move.place if move is not None else "",
        detail=_detail(use, move),
        mend=_mend(use, symbol, move),
        trace=(where, "presence"),
    )


def _whole(worlds: Worlds, before: Found, hop: Hop | None) -> Found:
    """What broke, where that is something on the way and not the thing itself."""
    if hop is None or hop.name == before.name or not hop.name:
        return before
    rows = worlds.old.rows(hop.module, hop.name)
    if not rows or rows[0].kind == "import":
        top = before.name.partition(".")[0]
        owner = worlds.old.rows(before.module, top)
        return before._replace(name=top, symbol=owner[0]) if owner else before
    return before._replace(module=hop.module, name=hop.name, symbol=rows[0])


def _detail(use: Use, move: Move | None) -> str:
    silent = "what is put there has no effect" if use.kind in _SILENT else ""
    now = f"now {move.symbol}" if move is not None and move.sure else ""
    return "; ".join(part for part in (now, silent) if part)


def _mend(use: Use, symbol: str, move: Move | None) -> str:
    verb = {"import": "import", "patch": "patch", "mock": "patch", "string": "name"}.get(
        use.kind, "use"
    )
    if move is None:
        return f"stop using {symbol}, or carry a copy of it"
    if move.sure:
        return f"{verb} {move.symbol}"
    return f"perhaps {verb} {move.symbol}"
