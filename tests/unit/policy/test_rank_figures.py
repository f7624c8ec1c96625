"""Bandwidths, scaling efficiency and load imbalance from a run, by numbers worked out by hand."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from ciwm.bench.merging import Part, merged
from ciwm.config import GateConfig
from ciwm.gate_config import VoidConfig
from ciwm.policy import decide
from ciwm.policy.rank_figures import rank_figures
from ciwm.records import Samples, Telemetry
from ciwm.records.ranks import (
    CollectiveSeries,
    CommunicationProfile,
    RankCommunication,
    RankSamples,
    ScalingGroup,
    ScalingPoint,
)
from ciwm.report.detail import FULL
from ciwm.report.ranks import rank_markdown, rank_text
from ciwm.report.verdict_text import show_verdict
from ciwm.stats.collectives import bus_factor, efficiency, imbalance_pct
from tests.runs import RunBuilder, series

if TYPE_CHECKING:
    from ciwm.records import Run

GATE = GateConfig()


def of_ranks(run: Run, *times: tuple[float, ...]) -> Run:
    """The run with these times of each rank in every launch."""
    launches = []
    for launch in run.launches:
        name = launch.samples[0].series
        ranks = tuple(
            RankSamples(
                rank=number, samples=(Samples(series=name, metric="step_time", values=one),)
            )
            for number, one in enumerate(times)
        )
        launches.append(launch.model_copy(update={"ranks": ranks}))
    return run.model_copy(update={"launches": tuple(launches)})


@pytest.mark.parametrize(
    ("operation", "ranks", "factor"),
    [  # by nccl-tests' doc/PERFORMANCE.md
        ("all_reduce", 2, 1.0),
        ("all_reduce", 4, 1.5),
        ("all_reduce", 8, 1.75),
        ("all_gather", 4, 0.75),
        ("reduce_scatter", 8, 0.875),
        ("all_to_all", 2, 0.5),
        ("broadcast", 8, 1.0),
        ("send_recv", 8, 1.0),
    ],
)
def test_bus_bandwidth_is_algorithm_bandwidth_times_nccl_tests_factor(
    operation: str, ranks: int, factor: float
) -> None:
    assert bus_factor(operation, ranks) == factor


def test_a_collective_has_the_bandwidth_of_its_slowest_rank_and_a_share_of_its_peak() -> None:
    one = series("ar/op=all_reduce", workload="ar", unit="ms")
    plan = {
        "collectives": (
            CollectiveSeries(
                series=one.series,
                operation="all_reduce",
                dtype="float32",
                size_bytes=8_000_000,
                ranks=4,
                peak_gb_s=12.0,
                peak_source="the data sheet",
            ),
        )
    }
    run = RunBuilder([one], plan=plan).blocks(1, 2, 2, workload="ar").run()
    # the slowest rank: 2 ms, then 1 ms, then 2 ms; 8 MB in 2 ms are 4 GB/s, on the bus 6 GB/s
    run = of_ranks(run, (2.0, 1.0, 1.0), (1.0, 1.0, 2.0), (1.0, 1.0, 1.0), (1.0, 1.0, 1.0))

    figures = rank_figures(run)

    assert figures is not None
    (figure,) = figures.collectives
    assert figure.algbw_gb_s.base == figure.algbw_gb_s.head == pytest.approx(4.0)
    assert figure.busbw_gb_s.head == pytest.approx(6.0)
    (text,) = rank_text(figures)
    assert "50.0 % / 50.0 % of 12 GB/s" in text
    assert "peak: the data sheet" in text
    assert figures.imbalance == ()


def test_launches_that_conditions_made_void_are_in_no_figure() -> None:
    hot = Telemetry(accelerator=0, vendor="nvidia", readings=9, throttle_reasons=("sw_power_cap",))
    points = (ScalingPoint(workload="t1", ranks=1), ScalingPoint(workload="t4", ranks=4))
    group = ScalingGroup(id="train", kind="strong", metric="step_time", points=points)
    family = [series(f"t{n}", workload=f"t{n}") for n in (1, 4)]
    built = RunBuilder(family, plan={"scaling": (group,)})
    built.block(0, {"base": [8.0, 8.0], "head": [8.0, 8.0]}, workload="t1")
    # slowed to a quarter in its last launch, so that the whole block was run, and then drawn anew
    slow, window = {"base": [8.0, 8.0], "head": [8.0, 8.0]}, {"head": [None, hot]}
    built.block(0, slow, workload="t4", telemetry=window)
    built.block(0, {"base": [2.0, 2.0], "head": [2.0, 2.0]}, workload="t4", attempt=1)
    rules = VoidConfig(throttle=("sw_power_cap",))
    run = built.run()

    counted, every = rank_figures(run, rules), rank_figures(run)

    assert counted is not None
    assert every is not None
    assert counted.scaling[0].efficiency.base == pytest.approx(1.0)  # (8 x 1) / (2 x 4)
    # by rules under which nothing was void: of the median of 8 and 2 s, (8 x 1) / (5 x 4)
    assert every.scaling[0].efficiency.base == pytest.approx(0.4)
    assert decide(run, GateConfig(void=rules)).devices == counted


@pytest.mark.parametrize(
    ("kind", "reference", "scaled", "expected"),
    [
        ("strong", (1, 8.0), (4, 2.0), 1.0),
        ("strong", (1, 8.0), (4, 4.0), 0.5),
        ("strong", (2, 8.0), (8, 4.0), 0.5),
        ("weak", (1, 8.0), (4, 8.0), 1.0),
        ("weak", (1, 8.0), (4, 10.0), 0.8),
    ],
)
def test_efficiency_is_that_of_strong_and_of_weak_scaling(
    kind: str, reference: tuple[int, float], scaled: tuple[int, float], expected: float
) -> None:
    assert efficiency(kind, reference, scaled) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("kind", "better", "values", "expected"),
    [
        ("strong", "lower", (8.0, 2.5), 0.8),  # (8 x 1) / (2.5 x 4)
        ("weak", "lower", (8.0, 10.0), 0.8),
        ("strong", "higher", (100.0, 300.0), 0.75),  # (300 x 1) / (100 x 4)
        ("weak", "higher", (100.0, 300.0), 0.75),
    ],
)
def test_scaling_is_shown_for_base_and_head(
    kind: str, better: str, values: tuple[float, float], expected: float
) -> None:
    family = [series(f"t{n}", workload=f"t{n}", better=better) for n in (1, 4)]
    points = (ScalingPoint(workload="t1", ranks=1), ScalingPoint(workload="t4", ranks=4))
    group = ScalingGroup.model_validate(
        {"id": "train", "kind": kind, "metric": "step_time", "points": points}
    )
    built = RunBuilder(family, plan={"scaling": (group,)})
    for name, value in zip(("t1", "t4"), values, strict=True):
        built.block(0, {"base": [value] * 2, "head": [value / 2] * 2}, workload=name)

    figures = rank_figures(built.run())

    assert figures is not None
    (figure,) = figures.scaling
    assert figure.efficiency.base == pytest.approx(expected)
    assert figure.efficiency.head == pytest.approx(expected)  # both halved: the ratio stays
    assert (figure.series, figure.reference) == ("t4", "t1")
    assert f"{100 * expected:.1f} %" in "".join(rank_text(figures))


def test_a_matrix_keeps_the_figures_of_each_of_its_devices() -> None:
    names = [f"t{n}{size}" for n in (1, 4) for size in ("/b=1", "/b=8")]
    family = [series(name, workload=name.partition("/")[0]) for name in names]
    points = (ScalingPoint(workload="t1", ranks=1), ScalingPoint(workload="t4", ranks=4))
    group = ScalingGroup(id="train", kind="strong", metric="step_time", points=points)
    reduce = CollectiveSeries(
        series="t4/b=1", operation="all_reduce", dtype="float32", size_bytes=8_000_000, ranks=2
    )
    parts = []
    for label, four in (("h100", 2.0), ("a100", 4.0)):
        built = RunBuilder(family, plan={"scaling": (group,), "collectives": (reduce,)})
        built.block(0, {"base": [8.0, 8.0], "head": [8.0, 8.0]}, workload="t1")
        built.block(0, {"base": [four, four], "head": [four, four]}, workload="t4")
        run = of_ranks(built.run(), (four,), (four,))
        parts.append(Part(label, run.model_copy(update={"id": label})))

    figures = rank_figures(merged(parts))

    assert figures is not None
    assert {one.series: one.efficiency.head for one in figures.scaling} == {
        "t4/b=1@h100": 1.0,  # (8 x 1) / (2 x 4)
        "t4/b=8@h100": 1.0,
        "t4/b=1@a100": 0.5,
        "t4/b=8@a100": 0.5,
    }
    # 8 MB in 2 and in 4 s, of two ranks: the factor of the bus is 1
    assert {one.series: one.busbw_gb_s.base for one in figures.collectives} == {
        "t4/b=1@h100": pytest.approx(0.004),
        "t4/b=1@a100": pytest.approx(0.002),
    }
    assert "t1/b=1@h100" in {one.series for one in figures.imbalance}


def test_a_side_that_was_not_measured_has_no_efficiency() -> None:
    family = [series(f"t{n}", workload=f"t{n}") for n in (1, 4)]
    points = (ScalingPoint(workload="t1", ranks=1), ScalingPoint(workload="t4", ranks=4))
    group = ScalingGroup(id="train", kind="strong", metric="step_time", points=points)

    figures = rank_figures(RunBuilder(family, plan={"scaling": (group,)}).run())

    assert figures is not None
    assert figures.scaling[0].efficiency.base is None


def test_imbalance_is_the_slowest_rank_over_the_mean() -> None:
    assert imbalance_pct([3.0, 1.0, 1.0, 1.0]) == pytest.approx(100.0)  # 3 over 1.5
    run = of_ranks(RunBuilder().blocks(1, 3, 3).run(), (3.0,), (1.0,), (1.0,), (1.0,))

    figures = rank_figures(run)

    assert figures is not None
    (figure,) = figures.imbalance
    assert figure.ranks == 4
    assert figure.imbalance_pct.base == pytest.approx(100.0)
    assert decide(run, GATE).devices == figures
    assert "Load imbalance" in rank_markdown(figures, FULL)
    console = Console(file=io.StringIO(), width=100)
    show_verdict(decide(run, GATE), console)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    row = next(line for line in lines if line.startswith("decode/b1") and line.count("100 %") == 2)
    assert row.split()[1] == "4"


@pytest.mark.parametrize("time", [0.0, -1.0, 5e-324, 1.7e308])
def test_times_that_are_no_times_give_no_figures(time: float) -> None:
    run = of_ranks(RunBuilder().blocks(1, 3, 3).run(), (time,), (1.0,))

    assert rank_figures(run) is None


def test_a_run_of_single_processes_says_nothing_of_devices() -> None:
    assert decide(RunBuilder().blocks(1, 3, 3).run(), GATE).devices is None


def profile(side: str, *ranks: tuple[float, float, float], problem: str = "") -> Any:
    """Step, communication in all and exposed of each rank, in seconds."""
    return CommunicationProfile.model_validate(
        {
            "series": "decode/b1",
            "workload": "decode",
            "side": side,
            "problem": problem,
            "ranks": tuple(
                RankCommunication(rank=n, steps=3, step_s=step, total_s=in_all, exposed_s=exposed)
                for n, (step, in_all, exposed) in enumerate(ranks)
            ),
        }
    )


def test_communication_is_that_of_the_rank_which_waits_for_nobody() -> None:
    run = RunBuilder([series()]).blocks(1, 2, 2).run()
    profiles = (
        profile("base", (0.1, 0.07, 0.06), (0.1, 0.04, 0.02)),  # they take 0.04 and 0.08 themselves
        profile("head", problem="the budget was spent"),
    )

    figures = rank_figures(run.model_copy(update={"communication": profiles}))

    assert figures is not None
    base, head = figures.communication
    assert (base.slowest_rank, base.ranks, base.step_s) == (1, 2, 0.1)
    assert [base.exposed_pct, base.total_pct] == pytest.approx([20, 40])
    assert [base.most_exposed_pct, base.most_total_pct] == pytest.approx([60, 70])
    assert (head.slowest_rank, head.exposed_pct) == (None, None)
    (text,) = rank_text(figures)
    assert "20.0 % 40.0 % rank 1 (2 ranks) 60.0 % exposed, 70.0 %" in " ".join(text.split())
    assert "not measured: the budget was spent" in text


@pytest.mark.parametrize(("total_s", "exposed_s"), [(0.2, 0.1), (0.05, 0.06)])
def test_parts_of_a_step_are_no_longer_than_the_whole(total_s: float, exposed_s: float) -> None:
    with pytest.raises(ValueError, match="is a part of"):
        profile("base", (0.1, total_s, exposed_s))
