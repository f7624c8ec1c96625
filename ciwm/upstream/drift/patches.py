"""Monkeypatches: whether what they replace is still there, still the same, and still in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.upstream.drift.outcome import CALLED, Found
from ciwm.upstream.drift.pair import Change, Where
from ciwm.upstream.drift.replaced import Replaced, replaced_changes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ciwm.upstream.drift.bodies import Bodies
    from ciwm.upstream.drift.pair import Worlds
    from ciwm.upstream.drift.uses import Use


def patch_changes(worlds: Worlds, uses: Sequence[Use], bodies: Bodies) -> Iterator[Change]:
    """A change for each patch of something that is there still, and not the same."""
    replaced: list[Replaced] = []
    read = worlds.originals(uses)
    for use in uses:
        if use.kind != "patch":
            continue
        for path in use.paths:
            old, new = worlds.old.resolve(path), worlds.new.resolve(path)
            if not isinstance(old, Found) or not isinstance(new, Found):
                continue
            if not worlds.is_upstream(old.module) or _on_instance(path):
                continue
            if (bypassed := _bypassed(worlds, use, path, old, new)) is not None:
                yield bypassed
            elif old.kind in ("function", "bound", "class") and new.kind == old.kind:
                ours = _ours(worlds, use)
                where = Where(old.module, old.name), Where(new.module, new.name)
                symbol = ours.symbol if ours is not None and ours.kind == "function" else None
                kept = any(name == old.dotted for _, name in read.get(use.path, ()))
                continues = kept or _is_below(worlds, ours, old)
                replaced.append(Replaced(use, symbol, *where, "patch", continues))
    yield from replaced_changes(worlds, replaced, bodies)


def _is_below(worlds: Worlds, ours: Found | None, old: Found) -> bool:
    """Whether what is put in place is a subclass of what it replaces."""
    if ours is None or ours.kind != "class":
        return False
    return (old.module, old.name) in worlds.old.order((ours.module, ours.name))


def _on_instance(path: str) -> bool:
    return f".{CALLED}." in path


def _ours(worlds: Worlds, use: Use) -> Found | None:
    """The plugin's function that is put in place; None when it is computed."""
    found = worlds.new.resolve(use.value) if use.value else None
    if isinstance(found, Found) and found.module in worlds.plugin.modules:
        return found
    return None


def _bypassed(worlds: Worlds, use: Use, path: str, old: Found, new: Found) -> Change | None:
    """A patch of a name that was the definition, and now only re-exports it from elsewhere.

    Those who import it from its new home do not see the patch.
    """
    front, _, name = path.rpartition(".")
    owner = worlds.new.resolve(front)
    if not isinstance(owner, Found) or owner.kind != "module" or old.module != owner.module:
        return None
    if new.module == owner.module or not worlds.is_upstream(new.module):
        return None
    line = old.symbol.line if old.symbol else 1
    now = new.symbol.line if new.symbol else 1
    return Change(
        "moved",
        "soft",
        old.dotted,
        use,
        before=worlds.old.place(old.module, line),
        after=worlds.new.place(new.module, now),
        detail=f"its home is {new.dotted} now: who uses that does not see the patch",
        mend=f"patch {new.module}.{name}",
        trace=(Where(old.module, old.name), "definition"),
    )
