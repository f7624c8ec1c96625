"""The reference of the configuration, made from its models: docs/configuration.md."""

from __future__ import annotations

import json
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

from ciwm.config import Config
from ciwm.config_section import Section, section_of
from ciwm.report.detail import table
from ciwm.waivers import FILE_NAME, Waiver

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

COMMAND = "ciwm schema Config --markdown"
_HEAD = f"""# Configuration

Made by `{COMMAND}`; do not edit. `ciwm schema Config` prints the JSON Schema.

`ciwm.toml` at the top of the repository, or the same tables under `[tool.ciwm]` of
`pyproject.toml`. Every table is optional; unknown keys are errors.

On a pull request the head's configuration says how head is built and what is measured; the
policy (`[gate]`, `[sync]`, the direction and threshold of each metric) is the base's.
"""
_WORDS = {str: "text", bool: "true or false", int: "integer", float: "number"}
_PATHS = 3  # in a heading
_SIGNS = {"gt": "> ", "ge": "≥ ", "lt": "< ", "le": "≤ "}


def config_reference() -> str:
    """All tables and keys of the configuration and of the waivers, as Markdown."""
    places: dict[type[Section], list[str]] = {}
    for name, field in Config.model_fields.items():
        _find(name, field, places)
    tables = [
        f"## {_heading(paths)}\n\n{_documented(section)}" for section, paths in places.items()
    ]
    waivers = f"## `[[waiver]]`, in `{FILE_NAME}`\n\n{_documented(Waiver)}"
    return "\n".join([_HEAD, *tables, waivers])


def _find(path: str, field: FieldInfo, places: dict[type[Section], list[str]]) -> None:
    """Write down where a table and those below it may stand."""
    section, kind = section_of(field.annotation), get_origin(field.annotation)
    if section is None:
        return
    path = f"{path}.NAME" if kind is dict else path
    places.setdefault(section, []).append(f"[[{path}]]" if kind is tuple else f"[{path}]")
    for name, below in section.model_fields.items():
        _find(f"{path}.{name}", below, places)


def _heading(paths: list[str]) -> str:
    if len(paths) > _PATHS:
        return f"`{paths[0]}` and the others of its table"
    return ", ".join(f"`{path}`" for path in paths)


def _documented(section: type[Section]) -> str:
    told = "\n".join(line.strip() for line in (section.__doc__ or "").splitlines()).strip()
    rows = [
        (f"`{name}`", _type(field), _default(field), _cell(field.description or ""))
        for name, field in section.model_fields.items()
    ]
    return f"{told}\n\n{table(('Key', 'Type', 'Default', 'Meaning'), rows)}\n"


def _type(field: FieldInfo) -> str:
    limits = [
        f"{sign}{getattr(limit, name):g}"
        for limit in field.metadata
        for name, sign in _SIGNS.items()
        if getattr(limit, name, None) is not None
    ]
    return _cell(", ".join([_words(field.annotation), *limits]))


def _words(annotation: Any) -> str:
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " or ".join(f"`{json.dumps(value)}`" for value in inside)
    if origin in (Union, UnionType):
        kinds = [_words(one) for one in inside if one is not NoneType]
        return " or ".join(dict.fromkeys(kinds))
    if origin is tuple:
        kind = _words(inside[0])
        return "tables" if kind == "table" else f"list of {kind}"
    if origin is dict:
        kind = _words(inside[1])
        return "tables by name" if kind == "table" else f"by name: {kind}"
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return "table"
    return _WORDS.get(annotation, getattr(annotation, "__name__", str(annotation)))


def _default(field: FieldInfo) -> str:
    value = field.default
    if field.is_required():
        return "required"
    if isinstance(value, Section):
        stated = value.model_dump(mode="json") if _is_small(value) else {}
        return f"`{json.dumps(stated)}`" if stated else ""
    if value is None or value in ((), {}):
        return ""
    if isinstance(value, dict):
        return f"`{', '.join(value)}`"
    return _cell(f"`{json.dumps(value)}`")


def _is_small(value: Section) -> bool:
    """Whether a table's default says more than the defaults of its keys."""
    return any(field.is_required() for field in type(value).model_fields.values())


def _cell(text: str) -> str:
    """A text of any number of lines and paragraphs in one cell: a line break would end the row."""
    return " ".join(text.split()).replace("|", "\\|")
