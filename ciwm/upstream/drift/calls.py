"""Calls that the pin's signature takes and the target's does not, or takes to mean otherwise."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from ciwm.upstream.drift.callables import Callee, bound, callee
from ciwm.upstream.drift.pair import Change, Where
from ciwm.upstream.drift.symbols import VAR_KEYWORD, VAR_POSITIONAL, Signature

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ciwm.upstream.drift.pair import Worlds
    from ciwm.upstream.drift.uses import CallShape, Use


def call_changes(worlds: Worlds, uses: Sequence[Use]) -> Iterator[Change]:
    """A change for each call that binds differently, or relies on a default that changed."""
    for use in uses:
        if use.kind != "call" or use.shape is None:
            continue
        compared = [_compared(worlds, use, path) for path in use.paths]
        if compared and all(compared):
            yield from compared[0]


def _compared(worlds: Worlds, use: Use, path: str) -> list[Change]:
    old, new = callee(worlds.old, path), callee(worlds.new, path)
    if old is None or new is None or use.shape is None or not worlds.is_upstream(old.module):
        return []
    before, after = worlds.old, worlds.new
    change = Change(
        "call no longer binds",
        "soft" if use.guard else "hard",
        old.dotted.removesuffix(".__init__"),
        use,
        before=before.place(old.module, _line(worlds, old, newer=False)),
        after=after.place(new.module, _line(worlds, new, newer=True)),
        trace=(Where(new.module, new.name), "signature"),
    )
    pairs = [(a, b) for a in old.signatures for b in new.signatures]
    fits = [a for a in old.signatures if not isinstance(bound(a, use.shape), str)]
    if not fits:
        return []
    failures = [bound(b, use.shape) for b in new.signatures]
    if all(isinstance(failure, str) for failure in failures):
        wrappers = new.wrappers(after) - old.wrappers(before)
        return [_unbound(change, str(failures[0]), new.signatures[0], sorted(wrappers))]
    if len(pairs) != 1:
        return []
    return _meaning(change, pairs[0], use.shape)


def _line(worlds: Worlds, called: Callee, *, newer: bool) -> int:
    rows = (worlds.new if newer else worlds.old).rows(called.module, called.name)
    return rows[0].line if rows else 1


def _unbound(change: Change, reason: str, signature: Signature, wrappers: Sequence[str]) -> Change:
    """Sure, unless a decorator that is new may give or take arguments itself."""
    shown = written(signature)
    if not wrappers:
        return change._replace(detail=reason, mend=f"call it as ({shown})")
    return change._replace(
        severity="soft",
        detail=f"{reason}, unless @{wrappers[0]}, which is new, sees to it",
        mend=f"call it as ({shown}), or as @{wrappers[0]} wants it",
    )


def _meaning(
    change: Change, signatures: tuple[Signature, Signature], shape: CallShape
) -> list[Change]:
    """A call that binds at both: arguments that land elsewhere, defaults that changed."""
    old, new = (bound(each, shape) for each in signatures)
    if not isinstance(old, inspect.BoundArguments) or not isinstance(new, inspect.BoundArguments):
        return []
    names = {each.name for each in signatures[1]}
    variadic = {each.name for each in (*signatures[0], *signatures[1]) if _is_rest(each.kind)}
    by_place = {value: name for name, value in new.arguments.items() if isinstance(value, int)}
    for name, value in old.arguments.items():
        now = by_place.get(value) if isinstance(value, int) else None
        if now is not None and now != name and name in names and not {now, name} & variadic:
            told = f"argument {int(value) + 1} was {name} and is {now}"
            return [change._replace(detail=told, mend=f"pass {name}= by keyword")]
    return list(_defaults(change, signatures, set(old.arguments)))


def _defaults(
    change: Change, signatures: tuple[Signature, Signature], given: set[str]
) -> Iterator[Change]:
    before = {each.name: each.default for each in signatures[0]}
    for each in signatures[1]:
        was = before.get(each.name)
        if each.name in given or was is None or each.default is None or was == each.default:
            continue
        yield change._replace(
            kind="default changed",
            severity="soft",
            symbol=f"{change.symbol}({each.name})",
            detail=f"{each.name} was {_short(was)} by default and is {_short(each.default)}",
            mend=f"pass {each.name}={_short(was)} to keep what it did",
        )


def _is_rest(kind: int) -> bool:
    return kind in (VAR_POSITIONAL, VAR_KEYWORD)


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"  # noqa: PLR2004  a value in a sentence


def written(signature: Signature) -> str:
    """Parameters as in a def, without annotations; long lists are cut."""
    parts: list[str] = []
    starred = False
    for each in signature:
        if each.kind == VAR_POSITIONAL:
            starred = True
            parts.append(f"*{each.name}")
        elif each.kind == VAR_KEYWORD:
            parts.append(f"**{each.name}")
        else:
            if each.kind == 3 and not starred:  # noqa: PLR2004  the first keyword-only one
                starred = True
                parts.append("*")
            default = "" if each.default is None else f"={_short(each.default)}"
            parts.append(f"{each.name}{default}")
    text = ", ".join(parts)
    return text if len(text) <= 300 else f"{text[:299]}…"  # noqa: PLR2004  of one line of a report
