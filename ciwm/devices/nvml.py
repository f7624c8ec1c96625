"""The NVML binding: how it is opened, and how a reading that a card lacks is told from a failure.

Loads nothing of ciwm's records: the sampler uses it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from ciwm.errors import DeviceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")


@contextmanager
def nvml() -> Iterator[Any]:
    """The NVML binding, initialised; None without a driver. Raises DeviceError on a broken one."""
    import pynvml  # noqa: PLC0415  only where it is used

    try:
        pynvml.nvmlInit()
    except (pynvml.NVMLError_LibraryNotFound, pynvml.NVMLError_DriverNotLoaded):
        yield None
        return
    except pynvml.NVMLError as error:
        raise broken("the NVIDIA driver does not answer", error) from error
    try:
        yield pynvml
    finally:
        pynvml.nvmlShutdown()


def lacking(binding: Any) -> tuple[type[Exception], ...]:
    """What is raised for a reading that this card, or this driver, does not have."""
    return (
        binding.NVMLError_NotSupported,
        binding.NVMLError_FunctionNotFound,
        binding.NVMLError_InvalidArgument,
        binding.NVMLError_NoPermission,
        binding.NVMLError_NotFound,
    )


def lost(binding: Any) -> tuple[type[Exception], ...]:
    """What is raised once the card, or the driver, is gone."""
    return (
        binding.NVMLError_GpuIsLost,
        binding.NVMLError_ResetRequired,
        binding.NVMLError_Uninitialized,
        binding.NVMLError_DriverNotLoaded,
    )


def optional(binding: Any, read: Callable[[], T]) -> T | None:
    """What a reading gives; None where this card, or this driver, does not have it."""
    try:
        return read()
    except lacking(binding):
        return None


def handle_of(binding: Any, index: int, uuid: str | None) -> Any:
    """The handle of a card, or of a MIG instance; raises the binding's NVMLError."""
    if uuid is not None:
        return binding.nvmlDeviceGetHandleByUUID(uuid)
    return binding.nvmlDeviceGetHandleByIndex(index)


def whole_card(binding: Any, handle: Any) -> Any:
    """The card that a MIG instance is a part of; any other handle as it is."""
    found = optional(binding, lambda: binding.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle))
    return handle if found is None else found


def broken(what: str, error: Exception) -> DeviceError:
    """The failure to read a card or a driver."""
    return DeviceError(f"{what}: {error}", "see: nvidia-smi, dmesg | grep -i nvrm")
