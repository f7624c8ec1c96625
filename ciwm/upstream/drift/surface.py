"""The plugin as read: its modules, every use of a name, and what reading could not tell."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ciwm.upstream.drift.collector import Collector
from ciwm.upstream.drift.index import UNREAD, Blobs, Index, no_collection, plugin_modules
from ciwm.upstream.drift.parsing import UnparsedError, parsed
from ciwm.upstream.drift.summary import summary_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from ciwm.upstream.drift.index import Module
    from ciwm.upstream.drift.tree import Tree
    from ciwm.upstream.drift.uses import Use

_CPP = (".cpp", ".cc", ".cxx", ".cu", ".cuh", ".h", ".hpp", ".mm", ".hip")


@dataclass
class Surface:
    """Everything a plugin uses; `unparsed` and `dynamic` are where reading stopped."""

    index: Index
    uses: list[Use] = field(default_factory=list)
    unparsed: dict[str, str] = field(default_factory=dict)
    dynamic: list[tuple[str, str]] = field(default_factory=list)  # what, path:line

    @property
    def native_files(self) -> list[str]:
        """Sources in other languages, of which only operator names are read."""
        return sorted(path for path in self.index.tree.files if path.endswith(_CPP))


def read_plugin(tree: Tree, packages: Collection[str]) -> Surface:
    """Parse every Python file of a plugin; `packages` are upstream's."""
    modules = plugin_modules(tree.files)
    tops = frozenset(package.partition(".")[0] for package in packages)
    surface = Surface(Index(tree, modules, Blobs()))
    surface.unparsed |= tree.problems
    by_blob: defaultdict[str, list[Module]] = defaultdict(list)
    for module in modules.values():
        by_blob[module.blob].append(module)
    with no_collection():
        for blob, content in tree.contents(by_blob):
            for module in by_blob[blob]:
                _read_file(surface, module, content, tops)
    return surface


def _read_file(
    surface: Surface, module: Module, content: bytes | None, tops: frozenset[str]
) -> None:
    if content is None:
        surface.unparsed[module.path] = UNREAD
        return
    try:
        tree = parsed(content)
        summary = surface.index.blobs.summaries.setdefault(module.blob, summary_of(tree, content))
        found = Collector(module, summary, tops).file(tree)
    except UnparsedError as error:
        surface.unparsed[module.path] = str(error)
        return
    except RecursionError:
        surface.unparsed[module.path] = "nested too deep"
        return
    surface.uses += found.uses
    surface.dynamic += ((what, f"{module.path}:{line}") for what, line in found.dynamic)


def counted(pairs: Collection[tuple[str, str]]) -> list[tuple[str, int, tuple[str, ...]]]:
    """What, how often, and the first places; the most frequent first."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for what, place in pairs:
        places[what].append(place)
    order = Counter({what: len(found) for what, found in places.items()})
    return [(what, number, tuple(places[what][:3])) for what, number in order.most_common()]
