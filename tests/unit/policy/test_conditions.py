"""What makes a launch void, rule by rule; every expectation is from the configuration's words."""

from __future__ import annotations

from typing import Any

import pytest

from ciwm.gate_config import GateConfig, VoidConfig
from ciwm.policy.conditions import void_reason, void_reasons
from ciwm.policy.device_remarks import remarks
from ciwm.policy.watch import Watch
from ciwm.records import HostTelemetry, Launch, Telemetry
from tests.runs import RunBuilder


def launch(*windows: Telemetry, host: HostTelemetry | None = None, **fields: Any) -> Launch:
    (one, *_) = RunBuilder().block(0, {"base": [1, 1], "head": [1, 1]}).launches
    return one.model_copy(update={"telemetry": windows, "host": host, **fields})


def window(**fields: Any) -> Telemetry:
    return Telemetry(accelerator=3, **fields)


def host(**fields: Any) -> HostTelemetry:
    return HostTelemetry(readings=2, **fields)


@pytest.mark.parametrize(
    ("reason", "void"),
    [
        ("hw_thermal_slowdown", True),
        ("sw_thermal_slowdown", True),
        ("hw_slowdown", True),
        ("hw_power_brake_slowdown", True),
        ("hbm_thermal_slowdown", True),  # AMD
        ("sw_power_cap", False),
        ("gpu_idle", False),
        ("applications_clocks_setting", False),
        ("sync_boost", False),
    ],
)
def test_which_reasons_of_a_lowered_clock_make_a_launch_void(reason: str, *, void: bool) -> None:
    expected = f"accelerator 3 was throttled ({reason})" if void else ""
    assert void_reason(launch(window(throttle_reasons=(reason,)))) == expected


def test_the_reasons_that_count_can_be_stated() -> None:
    rules = VoidConfig(throttle=("sw_power_cap",))
    capped = launch(window(throttle_reasons=("sw_power_cap", "hw_slowdown")))
    hot = launch(window(throttle_reasons=("hw_slowdown",)))
    assert void_reason(capped, rules) == "accelerator 3 was throttled (sw_power_cap)"
    assert void_reason(hot, rules) == ""


def test_company_on_the_card_voids_unless_it_is_tolerated_by_name() -> None:
    two = launch(window(foreign_pids=(7, 8), foreign_names=("Xorg", "python3.11")))
    assert void_reason(two) == "another process on accelerator 3 (Xorg)"
    said = void_reason(two, VoidConfig(tolerate=("Xorg",)))
    assert said == "another process on accelerator 3 (python3.11)"
    assert void_reason(two, VoidConfig(tolerate=("Xorg", "python*"))) == ""
    assert void_reason(two, VoidConfig(foreign_processes=False)) == ""
    nameless = launch(window(foreign_pids=(7,)))
    assert void_reason(nameless) == "another process on accelerator 3"
    assert void_reason(nameless, VoidConfig(tolerate=("Xorg",))) != ""


def test_a_clock_well_below_the_highest_of_its_block_voids_that_launch_alone() -> None:
    block = [launch(window(sm_clock_busy_mhz=mhz)) for mhz in (1000, 901, 899)]
    said = "accelerator 3 ran more than 10 % below the highest clock of its block"
    assert void_reasons(block) == ("", "", said)
    assert void_reasons(block, VoidConfig(clock_band_pct=None)) == ("", "", "")


def test_a_head_that_draws_more_power_and_is_slowed_by_it_counts() -> None:
    clocks, capped = (1755, 1500), {"throttle_reasons": ("sw_power_cap",)}
    base, head = (window(sm_clock_busy_mhz=clock) for clock in clocks)
    slowed = head.model_copy(update=capped)
    assert void_reasons([launch(base), launch(slowed)]) == ("", "")
    # without that reason nobody knows why it was slow, and a held clock has to be kept
    assert void_reasons([launch(base), launch(head)])[1]
    held = slowed.model_copy(update={"sm_clock_locked_mhz": 1755})
    assert void_reasons([launch(base), launch(held)])[1]


def test_a_clock_that_is_held_may_be_off_to_neither_side() -> None:
    rules = VoidConfig.model_validate({"clock_band": "2%"})
    clocks = (1469, 1470, 1530, 1531)
    block = [launch(window(sm_clock_busy_mhz=c, sm_clock_locked_mhz=1500)) for c in clocks]
    said = "accelerator 3 did not keep the 1500 MHz it was held at"
    assert void_reasons(block, rules) == (said, "", "", said)


def test_a_clock_that_nobody_read_at_work_tells_nothing() -> None:
    block = [launch(window(sm_clock_busy_mhz=1000)), launch(window(sm_clock_min_mhz=210))]
    assert void_reasons(block) == ("", "")


def test_memory_errors_that_were_not_corrected_void_and_corrected_ones_are_told() -> None:
    bad = launch(window(ecc_corrected=2, ecc_uncorrected=1))
    said = "accelerator 3 had memory errors that ECC could not correct"
    assert void_reason(bad, VoidConfig(throttle=(), foreign_processes=False)) == said
    assert remarks([bad]) == ("accelerator 3: 2 memory errors corrected by ECC",)


def test_the_cpus_void_only_where_a_limit_is_stated() -> None:
    busy = launch(host=host(steal_mean_pct=12.0, other_cpus=1.5, thermal_throttles=4))
    assert void_reason(busy) == ""
    assert "(steal)" in void_reason(busy, VoidConfig(max_steal_pct=5))
    assert void_reason(busy, VoidConfig(max_steal_pct=12)) == ""
    assert "more than 1 CPUs busy" in void_reason(busy, VoidConfig(max_other_cpus=1))
    assert void_reason(busy, VoidConfig(cpu_thermal=True)) == "CPU cores were slowed for heat"


def test_the_gate_discards_by_the_rules_of_its_configuration() -> None:
    run = RunBuilder()
    capped = Telemetry(accelerator=0, throttle_reasons=("sw_power_cap",))
    run.block(0, {"base": [1, 1], "head": [1, 1]}, telemetry={"head": [capped, None]})
    plan, config = run.run().plan, GateConfig()
    strict = GateConfig.model_validate({"void": {"throttle": ["*"]}})
    assert Watch(plan, config).add(run.launches)
    assert not Watch(plan, strict).add(run.launches)


def test_what_is_worth_a_line_is_counted_over_launches() -> None:
    quiet = launch(host=host(steal_mean_pct=0.4, other_cpus=0.2, throttled_s=0.0))
    beside = launch(host=host(steal_mean_pct=9.6, other_cpus=1.25, throttled_s=2.0))
    lost = launch(window(xids=(79, 63)), telemetry_problem="the sampler ended with status -9")
    assert remarks([quiet, quiet]) == ()
    assert remarks([quiet, beside, lost, lost]) == (
        "telemetry of 2 of 4 launches is missing or cut short: the sampler ended with status -9",
        "accelerator 3: XID 79 during 2 of 4 launches",
        "accelerator 3: XID 63 during 2 of 4 launches",
        "a hypervisor gave up to 10 % of the CPU time to other guests (steal) in 1 of 4 launches",
        "other processes kept up to 1.2 CPUs busy in 1 of 4 launches",
        "the CPU quota of this container held processes back for 2.0 s in all",
    )
