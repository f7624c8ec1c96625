"""What held the CPUs back, by files that a test writes; the load beside the kernel's own count."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ciwm.devices import cpu_meter

if TYPE_CHECKING:
    from pathlib import Path


def test_a_busy_process_is_in_the_load() -> None:
    before, began = cpu_meter.load(), time.process_time()
    while time.process_time() - began < 0.2:
        pass
    after = cpu_meter.load()
    assert after.busy_s - before.busy_s >= 0.1  # ticks are 10 ms
    slack_s = 0.05  # the two sums are of the same ticks, rounded apart, read one after the other
    assert after.total_s - before.total_s >= after.busy_s - before.busy_s - slack_s


def test_the_time_a_quota_held_back_is_the_largest_of_the_groups_above(tmp_path: Path) -> None:
    proc, cgroup = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    (proc / "self" / "cgroup").write_text("0::/pod/job\n")
    (cgroup / "pod" / "job").mkdir(parents=True)
    assert cpu_meter.quota_throttled_s(proc, cgroup) is None
    (cgroup / "pod" / "cpu.stat").write_text("nr_throttled 9\nthrottled_usec 2500000\n")
    (cgroup / "pod" / "job" / "cpu.stat").write_text("usage_usec 1\nthrottled_usec 1000\n")
    assert cpu_meter.quota_throttled_s(proc, cgroup) == 2.5
    (cgroup / "pod" / "cpu.stat").write_text("throttled_time 3000000000\n")  # version 1: ns
    assert cpu_meter.quota_throttled_s(proc, cgroup) == 3.0


def test_thermal_throttles_are_summed_over_cores(tmp_path: Path) -> None:
    pattern = f"{tmp_path}/cpu[0-9]*/count"
    assert cpu_meter.thermal_throttles(pattern) is None
    for number, text in enumerate(("3\n", "4\n", "odd\n")):
        (tmp_path / f"cpu{number}").mkdir()
        (tmp_path / f"cpu{number}" / "count").write_text(text)
    assert cpu_meter.thermal_throttles(pattern) == 7
