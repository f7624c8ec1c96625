"""The machine that a run is measured on: this one, or the node that a launcher starts things on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.devices import describe_host
from ciwm.launch.launcher import describe_node, refuse_mixed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.config import WorkloadConfig
    from ciwm.records import Environment


def machine_of(workloads: Sequence[WorkloadConfig]) -> Environment:
    """The machine of all of a run's workloads.

    Raises ConfigError where only some have a launcher, LaunchError where it does not start, and
    DeviceError when a driver or a card is broken.
    """
    refuse_mixed(workloads)
    return describe_node(workloads[0]) if workloads[0].launcher else describe_host()
