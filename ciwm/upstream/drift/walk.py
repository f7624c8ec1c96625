"""The way through a plugin file: scopes, guards and classes, apart from what is written down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.upstream.drift.guards import branch_guards, copes, suppresses
from ciwm.upstream.drift.parsing import children
from ciwm.upstream.drift.scopes import Absolute, AnyFunction, Scope, function_scope
from ciwm.upstream.drift.summary import SummaryReader
from ciwm.upstream.drift.uses import FileUses, Use

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterable

    from ciwm.upstream.drift.index import Module
    from ciwm.upstream.drift.on_self import FunctionNode
    from ciwm.upstream.drift.symbols import Summary

_COPES = "behind an except or suppress that copes"
_ANNOTATION = "only in an annotation"


class Walk:
    """Walks one file; `packages` are the top names of upstream."""

    def __init__(self, module: Module, summary: Summary, packages: frozenset[str]) -> None:
        self.module, self.summary, self.packages = module, summary, packages
        self.absolute = Absolute(module.name, package=module.package)
        self.found = FileUses()
        self.scope = Scope(prefix=module.name)
        self.guards: list[str] = []
        self.owners: list[str] = []  # classes and functions around; functions are empty
        self.done: set[ast.AST] = set()
        self.special: dict[type[ast.AST], Callable[..., None]] = {}

    def file(self, tree: ast.Module) -> FileUses:
        """Everything the file uses."""
        for node in tree.body:
            self.visit(node)
        return self.found

    def visit(self, node: ast.AST) -> None:
        """Walk a node; nodes that need it have a method of their own."""
        kind = type(node)
        if kind not in self.special:
            self.special[kind] = getattr(self, f"_visit_{kind.__name__.lower()}", self.inside)
        self.special[kind](node)

    def inside(self, node: ast.AST) -> None:
        """Walk what a node holds."""
        for child in children(node):
            self.visit(child)

    def guarded(self, guard: str, nodes: Iterable[ast.AST]) -> None:
        """Walk nodes that are guarded, when there is a guard."""
        if guard:
            self.guards.append(guard)
        for node in nodes:
            self.visit(node)
        if guard:
            self.guards.pop()

    def add(self, kind: str, paths: tuple[str, ...], node: ast.AST, **more: object) -> None:
        """Write a use down."""
        if paths:
            guard = str(more.pop("guard", "")) or (self.guards[-1] if self.guards else "")
            line = getattr(node, "lineno", 0)
            self.found.uses.append(
                Use(kind, paths, self.module.path, line, guard, **more)  # type: ignore[arg-type]
            )

    def _visit_if(self, node: ast.If | ast.IfExp) -> None:
        self.visit(node.test)
        then, other = branch_guards(node.test)
        body = node.body if isinstance(node.body, list) else [node.body]
        orelse = node.orelse if isinstance(node.orelse, list) else [node.orelse]
        self.guarded(then, body)
        self.guarded(other, orelse)

    _visit_ifexp = _visit_if

    def _visit_try(self, node: ast.Try) -> None:
        guard = _COPES if copes(node.handlers) else ""
        self.guarded(guard, node.body)
        self.guarded(guard, node.handlers)
        self.guarded("", [*node.orelse, *node.finalbody])

    _visit_trystar = _visit_try

    def _visit_with(self, node: ast.With | ast.AsyncWith) -> None:
        self.guarded("", node.items)
        self.guarded(_COPES if suppresses(node) else "", node.body)

    _visit_asyncwith = _visit_with

    def _visit_functiondef(self, node: FunctionNode) -> None:
        for each in node.decorator_list:
            self._decorator(each)
        self._signature(node.args)
        if node.returns is not None:
            self.guarded(_ANNOTATION, [node.returns])
        owner = self.owners[-1] if self.owners else ""
        self._function(node, node.body, f"{self.module.name}.{owner}" if owner else "")

    _visit_asyncfunctiondef = _visit_functiondef

    def _visit_lambda(self, node: ast.Lambda) -> None:
        self._signature(node.args)
        self._function(node, [node.body], "")

    def _signature(self, arguments: ast.arguments) -> None:
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += [rest for rest in (arguments.vararg, arguments.kwarg) if rest is not None]
        annotations = [each.annotation for each in every if each.annotation is not None]
        self.guarded(_ANNOTATION, annotations)
        defaults = [*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)]
        self.guarded("", defaults)

    def _function(self, node: AnyFunction, body: Iterable[ast.AST], owner: str) -> None:
        outer = self.scope
        self.scope = function_scope(node, outer, owner, self.absolute)
        self.owners.append("")
        self.guarded("", body)
        self.owners.pop()
        self.scope = outer

    def _visit_classdef(self, node: ast.ClassDef) -> None:
        self.guarded("", [*(k.value for k in node.keywords), *node.bases])
        for each in node.decorator_list:
            self._decorator(each)
        self.owners.append(self._class_name(node))
        self.guarded("", node.body)
        self.owners.pop()

    def _class_name(self, node: ast.ClassDef) -> str:
        """The name of a class in its module; one in a function gets a name of its own."""
        if not self.owners or self.owners[-1]:
            return f"{self.owners[-1]}.{node.name}" if self.owners else node.name
        reader = SummaryReader()
        name = f"<{node.lineno}>{node.name}"
        reader.class_(node, "")
        bases = tuple(
            f"={found[0]}" if (found := self.scope.of(each)) else "?" for each in node.bases
        )
        for key, rows in reader.names.items():
            renamed = name + key.removeprefix(node.name)
            first = rows[0]._replace(bases=bases) if key == node.name else rows[0]
            self.summary.names[renamed] = (first, *rows[1:])
        self.scope.paths[node.name] = (f"{self.module.name}.{name}",)
        self.scope.values.pop(node.name, None)
        return name

    def _decorator(self, node: ast.expr) -> None:
        self.visit(node)

    def _visit_annassign(self, node: ast.AnnAssign) -> None:
        self.guarded(_ANNOTATION, [node.annotation])
        self.guarded("", [node.target, *([node.value] if node.value is not None else [])])
