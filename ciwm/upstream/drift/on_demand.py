"""Attributes that a class has although no definition shows them: given on demand, or while running.

What lacks such a name may have it all the same, so that it is unseen and not missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.upstream.drift.outcome import RUNNING, Found
from ciwm.upstream.drift.unsure import may_have

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ciwm.upstream.drift.world import Class, World

_ANSWERERS = ("__getattr__", "__getattribute__")
_METACLASS = "metaclass="


def why_unseen(world: World, order: Sequence[Class], kind: str, name: str) -> str:
    """Why a class without a definition of a name may have it; empty when nothing says so.

    `kind` is what was asked, the class itself or an instance of it.
    """
    read = [cls for cls in order if cls[0]]
    if any(_defines(world, cls, *_ANSWERERS) for cls in read):
        return "a class that makes attributes on demand"
    metas = [meta for cls in read for meta in _metaclasses(world, cls)] if kind == "class" else []
    if any(_defines(world, cls, *_ANSWERERS, name) for cls in metas):
        return "a class whose metaclass gives it attributes"
    return RUNNING if any(_may_get(world, cls, name) for cls in read) else ""


def _defines(world: World, cls: Class, *names: str) -> bool:
    module, owner = cls
    return any(module and world.rows(module, f"{owner}.{name}") for name in names)


def _metaclasses(world: World, cls: Class) -> Iterator[Class]:
    """The metaclass that a class names, and those above it."""
    for row in world.rows(*cls):
        for mark in row.marks:
            if not mark.startswith(_METACLASS):
                continue
            found = world.in_scope(mark.removeprefix(_METACLASS), cls[0])
            if isinstance(found, Found) and found.kind == "class":
                yield from world.order((found.module, found.name))


def _may_get(world: World, cls: Class, name: str) -> bool:
    summary = world.summary(cls[0])
    return summary is not None and may_have(summary.unsure, cls[1], name)
