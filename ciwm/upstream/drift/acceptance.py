"""What an override must accept so that upstream's callers can call it instead of the original."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ciwm.upstream.drift.symbols import (
    KEYWORD_ONLY,
    POSITIONAL,
    POSITIONAL_ONLY,
    VAR_KEYWORD,
    VAR_POSITIONAL,
    Parameter,
    Signature,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Refusal(NamedTuple):
    """One way of calling the original that the replacement does not take.

    what      lacks (a parameter the original has), renames (the same under its former name),
              names (it is taken by keyword alone), demands (one the original does not have, or
              not always), reorders (one that has another place)
    optional  whether callers of the original may leave it out
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
        if _elsewhere(slots, each, at):
            found.add(Refusal("reorders", each.name, optional, at))
        elif not (by_keyword and by_place):
            what = "names" if by_keyword else "lacks"
            found.add(Refusal(what, each.name, optional, -1 if by_place else at))
    return found | set(_demands(replacement, original))


def is_renamed(refusal: Refusal, sides: tuple[Signature, Signature, Signature]) -> bool:
    """Whether what ours lacks of the new original is there by the name that the old one had for it.

    `sides` are ours, the old and the new original.
    """
    name = refusal.name
    ours, old, new = (
        [e.name for e in side if e.kind in (POSITIONAL, POSITIONAL_ONLY)] for side in sides
    )
    if refusal.what != "lacks" or name in old or name not in new:
        return False
    if (at := new.index(name)) >= min(len(ours), len(old)):
        return False
    return ours[at] == old[at] and old[at] not in new


def _elsewhere(slots: Sequence[Parameter], each: Parameter, at: int) -> bool:
    """Whether a positional parameter of the original has another place in the replacement."""
    if each.kind == KEYWORD_ONLY:
        return False
    places = [index for index, slot in enumerate(slots) if slot.name == each.name]
    return bool(places) and places[0] != at


def _named(signature: Signature) -> Signature:
    return tuple(e for e in signature if e.kind not in (VAR_POSITIONAL, VAR_KEYWORD))


def _demands(replacement: Signature, original: Signature) -> Iterator[Refusal]:
    """Parameters that the replacement cannot do without, and the original does not always give."""
    kinds = {each.kind for each in original}
    if VAR_KEYWORD in kinds or VAR_POSITIONAL in kinds:
        return  # it may be given anything
    by_name = {each.name: each for each in original}
    theirs = [e for e in original if e.kind in (POSITIONAL, POSITIONAL_ONLY)]
    at = -1
    for each in _named(replacement):
        at = at + 1 if each.kind != KEYWORD_ONLY else -1
        source = by_name.get(each.name) or (theirs[at] if 0 <= at < len(theirs) else None)
        if each.default is None and (source is None or source.default is not None):
            yield Refusal("demands", each.name, source is not None, at)
