"""The C3 linearisation, as Python orders the classes it looks a name up in."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

T = TypeVar("T", bound="Hashable")


def c3(own: T, bases: Sequence[Sequence[T]]) -> tuple[T, ...]:
    """The order for a class from those of its bases (each begins with the base itself).

    Where Python would refuse the class, its bases come one after the other.
    """
    waiting = [list(order) for order in bases if order]
    waiting.append([order[0] for order in bases if order])
    merged = [own]
    while any(waiting):
        waiting = [order for order in waiting if order]
        tails = {item for order in waiting for item in order[1:]}
        head = next((order[0] for order in waiting if order[0] not in tails), None)
        if head is None:
            rest = dict.fromkeys(item for order in waiting for item in order)
            return tuple(dict.fromkeys([*merged, *rest]))
        merged.append(head)
        waiting = [order[1:] if order[0] == head else order for order in waiting]
    return tuple(merged)
