"""From a syntax tree to the summary of its file."""

from __future__ import annotations

import ast
from collections import defaultdict
from typing import TYPE_CHECKING

from ciwm.upstream.drift.on_self import FunctionNode, bound_by_blocks, parts_of, self_targets
from ciwm.upstream.drift.parsing import as_written, class_named, dotted
from ciwm.upstream.drift.symbols import (
    KEYWORD_ONLY,
    POSITIONAL,
    POSITIONAL_ONLY,
    VAR_KEYWORD,
    VAR_POSITIONAL,
    Parameter,
    Signature,
    Summary,
    Symbol,
)
from ciwm.upstream.drift.unsure import unsure_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_PROPERTIES = {"property", "cached_property", "functools.cached_property", "abstractproperty"}
_FIELD_MAKERS = {"field", "Field", "attrib", "ib"}
_ON_DEMAND_AT_MOST = 5_000


def summary_of(tree: ast.Module, content: bytes) -> Summary:
    """What a file defines at module and class level, and what its methods set on self."""
    reader = SummaryReader()
    reader.block(tree.body, "", ())
    return reader.summary(tree)._replace(unsure=unsure_names(tree, content))


class SummaryReader:
    """Collects definitions; several of one name (branches, overloads) are all kept."""

    def __init__(self) -> None:
        self.names: defaultdict[str, list[Symbol]] = defaultdict(list)
        self.stars: list[str] = []
        self.exported: list[str] | None = None

    def summary(self, tree: ast.Module) -> Summary:
        """What was collected."""
        on_demand = tuple(_strings(tree)) if "__getattr__" in self.names else None
        names = {name: tuple(_without_stubs(rows)) for name, rows in self.names.items()}
        exported = None if self.exported is None else tuple(self.exported)
        return Summary(names, tuple(self.stars), exported, on_demand)

    def block(self, body: Iterable[ast.stmt], scope: str, marks: tuple[str, ...]) -> None:
        """Read the statements of a module or a class; `scope` ends in a dot, or is empty."""
        for node in body:
            if isinstance(node, FunctionNode):
                self._function(node, scope, marks)
            elif isinstance(node, ast.ClassDef):
                self.class_(node, scope, marks)
            elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
                self._assignment(node, scope, marks)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                self._imports(node, scope, marks)
            else:
                self._nested(node, scope, marks)

    def class_(self, node: ast.ClassDef, scope: str, marks: tuple[str, ...] = ()) -> None:
        """Read a class."""
        keywords = tuple(
            f"{keyword.arg}={as_written(keyword.value)}" for keyword in node.keywords if keyword.arg
        )
        self.names[f"{scope}{node.name}"].append(
            Symbol(
                "class",
                node.lineno,
                node.end_lineno or node.lineno,
                bases=tuple(_base_name(base) for base in node.bases),
                marks=(*_decorators(node), *keywords, *marks),
            )
        )
        self.block(node.body, f"{scope}{node.name}.", ())

    def _nested(self, node: ast.stmt, scope: str, marks: tuple[str, ...]) -> None:
        """Branches, loops and with blocks of a module or a class."""
        inner = marks
        if isinstance(node, ast.If) and is_type_checking(node.test):
            inner = (*marks, "typing")
        self.block(getattr(node, "body", ()), scope, inner)
        for part in ("orelse", "finalbody"):
            self.block(getattr(node, part, ()), scope, marks)
        for part in ("handlers", "cases"):
            for branch in getattr(node, part, ()):
                self.block(branch.body, scope, marks)
        for target, _ in bound_by_blocks(node):
            self._attribute(target, node, scope, marks)

    def _function(self, node: FunctionNode, scope: str, marks: tuple[str, ...]) -> None:
        decorators = _decorators(node)
        if any(name.endswith((".setter", ".deleter")) for name in decorators):
            return
        is_property = any(name in _PROPERTIES or name.endswith("property") for name in decorators)
        self.names[f"{scope}{node.name}"].append(
            Symbol(
                "property" if is_property and scope else "function",
                node.lineno,
                node.end_lineno or node.lineno,
                type=class_named(node.returns),
                parameters=signature_of(node.args),
                marks=(*decorators, *marks),
            )
        )
        if scope:
            self._set_on_self(node, scope)

    def _set_on_self(self, node: FunctionNode, scope: str) -> None:
        parameters = [*node.args.posonlyargs, *node.args.args]
        if not parameters:
            return
        types = {each.arg: class_named(each.annotation) for each in parameters}
        types |= {each.arg: class_named(each.annotation) for each in node.args.kwonlyargs}
        for name, line, annotation, value in self_targets(node.body, parameters[0].arg):
            held = class_named(annotation)
            if not held and isinstance(value, ast.Name):
                held = types.get(value.id, "")
            elif not held and isinstance(value, ast.Call):
                held = f"{made}()" if (made := dotted(value.func)) else ""
            full = f"{scope}{name}"
            known = self.names.get(full)
            if known and not (held and known[0].kind == "instance" and not known[0].type):
                continue
            self.names[full] = [Symbol("instance", line, line, type=held)]

    def _assignment(
        self, node: ast.Assign | ast.AnnAssign | ast.AugAssign, scope: str, marks: tuple[str, ...]
    ) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Name) and target.id == "__all__" and not scope:
                self._export(node)
            self._attribute(target, node, scope, marks)

    def _attribute(
        self, target: ast.expr, node: ast.stmt, scope: str, marks: tuple[str, ...]
    ) -> None:
        for part in parts_of(target):
            self._attribute(part, node, scope, marks)
        if isinstance(target, ast.Attribute) and dotted(target.value) in self.names and not scope:
            name = ast.Name(target.attr)  # `Class.name = ...` after the class
            self._attribute(name, node, f"{dotted(target.value)}.", marks)
        if not isinstance(target, ast.Name) or isinstance(node, ast.AugAssign):
            return
        annotation = node.annotation if isinstance(node, ast.AnnAssign) else None
        value = (
            getattr(node, "value", None) if isinstance(node, ast.Assign | ast.AnnAssign) else None
        )
        held = class_named(annotation)
        if not held and isinstance(value, ast.Call):
            held = f"{made}()" if (made := dotted(value.func)) else ""
        self.names[f"{scope}{target.id}"].append(
            Symbol(
                "field" if scope and annotation is not None else "attribute",
                node.lineno,
                node.end_lineno or node.lineno,
                target=dotted(value),
                type=held,
                value=_default(value) if scope and annotation is not None else as_written(value),
                marks=(*_field_marks(annotation, value if scope else None), *marks),
            )
        )

    def _export(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        if isinstance(node.value, ast.List | ast.Tuple):
            words = [each.value for each in node.value.elts if isinstance(each, ast.Constant)]
            self.exported = [*(self.exported or ()), *(w for w in words if isinstance(w, str))]

    def _imports(
        self, node: ast.Import | ast.ImportFrom, scope: str, marks: tuple[str, ...]
    ) -> None:
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            self.stars.append(imported_from(node))
            return
        for name, target, line in imported_names(node):
            self.names[f"{scope}{name}"].append(
                Symbol("import", line, line, target=target, marks=marks)
            )


def imported_from(node: ast.ImportFrom) -> str:
    """The module an import names, with its leading dots."""
    return "." * node.level + (node.module or "")


def imported_names(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str, int]]:
    """Bound name, what it names (relative with leading dots) and line, for each name imported."""
    for alias in node.names:
        line = getattr(alias, "lineno", node.lineno)
        if isinstance(node, ast.Import):
            top = alias.name.partition(".")[0]
            yield (alias.asname, alias.name, line) if alias.asname else (top, top, line)
        elif alias.name != "*":
            start = imported_from(node)
            joint = "" if start.endswith(".") or not start else "."
            yield alias.asname or alias.name, f"{start}{joint}{alias.name}", line


def signature_of(arguments: ast.arguments) -> Signature:
    """The parameters in order, self included."""
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    found = []
    for index, (each, default) in enumerate(zip(positional, defaults, strict=True)):
        kind = POSITIONAL_ONLY if index < len(arguments.posonlyargs) else POSITIONAL
        found.append(_parameter(each, kind, default))
    if arguments.vararg:
        found.append(_parameter(arguments.vararg, VAR_POSITIONAL, None))
    for each, keyword_default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append(_parameter(each, KEYWORD_ONLY, keyword_default))
    if arguments.kwarg:
        found.append(_parameter(arguments.kwarg, VAR_KEYWORD, None))
    return tuple(found)


def _parameter(node: ast.arg, kind: int, default: ast.expr | None) -> Parameter:
    return Parameter(node.arg, kind, as_written(default), class_named(node.annotation))


def is_type_checking(test: ast.expr) -> bool:
    """Whether a condition holds for type checkers only."""
    return dotted(test).rpartition(".")[2] == "TYPE_CHECKING"


def _decorators(node: FunctionNode | ast.ClassDef) -> tuple[str, ...]:
    marks = []
    for each in node.decorator_list:
        marks.append(dotted(each.func if isinstance(each, ast.Call) else each) or "?")
        if isinstance(each, ast.Call) and isinstance(node, ast.ClassDef):
            marks += [
                f"{keyword.arg}={as_written(keyword.value)}"
                for keyword in each.keywords
                if keyword.arg
            ]
    return tuple(marks)


def _field_marks(annotation: ast.expr | None, value: ast.expr | None) -> tuple[str, ...]:
    """What a class attribute says about itself as a dataclass field."""
    if annotation is None:
        return ()
    outer = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    name = dotted(outer).rpartition(".")[2]
    marks = [name] if name in ("ClassVar", "InitVar", "KW_ONLY") else []
    if isinstance(value, ast.Call) and dotted(value.func).rpartition(".")[2] in _FIELD_MAKERS:
        given = {keyword.arg: as_written(keyword.value) for keyword in value.keywords}
        marks += [f"{key}={given[key]}" for key in ("init", "kw_only") if key in given]
    return tuple(marks)


def _default(value: ast.expr | None) -> str | None:
    """The default of a dataclass field; `field(default=1)` is 1, `field(default_factory=f)` f()."""
    if (
        not isinstance(value, ast.Call)
        or dotted(value.func).rpartition(".")[2] not in _FIELD_MAKERS
    ):
        return as_written(value)
    given = {keyword.arg: keyword.value for keyword in value.keywords}
    for key in ("default_factory", "factory"):
        if key in given:
            return f"{as_written(given[key])}()"
    plain = given.get("default", value.args[0] if value.args else None)
    is_open = isinstance(plain, ast.Constant) and plain.value is Ellipsis
    return None if is_open else as_written(plain)


def _base_name(node: ast.expr) -> str:
    """A base class as written; `?` for one that only running the code would tell."""
    return dotted(node.value if isinstance(node, ast.Subscript) else node) or "?"


def _without_stubs(rows: Sequence[Symbol]) -> Sequence[Symbol]:
    """Definitions without @overload stubs, where there is an implementation."""
    kept = [
        row for row in rows if not any(mark.rpartition(".")[2] == "overload" for mark in row.marks)
    ]
    return kept or rows


def _strings(tree: ast.Module) -> list[str]:
    """Identifiers among a module's strings: what its `__getattr__` may answer to."""
    found = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return sorted(word for word in found if word.isidentifier())[:_ON_DEMAND_AT_MOST]
