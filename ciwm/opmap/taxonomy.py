"""What kind of work a workload is: bound by compute or memory, and whether it fits the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ciwm.opmap.seen import said
from ciwm.records.opmap import ByteBounds, Intensity, Memory

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ciwm.config_map import DeviceConfig
    from ciwm.opmap.observe import Observed
    from ciwm.records.opmap import MappedWorkload

Bound = Literal["compute-bound", "memory-bound", "undetermined"]
Fits = Literal["resident", "fits-with-KV", "needs-sharding", "offload", "unknown"]
ROOM = 0.8  # of the device's memory: more leaves nothing for fragments, the context, longer inputs
NO_DEVICE = "no device is declared ([map.device])"
_WHERE = "under [map.device] in ciwm.toml (docs/map.md)"


def intensity(observed: Observed, device: DeviceConfig | None) -> Intensity | None:
    """FLOPs and bytes of one step, and what binds it on the declared device."""
    figures = _figures(observed)
    if figures is None:
        return None
    flops, low, high = figures["flops"], figures["bytes_low"], figures["bytes_high"]
    at_least = flops / high if high else 0.0
    at_most = flops / low if low else 0.0
    bound, reason = _bound(at_least, at_most, device, tuple(figures["uncounted"]))
    return Intensity(
        flops=flops,
        bytes=ByteBounds(low=low, high=high),
        flop_per_byte_low=at_least,
        flop_per_byte_high=at_most,
        uncounted=tuple(figures["uncounted"]),
        bound=bound,
        reason=reason,
    )


def _bound(
    low: float, high: float, device: DeviceConfig | None, uncounted: tuple[str, ...]
) -> tuple[Bound, str]:
    if device is None:
        return "undetermined", NO_DEVICE
    ridge = device.ridge_flop_per_byte
    where = f"the ridge of {device.name} is {ridge:.1f} FLOP/byte ({device.source})"
    if low > ridge:
        return "compute-bound", f"at least {low:.1f} FLOP/byte; {where}"
    if high < ridge and not uncounted:
        return "memory-bound", f"at most {high:.1f} FLOP/byte; {where}"
    if high < ridge:
        names = ", ".join(uncounted)
        return "undetermined", f"FLOPs are a lower bound, {names} not counted; {where}"
    return "undetermined", f"between {low:.1f} and {high:.1f} FLOP/byte; {where}"


def memory(observed: Observed, device: DeviceConfig | None, devices: int) -> Memory | None:
    """Memory of one step by kind, and how it fits the declared device."""
    figures = _figures(observed)
    if figures is None:
        return None
    kinds = ("params_bytes", "grads_bytes", "optimizer_bytes", "activations_bytes")
    without_kv = float(sum(figures.get(kind) or 0 for kind in kinds))
    needed = without_kv + (figures.get("kv_bytes") or 0)
    fits, reason = _fits(without_kv, needed, device, devices)
    return Memory(
        **{kind: figures.get(kind) for kind in kinds},
        kv_bytes_per_token=figures.get("kv_bytes_per_token"),
        needed_bytes=needed,
        fits=fits,
        reason=reason,
    )


def _fits(
    without_kv: float, needed: float, device: DeviceConfig | None, devices: int
) -> tuple[Fits, str]:
    """By share of the device's memory: what is needed, and what of that is the KV cache."""
    if device is None or device.memory_gib is None:
        return "unknown", NO_DEVICE if device is None else "its memory is not declared"
    total = device.memory_gib * 2**30
    share = f"{100 * needed / total:.1f} % of the {device.memory_gib:g} GiB of {device.name}"
    if needed <= ROOM * total:
        if needed > without_kv:
            return "fits-with-KV", f"{share}, its KV cache included"
        return "resident", share
    if needed <= ROOM * total * devices:
        return "needs-sharding", f"{share}; over {devices} devices it fits"
    if without_kv <= ROOM * total:
        return "needs-sharding", f"{share}; it fits without its KV cache alone"
    where = f"{devices} devices do not hold it" if devices > 1 else "one device does not hold it"
    return "offload", f"{share}; {where}"


def undeclared(workloads: Iterable[MappedWorkload], device: DeviceConfig | None) -> Iterator[str]:
    """What is left open for want of a declared device, and what to declare; told once for all."""
    if not any(one.intensity or one.memory for one in workloads):
        return
    if device is None:
        yield (
            "no device is declared, so what binds a workload is undetermined, and whether it fits "
            "is unknown: state peak_tflops and bandwidth_gb_s (their ratio is the ridge point), "
            f"memory_gib, name and source {_WHERE}"
        )
    elif device.memory_gib is None:
        yield (
            f"the memory of {device.name} is not declared, so whether a workload fits is unknown: "
            f"state memory_gib {_WHERE}"
        )


def _figures(observed: Observed) -> dict[str, Any] | None:
    return next(iter(said(observed, "figures")), None)
