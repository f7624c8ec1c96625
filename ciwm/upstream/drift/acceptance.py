"""What an override must accept so that upstream's callers can call it instead of the original."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ciwm.upstream.drift.symbols import (
    KEYWORD_ONLY,
    POSITIONAL,
    POSITIONAL_ONLY,
    VAR_KEYWORD,
    VAR_POSITIONAL,
    Signature,
)

if TYPE_CHECKING:
    from collections.abc import Iterable


class Refusal(NamedTuple):
    """One way of calling the original that the replacement does not take.

    what   lacks (a parameter the original has), demands (one the original does not have)
    """

    what: str
    name: str
    optional: bool
    at: int  # index among the positional ones; -1 when only by keyword


def refusals(replacement: Signature, original: Signature) -> set[Refusal]:
    """All the ways; self is left out of both signatures."""
    kinds = {each.kind for each in replacement}
    names = {e.name for e in replacement if e.kind in (POSITIONAL, KEYWORD_ONLY)}
    slots = [e for e in replacement if e.kind in (POSITIONAL, POSITIONAL_ONLY)]
    found = set()
    for at, each in enumerate(_named(original)):
        optional = each.default is not None
        by_keyword = each.kind == POSITIONAL_ONLY or each.name in names or VAR_KEYWORD in kinds
        by_place = each.kind == KEYWORD_ONLY or at < len(slots) or VAR_POSITIONAL in kinds
        if not (by_keyword and by_place):
            found.add(Refusal("lacks", each.name, optional, -1 if by_place else at))
    return found | set(_demands(replacement, original, slots=len(slots)))


def _named(signature: Signature) -> Signature:
    return tuple(e for e in signature if e.kind not in (VAR_POSITIONAL, VAR_KEYWORD))


def _demands(replacement: Signature, original: Signature, *, slots: int) -> Iterable[Refusal]:
    kinds = {each.kind for each in original}
    positional = [e for e in original if e.kind in (POSITIONAL, POSITIONAL_ONLY)]
    given = {each.name for each in _named(original)}
    at = 0
    for each in _named(replacement):
        filled = each.name in given or VAR_KEYWORD in kinds or VAR_POSITIONAL in kinds
        if each.kind != KEYWORD_ONLY:
            filled = filled or at < len(positional)
            at += 1
        if each.default is None and not filled:
            yield Refusal("demands", each.name, optional=False, at=min(at, slots) - 1)
