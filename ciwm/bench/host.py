"""The machine as a run will measure on it: its cards, however they are found, and their clocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.devices import describe_host
from ciwm.errors import ConfigError
from ciwm.launch.launcher import describe_node, refuse_mixed
from ciwm.launch.torch_devices import with_torch_devices

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ciwm.config import Config
    from ciwm.records import Environment


def measured_host(
    config: Config, python: str, say: Callable[[str], None], only: Sequence[str] = ()
) -> Environment:
    """The machine with the accelerators that `[bench]` wants, held clocks noted.

    `python` is the interpreter whose torch may be asked. Where a launcher starts the workloads
    (`only` some, or all), the node it starts them on. Raises DeviceError; LaunchError where the
    launcher does not start, ConfigError where only some workloads have one.
    """
    workloads = [one for one in config.workload if not only or one.id in only]
    refuse_mixed(workloads)
    if workloads and workloads[0].launcher:
        if config.bench.lock_clocks is not None or config.bench.probe:
            raise ConfigError(
                "[bench] lock_clocks and probe are for the cards of this machine, and a launcher "
                "starts the workloads on another",
                "leave them out; the launcher may hold clocks (srun --gpu-freq)",
            )
        return describe_node(workloads[0])
    host = describe_host(config.bench.lock_clocks)
    if config.bench.devices == "cpu":
        return host.model_copy(update={"accelerators": (), "topology": (), "nvlink_mb_s": None})
    host = with_torch_devices(host, config.bench, python, say)
    if config.bench.lock_clocks is not None and not any(
        card.locked_sm_clock_mhz for card in host.accelerators
    ):
        say("[bench] lock_clocks: there is no NVIDIA card here, so no clock is held")
    return host
