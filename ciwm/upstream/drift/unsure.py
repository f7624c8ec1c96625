"""Names that a module or a class may get while it runs, where no definition shows them.

`setattr` with a computed name, `globals()[...]`, an attribute of what `cls.__new__` made: what is
set so may be there, and its absence among the definitions proves nothing.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ciwm.upstream.drift.on_self import FunctionNode
from ciwm.upstream.drift.parsing import children, dotted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ANYTHING = "*"
# a file without any of these needs no walk, and most have none
_SIGNS = (
    b"setattr", b"__dict__", b"__slots__", b"__new__(", b"= cls(", b"copy(self", b"globals()",
    b"vars(", b"locals()", b"sys.modules[", b"    global ", b"exec(", b"= self\n",
    b"register_buffer(", b"register_parameter(", b"add_module(", b"register_module(",
)  # fmt: skip
_WALRUS = re.compile(rb"^[^\s#][^\n]*:=", re.MULTILINE)  # elsewhere it binds no name of a module
_SPACES = {"globals", "vars", "locals"}
_SETTERS = {"setattr", "object.__setattr__"}
_REGISTRARS = {"register_buffer", "register_parameter", "add_module", "register_module"}
_METHODS = {"__setattr__", "update", "setdefault", *_REGISTRARS}


@dataclass(frozen=True)
class _Place:
    """Where a statement stands; `own` are the local names of objects of the class."""

    owner: str = ""
    own: set[str] = field(default_factory=set)
    in_function: bool = False


def may_have(unsure: Mapping[str, Iterable[str]], owner: str, name: str) -> bool:
    """Whether a class (or the module: "") may get a name while it runs."""
    names = unsure.get(owner, ())
    return ANYTHING in names or name in names


def unsure_names(tree: ast.Module, content: bytes) -> dict[str, tuple[str, ...]]:
    """Such names by class, "" being the module; ANYTHING where they are computed."""
    if not any(sign in content for sign in _SIGNS) and not _WALRUS.search(content):
        return {}
    reader = _Reader({node.name for node in tree.body if isinstance(node, ast.ClassDef)})
    waiting: list[tuple[ast.AST, _Place]] = [(node, _Place()) for node in tree.body[::-1]]
    while waiting:
        node, place = waiting.pop()
        reader.read(node, place)
        inner = _inside(node, place)
        waiting += [(each, inner) for each in children(node)[::-1]]
    return {owner: tuple(sorted(names)) for owner, names in reader.found.items()}


def _inside(node: ast.AST, place: _Place) -> _Place:
    if isinstance(node, ast.ClassDef):
        above = f"{place.owner}." if place.owner else ""
        return _Place(f"<{node.lineno}>" if place.in_function else f"{above}{node.name}")
    if not isinstance(node, FunctionNode):
        return place
    parameters = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
    is_method = place.owner and not place.in_function
    own = set(parameters[:1]) if is_method else place.own - set(parameters)
    return _Place(place.owner, own, in_function=True)


class _Reader:
    """Takes down what single statements set; `classes` are those of the module."""

    def __init__(self, classes: set[str]) -> None:
        self.classes = classes
        self.found: dict[str, set[str]] = {}

    def read(self, node: ast.AST, place: _Place) -> None:
        """Take one node down."""
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                self._target(target, node.value, place)
        elif isinstance(node, ast.NamedExpr) and not place.in_function:
            self._add(place.owner, node.target.id)
        elif isinstance(node, ast.Global):
            self._add("", *node.names)
        elif isinstance(node, ast.Call):
            self._call(node, place)

    def _target(self, target: ast.expr, value: ast.expr | None, place: _Place) -> None:
        if isinstance(target, ast.Name):
            if target.id == "__slots__" and value is not None:
                self._add(place.owner, *_strings(value))
            elif place.own and self._is_own(value, place):
                place.own.add(target.id)
        elif isinstance(target, ast.Attribute) and dotted(target.value) in place.own:
            self._add(place.owner, ANYTHING if target.attr == "__dict__" else target.attr)
        elif isinstance(target, ast.Subscript):
            if _is_this_module(target):
                self._add("", ANYTHING)
            elif (owner := self._space(target.value, place)) is not None:
                self._add(owner, _constant(target.slice))

    def _is_own(self, value: ast.expr | None, place: _Place) -> bool:
        """Whether a value is an object of the class: itself, a new one, or a copy."""
        if isinstance(value, ast.Name):
            return value.id in place.own
        if not isinstance(value, ast.Call):
            return False
        func, first = value.func, dotted(value.args[0]) if value.args else ""
        made = isinstance(func, ast.Attribute) and func.attr == "__new__"
        return made or dotted(func) in place.own or first in place.own

    def _call(self, node: ast.Call, place: _Place) -> None:
        func, name = node.func, dotted(node.func)
        if name in _SETTERS and len(node.args) > 1:
            self._setter(node.args[0], node.args[1], place)
        elif name == "exec" and not place.in_function:
            self._add(place.owner, ANYTHING)
        elif isinstance(func, ast.Attribute) and func.attr in _METHODS:
            self._method(func, node.args, place)

    def _method(self, func: ast.Attribute, arguments: list[ast.expr], place: _Place) -> None:
        """`super().__setattr__(...)`, `globals().update(...)`, `self.register_buffer(...)`."""
        if func.attr == "__setattr__" and arguments and not dotted(func):
            self._add(place.owner, _constant(arguments[0]))
        elif func.attr in _REGISTRARS:
            if arguments and dotted(func.value) in place.own:
                self._add(place.owner, _constant(arguments[0]))
        elif (owner := self._space(func.value, place)) is not None:
            self._add(owner, ANYTHING)

    def _setter(self, holder: ast.expr, name: ast.expr, place: _Place) -> None:
        held = dotted(holder)
        if held in place.own:
            self._add(place.owner, _constant(name))
        elif held in self.classes:
            self._add(held, _constant(name))
        elif _is_this_module(holder):
            self._add("", _constant(name))

    def _space(self, node: ast.expr, place: _Place) -> str | None:
        """Whose names a dictionary holds: `self.__dict__`, `vars(self)`, `globals()`."""
        if isinstance(node, ast.Attribute) and node.attr == "__dict__":
            return place.owner if dotted(node.value) in place.own else None
        if not isinstance(node, ast.Call) or dotted(node.func) not in _SPACES:
            return None
        if node.args:
            return place.owner if dotted(node.args[0]) in place.own else None
        if dotted(node.func) == "globals":
            return ""
        return None if place.in_function else place.owner

    def _add(self, owner: str, *names: str) -> None:
        self.found.setdefault(owner, set()).update(names)


def _is_this_module(node: ast.expr) -> bool:
    """Whether this is `sys.modules[__name__]`."""
    if not isinstance(node, ast.Subscript) or dotted(node.value) != "sys.modules":
        return False
    return dotted(node.slice) == "__name__"


def _constant(node: ast.expr) -> str:
    known = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return node.value if known else ANYTHING  # type: ignore[attr-defined]


def _strings(node: ast.expr) -> list[str]:
    return [
        each.value
        for each in ast.walk(node)
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    ]
