"""What an access path (`a.b.C.().d`) turned out to mean in one revision.

Paths are names joined by dots; `()` stands for calling what comes before it, `<super>` for the
next class of the method resolution order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ciwm.upstream.drift.symbols import Symbol

CALLED = "()"
SUPER = "<super>"
ON_DEMAND = "a module that makes names on demand"
RUNNING = "what is set under a computed name, or on a copy"


class Hop(NamedTuple):
    """One definition on the way: a re-export, a class, the thing itself."""

    module: str
    name: str
    line: int


class Found(NamedTuple):
    """Something defined in a file we read.

    kind      module, class, instance, function, bound, value, super
    receiver  module and name of the class whose members were asked for, when one was
    """

    kind: str
    module: str
    name: str
    symbol: Symbol | None
    hops: tuple[Hop, ...]
    receiver: tuple[str, str] | None = None

    @property
    def dotted(self) -> str:
        """Module and qualified name."""
        return f"{self.module}.{self.name}" if self.name else self.module


class External(NamedTuple):
    """Something of another package, or a builtin."""

    dotted: str


class Missing(NamedTuple):
    """The path ends at `module` and class (or none) `name`, which have no `wanted`.

    `opaque` are bases of the class that we did not read, and that could have it.
    """

    module: str
    name: str
    wanted: str
    hops: tuple[Hop, ...]
    opaque: tuple[str, ...] = ()

    @property
    def owner(self) -> str:
        """What lacks the name."""
        return f"{self.module}.{self.name}" if self.name else self.module


class Unseen(NamedTuple):
    """Reading the sources does not tell; `module` is where the path was lost."""

    why: str
    module: str = ""


Outcome = Found | External | Missing | Unseen
