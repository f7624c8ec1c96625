"""Walking through parsed JSON of another tool: what is not as expected is named by its place."""

from __future__ import annotations

import json
from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST = 60  # of a value shown in an error


class Malformed(Exception):  # noqa: N818  an answer of the readers, turned into an error once
    """The file is not laid out as its format has it; the text says where."""


class Node:
    """A value and the way to it."""

    def __init__(self, value: Any, where: str = "the file") -> None:
        self.value = value
        self.where = where

    def __getitem__(self, key: str | int) -> Node:
        """The value below; raises Malformed where there is none."""
        found = self.get(key)
        if found is None:
            raise Malformed(f"{self._below(key)} is missing")
        return found

    def get(self, key: str | int) -> Node | None:
        """The value below; None where there is none, or where it is null."""
        try:
            value = self.value[key]
        except (KeyError, IndexError, TypeError):
            return None
        return None if value is None else Node(value, self._below(key))

    def _below(self, key: str | int) -> str:
        step = f"[{key}]" if isinstance(key, int) else key
        if self.where == "the file":
            return step
        return f"{self.where}{step}" if isinstance(key, int) else f"{self.where}.{step}"

    def __iter__(self) -> Iterator[Node]:
        """The entries of a list; raises Malformed for anything else."""
        if not isinstance(self.value, list):
            raise Malformed(f"{self.where} is not a list")
        return (Node(value, self._below(i)) for i, value in enumerate(self.value))

    def items(self) -> Iterator[tuple[str, Node]]:
        """Names and values of an object; raises Malformed for anything else."""
        if not isinstance(self.value, dict):
            raise Malformed(f"{self.where} is not an object")
        return ((str(key), Node(value, self._below(key))) for key, value in self.value.items())

    def text(self) -> str:
        """A text that says something; raises Malformed."""
        if not isinstance(self.value, str) or not self.value.strip():
            raise Malformed(f"{self.where} is no text: {_shown(self.value)}")
        return self.value

    def number(self) -> float:
        """A finite number; raises Malformed."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Malformed(f"{self.where} is no number: {_shown(value)}")
        try:
            number = float(value)
        except OverflowError:
            raise Malformed(f"{self.where} is too large a number") from None
        if not isfinite(number):
            raise Malformed(f"{self.where} is {number}")
        return number

    def numbers(self) -> tuple[float, ...]:
        """A list of finite numbers, not empty; raises Malformed."""
        found = tuple(entry.number() for entry in self)
        if not found:
            raise Malformed(f"{self.where} is empty")
        return found


def is_number(value: Any) -> bool:
    """Whether a value is a number, a bool being none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def decimal(text: str, where: str) -> float:
    """The number that a text holds, as other tools write it; raises Malformed."""
    try:
        # Python would read 1_0, and the digits of other scripts, as no other tool does
        value = float(text if text.isascii() and "_" not in text else "")
    except ValueError:
        raise Malformed(f"{where} is no number: {text[:_LONGEST]!r}") from None
    if not isfinite(value):
        raise Malformed(f"{where} is {text.strip()}")
    return value


def _shown(value: Any) -> str:
    return json.dumps(value, default=str)[:_LONGEST]
