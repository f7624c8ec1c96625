"""Operators by name: what a plugin implements or calls, and upstream's schemas for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ciwm.upstream.drift.pair import Change
from ciwm.upstream.drift.uses import Use

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ciwm.upstream.drift.pair import Worlds
    from ciwm.upstream.drift.tree import Tree

_NATIVE = re.compile(rb"^- func: *([\w.]+)(\([^\n]*)", re.MULTILINE)
_CPP_DEF = re.compile(rb'\bdef\(\s*((?:"[^"\n]*"\s*)+)')
_PYTHON_DEF = re.compile(
    rb'direct_register_custom_op\(\s*(?:op_name\s*=\s*)?"(\w+)"'
    rb'|\.define\(\s*((?:"[^"\n]*"\s*)+)|custom_op\(\s*"\w+::(\w+)"'
)
_PYTHON_MAKES = (b"custom_op(", b".define(")  # sought first: ten times as quick
_CPP_IMPL = re.compile(rb'\bimpl\(\s*(?:\w+\(\s*)?"([\w:.]+)"')
_CPP = (".cpp", ".cc", ".cxx", ".cu", ".h", ".hpp", ".cuh", ".mm", ".hip")
_SCANNED_AT_MOST = 6_000  # C++ files of upstream, where there is no native_functions.yaml


class Operator(NamedTuple):
    """One operator's schema as declared, and where; the schema is empty when it is computed."""

    schema: str
    place: str


def operator_changes(worlds: Worlds, uses: Sequence[Use]) -> Iterator[Change]:
    """A change for each operator used by name that upstream removed or gave another schema."""
    wanted = [*(use for use in uses if use.kind == "operator"), *_cpp_uses(worlds.plugin.tree)]
    if not wanted:
        return
    old, new = _tables(worlds)
    found = [change for use in wanted for change in _change(use, old, new)]
    if not found:  # most often: then the plugin's own declarations do not matter
        return
    own = _declared(worlds.plugin.tree, _own_files(worlds.plugin.tree))
    yield from (change for change in found if _plain(change.use.paths[0]) not in own)


def _change(use: Use, old: Mapping[str, Operator], new: Mapping[str, Operator]) -> list[Change]:
    """What became of the operator of one use; empty when nothing did."""
    name = _plain(use.paths[0])
    before, after = old.get(name), new.get(name)
    if before is None:
        return []
    if after is None:
        return [_removed(use, name, before)]
    if before.schema and after.schema and before.schema != after.schema:
        return [_changed(use, name, before, after)]
    return []


def _plain(name: str) -> str:
    """The name without its namespace: aten::add.Tensor is add.Tensor."""
    return name.rpartition("::")[2]


def _removed(use: Use, name: str, before: Operator) -> Change:
    return Change(
        "removed",
        "soft" if use.guard else "hard",
        f"operator {name}",
        use,
        before=before.place,
        detail="upstream declares no such operator any more",
        mend=f"stop using the operator {name}, or declare it yourself",
    )


def _changed(use: Use, name: str, before: Operator, after: Operator) -> Change:
    return Change(
        "operator schema changed",
        "soft" if use.guard or _only_defaults_added(before.schema, after.schema) else "hard",
        f"operator {name}",
        use,
        before=before.place,
        after=after.place,
        detail=f"was {before.schema}, is {after.schema}",
        mend=f"follow the new schema of {name}",
    )


def _only_defaults_added(before: str, after: str) -> bool:
    """Whether the new schema only has more arguments with defaults at its end."""
    (old, old_out), (new, new_out) = (_arguments(schema) for schema in (before, after))
    added = new[len(old) :]
    return old_out == new_out and new[: len(old)] == old and all("=" in each for each in added)


def _arguments(schema: str) -> tuple[list[str], str]:
    inside, _, result = schema.partition("->")
    plain = [part.strip() for part in inside.strip().strip("()").split(",")]
    return [part for part in plain if part and part != "*"], result.strip()


def _tables(worlds: Worlds) -> tuple[dict[str, Operator], dict[str, Operator]]:
    """Operators by name at both revisions, read only from files that differ or stand for all."""
    old, new = (index.tree for index in worlds.upstream)
    native = [path for path in old.files if path.rpartition("/")[2] == "native_functions.yaml"]
    if native:
        return _declared(old, native), _declared(new, [p for p in native if p in new.files])
    same = {path for path, blob in old.files.items() if new.files.get(path) == blob}
    changed = [[p for p in tree.files if p not in same and _may_declare(p)] for tree in (old, new)]
    if sum(map(len, changed)) > _SCANNED_AT_MOST:
        return {}, {}
    before, after = (
        _declared(tree, paths) for tree, paths in zip((old, new), changed, strict=True)
    )
    gone = before.keys() - after.keys()
    kept = _declared(new, [p for p in same if _may_declare(p)]) if gone else {}
    return before, {**kept, **after}


def _may_declare(path: str) -> bool:
    return path.endswith((*_CPP, ".py"))


def _own_files(tree: Tree) -> list[str]:
    return [path for path in tree.files if _may_declare(path)]


def _declared(tree: Tree, paths: Iterable[str]) -> dict[str, Operator]:
    """Operators that files declare, by name without namespace."""
    by_blob = {tree.files[path]: path for path in paths}
    found: dict[str, Operator] = {}
    for blob, content in tree.contents(by_blob):
        path = by_blob[blob]
        for at, name, schema in _declarations(path, content or b""):
            line = (content or b"").count(b"\n", 0, at) + 1
            found.setdefault(name, Operator(schema, f"{path}:{line}"))
    return found


def _declarations(path: str, content: bytes) -> Iterator[tuple[int, str, str]]:
    """Offset, name and schema of each declaration in a file."""
    if path.endswith(".yaml"):
        for match in _NATIVE.finditer(content):
            yield match.start(), match[1].decode(), match[2].decode("utf-8", "replace").strip()
        return
    pattern = _PYTHON_DEF if path.endswith(".py") else _CPP_DEF
    if pattern is _PYTHON_DEF and not any(word in content for word in _PYTHON_MAKES):
        return
    for match in pattern.finditer(content):
        groups = [group for group in match.groups() if group]
        text = b"".join(re.findall(rb'"([^"\n]*)"', groups[0])) or groups[0]
        name, bracket, rest = text.decode("utf-8", "replace").partition("(")
        if re.fullmatch(r"[\w:.]+", name):
            schema = " ".join(f"({rest}".split()) if bracket else ""
            yield match.start(), name.rpartition("::")[2], schema


def _cpp_uses(tree: Tree) -> Iterator[Use]:
    """Operators that the plugin's C++ sources implement."""
    by_blob = {tree.files[path]: path for path in tree.files if path.endswith(_CPP)}
    for blob, content in tree.contents(by_blob):
        for match in _CPP_IMPL.finditer(content or b""):
            line = (content or b"").count(b"\n", 0, match.start()) + 1
            yield Use("operator", (match[1].decode(),), by_blob[blob], line)
