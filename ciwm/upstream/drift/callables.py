"""Signatures of what is called: functions, methods, constructors, dataclasses."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from ciwm.upstream.drift.outcome import External, Found
from ciwm.upstream.drift.symbols import KEYWORD_ONLY, POSITIONAL, Parameter, Signature, Symbol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ciwm.upstream.drift.uses import CallShape
    from ciwm.upstream.drift.world import Class, World

_KINDS = tuple(inspect._ParameterKind)  # noqa: SLF001  all five in order
_STRUCTS = {
    "typing.NamedTuple",
    "msgspec.Struct",
    "pydantic.BaseModel",
    "typing_extensions.NamedTuple",
}
_BY_KEYWORD = {"pydantic.BaseModel"}
_MAKERS = {"dataclass", "define", "frozen", "attrs", "mutable"}


# decorators that leave the arguments of a call as they are; any other may take its own
_TRANSPARENT = {
    "staticmethod", "classmethod", "abstractmethod", "override", "overload", "final", "wraps",
    "cache", "lru_cache", "contextmanager", "asynccontextmanager", "deprecated", "no_grad",
    "inference_mode", "property", "cached_property", "typing",
}  # fmt: skip


class Callee:
    """What a call reaches, and the signatures that branches give it, self left out."""

    def __init__(self, found: Found, module: str, name: str, signatures: list[Signature]) -> None:
        self.found, self.module, self.name, self.signatures = found, module, name, signatures

    def wrappers(self, world: World) -> set[str]:
        """Decorators between a call and the function, which may take other arguments than it."""
        rows = (r for r in world.rows(self.module, self.name) if r.kind == "function")
        marks = {mark for row in rows for mark in row.marks}
        return {mark for mark in marks if mark.rpartition(".")[2] not in _TRANSPARENT}

    @property
    def dotted(self) -> str:
        """Module and qualified name."""
        return f"{self.module}.{self.name}"


def callee(world: World, path: str) -> Callee | None:
    """What calling a path calls; None when the sources do not tell its signature."""
    found = world.resolve(path)
    if isinstance(found, Found) and found.kind == "value":
        found = world.held(found)
    if not isinstance(found, Found):
        return None
    if found.kind == "class":
        return _constructor(world, found)
    if found.kind == "instance":
        return _instance_call(world, found)
    if found.kind in ("function", "bound"):
        return _function(world, found)
    return None


def method_rows(world: World, module: str, name: str) -> list[Symbol]:
    """The function definitions a qualified name has."""
    return [row for row in world.rows(module, name) if row.kind in ("function", "property")]


def _function(world: World, found: Found) -> Callee | None:
    rows = [row for row in method_rows(world, found.module, found.name) if row.kind == "function"]
    if not rows:
        return None
    drops = [_drops_first(row, found) for row in rows]
    signatures = [row.parameters[1 if drop else 0 :] for row, drop in zip(rows, drops, strict=True)]
    return Callee(found, found.module, found.name, signatures)


def _drops_first(row: Symbol, found: Found) -> bool:
    """Whether Python gives the first argument itself."""
    marks = {mark.rpartition(".")[2] for mark in row.marks}
    if "." not in found.name or "staticmethod" in marks or found.name.endswith(".__new__"):
        return False
    return found.kind == "bound" or "classmethod" in marks


def _instance_call(world: World, found: Found) -> Callee | None:
    """`__call__`, or `forward` where a base we did not read (a torch module) calls it."""
    for name in ("__call__", "forward"):
        method = world.member(found, name)
        opaque = any(not module for module, _ in world.order((found.module, found.name)))
        if isinstance(method, Found) and (name == "__call__" or opaque):
            return _function(world, method._replace(kind="bound"))
    return None


def _constructor(world: World, found: Found) -> Callee | None:
    cls = (found.module, found.name)
    for module, owner in world.order(cls):
        if not module:
            return None
        if world.rows(module, f"{owner}.__new__"):
            return None
        rows = method_rows(world, module, f"{owner}.__init__")
        if rows:
            signatures = [row.parameters[1:] for row in rows]
            return Callee(found, module, f"{owner}.__init__", signatures)
        if _is_record(world, (module, owner)):
            signature = record_signature(world, (module, owner))
            return Callee(found, module, owner, [signature]) if signature is not None else None
        own = world.rows(module, owner)
        if any(row.kind != "class" or _has_metaclass(row) for row in own):
            return None
    return Callee(found, *cls, [()])


def _has_metaclass(row: Symbol) -> bool:
    return any(mark.startswith("metaclass=") for mark in row.marks)


def _is_record(world: World, cls: Class) -> bool:
    """Whether Python or a library makes the constructor from the annotated fields."""
    rows = world.rows(*cls)
    marks = rows[0].marks if rows else ()
    if any(mark.rpartition(".")[2] in _MAKERS for mark in marks):
        return "init=False" not in marks
    if any(isinstance(b, External) and b.dotted in _STRUCTS for b in world.bases(cls)):
        return True
    for mark in marks:
        maker = world.in_scope(mark, cls[0]) if mark.isidentifier() else None
        if isinstance(maker, Found) and maker.symbol is not None:
            inner = {each.rpartition(".")[2] for each in maker.symbol.marks}
            if inner & {"dataclass_transform", *_MAKERS}:
                return True
    return False


def record_signature(world: World, cls: Class) -> Signature | None:
    """The constructor of a dataclass and its like; None where a base hides fields from us."""
    fields: dict[str, Parameter] = {}
    for module, owner in reversed(world.order(cls)):
        if not module:
            if owner in _STRUCTS or owner in ("abc.ABC", "typing.Generic", "typing.Protocol"):
                continue
            return None
        if _is_record(world, (module, owner)):
            keyword_only = _keyword_only(world, (module, owner))
            for parameter in _fields(world, module, owner, keyword_only=keyword_only):
                fields[parameter.name] = parameter
    plain = [each for each in fields.values() if each.kind == POSITIONAL]
    return (*plain, *(each for each in fields.values() if each.kind == KEYWORD_ONLY))


def _keyword_only(world: World, cls: Class) -> bool:
    marks = world.rows(*cls)[0].marks
    named = any(isinstance(b, External) and b.dotted in _BY_KEYWORD for b in world.bases(cls))
    return named or "kw_only=True" in marks


def _fields(world: World, module: str, owner: str, *, keyword_only: bool) -> Iterator[Parameter]:
    summary = world.summary(module)
    for name, rows in summary.names.items() if summary else ():
        scope, _, last = name.rpartition(".")
        row = rows[0]
        if scope != owner or row.kind != "field" or "ClassVar" in row.marks:
            continue
        if "KW_ONLY" in row.marks:
            keyword_only = True
            continue
        if "init=False" in row.marks:
            continue
        by_keyword = keyword_only or "kw_only=True" in row.marks
        yield Parameter(last, KEYWORD_ONLY if by_keyword else POSITIONAL, row.value)


def python_signature(signature: Signature) -> inspect.Signature | None:
    """The real thing, to bind with; None when Python would not allow these parameters."""
    try:
        return inspect.Signature(
            [
                inspect.Parameter(
                    each.name,
                    _KINDS[each.kind],
                    default=inspect.Parameter.empty if each.default is None else each.default,
                )
                for each in signature
            ]
        )
    except ValueError:
        return None


def bound(signature: Signature, shape: CallShape) -> inspect.BoundArguments | str:
    """The arguments as Python would bind them (numbered where positional), or why it would not.

    A call with `*args` or `**kwargs` is bound as far as it is written out.
    """
    real = python_signature(signature)
    if real is None:
        return "its parameters are not in an order Python allows"
    bind = real.bind_partial if shape.starred or shape.double_starred else real.bind
    try:
        return bind(*range(shape.positional), **dict.fromkeys(shape.keywords, "given"))
    except TypeError as error:
        return str(error)
