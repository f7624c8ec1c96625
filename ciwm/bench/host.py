"""The machine as a run will measure on it: its cards, however they are found, and their clocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.devices import describe_host
from ciwm.launch.torch_devices import with_torch_devices

if TYPE_CHECKING:
    from collections.abc import Callable

    from ciwm.config import Config
    from ciwm.records import Environment


def measured_host(config: Config, python: str, say: Callable[[str], None]) -> Environment:
    """The machine with the accelerators that `[bench]` wants, held clocks noted.

    `python` is the interpreter whose torch may be asked. Raises DeviceError.
    """
    host = describe_host(config.bench.lock_clocks)
    if config.bench.devices == "cpu":
        return host.model_copy(update={"accelerators": ()})
    return with_torch_devices(host, config.bench, python, say)
