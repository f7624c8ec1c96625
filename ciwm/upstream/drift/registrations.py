"""What a plugin registers: registries whose code changed, entry points nobody loads."""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING, Any

from ciwm.upstream.drift.outcome import Found
from ciwm.upstream.drift.pair import Change, Where
from ciwm.upstream.drift.parsing import UnparsedError, dotted, parsed
from ciwm.upstream.drift.uses import Use

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ciwm.upstream.drift.bodies import Bodies
    from ciwm.upstream.drift.index import Index
    from ciwm.upstream.drift.pair import Worlds

_NAMED = 6


def registration_changes(worlds: Worlds, uses: Sequence[Use], bodies: Bodies) -> Iterator[Change]:
    """A change for each registration whose registry's module has other code at the target.

    What is registered still is; what upstream does with it may differ.
    """
    changed: dict[str, list[str]] = {}
    for use in uses:
        if use.kind != "registration":
            continue
        found = worlds.old.resolve(use.paths[0])
        now = worlds.new.resolve(use.paths[0])
        if not isinstance(found, Found) or not isinstance(now, Found):
            continue
        if found.symbol is None or now.symbol is None or found.module != now.module:
            continue
        module = found.module
        if not worlds.is_upstream(module):
            continue
        if module not in changed:
            changed[module] = list(_changed(worlds, module, bodies))
        if not changed[module]:
            continue
        names = changed[module]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        yield Change(
            "registry changed",
            "soft",
            found.dotted,
            use,
            before=worlds.old.place(module, found.symbol.line),
            after=worlds.new.place(module, _line(worlds, module, names[0], now.symbol.line)),
            detail=f"in the registry's module: {', '.join(names[:_NAMED])}{more}",
            mend=f"check that what is registered still meets what {module} asks of it",
            trace=(Where(module, names[0]), "body"),
        )


def _line(worlds: Worlds, module: str, name: str, otherwise: int) -> int:
    rows = worlds.new.rows(module, name)
    return rows[0].line if rows else otherwise


def _changed(worlds: Worlds, module: str, bodies: Bodies) -> Iterator[str]:
    """Functions of a module whose body differs, without those that are new or gone."""
    summary = worlds.new.summary(module)
    for name, rows in summary.names.items() if summary else ():
        is_function = rows[0].kind in ("function", "property")
        both = is_function and worlds.old.rows(module, name)
        if both and bodies.differ(worlds, (module, name), (module, name)):
            yield name


def entry_point_changes(worlds: Worlds) -> Iterator[Change]:
    """A change for each entry point group that upstream named at the pin and names no more."""
    groups = dict(_entry_points(worlds))
    if not groups:
        return
    old, new = (_naming(index, groups) for index in worlds.upstream)
    for group, place in groups.items():
        if group not in old or group in new:
            continue
        path, _, line = place.rpartition(":")
        yield Change(
            "removed",
            "hard",
            f"entry point group {group}",
            Use("entry point", (), path, int(line)),
            before=old[group],
            detail="upstream no longer loads it",
            mend="declare the group that upstream loads now",
        )


def _naming(index: Index, groups: dict[str, str]) -> dict[str, str]:
    """Where upstream's sources have a group's name as a string."""
    quoted = b"|".join(re.escape(group.encode()) for group in groups)
    pattern = re.compile(rb"[\"'](" + quoted + rb")[\"']")
    paths = {module.blob: module.path for module in index.modules.values() if module.path}
    found: dict[str, str] = {}
    for blob, content in index.tree.contents(paths):
        for match in pattern.finditer(content or b""):
            line = (content or b"").count(b"\n", 0, match.start()) + 1
            found.setdefault(match[1].decode(), f"{paths[blob]}:{line}")
    return found


def _entry_points(worlds: Worlds) -> Iterator[tuple[str, str]]:
    """Groups of the plugin's own metadata, with `path:line`."""
    tree = worlds.plugin.tree
    wanted = {
        name: tree.files[name] for name in ("setup.py", "pyproject.toml") if name in tree.files
    }
    contents = dict(tree.contents(wanted.values()))
    for name, blob in wanted.items():
        content = contents.get(blob) or b""
        read = _from_setup if name == "setup.py" else _from_pyproject
        for group in read(content):
            at = content.find(group.encode())
            yield group, f"{name}:{content.count(bytes([10]), 0, max(at, 0)) + 1}"


def _from_setup(content: bytes) -> Iterator[str]:
    try:
        tree = parsed(content)
    except UnparsedError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] == "setup":
            for keyword in node.keywords:
                if keyword.arg == "entry_points" and isinstance(keyword.value, ast.Dict):
                    keys = (key for key in keyword.value.keys if isinstance(key, ast.Constant))
                    yield from (key.value for key in keys if isinstance(key.value, str))


def _from_pyproject(content: bytes) -> Iterator[str]:
    try:
        project: Any = tomllib.loads(content.decode("utf-8")).get("project", {})
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        return
    groups = project.get("entry-points", {}) if isinstance(project, dict) else {}
    yield from groups if isinstance(groups, dict) else ()
