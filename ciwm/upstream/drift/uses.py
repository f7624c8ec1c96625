"""What one plugin file does with names: the raw material that resolution gives a meaning."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class CallShape(NamedTuple):
    """The arguments of one call; `starred` and `double_starred` hide more of them."""

    positional: int
    keywords: tuple[str, ...]
    starred: bool = False
    double_starred: bool = False


class Use(NamedTuple):
    """One place that uses a name.

    kind    import, attribute, call, set, patch, string, registration, operator
    paths   access paths; several when branches bind the name to different things
    guard   why the place may not run, or may cope with a failure; "" when neither
    value   patch: the access path of what is put there
    """

    kind: str
    paths: tuple[str, ...]
    path: str
    line: int
    guard: str = ""
    shape: CallShape | None = None
    value: str = ""

    @property
    def place(self) -> str:
        """`path:line`."""
        return f"{self.path}:{self.line}"


@dataclass
class FileUses:
    """All uses of one file, and the places where reading it does not tell what is used."""

    uses: list[Use] = field(default_factory=list)
    dynamic: list[tuple[str, int]] = field(default_factory=list)
