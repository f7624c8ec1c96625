"""How much of upstream a plugin touches, and what reading it could not tell."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ciwm.records.sync_drift import BlindSpot, PluginSurface
from ciwm.upstream.drift.outcome import Missing, Unseen
from ciwm.upstream.drift.overrides import plugin_classes
from ciwm.upstream.drift.surface import counted
from ciwm.upstream.names import readable_path, readable_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ciwm.upstream.drift.pair import Worlds
    from ciwm.upstream.drift.prepare import Prepared
    from ciwm.upstream.drift.surface import Surface

_LISTED = 5
_FILES_LISTED = 5_000


def extent(surface: Surface, worlds: Worlds) -> PluginSurface:
    """Places that use upstream at the pin, by kind, and the different symbols they reach."""
    kinds: Counter[str] = Counter()
    symbols: set[str] = set()
    files: set[str] = set()
    theirs: set[str] = set()
    for use in surface.uses:
        reached = next((r for path in use.paths if (r := worlds.reached(path))), None)
        if reached is not None or use.kind == "operator":
            kinds[use.kind] += 1
            files.add(use.path)
        if reached is not None:
            symbols.add(reached[1].dotted)
            theirs.add(reached[1].module)
    classes = plugin_classes(worlds)
    theirs |= {module for own in classes for module, _ in worlds.old.order(own.cls)}
    return PluginSurface(
        files=len(files),
        imports=kinds["import"],
        attributes=kinds["attribute"] + kinds["set"],
        calls=kinds["call"],
        subclasses=len(classes),
        overrides=sum(_overridden(worlds, own.cls, own.members) for own in classes),
        patches=kinds["patch"] + kinds["mock"],
        strings=kinds["string"],
        registrations=kinds["registration"],
        operators=kinds["operator"],
        symbols=len(symbols),
        upstream_files=_files(worlds, theirs)[:_FILES_LISTED],
    )


def _files(worlds: Worlds, modules: Iterable[str]) -> tuple[str, ...]:
    """Upstream's files at the pin that define some modules; modules of others have none."""
    known = worlds.upstream[0].modules
    paths = {known[module].path for module in modules if module in known}
    return tuple(readable_path(path) for path in sorted(paths - {""}))


def _overridden(worlds: Worlds, cls: tuple[str, str], members: Mapping[str, object]) -> int:
    above = [each for each in worlds.old.order(cls)[1:] if worlds.is_upstream(each[0])]
    return sum(
        any(worlds.old.rows(module, f"{owner}.{name}") for module, owner in above)
        for name in members
    )


def unseen(prepared: Prepared, worlds: Worlds) -> tuple[BlindSpot, ...]:
    """What the findings cannot cover, the most frequent of each sort first."""
    surface = prepared.surface
    found = [
        BlindSpot(what=readable_text(what), count=number, examples=_shown(places))
        for what, number, places in counted([*surface.dynamic, *_lost(surface, worlds)])
    ]
    found += _unread(surface.unparsed, "files of the plugin that could not be read")
    for index, where in ((prepared.pins[0], "pin"), (prepared.target, "target")):
        problems = {**index.unparsed, **index.tree.problems}
        found += _unread(problems, f"files of upstream at the {where} that could not be read")
    if native := surface.native_files:
        what = "sources in other languages, of which only operator names are read"
        found.append(BlindSpot(what=what, count=len(native), examples=_shown(native[:_LISTED])))
    return tuple(found)


def _unread(problems: dict[str, str], what: str) -> Iterator[BlindSpot]:
    if problems:
        told = [f"{path}: {why}" for path, why in list(problems.items())[:_LISTED]]
        yield BlindSpot(what=what, count=len(problems), examples=_shown(told))


def _lost(surface: Surface, worlds: Worlds) -> Iterator[tuple[str, str]]:
    """Uses that begin in upstream, and whose end reading does not show."""
    for use in surface.uses:
        for path in use.paths[:1]:
            if use.kind == "operator":
                continue
            outcome = worlds.old.resolve(path)
            if isinstance(outcome, Missing) and use.kind == "import":
                if worlds.is_upstream(outcome.module):
                    yield "imports that the pin does not have either", use.place
            elif isinstance(outcome, Unseen) and worlds.is_upstream(outcome.module):
                yield f"uses of {outcome.why}", use.place


def _shown(places: Iterable[str]) -> tuple[str, ...]:
    return tuple(readable_text(place) for place in places)
