"""Functions that stand in for upstream's: overriding methods, and what a patch puts in place.

What makes such a function fail is a change of the original's signature, even an optional
parameter; what makes it stale is a change of the original's body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ciwm.upstream.drift.acceptance import Refusal, is_renamed, refusals
from ciwm.upstream.drift.callers import UpstreamCall, upstream_calls
from ciwm.upstream.drift.calls import written
from ciwm.upstream.drift.pair import Change, Where

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ciwm.upstream.drift.bodies import Bodies
    from ciwm.upstream.drift.pair import Worlds
    from ciwm.upstream.drift.symbols import Signature, Symbol
    from ciwm.upstream.drift.uses import Use
    from ciwm.upstream.drift.world import World

_CONSTRUCTORS = ("__init__", "__new__", "__post_init__")


class Replaced(NamedTuple):
    """A function of the plugin (`ours`, None when not known) in place of upstream's.

    `kind` is override or patch; `continues` when ours calls the original.
    """

    use: Use
    ours: Symbol | None
    old: Where
    new: Where
    kind: str
    continues: bool


def replaced_changes(
    worlds: Worlds, replaced: Sequence[Replaced], bodies: Bodies
) -> Iterator[Change]:
    """Signature and body changes of what is replaced."""
    refused = [(each, found) for each in replaced if (found := _refused(worlds, each))]
    asked = {each.new.name.rpartition(".")[2] for each, _ in refused} - set(_CONSTRUCTORS)
    calls = upstream_calls(worlds.upstream[1], asked)
    for each, found in refused:
        yield _signature_change(worlds, each, found, calls)
    told = {id(each) for each, _ in refused}
    rest = [each for each in replaced if id(each) not in told]
    for index, side in enumerate(("old", "new")):
        modules = {getattr(each, side).module for each in rest}
        entries = worlds.upstream[index].modules
        blobs = {
            m: [ix.modules[m].blob for ix in worlds.upstream if m in ix.modules] for m in modules
        }
        changed = [entries[m].blob for m in modules if m in entries and len(set(blobs[m])) > 1]
        bodies.read(worlds.upstream[index].tree, changed)
    for each in rest:
        yield from _body_change(worlds, each, bodies)


def _refused(worlds: Worlds, each: Replaced) -> list[Refusal]:
    """What the original takes at the target, ours does not, and was no matter at the pin."""
    if each.ours is None or each.ours.kind not in ("function", "property"):
        return []
    old, new = worlds.old.rows(*each.old)[0], worlds.new.rows(*each.new)[0]
    if old.kind != new.kind and (new.kind == "property") != (each.ours.kind == "property"):
        what = "property" if new.kind == "property" else "method"
        return [Refusal("is", f"a {what} now", optional=False, at=-1)]
    if old.kind != "function" or new.kind != "function":
        return []
    ours = _without_self(each.ours, each.old.name)
    originals = _without_self(old, each.old.name), _without_self(new, each.new.name)
    before, after = (refusals(ours, original) for original in originals)
    known = {(refusal.what, refusal.name) for refusal in before}
    return sorted(
        r._replace(what="renames") if is_renamed(r, (ours, *originals)) else r
        for r in after
        if (r.what, r.name) not in known
    )


def _without_self(row: Symbol, name: str) -> Signature:
    static = any(mark.rpartition(".")[2] == "staticmethod" for mark in row.marks)
    return row.parameters if static or "." not in name else row.parameters[1:]


def _signature_change(
    worlds: Worlds,
    each: Replaced,
    found: Sequence[Refusal],
    calls: dict[str, list[UpstreamCall]],
) -> Change:
    method = each.new.name.rpartition(".")[2]
    evidence = [call for call in calls.get(method, ()) if any(_passes(call, r) for r in found)]
    # what ours takes in one of the two ways breaks where somebody uses the other, and not before
    whole = [refusal for refusal in found if refusal.what not in ("renames", "names")]
    firm = any(not refusal.optional for refusal in whole)
    unsure = whole and not calls.get(method)
    hard = (firm or evidence or unsure) and method not in _CONSTRUCTORS
    new = worlds.new.rows(*each.new)[0]
    detail = "; ".join(_told(refusal) for refusal in found)
    if evidence:
        detail += f" (a call by that name that does so: {evidence[0].place})"
    elif not firm and calls.get(method):
        detail += " (no call by that name in upstream does so yet)"
    return Change(
        f"{each.kind} signature",
        "soft" if each.use.guard or not hard else "hard",
        f"{each.new.module}.{each.new.name}",
        each.use,
        before=_place(worlds.old, each.old),
        after=worlds.new.place(each.new.module, new.line),
        detail=detail,
        mend=f"take ({written(new.parameters)})",
        trace=(each.new, "signature"),
    )


def _passes(call: UpstreamCall, refusal: Refusal) -> bool:
    if refusal.what == "demands":
        left_out = refusal.name not in call.keywords and not call.hides
        return refusal.optional and left_out and not 0 <= refusal.at < call.positional
    by_name = refusal.what in ("lacks", "renames") and refusal.name in call.keywords
    return by_name or 0 <= refusal.at < call.positional


def _told(refusal: Refusal) -> str:
    if refusal.what == "is":
        return f"the original is {refusal.name}"
    if refusal.what == "renames":
        return f"has the former name of {refusal.name}, which goes well by position only"
    if refusal.what == "names":
        return f"takes {refusal.name} by keyword only"
    if refusal.what == "reorders":
        return f"{refusal.name} has another place now"
    if refusal.what == "demands":
        return (
            f"upstream {'need not pass' if refusal.optional else 'no longer passes'} {refusal.name}"
        )
    return f"lacks the {'optional' if refusal.optional else 'required'} parameter {refusal.name}"


def _body_change(worlds: Worlds, each: Replaced, bodies: Bodies) -> Iterator[Change]:
    if each.continues or not bodies.differ(worlds, each.old, each.new):
        return
    verb = "patched" if each.kind == "patch" else "overridden"
    yield Change(
        f"{verb} body changed",
        "soft",
        f"{each.new.module}.{each.new.name}",
        each.use,
        before=_place(worlds.old, each.old),
        after=_place(worlds.new, each.new),
        detail="what stands in for it may be out of date",
        mend=f"compare it with {each.new.name} at the target",
        trace=(each.new, "body"),
    )


def _place(world: World, where: Where) -> str:
    rows = world.rows(*where)
    return world.place(where.module, rows[0].line) if rows else ""
