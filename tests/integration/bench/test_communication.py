"""The share of a step that is communication, by the profiler, and by hand in the same steps."""

from __future__ import annotations

import json
import threading
import time
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.bench.communication import NO_TIME, LocalProfiler, Profiling
from ciwm.errors import ConfigError
from ciwm.launch.communication import profile, profile_order
from ciwm.launch.flock import Flock
from ciwm.launch.worker_process import Limits
from ciwm.policy.rank_figures import communication_share, rank_figures
from ciwm.report.ranks import rank_text
from tests.fork import Fork, workload
from tests.integration.bench.ranks_bed import Bed
from tests.runs import MACHINE

if TYPE_CHECKING:
    from pathlib import Path

    from ciwm.config import WorkloadConfig
    from ciwm.records.ranks import CommunicationProfile

# each step writes down what the calls of torch.distributed took, and what was computed meanwhile
STEPS = """
import json, os, time
import torch, torch.distributed as dist

def setup(how):
    if not dist.is_initialized():
        dist.init_process_group("gloo")
    torch.manual_seed(0)
    return how, dist.get_rank(), torch.randn(300, 300), torch.zeros(4_000_000)

def step(state):
    how, rank, square, gradient = state
    began = time.perf_counter()
    compute(square, 2 + 4 * rank)
    handle = before = time.perf_counter()
    computed = 0.0
    if how == "none":
        pass
    elif how == "after":
        dist.all_reduce(gradient)
    else:
        handle = dist.all_reduce(gradient, async_op=True)
        middle = time.perf_counter()
        compute(square, 24)
        computed = time.perf_counter() - middle
        handle.wait()
    ended = time.perf_counter()
    line = {"step": ended - began, "exposed": ended - before - computed}
    with open(os.path.join(os.environ["HANDS"], f"{how}.{rank}"), "a") as file:
        file.write(json.dumps(line) + "\\n")

def compute(square, count):
    for _ in range(count):
        square @ square
"""


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bed:
    made = Bed(tmp_path)
    (made.sources / "w.py").write_text(STEPS)
    hands = tmp_path / "hands"
    hands.mkdir()
    monkeypatch.setenv("HANDS", str(hands))
    return made


def ranks(count: int, *how: str, **fields: Any) -> WorkloadConfig:
    asked = {"params": {"how": list(how)}, "communication_share": True, **fields}
    return workload("w", python="w.py:step", devices=count, **asked)


def profiled(bed: Bed, one: WorkloadConfig) -> dict[str, CommunicationProfile]:
    limits = Limits(left_s=200, stop=threading.Event())
    return {each.series: each for each in profile(profile_order(one, "head"), bed.site, limits)}


def by_hand(bed: Bed, how: str, rank: int, steps: int) -> tuple[float, float]:
    """Seconds of a step, and of communication that nothing covers, in the profiled steps alone."""
    text = (bed.folder / "hands" / f"{how}.{rank}").read_text()
    lines = [json.loads(line) for line in text.splitlines()][-steps:]
    return fmean(line["step"] for line in lines), fmean(line["exposed"] for line in lines)


@pytest.mark.heavy  # what is timed by hand and by the profiler agrees on an idle machine
@pytest.mark.parametrize("count", [2, 4])
def test_the_share_is_that_of_a_loop_timed_by_hand(bed: Bed, count: int) -> None:
    found = profiled(bed, ranks(count, "after", "beside"))

    for how in ("after", "beside"):
        for rank in found[f"w/how={how}"].ranks:
            step_s, exposed_s = by_hand(bed, how, rank.rank, rank.steps)
            assert rank.step_s == pytest.approx(step_s, rel=0.05, abs=1e-3)
            # a work ends some time before the thread that waits for it runs again: on a machine
            # with much to do, milliseconds
            assert rank.exposed_s == pytest.approx(exposed_s, rel=0.2, abs=4e-3)
    beside = found["w/how=beside"]
    assert beside.ranks[0].exposed_s < 0.9 * beside.ranks[0].total_s


def test_what_nothing_covers_is_a_part_of_communication_and_that_a_part_of_the_step(
    bed: Bed,
) -> None:
    found = profiled(bed, ranks(2, "after", "beside"))

    for one in found.values():
        assert not one.problem
        assert (one.device, one.side) == ("cpu", "head")
        assert [rank.rank for rank in one.ranks] == [0, 1]
        assert len({rank.steps for rank in one.ranks}) == 1
        assert all(0 < rank.exposed_s <= rank.total_s <= rank.step_s for rank in one.ranks)
    after, beside = found["w/how=after"].ranks[0], found["w/how=beside"].ranks[0]
    assert after.exposed_s == pytest.approx(after.total_s, rel=0.01)  # nothing runs meanwhile
    assert beside.exposed_s < beside.total_s  # the products run meanwhile


def test_the_slowest_rank_is_the_one_the_others_wait_for(bed: Bed) -> None:
    share = communication_share(profiled(bed, ranks(2, "after"))["w/how=after"])

    assert (share.slowest_rank, share.ranks) == (1, 2)  # it computes three times as much
    assert share.exposed_pct is not None
    assert share.most_exposed_pct is not None
    assert share.exposed_pct < share.most_exposed_pct <= 100


def test_a_workload_that_communicates_otherwise_is_not_said_to_be_free_of_it(bed: Bed) -> None:
    (one,) = profiled(bed, ranks(2, "none")).values()

    assert one.ranks == ()
    assert one.problem == "torch.profiler saw no collective"


def test_without_a_profiler_nothing_is_measured_and_the_reason_is_told(bed: Bed) -> None:
    (bed.folder / "build" / "sitecustomize.py").write_text(
        "import torch.autograd as a; a.kineto_available = lambda: False\n"
    )

    (one,) = profiled(bed, ranks(2, "after")).values()

    assert one.ranks == ()
    assert one.problem == "this torch has no profiler (torch.profiler, by Kineto)"


def test_a_rank_that_dies_is_named(bed: Bed) -> None:
    (bed.sources / "w.py").write_text(STEPS.replace("    how, rank,", "    1 / 0; how, rank,", 1))

    (one,) = profiled(bed, ranks(2, "after")).values()

    assert one.ranks == ()
    assert one.problem.startswith("failed: rank ")
    assert "ZeroDivisionError" in one.problem


def test_a_budget_that_ends_while_it_is_profiled_is_not_called_a_hang(bed: Bed) -> None:
    limits = Limits(left_s=0.3, stop=threading.Event())  # torch takes longer to import

    (one,) = profile(profile_order(ranks(2, "after"), "head"), bed.site, limits)

    assert one.problem == "the budget was spent during this launch"


def profiling(bed: Bed, said: list[str], left_s: float) -> Profiling:
    lock, stop = Flock(bed.folder / "lock"), threading.Event()
    profiler = LocalProfiler(bed.site, MACHINE, lock, stop, said.append)
    return Profiling(profiler, time.monotonic() + left_s, stop, said.append)


def test_that_the_budget_was_spent_before_it_is_told(bed: Bed) -> None:
    said: list[str] = []

    found = profiling(bed, said, -1).of(profile_order(ranks(2, "after"), "base"))

    assert [(one.series, one.problem) for one in found] == [("w/how=after", NO_TIME)]
    assert said == [f"w base: communication not measured: {NO_TIME}"]


def test_nothing_is_profiled_once_the_run_is_stopped(bed: Bed) -> None:
    said: list[str] = []
    stopped = profiling(bed, said, 60)
    stopped.stop.set()

    assert stopped.of(profile_order(ranks(2, "after"), "base")) == ()
    assert said == []


@pytest.mark.heavy
def test_a_run_profiles_each_side_once_and_times_nothing_there(
    fork: Fork, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANDS", str(tmp_path))
    base = fork.commit({"bench/steps.py": "import framework\n" + STEPS})
    one = workload(devices=2, communication_share=True, params={"how": "after"})

    run = fork.measure(fork.request(base, base, one))

    assert run.complete, fork.said
    assert [(each.side, each.problem) for each in run.communication] == [("base", ""), ("head", "")]
    assert {launch.number for launch in run.launches} == set(range(1, len(run.launches) + 1))
    profiles = sorted(path.name for path in (fork.runs / "run" / "profiles").iterdir())
    assert profiles == ["w-base", "w-head"]
    journal = (fork.runs / "run" / "profiles" / "w-head" / "journal.jsonl").read_text()
    assert '"samples"' not in journal
    text = "".join(rank_text(rank_figures(run)))
    assert "Communication (percent of that rank's profiled step" in text
    assert "rank 1 (2 ranks)" in text


@pytest.mark.parametrize("fields", [{"devices": 1}, {"command": "x", "metrics": {}}])
def test_it_is_asked_of_python_workloads_of_several_ranks_only(fields: dict[str, Any]) -> None:
    with pytest.raises((ValueError, ConfigError)):
        workload("w", communication_share=True, **fields)
