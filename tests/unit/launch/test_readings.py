"""What the sampler wrote, drawn together: extremes, clocks at work, company, CPU time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ciwm.launch.readings import read_readings
from ciwm.records import Accelerator

if TYPE_CHECKING:
    from pathlib import Path

    from ciwm.launch.readings import Seen

CARD = Accelerator(index=1, vendor="nvidia", name="H200", uuid="GPU-1")


def card(at_s: float, **fields: Any) -> dict[str, Any]:
    return {"kind": "card", "card": 1, "at_s": at_s, **fields}


def host(at_s: float, busy_s: float, steal_s: float, total_s: float, **more: Any) -> dict[str, Any]:
    told = {"busy_s": busy_s, "steal_s": steal_s, "total_s": total_s}
    return {"kind": "host", "at_s": at_s, **told, **more}


def seen(tmp_path: Path, *lines: Any, windows: Any = (), cpu_s: float = 0, end: str = "") -> Seen:
    path = tmp_path / "telemetry.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("".join(f"{text}\n" for text in texts) + end)
    return read_readings(path).seen([CARD], windows, cpu_s)


def test_extremes_are_over_all_readings(tmp_path: Path) -> None:
    found = seen(
        tmp_path,
        card(1, sm_clock_mhz=210, power_w=80.5, temperature_c=40, memory_bytes=10),
        card(2, sm_clock_mhz=1980, power_w=690.0, temperature_c=71, memory_bytes=99),
        card(3, sm_clock_mhz=1500, power_w=300.0, temperature_c=70, memory_bytes=50),
    )
    (one,) = found.cards
    assert (one.sm_clock_min_mhz, one.sm_clock_max_mhz) == (210, 1980)
    assert (one.power_max_w, one.temperature_max_c, one.memory_max_bytes) == (690.0, 71, 99)
    assert one.readings == 3
    assert one.memory_clock_max_mhz is None


def test_the_clock_at_work_is_the_median_of_busy_readings_inside_the_measured_windows(
    tmp_path: Path,
) -> None:
    lines = [
        card(1.0, sm_clock_mhz=900, utilisation_pct=50),  # before the first window
        card(2.0, sm_clock_mhz=1700, utilisation_pct=90),
        card(2.5, sm_clock_mhz=210, utilisation_pct=0),  # idle
        card(3.0, sm_clock_mhz=1800, utilisation_pct=90),
        card(3.2, sm_clock_mhz=345, utilisation_pct=3, reasons=["gpu_idle"]),
        card(5.0, sm_clock_mhz=1750, utilisation_pct=90),  # in the second window
        card(9.0, sm_clock_mhz=300, utilisation_pct=90),
    ]
    windows = [(1.5, 3.5), (4.5, 5.5)]
    assert seen(tmp_path, *lines, windows=windows).cards[0].sm_clock_busy_mhz == 1750
    # without windows (a command) all busy readings count: 300 900 1700 1750 1800
    assert seen(tmp_path, *lines).cards[0].sm_clock_busy_mhz == 1700
    two = seen(tmp_path, *lines, windows=[(2.9, 5.5)])
    assert two.cards[0].sm_clock_busy_mhz is None  # two readings tell nothing


def test_hidden_processes_that_are_still_there_at_the_end_are_foreign(tmp_path: Path) -> None:
    found = seen(
        tmp_path,
        card(1, hidden=[50]),
        card(2, hidden=[50, 60], foreign=[[70, "stress"]]),
        card(3),  # a quick reading, without the process list
        card(4, hidden=[50, 80]),
    )
    (one,) = found.cards
    assert dict(zip(one.foreign_pids, one.foreign_names, strict=True)) == {
        70: "stress",
        50: "",
        80: "",
    }
    assert one.unattributed_pids == (60,)


def test_cpu_shares_are_of_all_cpus_and_the_launch_is_taken_from_the_others(
    tmp_path: Path,
) -> None:
    # 4 CPUs for 10 s: 40 CPU seconds, of which 24 busy and 2 stolen; the launch used 19
    found = seen(
        tmp_path,
        host(0.0, 0.0, 0.0, 0.0, mhz=3000.0, throttled_s=5.0, thermal_throttles=7),
        host(5.0, 16.0, 2.0, 20.0),
        host(10.0, 24.0, 2.0, 40.0, mhz=2400.0, throttled_s=5.5, thermal_throttles=7),
        cpu_s=19.0,
    ).host
    assert found is not None
    assert (found.busy_mean_pct, found.busy_max_pct) == (60.0, 80.0)
    assert (found.steal_mean_pct, found.steal_max_pct) == (5.0, 10.0)
    assert found.other_cpus == 0.5
    assert (found.frequency_min_mhz, found.frequency_max_mhz) == (2400.0, 3000.0)
    assert (found.throttled_s, found.thermal_throttles) == (0.5, 0)


def test_a_span_of_a_few_ticks_tells_nothing_of_the_cpus(tmp_path: Path) -> None:
    """A command of 5 ms: a tick of 10 ms on each of two CPUs would be 35 of them kept busy."""
    short = seen(tmp_path, host(7.0, 1.0, 0.0, 2.0), host(7.0006, 1.02, 0.01, 2.03)).host
    assert short is not None
    assert (short.other_cpus, short.busy_mean_pct, short.steal_mean_pct) == (None, None, None)
    # the last reading of a longer one may come right after the one before
    tail = seen(
        tmp_path,
        host(0.0, 0.0, 0.0, 0.0),
        host(1.0, 0.5, 0.1, 2.0),
        host(1.002, 0.51, 0.11, 2.01),
    ).host
    assert tail is not None
    assert (tail.busy_max_pct, tail.steal_max_pct) == (25.0, 5.0)
    assert tail.busy_mean_pct == 25.4


def test_errors_are_those_during_the_launch(tmp_path: Path) -> None:
    found = seen(
        tmp_path,
        card(1),
        {"kind": "errors", "card": 1, "corrected": 10, "uncorrected": 0},
        {"kind": "event", "card": 1, "xid": 63},
        {"kind": "event", "card": 0, "xid": 79},
        {"kind": "errors", "card": 1, "corrected": 13, "uncorrected": 0},
    ).cards[0]
    assert (found.ecc_corrected, found.ecc_uncorrected, found.xids) == (3, 0, (63,))


def test_what_cannot_be_read_is_a_problem_and_never_an_empty_record(tmp_path: Path) -> None:
    torn = seen(tmp_path, card(1), "not JSON", end='{"kind": "card", "ca')
    assert len(torn.cards) == 1
    assert torn.problem == "1 lines unreadable"
    gone = seen(tmp_path, {"kind": "problem", "card": 1, "what": "GPU is lost"})
    assert (gone.cards, gone.problem) == ((), "accelerator 1: GPU is lost")
    odd = seen(tmp_path, card(1, foreign=[5]))
    assert odd.problem.startswith("the sampler's file is damaged: ")
