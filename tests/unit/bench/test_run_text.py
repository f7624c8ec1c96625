from __future__ import annotations

from ciwm.config import GateConfig
from ciwm.records import Telemetry
from ciwm.report.run_text import run_text, saved_text
from tests.runs import RunBuilder, series

GATE = GateConfig()
HOT = Telemetry(
    accelerator=0, vendor="nvidia", readings=9, throttle_reasons=("hw_thermal_slowdown",)
)


def cells(line: str) -> list[str]:
    return [cell for cell in line.split("  ") if cell.strip()]


def test_a_row_has_medians_over_launches_their_ratio_and_how_many() -> None:
    # base: medians of launches 1, 2, 3, 4 ms; head: 2, 4, 6, 8 ms; of logs, as the gate and the
    # ratio have them: sqrt(2 x 3) = 2.449 and sqrt(4 x 6) = 4.899
    builder = RunBuilder(family=[series("decode")])
    builder.block(0, {"base": [0.001, 0.002], "head": [0.002, 0.004]})
    builder.block(1, {"base": [0.003, 0.004], "head": [0.006, 0.008]})

    row = cells(run_text(builder.run()).splitlines()[2])

    assert [cell.strip() for cell in row] == [
        "decode",
        "step_time",
        "2.449 ms",
        "4.899 ms",
        "2.0000 (+100.0%)",
        "4+4",
    ]


def test_a_discarded_block_counts_nowhere_and_its_trouble_is_told() -> None:
    builder = RunBuilder(family=[series("decode")])
    builder.block(0, {"base": [1, 1], "head": [9, 9]}, exits={"head": ["oom", "ok"]})

    lines = run_text(builder.run()).splitlines()

    assert lines[2].split() == ["decode", "step_time", "-", "-", "-", "0+0"]
    assert lines[3] == "decode head: 1 x oom: it said: boom (log: )"


def test_a_series_without_samples_is_a_row_of_dashes() -> None:
    (row,) = run_text(RunBuilder(family=[series("decode")]).run()).splitlines()[2:]

    assert row.split() == ["decode", "step_time", "-", "-", "-", "0+0"]


def test_values_at_zero_have_no_ratio() -> None:
    builder = RunBuilder(family=[series("decode", unit="count")])
    builder.block(0, {"base": [0, 0], "head": [0, 1]})

    assert cells(run_text(builder.run()).splitlines()[2])[4].strip() == "-"


def test_a_run_that_decided_early_says_what_that_saved() -> None:
    # 3 blocks of 2+2 launches of a second each, where 32 may be: 20 launches of a second are left
    run = RunBuilder().blocks(3, 1, 1).run()
    assert saved_text(run, GATE) == "decided early: 12 of at most 32 launches, about 20 s saved"


def test_launches_of_discarded_blocks_are_none_of_those_that_were_needed() -> None:
    values, hot = {"base": [1, 1], "head": [1, 1]}, {"base": [HOT, None]}
    builder = RunBuilder().blocks(3, 1, 1)
    builder.block(3, values, telemetry=hot).block(3, values, attempt=1)
    told = saved_text(builder.run(), GATE)
    assert told == "decided early: 16 of at most 32 launches, about 16 s saved"


def test_a_run_that_used_its_launches_up_or_was_stopped_saved_nothing() -> None:
    assert saved_text(RunBuilder(plan={"max_launches": 6}).blocks(3, 1, 1).run(), GATE) == ""
    assert saved_text(RunBuilder().blocks(3, 1, 1).run(complete=False), GATE) == ""
    calibrates = RunBuilder(plan={"purpose": "calibrate"}).blocks(3, 1, 1).run()
    assert saved_text(calibrates, GATE) == ""


def test_what_was_given_up_was_not_decided() -> None:
    values = {"base": [1, 1], "head": [1, 1]}
    void = RunBuilder()
    for attempt in range(3):
        void.block(0, values, attempt=attempt, telemetry={"base": [HOT, None]})
    assert saved_text(void.run(), GATE) == ""

    dead = RunBuilder().block(0, values, exits={"head": ["failed", "failed"]})
    assert saved_text(dead.run(), GATE) == ""

    # the other workload is decided: 12 of its 32 launches of a second
    both = RunBuilder([series("decode"), series("hot")]).blocks(3, 1, 1)
    for attempt in range(3):
        hot = {"head": [HOT, None]}
        both.block(0, values, workload="hot", attempt=attempt, telemetry=hot)
    told = saved_text(both.run(), GATE)
    assert told == "decided early: 12 of at most 32 launches, about 20 s saved"


def test_workloads_that_the_change_itself_touches_are_named() -> None:
    builder = RunBuilder(plan={"touched_workloads": ("decode",)})

    assert run_text(builder.run()).splitlines()[-1].endswith("workloads themselves: decode")
