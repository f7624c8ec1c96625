"""Where the blocks of a run go: this machine, or a Ray cluster."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Protocol

from ciwm.bench.local_engine import LocalEngine
from ciwm.devices import describe_host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ciwm.bench.block import BlockRunner
    from ciwm.bench.engine import Engine
    from ciwm.bench.saved_request import SavedRequest
    from ciwm.bench.schedule import Schedule
    from ciwm.config import BenchConfig
    from ciwm.records import Environment


class Place(Protocol):
    """A place that blocks run at, and the machine, or the kind of machine, that it is."""

    host: Environment

    def engine(self, runner: BlockRunner, schedule: Schedule, asked: SavedRequest) -> Engine:
        """What runs the blocks of one run there."""


class ThisMachine:
    """The machine that ciwm runs on."""

    def __init__(self) -> None:
        self.host = describe_host()

    def engine(self, runner: BlockRunner, schedule: Schedule, asked: SavedRequest) -> Engine:
        """Its cards."""
        return LocalEngine(runner, schedule, asked.config.bench.blocks_at_once)


@contextlib.contextmanager
def place_for(bench: BenchConfig, say: Callable[[str], None]) -> Iterator[Place]:
    """The place that the configuration names, for as long as it is needed.

    Raises EnvironmentFailure where there is no such cluster, or no node of it can be used.
    """
    if bench.engine == "local":
        yield ThisMachine()
        return
    from ciwm.bench.ray_cluster import cluster  # noqa: PLC0415  only where it is asked for

    with cluster(bench, say) as found:
        yield found
