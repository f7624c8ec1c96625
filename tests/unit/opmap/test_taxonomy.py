"""What binds a workload, and whether it fits: against a declared device, never a guessed one."""

from __future__ import annotations

from typing import Any

import pytest

from ciwm.config_map import DeviceConfig
from ciwm.opmap.observe import Observed
from ciwm.opmap.taxonomy import intensity, memory, undeclared
from ciwm.report.map_words import intensity_words
from tests.map_examples import mapped

# 100 TFLOP/s over 1,000 GB/s: the ridge is at 100 FLOP/byte
DEVICE = DeviceConfig(
    name="card", peak_tflops=100, bandwidth_gb_s=1000, memory_gib=1, source="its data sheet"
)
GIB = 2**30


def observed(**figures: Any) -> Observed:
    known = {"flops": 1e12, "bytes_low": 1e9, "bytes_high": 2e9, "uncounted": []}
    return Observed(lines=({"what": "figures", "params_bytes": 100, **known, **figures},))


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1e9, 2e9, "compute-bound"),  # 500 to 1000 FLOP/byte
        (1e11, 2e11, "memory-bound"),  # 5 to 10
        (1e9, 2e10, "undetermined"),  # 50 to 1000
    ],
)
def test_a_bound_is_told_only_where_both_ends_agree(low: float, high: float, expected: str) -> None:
    found = intensity(observed(bytes_low=low, bytes_high=high), DEVICE)
    assert found is not None
    assert found.bound == expected
    assert (found.flop_per_byte_low, found.flop_per_byte_high) == (1e12 / high, 1e12 / low)


def test_without_a_declared_device_nothing_is_said_to_bind() -> None:
    found = intensity(observed(), None)
    assert found is not None
    assert found.bound == "undetermined"
    assert "no device is declared" in found.reason


def test_the_source_of_the_ridge_is_told() -> None:
    found = intensity(observed(), DEVICE)
    assert found is not None
    assert "100.0 FLOP/byte (its data sheet)" in found.reason


def test_operators_that_are_not_counted_leave_memory_bound_open() -> None:
    figures = observed(bytes_low=1e11, bytes_high=2e11, uncounted=["aten.conv3d.default"])
    found = intensity(figures, DEVICE)
    assert found is not None
    assert found.bound == "undetermined"
    assert "aten.conv3d.default not counted" in found.reason
    assert "(conv3d.default not counted)" in intensity_words(found)


def test_a_model_with_a_cache_fits_with_it() -> None:
    figures = observed(params_bytes=GIB / 2, kv_bytes=GIB / 8, kv_bytes_per_token=1024.0)
    found = memory(figures, DEVICE, 1)
    assert found is not None
    assert found.needed_bytes == GIB * 5 / 8
    assert found.fits == "fits-with-KV"


@pytest.mark.parametrize(
    ("params", "devices", "expected"),
    [
        (0.5 * GIB, 1, "resident"),
        (0.9 * GIB, 1, "offload"),  # beyond the 80 % that leave room
        (1.5 * GIB, 2, "needs-sharding"),
        (1.5 * GIB, 1, "offload"),
    ],
)
def test_what_does_not_fit_is_sharded_or_offloaded(
    params: float, devices: int, expected: str
) -> None:
    found = memory(observed(params_bytes=params), DEVICE, devices)
    assert found is not None
    assert found.fits == expected


def test_a_stage_that_said_nothing_has_no_figures() -> None:
    assert intensity(Observed(), DEVICE) is None
    assert memory(Observed(), DEVICE, 1) is None


def test_what_is_open_for_want_of_a_declaration_is_told_once_with_what_to_declare() -> None:
    workloads = [mapped("decode"), mapped("prefill")]
    (told,) = undeclared(workloads, None)
    assert "[map.device]" in told
    assert all(key in told for key in ("peak_tflops", "bandwidth_gb_s", "memory_gib", "source"))
    (told,) = undeclared(workloads, DEVICE.model_copy(update={"memory_gib": None}))
    assert told.startswith("the memory of card is not declared")
    assert not list(undeclared(workloads, DEVICE))


def test_a_map_without_figures_needs_no_declared_device() -> None:
    assert not list(undeclared([mapped(intensity=None, memory=None)], None))
