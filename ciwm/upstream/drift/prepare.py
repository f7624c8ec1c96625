"""The plugin and both sides of upstream, read and indexed, with what is kept in the cache."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.errors import UsageError
from ciwm.upstream.drift.cache import load_index, save_index
from ciwm.upstream.drift.index import Blobs, Index, build_index, package_folders, top_packages
from ciwm.upstream.drift.surface import Surface, read_plugin

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ciwm.upstream.drift.tree import Tree

_IMPORT = re.compile(rb"^[ \t]*(?:from|import)[ \t]+([A-Za-z_]\w*)", re.MULTILINE)


@dataclass(frozen=True)
class Prepared:
    """Everything that is compared; `folders` are upstream's packages at the target."""

    surface: Surface
    pins: tuple[Index, ...]
    target: Index
    folders: Mapping[str, str]
    notes: tuple[str, ...] = ()


def prepare(plugin: Tree, pins: Sequence[Tree], target: Tree, packages: Sequence[str]) -> Prepared:
    """Read all of it; raises UsageError when upstream's package cannot be found."""
    packages = packages or _imported_packages(plugin, target)
    blobs, notes = Blobs(), list[str]()
    indexes = [_indexed(tree, packages, blobs, "the pin", notes) for tree in pins]
    newest = _indexed(target, packages, blobs, "the target", notes)
    folders = package_folders(target.files, packages, "the target")
    said = tuple(dict.fromkeys(note for note in notes if note))
    return Prepared(read_plugin(plugin, packages), tuple(indexes), newest, folders, said)


def _indexed(
    tree: Tree, packages: Sequence[str], blobs: Blobs, where: str, notes: list[str]
) -> Index:
    folders = package_folders(tree.files, packages, where)
    known = load_index(tree.id, folders, blobs)
    index = build_index(tree, folders, blobs)
    if not known:
        notes.append(save_index(index, folders))
    return index


def _imported_packages(plugin: Tree, target: Tree) -> tuple[str, ...]:
    """Upstream's packages that the plugin imports, the most imported first."""
    theirs = top_packages(target.files)
    ours = set(top_packages(plugin.files))
    counts: Counter[str] = Counter()
    sources = (blob for path, blob in plugin.files.items() if path.endswith(".py"))
    for _, content in plugin.contents(sources):
        counts.update(found.decode() for found in set(_IMPORT.findall(content or b"")))
    found = tuple(name for name, _ in counts.most_common() if name in theirs and name not in ours)
    if not found:
        raise UsageError(
            "the plugin imports none of upstream's packages "
            f"({', '.join(sorted(theirs)[:8]) or 'upstream has no Python package'})",
            'state the name it is imported by: [upstream] package = "..."',
        )
    return found
