"""Whose a change is: upstream's, ours, or that of the two together."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.policy.attribution import attribute
from ciwm.records import Arm, Attribution, FactorialRun, Launch, Samples, Telemetry
from ciwm.records.factorial import FactorialLaunch, FactorialProfile, SeriesAttribution
from ciwm.records.ranks import CommunicationProfile, RankCommunication
from ciwm.report.attribution import attribution_markdown, attribution_text
from ciwm.stats.factorial import factorial_order
from tests.runs import MACHINE, REVISIONS, START, build, series

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ciwm.records import Side
    from ciwm.records.factorial import Cell

SLOWER = {"neither": 1.0, "first": 1.0, "second": 1.0, "both": 1.0}


def run(
    times: Mapping[str, float],
    *,
    blocks: int = 16,
    noise: float = 0.005,
    lots: int = 8,
    **fields: Any,
) -> FactorialRun:
    rng = random.Random(lots)
    launches: list[FactorialLaunch] = []
    family = fields.pop("family", (series(),))
    for block in range(blocks):
        for cell in factorial_order(3, "decode", block, 0):
            value = times[cell] + rng.gauss(0, noise)
            launches.append(FactorialLaunch(cell=cell, launch=launch(len(launches), block, value)))
    arm = Arm(revision=REVISIONS["head"], build=build("head"), environment=MACHINE)
    cells: tuple[Cell, ...] = ("neither", "first", "second", "both")
    known: dict[str, Any] = {
        "id": "x",
        "started_at": START,
        "seed": 3,
        "factors": ("upstream", "patches"),
        "max_launches": 16,
        "family": family,
        "workloads": ("decode",),
        "workloads_from": REVISIONS["head"],
        "arms": dict.fromkeys(cells, arm),
        "launches": tuple(launches),
        "complete": True,
        "stopped_because": "done",
    }
    return FactorialRun(**{**known, **fields})


def launch(number: int, block: int, value: float) -> Launch:
    return Launch(
        number=number,
        workload="decode",
        side="head",
        block=block,
        position=number % 4,
        started_at=START + timedelta(seconds=number),
        duration_s=1,
        exit="ok",
        samples=(Samples(series="decode/b1", metric="step_time", values=(value,)),),
    )


def only(found: Attribution) -> SeriesAttribution:
    (one,) = found.series
    return one


@pytest.mark.parametrize(
    ("times", "owner", "said"),
    [
        ((1.0, 1.0, 1.0, 1.0), "nobody", "no change is shown"),
        ((1.0, 1.06, 1.0, 1.06), "first", "the change is that of upstream"),
        ((1.0, 1.0, 1.06, 1.06), "second", "the change is that of patches"),
        ((1.0, 1.06, 1.05, 1.113), "both", "upstream and patches each change it"),
        ((1.0, 1.0, 1.0, 1.08), "interaction", "together do what neither does alone"),
    ],
)
def test_a_change_has_an_owner(times: tuple[float, ...], owner: str, said: str) -> None:
    cells = ("neither", "first", "second", "both")
    found = only(attribute(run(dict(zip(cells, times, strict=True)))))
    assert found.owner == owner
    assert said in found.reason
    assert found.total is not None
    assert found.first is not None
    assert found.second is not None
    assert found.interaction is not None
    product = found.first.change * found.second.change * found.interaction.change
    assert product == pytest.approx(found.total.change)
    assert found.total.change == pytest.approx(times[3], abs=0.01)
    assert found.values["both"] == pytest.approx(times[3], abs=0.01)


def test_higher_is_better_inverts_the_ratios_and_keeps_the_owner() -> None:
    found = only(
        attribute(
            run(
                {**SLOWER, "first": 0.9, "both": 0.9},
                family=(series(better="higher", unit="tokens/s"),),
            )
        )
    )
    assert found.owner == "first"
    assert found.first is not None
    assert found.first.change == pytest.approx(0.9, abs=0.01)
    assert found.first.low <= found.first.change <= found.first.high


def test_differences_are_split_in_their_unit() -> None:
    times = {"neither": 0.0, "first": 10.0, "second": -4.0, "both": 6.0}
    found = only(attribute(run(times, noise=0.1, family=(series(unit="MiB", threshold_abs=5.0),))))
    assert found.owner == "both"
    assert found.second is not None
    assert found.second.change == pytest.approx(-4, abs=0.2)
    assert "-4" in found.reason
    assert "MiB" in found.reason


def test_values_without_a_ratio_are_told_to_use_a_difference() -> None:
    found = only(attribute(run(dict.fromkeys(SLOWER, 0.0))))
    assert found.owner == "unclear"
    assert "threshold_abs" in found.reason


def test_too_few_blocks_tell_nothing() -> None:
    found = only(attribute(run(SLOWER, blocks=3)))
    assert found.owner == "unclear"
    assert "3 whole blocks, 4 are needed" in found.reason


def test_a_failed_or_a_void_launch_discards_its_block_and_is_named() -> None:
    made = run(SLOWER, blocks=6)
    bad, hot = made.launches[0], made.launches[5]
    broken = bad.launch.model_copy(update={"exit": "oom", "detail": "killed"})
    void = hot.launch.model_copy(
        update={"telemetry": (Telemetry(accelerator=0, throttle_reasons=("hw_slowdown",)),)}
    )
    changed = made.model_copy(
        update={
            "launches": (
                bad.model_copy(update={"launch": broken}),
                *made.launches[1:5],
                hot.model_copy(update={"launch": void}),
                *made.launches[6:],
            )
        }
    )
    found = attribute(changed)
    assert only(found).launches == 4
    assert any("oom: killed" in problem for problem in found.problems)
    assert any("1 launches were void" in problem for problem in found.problems)


def test_combinations_on_different_machines_are_named() -> None:
    made = run(SLOWER)
    elsewhere = made.arms["first"].model_copy(
        update={"environment": MACHINE.model_copy(update={"cpu_model": "Xeon"})}
    )
    arms = {**made.arms, "first": elsewhere}
    found = attribute(made.model_copy(update={"arms": arms}))
    assert any("not measured alike: CPU" in problem for problem in found.problems)


def test_where_nothing_changed_an_owner_is_seldom_named() -> None:
    alike = dict.fromkeys(SLOWER, 1.0)
    named = [only(attribute(run(alike, lots=lots))).owner != "nobody" for lots in range(300)]
    assert sum(named) / 300 < 0.08


def test_shares_of_communication_are_told_of_each_combination_as_they_were_profiled() -> None:
    def profile(cell: Cell, exposed_s: float) -> FactorialProfile:
        ranks = (RankCommunication(rank=0, steps=3, step_s=0.2, total_s=0.1, exposed_s=exposed_s),)
        side: Side = "base" if cell == "neither" else "head"
        of = CommunicationProfile(series="decode/b1", workload="decode", side=side, ranks=ranks)
        return FactorialProfile(cell=cell, profile=of)

    exposed_s: dict[Cell, float] = {"neither": 0.02, "first": 0.06, "second": 0.02, "both": 0.06}
    profiles = tuple(profile(cell, each) for cell, each in exposed_s.items())

    found = attribute(run(SLOWER, communication=profiles))

    assert [one.cell for one in found.communication] == list(exposed_s)
    shares = [one.share.exposed_pct for one in found.communication]
    assert shares == pytest.approx([10, 30, 10, 30])  # of 0.2 s
    rows = [" ".join(line.split()) for line in attribution_text(found).splitlines()]
    assert "decode/b1 upstream alone 30.0 % 50.0 % rank 0 (1 ranks) 30.0 % exposed, 50.0 %" in rows
    markdown = attribution_markdown(found)
    assert markdown.index("**Communication**") > markdown.index("no change is shown")


def test_without_a_profile_there_is_no_table_of_communication() -> None:
    found = attribute(run(SLOWER))

    assert "ommunication" not in attribution_text(found) + attribution_markdown(found)
