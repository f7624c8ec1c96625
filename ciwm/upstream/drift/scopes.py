"""What a name means inside a plugin's functions: imports, parameters, plain assignments."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ciwm.upstream.drift.outcome import CALLED, SUPER
from ciwm.upstream.drift.parsing import children, class_named, dotted
from ciwm.upstream.drift.summary import imported_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ciwm.upstream.drift.on_self import FunctionNode

AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_NAMED = (
    ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler
    | ast.MatchAs | ast.MatchStar
)  # fmt: skip
_BINDERS = frozenset(
    (
        ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Global,
        ast.Nonlocal, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler,
        ast.MatchAs, ast.MatchStar, ast.For, ast.AsyncFor, ast.comprehension, ast.NamedExpr,
        ast.withitem,
    )
)  # fmt: skip
_LEAVES = frozenset((ast.Name, ast.Constant))
_OWN_SCOPE = frozenset((ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef))
_TARGETED = ast.For | ast.AsyncFor | ast.comprehension | ast.AugAssign | ast.NamedExpr
_DEEPEST = 12
_MOST_ALTERNATIVES = 4
Paths = tuple[str, ...]


@dataclass
class Scope:
    """One function (or the module): access paths, or the expression a name is assigned once."""

    paths: dict[str, Paths] = field(default_factory=dict)
    values: dict[str, ast.expr] = field(default_factory=dict)
    parent: Scope | None = None
    owner: str = ""  # access path of the class whose method this is
    prefix: str = ""  # of names that no function binds: the module

    def lookup(self, name: str, depth: int = 0) -> Paths:
        """The access paths of a name; empty for one that only running the code would tell."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.of(scope.values[name], depth + 1)
            if name in scope.paths:
                return scope.paths[name]
            if scope.prefix:
                return (f"{scope.prefix}.{name}",)
            scope = scope.parent
        return ()

    def of(self, node: ast.expr, depth: int = 0) -> Paths:
        """The access paths of an expression."""
        if depth > _DEEPEST:
            return ()
        if isinstance(node, ast.Name):
            return self.lookup(node.id, depth)
        if isinstance(node, ast.Attribute):
            return tuple(f"{path}.{node.attr}" for path in self.of(node.value, depth + 1))
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        if isinstance(node, ast.Await | ast.NamedExpr):
            return self.of(node.value, depth + 1)
        return ()

    def _call(self, node: ast.Call, depth: int) -> Paths:
        if isinstance(node.func, ast.Name):
            if node.func.id == "super":
                return self._super(node)
            if node.func.id == "type" and len(node.args) == 1:
                held = self.of(node.args[0], depth + 1)
                return tuple(p.removesuffix(f".{CALLED}") for p in held if p.endswith(CALLED))
            if node.func.id == "cast" and node.args:
                return self.instance(class_named(node.args[0]))
        return tuple(f"{path}.{CALLED}" for path in self.of(node.func, depth + 1))

    def _super(self, node: ast.Call) -> Paths:
        if node.args:
            return tuple(f"{path}.{SUPER}" for path in self.of(node.args[0]))
        scope: Scope | None = self
        while scope is not None and not scope.owner:
            scope = scope.parent
        return (f"{scope.owner}.{SUPER}",) if scope is not None else ()

    def instance(self, written: str) -> Paths:
        """The access paths of an instance of a class named in an annotation."""
        first, _, rest = written.partition(".")
        if not first:
            return ()
        tail = f".{rest}" if rest else ""
        return tuple(f"{path}{tail}.{CALLED}" for path in self.lookup(first))


def function_scope(node: AnyFunction, parent: Scope, owner: str, absolute: Absolute) -> Scope:
    """The scope of a function; `owner` is the class it is a method of, or empty."""
    scope = Scope(parent=parent, owner=owner)
    body = [ast.Expr(node.body)] if isinstance(node, ast.Lambda) else node.body
    nodes = list(own_nodes(body))
    bindings = _Bindings(absolute)
    for each in nodes:
        bindings.add(each)
    bindings.bind(scope)
    arguments = node.args
    for given in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
        scope.values.pop(given.arg, None)
        scope.paths[given.arg] = parent.instance(class_named(given.annotation))
    for rest in (arguments.vararg, arguments.kwarg):
        if rest is not None:
            scope.paths[rest.arg] = ()
    if owner and not isinstance(node, ast.Lambda):
        _bind_self(scope, node, owner)
    _narrow(scope, nodes)
    return scope


class Absolute:
    """Makes the names of relative imports absolute."""

    def __init__(self, module: str, *, package: bool) -> None:
        parts = module.split(".")
        self.package = parts if package else parts[:-1]

    def __call__(self, target: str) -> str:
        """The absolute name."""
        bare = target.lstrip(".")
        level = len(target) - len(bare)
        if not level:
            return target
        base = self.package[: len(self.package) - level + 1]
        return ".".join([*base, *([bare] if bare else [])])


def _bind_self(scope: Scope, node: FunctionNode, owner: str) -> None:
    positional = [*node.args.posonlyargs, *node.args.args]
    kinds = {dotted(each).rpartition(".")[2] for each in node.decorator_list}
    if positional and "staticmethod" not in kinds:
        is_class = "classmethod" in kinds or node.name in ("__new__", "__init_subclass__")
        scope.paths[positional[0].arg] = (owner if is_class else f"{owner}.{CALLED}",)


class _Bindings:
    """What the statements of one function bind, name by name."""

    def __init__(self, absolute: Absolute) -> None:
        self.absolute = absolute
        self.imports: dict[str, list[str]] = {}
        self.values: dict[str, list[ast.expr | None]] = {}
        self.annotations: dict[str, str] = {}
        self.outside: set[str] = set()

    def add(self, node: ast.AST) -> None:
        """Note what one node binds."""
        if type(node) not in _BINDERS:
            return
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name, target, _ in imported_names(node):
                self.imports.setdefault(name, []).append(self.absolute(target))
        elif isinstance(node, ast.Assign) and _single(node) is not None:
            self.values.setdefault(_single(node) or "", []).append(node.value)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            self.annotations[node.target.id] = class_named(node.annotation)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            self.outside.update(node.names)
        else:
            for name in _otherwise_bound(node):
                self.values.setdefault(name, []).append(None)

    def bind(self, scope: Scope) -> None:
        """Imports to their targets, annotated names to an instance, single assignments as such."""
        for name, written in self.annotations.items():
            scope.paths[name] = scope.instance(written)
        for name, found in self.values.items():
            if name in self.outside or name in scope.paths:
                continue
            single = found[0] if len(found) == 1 and name not in self.imports else None
            if single is not None:
                scope.values[name] = single
            else:
                scope.paths[name] = ()
        for name, targets in self.imports.items():
            if name not in self.values:
                scope.paths[name] = tuple(dict.fromkeys(targets))[:_MOST_ALTERNATIVES]


def _single(node: ast.Assign) -> str | None:
    """The name that a plain assignment of one name binds."""
    target = node.targets[0] if len(node.targets) == 1 else None
    return target.id if isinstance(target, ast.Name) else None


def _narrow(scope: Scope, nodes: Iterable[ast.AST]) -> None:
    """Where a function asks `isinstance(name, Class)`, the name may be that too."""
    for node in nodes:
        if not isinstance(node, ast.Call) or len(node.args) != 2:  # noqa: PLR2004  name and classes
            continue
        named, classes = node.args
        if dotted(node.func) != "isinstance" or not isinstance(named, ast.Name):
            continue
        known = scope.lookup(named.id)
        if not known or not known[0].endswith(CALLED):
            continue
        each = classes.elts if isinstance(classes, ast.Tuple) else [classes]
        more = [f"{path}.{CALLED}" for one in each for path in scope.of(one)]
        scope.values.pop(named.id, None)
        scope.paths[named.id] = tuple(dict.fromkeys([*known, *more]))[:_MOST_ALTERNATIVES]


def own_nodes(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a function's body, in order, without names, constants and inner scopes."""
    waiting = list(body)[::-1]
    while waiting:
        node = waiting.pop()
        yield node
        if type(node) not in _OWN_SCOPE:
            waiting += [each for each in children(node)[::-1] if type(each) not in _LEAVES]


def _otherwise_bound(node: ast.AST) -> Iterator[str]:
    """Names bound by anything but a plain assignment of one name, an annotation or an import."""
    if isinstance(node, _NAMED):
        if isinstance(node.name, str):
            yield node.name
    elif isinstance(node, ast.Assign):
        yield from _stored(node.targets)
    elif isinstance(node, _TARGETED):
        yield from _stored([node.target])
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield from _stored([node.optional_vars])


def _stored(targets: Iterable[ast.expr]) -> Iterator[str]:
    for target in targets:
        for node in ast.walk(target):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
