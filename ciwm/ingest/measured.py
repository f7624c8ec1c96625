"""What a file of results comes to, whichever tool wrote it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ciwm.records.run import Better

NO_NAME = ""  # the series of a tool that measures one thing and gives it no name


@dataclass(frozen=True)
class Measured:
    """One metric of one benchmark.

    `launches` holds the values of each process that the file tells apart, in the order taken.
    Where a file has no samples, each launch is one value, and `aggregate` says of what ("median of
    200 requests"). `better` is None where the format does not say. An `extra` metric is read only
    when it is named: it says again what another one says. `failure` is why there are no values.
    """

    series: str
    metric: str
    unit: str
    better: Better | None
    launches: tuple[tuple[float, ...], ...] = ()
    aggregate: str = ""
    extra: bool = False
    failure: str = ""


@dataclass(frozen=True)
class Reading:
    """A whole file: what was measured, by which tool, on what, as far as the file says."""

    measured: tuple[Measured, ...]
    tool: str
    format: str = ""
    cpu_model: str = ""
    cpu_count: int = 0
    accelerators: tuple[str, ...] = ()
