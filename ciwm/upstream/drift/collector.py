"""One walk over a plugin file that writes down every use of a name that may be upstream's."""

from __future__ import annotations

import ast
import re

from ciwm.upstream.drift.parsing import dotted
from ciwm.upstream.drift.summary import imported_from, imported_names
from ciwm.upstream.drift.uses import CallShape
from ciwm.upstream.drift.walk import Walk

_STRING = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?::[A-Za-z_][\w.]*)?")
_OPERATOR = re.compile(r"(?:\w+::)?[A-Za-z_]\w*(?:\.\w+)?")
_READERS = {"getattr", "hasattr"}
_SETTERS = {"setattr", "delattr", "object"}  # setattr(), monkeypatch.setattr(), patch.object()
_MOCKS = {"patch", "setattr", "delattr"}  # those that take a dotted string
_IMPORTERS = {"import_module", "__import__"}
_OPERATOR_MAKERS = {
    "impl",
    "register_fake",
    "register_kernel",
    "register_autograd",
    "impl_abstract",
}


class Collector(Walk):
    """Writes the uses of one file down."""

    def _visit_import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name.partition(".")[0] in self.packages:
                self.add("import", (alias.name,), node)

    def _visit_importfrom(self, node: ast.ImportFrom) -> None:
        start = self.absolute(imported_from(node))
        if start.partition(".")[0] not in self.packages:
            return
        if node.names[0].name == "*":
            self.add("import", (start,), node)
            self.found.dynamic.append(("a star import of upstream", node.lineno))
            return
        for alias, (_, target, line) in zip(node.names, imported_names(node), strict=True):
            self.add("import", (self.absolute(target),), alias if line else node)

    def _decorator(self, node: ast.expr) -> None:
        func = node.func if isinstance(node, ast.Call) else node
        if is_registration(dotted(func)):
            self.add("registration", self.scope.of(func), node)
        self.visit(node)

    def _visit_attribute(self, node: ast.Attribute) -> None:
        paths = self.scope.of(node)
        if paths:
            self.add("attribute" if isinstance(node.ctx, ast.Load) else "set", paths, node)
        self._torch_operator(node)
        self._rest_of_chain(node)

    def _rest_of_chain(self, node: ast.expr) -> None:
        """Walk what hangs on a chain: arguments of its calls, and what is no chain."""
        while isinstance(node, ast.Attribute):
            node = node.value
        if not isinstance(node, ast.Name):
            self.visit(node)

    def _visit_assign(self, node: ast.Assign) -> None:
        value = self.scope.of(node.value)
        for target in node.targets:
            if isinstance(target, ast.Attribute) and (paths := self.scope.of(target)):
                self.add("patch", paths, target, value=value[0] if value else "")
                self._rest_of_chain(target)
            elif (module := _replaced_module(target)) is not None:
                self._string("patch", module, target)
            else:
                self.visit(target)
        self.visit(node.value)

    def _visit_call(self, node: ast.Call) -> None:
        func = dotted(node.func)
        name = func.rpartition(".")[2]
        if not (name in _READERS | _SETTERS and self._by_name(node, func)):
            paths = self.scope.of(node.func)
            self.add("call", paths, node, shape=_shape(node))
            if is_registration(func):
                self.add("registration", paths, node)
        if name in _IMPORTERS and node.args and not isinstance(node.args[0], ast.Constant):
            self.found.dynamic.append(("an import of a computed name", node.lineno))
        for each in node.args[:1]:
            if name in _MOCKS and isinstance(each, ast.Constant) and isinstance(each.value, str):
                self._string("mock", each.value, node)
                self.done.add(each)
        if name in _OPERATOR_MAKERS:
            self._operators(node.args[:2])
        self._torch_operator(node.func)
        self._rest_of_chain(node.func)
        self.guarded("", [*node.args, *node.keywords])

    def _torch_operator(self, node: ast.expr) -> None:
        """`torch.ops.namespace.name`, called or not."""
        parts = dotted(node).split(".")
        if parts[:2] == ["torch", "ops"] and len(parts) > 3:  # noqa: PLR2004  space and name
            self.add("operator", (f"{parts[2]}::{parts[3]}",), node)

    def _by_name(self, node: ast.Call, func: str) -> bool:
        """`getattr(x, "name")` and its relatives; False when it is none of them."""
        name = func.rpartition(".")[2]
        if len(node.args) < 2 or _is_string(node.args[0]):  # noqa: PLR2004  object and name
            return False
        paths, named = self.scope.of(node.args[0]), node.args[1]
        if not paths or (name == "object" and not func.endswith("patch.object")):
            return False
        if not isinstance(named, ast.Constant) or not isinstance(named.value, str):
            where = f"{name} with a computed name"
            self.found.dynamic.append((where, node.lineno))
            return True
        whole = tuple(f"{path}.{named.value}" for path in paths)
        if name in _SETTERS:
            value = self.scope.of(node.args[2]) if len(node.args) > 2 else ()  # noqa: PLR2004
            kind = "patch" if func in ("setattr", "delattr") else "mock"
            self.add(kind, whole, node, value=value[0] if value else "")
        else:
            copes_too = name == "hasattr" or len(node.args) > 2  # noqa: PLR2004  a default
            self.add("attribute", whole, node, guard=f"asked for by {name}" if copes_too else "")
        return True

    def _visit_tuple(self, node: ast.Tuple) -> None:
        """Tables of operators: `("add.Tensor", add)`."""
        if len(node.elts) > 1 and isinstance(node.elts[1], ast.Name | ast.Attribute):
            self._operators(node.elts[:1])
        self.inside(node)

    def _operators(self, nodes: list[ast.expr]) -> None:
        for node in nodes:
            text = node.value if isinstance(node, ast.Constant) else None
            if isinstance(text, str) and _OPERATOR.fullmatch(text):
                self.add("operator", (text,), node)

    def _visit_expr(self, node: ast.Expr) -> None:
        if not _is_string(node.value):  # a docstring
            self.visit(node.value)

    def _visit_constant(self, node: ast.Constant) -> None:
        if node not in self.done and isinstance(node.value, str):
            self._string("string", node.value, node)

    def _string(self, kind: str, text: str, node: ast.AST) -> None:
        if text.partition(".")[0] in self.packages and _STRING.fullmatch(text):
            self.add(kind, (text.replace(":", "."),), node)


def is_registration(name: str) -> bool:
    """Whether a function registers something, by its name."""
    return name.rpartition(".")[2].lstrip("_").startswith("register")


def _is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _replaced_module(target: ast.expr) -> str | None:
    """The name in `sys.modules["name"] = ...`."""
    if isinstance(target, ast.Subscript) and dotted(target.value) == "sys.modules":
        named = target.slice
        if isinstance(named, ast.Constant) and isinstance(named.value, str):
            return named.value
    return None


def _shape(node: ast.Call) -> CallShape:
    plain = [each for each in node.args if not isinstance(each, ast.Starred)]
    first_star = next(
        (i for i, each in enumerate(node.args) if isinstance(each, ast.Starred)), len(node.args)
    )
    starred = len(plain) != len(node.args)
    return CallShape(
        first_star if starred else len(plain),
        tuple(keyword.arg for keyword in node.keywords if keyword.arg is not None),
        starred,
        any(keyword.arg is None for keyword in node.keywords),
    )
