"""`ciwm bench --factor` of a workload of two gloo ranks: whose exchanges take longer."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from ciwm.bench.factorial import measure_factorial
from ciwm.bench.factorial_request import FactorialRequest
from ciwm.cli import run as ciwm
from ciwm.config import find_config
from ciwm.launch.builds import build, release_builds
from ciwm.records import Attribution, FactorialRun, parse_record, read_record
from ciwm.stats.factorial import CELLS
from tests.integration.bench.factor_bed import REVISIONS, four

if TYPE_CHECKING:
    from tests.fork import Fork
    from tests.integration.bench.test_bench_command import Two

CONFIG = """
[[workload]]
id = "w"
python = "bench/steps.py:step"
devices = 2
communication_share = true
iterations = 1
warmup_iterations = 0
warmup_s = 0
[gate]
max_launches = 4
"""
STEPS = """
import torch, torch.distributed as dist
from framework import ours, upstream

def setup():
    dist.init_process_group("gloo")
    return torch.zeros(200_000)

def step(state):
    for _ in range(upstream.exchanges + ours.exchanges):
        dist.all_reduce(state)

def teardown(state):
    dist.destroy_process_group()
"""
TITLES = ["before", "upstream alone", "patches alone", "together"]


@pytest.fixture
def two(fork: Fork, monkeypatch: pytest.MonkeyPatch) -> Two:
    """Upstream exchanges forty times as much, our patches no more."""
    fork.commit(
        {
            "ciwm.toml": CONFIG,
            "bench/steps.py": STEPS,
            "framework/upstream.py": "exchanges = 1\n",
            "framework/ours.py": "exchanges = 0\n",
        }
    )
    return four(fork, monkeypatch, upstream="exchanges = 40\n", ours="exchanges = 0  # ours\n")


def test_a_budget_that_is_spent_is_told_of_each_combination(
    two: Two, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--budget", "0.001s", "--out", str(two.out)]
    assert ciwm(["bench", "--factor", *REVISIONS, *options]) == 0

    out = capsys.readouterr().out
    run = read_record(two.out / "factorial.json", FactorialRun)
    assert [(one.cell, one.profile.problem) for one in run.communication] == [
        (cell, "the budget was spent") for cell in CELLS
    ]
    rows = [" ".join(line.split()) for line in out.splitlines() if line.startswith("w  ")]
    assert rows == [f"w {title} not measured: the budget was spent - - -" for title in TITLES]


def test_the_markdown_has_a_row_a_combination(two: Two, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--budget", "0.001s", "--out", str(two.out), "--markdown", "--factors", "a|b,ours"]
    assert ciwm(["bench", "--factor", *REVISIONS, *options]) == 0

    out = capsys.readouterr().out
    rows = out.partition("**Communication**")[2].splitlines()
    assert [row for row in rows if "ours alone" in row]
    assert "a|b alone" not in out


@pytest.mark.heavy
@pytest.mark.timeout(900)
def test_whose_communication_grew_is_seen_and_a_stopped_run_profiles_all_when_it_goes_on(
    two: Two, capsys: pytest.CaptureFixture[str]
) -> None:
    stop = threading.Event()

    def listen(line: str) -> None:
        if line.endswith("communication profiled"):
            stop.set()

    config = find_config(two.fork.path)
    revisions = [two.fork.repository.revision(name) for name in REVISIONS]
    builds = [build(two.fork.repository, one, config.build) for one in revisions]
    request = FactorialRequest(
        repository=two.fork.repository,
        config=config,
        builds=dict(zip(CELLS, builds, strict=True)),
        factors=("upstream", "patches"),
        workloads_from=revisions[-1],
        directory=two.out,
        seed=4,
    )
    stopped = measure_factorial(request, stop=stop, on_progress=listen)
    release_builds()
    assert stopped.stopped_because == "interrupted"
    assert [one.cell for one in stopped.communication] == ["neither"]

    assert ciwm(["bench", "--resume", str(two.out), "--json"]) == 0

    found = parse_record(capsys.readouterr().out, Attribution, source="stdout")
    run = read_record(two.out / "factorial.json", FactorialRun)
    assert run.complete
    assert run.launches == stopped.launches
    profiles = [(one.cell, one.profile.side, one.profile.problem) for one in run.communication]
    assert profiles == [(cell, "base" if cell == "neither" else "head", "") for cell in CELLS]
    folders = sorted(path.name for path in (two.out / "profiles").iterdir())
    assert folders == sorted(f"w-{cell}" for cell in CELLS)
    total_s = {one.cell: one.profile.ranks[0].total_s for one in run.communication}
    assert min(total_s["first"], total_s["both"]) > max(total_s["neither"], total_s["second"])
    assert [one.cell for one in found.communication] == list(CELLS)
    for one in found.communication:
        assert one.share.total_pct is not None
        assert 0 < one.share.total_pct <= 100
