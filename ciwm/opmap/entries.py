"""Whether the file and function that a workload names are there, by reading and not running it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ciwm.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from ciwm.opmap.subjects import Subject

# with one of these in it a file may define names that nobody can read off it
_BY_RUNNING = {"*", "__getattr__", "globals", "setattr", "exec", "vars", "sys"}


def refuse_missing(subjects: Iterable[Subject], root: Path) -> None:
    """Raise ConfigError for the first workload whose file or function is plainly not there."""
    for subject in subjects:
        path = root / subject.file
        if not path.is_file():
            raise ConfigError(
                f"workload {subject.workload}: there is no file {subject.file}",
                "give the path from the repository's root, as file.py:build",
            )
        wanted = subject.callable.partition(".")[0]
        names = _names(path)
        if names is not None and wanted not in names:
            raise ConfigError(
                f"workload {subject.workload}: there is no {wanted} in {subject.file}",
                f"it defines: {', '.join(sorted(names)[:8]) or 'nothing'}",
            )


def _names(path: Path) -> set[str] | None:
    """All names that a file binds, at any depth; None where it cannot be told by reading."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, ValueError, SyntaxError, RecursionError):
        return None  # the workload's own interpreter will say what is wrong with it
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    bound = {name for node in ast.walk(tree) for name in _bound(node)}
    return None if (used | bound) & _BY_RUNNING else bound


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.alias):
        yield node.asname or node.name.partition(".")[0]
