"""What one Python file defines, without positions of anything but definitions.

A summary depends on the file's text alone: the same contents under another path, or in another
revision, have the same summary.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

POSITIONAL_ONLY, POSITIONAL, VAR_POSITIONAL, KEYWORD_ONLY, VAR_KEYWORD = range(5)


class Parameter(NamedTuple):
    """One parameter; `kind` as in inspect, `default` as written (None: required)."""

    name: str
    kind: int
    default: str | None = None
    annotation: str = ""


Signature = tuple[Parameter, ...]


class Symbol(NamedTuple):
    """One definition of a name.

    kind     class, function, property, attribute, field (annotated in a class), import, instance
             (set on self)
    target   import: what it names, dots in front when relative; attribute: the name it is set to
    type     the class an attribute holds or a function returns, as written; "" when not known
    value    what an attribute is set to, as written
    marks    decorators; for classes their keywords (kw_only) too; "typing" when only type
             checkers see it
    """

    kind: str
    line: int
    end: int
    target: str = ""
    type: str = ""
    value: str | None = None
    parameters: Signature = ()
    bases: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()


class Summary(NamedTuple):
    """One file: definitions by qualified name, star imports, `__all__`, names given on demand.

    `on_demand` is None without a module `__getattr__`, else the strings it may answer to.
    `unsure` are names that a class (or the module: "") may get while it runs; see unsure.py.
    """

    names: dict[str, tuple[Symbol, ...]]
    stars: tuple[str, ...] = ()
    exported: tuple[str, ...] | None = None
    on_demand: tuple[str, ...] | None = None
    unsure: Mapping[str, tuple[str, ...]] = MappingProxyType({})


EMPTY = Summary({})
COMPILED = Summary({}, unsure={"": ("*",)})  # what it has, only the compiler knows


def to_data(summary: Summary) -> list[object]:
    """A summary as what JSON can hold."""
    return [*summary[:-1], dict(summary.unsure)]


def from_data(data: list[object]) -> Summary:
    """The summary that `to_data` took apart."""
    names, stars, exported, on_demand, unsure = data
    return Summary(
        {name: tuple(_symbol(row) for row in rows) for name, rows in names.items()},  # type: ignore[attr-defined]
        tuple(stars),  # type: ignore[arg-type]
        None if exported is None else tuple(exported),  # type: ignore[arg-type]
        None if on_demand is None else tuple(on_demand),  # type: ignore[arg-type]
        {owner: tuple(found) for owner, found in unsure.items()},  # type: ignore[attr-defined]
    )


def _symbol(row: list[object]) -> Symbol:
    kind, line, end, target, held, value, parameters, bases, marks = row
    return Symbol(
        kind,  # type: ignore[arg-type]
        line,  # type: ignore[arg-type]
        end,  # type: ignore[arg-type]
        target,  # type: ignore[arg-type]
        held,  # type: ignore[arg-type]
        value,  # type: ignore[arg-type]
        tuple(Parameter(*parameter) for parameter in parameters),  # type: ignore[attr-defined]
        tuple(bases),  # type: ignore[arg-type]
        tuple(marks),  # type: ignore[arg-type]
    )
