"""The modules of one revision, and what each of them defines."""

from __future__ import annotations

import gc
import posixpath
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ciwm.errors import UsageError
from ciwm.upstream.drift.parsing import UnparsedError, parsed
from ciwm.upstream.drift.summary import summary_of
from ciwm.upstream.drift.symbols import COMPILED, EMPTY, Summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ciwm.upstream.drift.tree import Tree

UNREAD = "the contents are missing, damaged or too large"
_COMPILED = (".pyx", ".so", ".pyd")
_NEVER_A_PACKAGE = {"tests", "test", "docs", "doc", "examples", "benchmarks", "tools", "scripts"}


class Module(NamedTuple):
    """One module: where it is, its contents' id, and whether it is a package's __init__."""

    name: str
    path: str
    blob: str
    package: bool


@dataclass
class Blobs:
    """Summaries by contents: shared by revisions, as most files are equal in both."""

    summaries: dict[str, Summary] = field(default_factory=dict)
    unparsed: dict[str, str] = field(default_factory=dict)

    def known(self, blob: str) -> bool:
        """Whether these contents were looked at before."""
        return blob in self.summaries or blob in self.unparsed

    def add(self, blob: str, content: bytes | None) -> None:
        """Look at contents; None when git does not have them."""
        if content is None:
            self.unparsed[blob] = UNREAD
            return
        try:
            self.summaries[blob] = summary_of(parsed(content), content)
        except (UnparsedError, RecursionError) as error:
            self.unparsed[blob] = str(error) or "nested too deep"

    def read(self, tree: Tree, blobs: Iterable[str]) -> None:
        """Look at all contents that were not looked at before."""
        unknown = [blob for blob in dict.fromkeys(blobs) if not self.known(blob)]
        with no_collection():
            for blob, content in tree.contents(unknown):
                self.add(blob, content)


@dataclass
class Index:
    """The modules of one revision by name, with their summaries."""

    tree: Tree
    modules: dict[str, Module]
    blobs: Blobs

    def summary(self, module: str) -> Summary | None:
        """What a module defines; None when its file does not parse."""
        entry = self.modules[module]
        if not entry.path:
            return EMPTY if entry.package else COMPILED
        return self.blobs.summaries.get(entry.blob)

    @property
    def unparsed(self) -> dict[str, str]:
        """Paths of files that do not parse, and why."""
        reasons = self.blobs.unparsed
        return {m.path: reasons[m.blob] for m in self.modules.values() if m.blob in reasons}


@contextmanager
def no_collection() -> Iterator[None]:
    """Without the cycle collector, which walks all syntax trees again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def build_index(tree: Tree, folders: Mapping[str, str], blobs: Blobs) -> Index:
    """Index the packages in `folders` (folder by package name)."""
    modules: dict[str, Module] = {}
    for package, folder in folders.items():
        modules |= package_modules(tree.files, package, folder)
    blobs.read(tree, (module.blob for module in modules.values() if module.path))
    return Index(tree, modules, blobs)


def package_modules(files: Mapping[str, str], package: str, folder: str) -> dict[str, Module]:
    """Modules below a folder; folders without __init__ are modules too (namespace packages).

    One that is compiled has no path to read, unless there is a stub for it.
    """
    found: dict[str, Module] = {}
    for path, blob in files.items():
        stem, extension = posixpath.splitext(path)
        if not path.startswith(f"{folder}/"):
            continue
        if extension in _COMPILED:
            name = _compiled_name(path, package, folder)
            found.setdefault(name, Module(name, "", "", package=False))
        if extension not in (".py", ".pyi"):
            continue
        name = ".".join([package, *stem[len(folder) + 1 :].split("/")])
        is_package = name.endswith(".__init__")
        name = name.removesuffix(".__init__")
        if name not in found or extension == ".py" or not found[name].path:
            found[name] = Module(name, path, blob, is_package)
        while "." in name:
            name = name.rpartition(".")[0]
            found.setdefault(name, Module(name, "", "", package=True))
    return found


def _compiled_name(path: str, package: str, folder: str) -> str:
    """`_C.abi3.so` is imported as _C."""
    above, base = posixpath.split(path[len(folder) + 1 :])
    parts = [package, *above.split("/"), base.partition(".")[0]]
    return ".".join(part for part in parts if part)


def package_folders(
    files: Mapping[str, str], packages: Sequence[str], where: str
) -> dict[str, str]:
    """The folder of each package, the one nearest to the top; raises UsageError for one absent."""
    folders = sorted(
        {posixpath.dirname(path) for path in files if path.endswith((".py", ".pyi"))},
        key=lambda folder: (folder.count("/"), folder),
    )
    found = {}
    for package in packages:
        tail = package.replace(".", "/")
        fitting = [f for f in folders if f == tail or f.endswith(f"/{tail}")]
        fitting = [f for f in fitting if f"{f}/__init__.py" in files] or fitting
        below = [f for f in folders if f.startswith(f"{tail}/") or f"/{tail}/" in f]
        if not fitting and below:
            at = (
                below[0].find(f"{tail}/")
                if below[0].startswith(tail)
                else below[0].find(f"/{tail}/") + 1
            )
            fitting = [below[0][: at + len(tail)]]
        if not fitting:
            raise UsageError(
                f"there is no Python package {package} in {where}",
                f'state the name it is imported by: [upstream] package = "..." '
                f"(there are: {', '.join(sorted(top_packages(files))[:8]) or 'none'})",
            )
        found[package] = fitting[0]
    return found


def top_packages(files: Mapping[str, str]) -> dict[str, str]:
    """Folder by name of the packages that lie in no other package, tests and tools left out."""
    inits = {posixpath.dirname(path) for path in files if path.endswith("/__init__.py")}
    found: dict[str, str] = {}
    for folder in sorted(inits, key=lambda each: (each.count("/"), each)):
        name = posixpath.basename(folder)
        parts = set(folder.split("/"))
        if posixpath.dirname(folder) not in inits and not parts & _NEVER_A_PACKAGE:
            found.setdefault(name, folder)
    return found


def plugin_modules(files: Mapping[str, str]) -> dict[str, Module]:
    """All Python files of a plugin by the name they are imported by.

    The topmost folder with an __init__ is the package; a file in none of them is a module by
    itself, under a name that nothing can import.
    """
    inits = {posixpath.dirname(path) for path in files if path.endswith("/__init__.py")}
    found = {}
    for path, blob in files.items():
        if not path.endswith(".py"):
            continue
        parts = path.removesuffix(".py").split("/")
        tops = [n for n in range(1, len(parts)) if "/".join(parts[:n]) in inits]
        name = ".".join(parts[tops[0] - 1 :]) if tops else f"<{path}>".replace(".", "_")
        is_package = name.endswith(".__init__")
        name = name.removesuffix(".__init__")
        found[name if name not in found else f"<{path}>".replace(".", "_")] = Module(
            name, path, blob, is_package
        )
    return found
