"""Whether the text of a definition changed, beyond comments, docstrings and layout."""

from __future__ import annotations

import ast
import hashlib
from typing import TYPE_CHECKING

from ciwm.upstream.drift.on_self import FunctionNode
from ciwm.upstream.drift.parsing import UnparsedError, parsed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ciwm.upstream.drift.index import Index
    from ciwm.upstream.drift.pair import Worlds
    from ciwm.upstream.drift.tree import Tree

_FILES_KEPT = 100
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Bodies:
    """Digests of definitions by contents and name; each is made when it is asked for."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes | None] = {}
        self._nodes: dict[str, dict[str, list[ast.stmt]]] = {}
        self._digests: dict[tuple[str, str], tuple[str, ...]] = {}

    def read(self, tree: Tree, blobs: Iterable[str]) -> None:
        """Read many files at once, so that asking for each costs no process."""
        wanted = [blob for blob in dict.fromkeys(blobs) if blob not in self._contents]
        self._contents |= dict(tree.contents(wanted))

    def of(self, tree: Tree, blob: str, name: str) -> tuple[str, ...]:
        """Digests of all definitions of a qualified name in a file; empty when there is none."""
        known = self._digests.get((blob, name))
        if known is None:
            self.read(tree, [blob])
            found = self._definitions(blob).get(name, ())
            known = self._digests[blob, name] = tuple(digest(node) for node in found)
        return known

    def _definitions(self, blob: str) -> dict[str, list[ast.stmt]]:
        """The definitions of a file; those of the last few files are kept."""
        if blob not in self._nodes:
            while len(self._nodes) >= _FILES_KEPT:
                del self._nodes[next(iter(self._nodes))]
            self._nodes[blob] = _defined(self._contents.get(blob))
        return self._nodes[blob]

    def differ(self, worlds: Worlds, old: tuple[str, str], new: tuple[str, str]) -> bool:
        """Whether a definition (module and name) at the pin differs from one at the target."""
        before, after = (
            self._blob(index, module)
            for index, module in zip(worlds.upstream, (old[0], new[0]), strict=True)
        )
        if not before or not after or (before == after and old[1] == new[1]):
            return False
        first = self.of(worlds.upstream[0].tree, before, old[1])
        second = self.of(worlds.upstream[1].tree, after, new[1])
        return bool(first) and bool(second) and first != second

    @staticmethod
    def _blob(index: Index, module: str) -> str:
        return index.modules[module].blob if module in index.modules else ""


def _defined(content: bytes | None) -> dict[str, list[ast.stmt]]:
    try:
        tree = parsed(content or b"")
    except UnparsedError:
        return {}
    found: dict[str, list[ast.stmt]] = {}
    _walk(tree.body, "", found)
    return found


def _walk(body: Iterable[ast.stmt], scope: str, found: dict[str, list[ast.stmt]]) -> None:
    for node in body:
        if isinstance(node, _Definition):
            name = f"{scope}{node.name}"
            found.setdefault(name, []).append(node)
            if isinstance(node, ast.ClassDef):
                _walk(node.body, f"{name}.", found)
        else:
            for part in ("body", "orelse", "finalbody"):
                _walk(getattr(node, part, ()), scope, found)
            for handler in getattr(node, "handlers", ()):
                _walk(handler.body, scope, found)


def digest(node: ast.stmt) -> str:
    """A digest of a definition's tree without positions, docstrings and annotations."""
    for each in ast.walk(node):
        body = getattr(each, "body", None)
        if (
            isinstance(each, _Definition)
            and isinstance(body, list)
            and ast.get_docstring(each, clean=False) is not None
        ):
            each.body = each.body[1:] or [ast.Pass()]
        if isinstance(each, FunctionNode):
            each.returns = None
        if isinstance(each, ast.arg):
            each.annotation = None
    return hashlib.sha256(ast.dump(node).encode("utf-8", "surrogatepass")).hexdigest()
