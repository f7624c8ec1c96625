"""Where the blocks of a run go: this machine, or a Ray cluster."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Protocol

from ciwm.bench.communication import LocalProfiler
from ciwm.bench.host import measured_host
from ciwm.bench.local_engine import LocalEngine
from ciwm.bench.probes import refuse_sick
from ciwm.errors import ConfigError

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence

    from ciwm.bench.block import BlockRunner
    from ciwm.bench.communication import Profiler
    from ciwm.bench.engine import Engine
    from ciwm.bench.saved_request import SavedRequest
    from ciwm.bench.schedule import Schedule
    from ciwm.config import Config
    from ciwm.records import BuildRecord, Environment


class Place(Protocol):
    """A place that blocks run at, and the machine, or the kind of machine, that it is."""

    host: Environment

    def refuse_sick(
        self, head: BuildRecord, stop: threading.Event, say: Callable[[str], None]
    ) -> None:
        """Probe the cards; raises DeviceError for a sick one."""

    def engine(self, runner: BlockRunner, schedule: Schedule, asked: SavedRequest) -> Engine:
        """What runs the blocks of one run there."""

    def profiler(self, runner: BlockRunner, asked: SavedRequest) -> Profiler:
        """What makes the profiled launches of one run there, once its blocks are over."""


class ThisMachine:
    """The machine that ciwm runs on."""

    def __init__(self, host: Environment) -> None:
        self.host = host

    def refuse_sick(
        self, head: BuildRecord, stop: threading.Event, say: Callable[[str], None]
    ) -> None:
        """Probe its cards; raises DeviceError for a sick one."""
        refuse_sick(head.python, self.host, stop, say)

    def engine(self, runner: BlockRunner, schedule: Schedule, asked: SavedRequest) -> Engine:
        """Its cards."""
        return LocalEngine(runner, schedule, asked.config.bench.blocks_at_once)

    def profiler(self, runner: BlockRunner, _asked: SavedRequest) -> Profiler:
        """Its cards again."""
        return LocalProfiler(runner.site, runner.host, runner.lock, runner.stop, runner.say)


@contextlib.contextmanager
def place_for(
    config: Config, head: BuildRecord, say: Callable[[str], None], only: Sequence[str] = ()
) -> Iterator[Place]:
    """The place that the configuration names for its workloads, or `only` some, while needed.

    Raises EnvironmentFailure where there is no such cluster, or no node of it can be used, and
    DeviceError for a card that is broken.
    """
    if config.bench.engine == "local":
        yield ThisMachine(measured_host(config, head.python, say, only))
        return
    _refuse_others_nodes(config)
    from ciwm.bench.ray_cluster import cluster  # noqa: PLC0415  only where it is asked for

    with cluster(config.bench, say) as found:
        yield found


def _refuse_others_nodes(config: Config) -> None:
    """Raise ConfigError for a workload that goes to nodes by itself: Ray keeps a block on one."""
    for workload in config.workload:
        what = "launcher" if workload.launcher else "torchrun = --nnodes"
        if workload.launcher or (workload.command is None and workload.ranks > workload.devices):
            raise ConfigError(
                f'workload {workload.id}: {what} does not go with engine = "ray", which keeps '
                "each block on one node",
                'engine = "local", or neither of them',
            )
