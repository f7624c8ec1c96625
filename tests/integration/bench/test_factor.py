"""`ciwm bench --factor`: four revisions, interleaved, and whose the change is."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from ciwm.bench.factorial import measure_factorial
from ciwm.bench.factorial_request import FactorialRequest
from ciwm.cli import run as ciwm
from ciwm.config import find_config
from ciwm.launch.builds import build, release_builds
from ciwm.launch.cache import kind_directory
from ciwm.launch.journal import read_journal
from ciwm.launch.worker_job import JOURNAL
from ciwm.records import Attribution, FactorialRun, parse_record, read_record
from ciwm.stats.factorial import CELLS, factorial_order
from tests.integration.bench.factor_bed import REVISIONS, four

if TYPE_CHECKING:
    from tests.fork import Fork
    from tests.integration.bench.test_bench_command import Two

CONFIG = """
[[workload]]
id = "w"
command = "{python} bench/cost.py > {out}"
metrics = { cost = { unit = "units", better = "lower" } }
[gate]
max_launches = 6
"""
COST = """
import json
from framework import ours, upstream
print(json.dumps({"cost": 100.0 * ours.factor * upstream.factor}))
"""


@pytest.fixture
def two(fork: Fork, monkeypatch: pytest.MonkeyPatch) -> Two:
    """Upstream makes it 10 % dearer, our patches 20 %."""
    fork.commit(
        {
            "ciwm.toml": CONFIG,
            "bench/cost.py": COST,
            "framework/upstream.py": "factor = 1\n",
            "framework/ours.py": "factor = 1\n",
        }
    )
    return four(fork, monkeypatch, upstream="factor = 1.1\n", ours="factor = 1.2\n")


def test_the_parts_of_a_change_are_what_each_revision_brought(
    two: Two, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ciwm(["bench", "--factor", *REVISIONS, "--out", str(two.out), "--json"]) == 0

    found = parse_record(capsys.readouterr().out, Attribution, source="stdout")
    (series,) = found.series
    assert found.factors == ("upstream", "patches")
    assert series.owner == "both"
    assert series.launches == 6
    assert series.values == pytest.approx(
        {"neither": 100, "first": 110, "second": 120, "both": 132}
    )
    assert series.first is not None
    assert series.second is not None
    assert series.interaction is not None
    assert series.first.change == pytest.approx(1.1)
    assert series.second.change == pytest.approx(1.2)
    assert series.interaction.change == pytest.approx(1)
    assert found == read_record(two.out / "attribution.json", Attribution)


def test_every_launch_is_on_disk_in_the_order_that_the_seed_gives(two: Two) -> None:
    options = ["--seed", "4", "--out", str(two.out), "--factors", "torch,ours"]
    assert ciwm(["bench", "--factor", *REVISIONS, *options]) == 0

    run = read_record(two.out / "factorial.json", FactorialRun)
    assert run.complete
    assert run.factors == ("torch", "ours")
    cells = [one.cell for one in run.launches]
    assert len(cells) == 24
    for block in range(6):
        assert tuple(cells[4 * block : 4 * block + 4]) == factorial_order(4, "w", block, 0)
    shas = [run.arms[cell].revision.sha for cell in CELLS]
    assert shas == [two.fork.repository.revision(name).sha for name in REVISIONS]


BUSY = """
import time
from framework import ours, upstream
def step():
    until = time.perf_counter() + 20e-6 * ours.factor * upstream.factor
    while time.perf_counter() < until: pass
"""
TIMED = """
[[workload]]
id = "w"
python = "bench/cost.py:step"
iterations = 20
warmup_s = 0
[gate]
max_launches = 4
"""


def test_all_combinations_time_as_many_calls_as_one_sample(
    fork: Fork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alone, 20 us would be timed as the mean of ten calls, and 200 us call by call."""
    files = {"framework/upstream.py": "factor = 1\n", "framework/ours.py": "factor = 1\n"}
    fork.commit({"ciwm.toml": TIMED, "bench/cost.py": BUSY, **files})
    two = four(fork, monkeypatch, upstream="factor = 10\n", ours="factor = 1  # ours\n")
    assert ciwm(["bench", "--factor", *REVISIONS, "--out", str(two.out)]) == 0

    run = read_record(two.out / "factorial.json", FactorialRun)
    journals = [(two.out / one.launch.log).parent / JOURNAL for one in run.launches]
    assert len(journals) == 16
    assert len({read_journal(path).batches["w"] for path in journals}) == 1


@pytest.fixture
def stopped(two: Two) -> FactorialRun:
    """A run stopped after its sixth launch, so in its second block."""
    stop, said = threading.Event(), []

    def listen(line: str) -> None:
        said.append(line)
        if len(said) == 6:
            stop.set()

    config = find_config(two.fork.path)
    revisions = [two.fork.repository.revision(name) for name in REVISIONS]
    builds = [build(two.fork.repository, one, config.build) for one in revisions]
    request = FactorialRequest(
        repository=two.fork.repository,
        config=config,
        builds=dict(zip(CELLS, builds, strict=True)),
        factors=("upstream", "ours"),
        workloads_from=revisions[-1],
        directory=two.out,
        seed=4,
    )
    run = measure_factorial(request, stop=stop, on_progress=listen)
    release_builds()
    assert run.stopped_because == "interrupted"
    return run


def test_an_interrupted_run_goes_on_with_its_block_drawn_anew(
    two: Two, stopped: FactorialRun, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ciwm(["bench", "--resume", str(two.out), "--json"]) == 0
    found = parse_record(capsys.readouterr().out, Attribution, source="stdout")

    run = read_record(two.out / "factorial.json", FactorialRun)
    assert run.complete
    assert run.launches[: len(stopped.launches)] == stopped.launches
    assert (run.id, run.started_at, run.factors) == (
        stopped.id,
        stopped.started_at,
        ("upstream", "ours"),
    )
    numbers = [one.launch.number for one in run.launches]
    assert numbers == list(range(1, len(numbers) + 1))
    again = [one for one in run.launches if (one.launch.block, one.launch.attempt) == (1, 1)]
    assert tuple(one.cell for one in again) == factorial_order(4, "w", 1, 1)
    assert (found.series[0].launches, found.series[0].owner) == (6, "both")


def test_resume_without_a_folder_finds_an_interrupted_run_of_four(
    two: Two, stopped: FactorialRun
) -> None:
    assert not stopped.complete
    kept = kind_directory("runs") / "one"
    two.out.rename(kept)
    assert ciwm(["bench", "--resume"]) == 0
    assert read_record(kept / "factorial.json", FactorialRun).complete


def test_a_complete_run_of_four_is_told_again_and_nothing_is_launched(
    two: Two, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ciwm(["bench", "--factor", *REVISIONS, "--out", str(two.out)]) == 0
    told, before = capsys.readouterr().out, (two.out / "factorial.json").read_bytes()
    assert ciwm(["bench", "--resume", str(two.out)]) == 0
    assert capsys.readouterr().out == told
    assert (two.out / "factorial.json").read_bytes() == before


def test_a_folder_that_holds_a_run_of_four_is_not_overwritten(
    two: Two, stopped: FactorialRun, capsys: pytest.CaptureFixture[str]
) -> None:
    assert stopped
    for names in (["--factor", *REVISIONS], ["main", "both"]):
        assert ciwm(["bench", *names, "--out", str(two.out)]) == 2
        assert "holds a run already" in capsys.readouterr().err
    assert ciwm(["gate", str(two.out)]) == 2
    assert "it has no base and head to judge" in capsys.readouterr().err


def test_a_workload_changed_since_a_run_of_four_began_is_named(
    two: Two, stopped: FactorialRun, capsys: pytest.CaptureFixture[str]
) -> None:
    assert stopped
    (two.fork.path / "ciwm.toml").write_text(CONFIG.replace("{out}", "{out} && true"))
    assert ciwm(["bench", "--resume", str(two.out)]) == 2
    assert "workload w changed since this run was begun" in capsys.readouterr().err


def test_the_terminal_and_markdown_say_whose_it_is(
    two: Two, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--out", str(two.out), "--factors", "up|stream,ours"]
    assert ciwm(["bench", "--factor", *REVISIONS, *options]) == 0
    out = capsys.readouterr().out
    assert "up|stream alone" in out.splitlines()[0]
    assert "up|stream and ours each change it: together +32.0 %" in out
    again = ["--out", str(two.fork.runs / "other"), "--markdown", "--factors", "up|stream,ours"]
    assert ciwm(["bench", "--factor", *REVISIONS, *again]) == 0
    out = capsys.readouterr().out
    assert out.startswith("#### Whose change it is")
    assert "up|stream" not in out


def test_a_combination_that_does_not_build_ends_with_4_and_is_named(
    two: Two, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = '[build]\ncommand = "! grep -q 1.2 framework/ours.py"\n'
    (two.fork.path / "ciwm.toml").write_text(broken + CONFIG)
    assert ciwm(["bench", "--factor", *REVISIONS, "--out", str(two.out)]) == 4
    assert "error: ours did not build (failed)" in capsys.readouterr().err


def test_a_combination_that_does_not_run_is_given_up_and_named(
    two: Two, capsys: pytest.CaptureFixture[str]
) -> None:
    two.fork.commit({"framework/ours.py": "raise SystemExit(3)\n"}, branch="bad")
    names = ["main", "upstream", "ours", "bad"]
    assert ciwm(["bench", "--factor", *names, "--out", str(two.out)]) == 0
    out = capsys.readouterr().out
    assert "0 whole blocks, 4 are needed (launches of w do not end well)" in out
    assert "note: w both: failed" in out
    assert len(read_record(two.out / "factorial.json", FactorialRun).launches) <= 8


def test_a_budget_that_is_spent_is_said(two: Two, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--budget", "0.001s", "--out", str(two.out)]
    assert ciwm(["bench", "--factor", *REVISIONS, *options]) == 0
    assert "the budget of 0.001 s is spent" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["main", "upstream"], "name four"),
        ([*REVISIONS, "--factors", "one"], "--factors is two names"),
        ([*REVISIONS, "--factors", "a,a"], "--factors is two names"),
        ([*REVISIONS[:3], "nowhere"], "no such revision: nowhere"),
        ([*REVISIONS, "-w", "v"], "no workload 'v'"),
    ],
)
def test_what_cannot_be_asked_ends_with_2_and_one_line(
    two: Two, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert two
    assert ciwm(["bench", "--factor", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_factors_without_factor_is_refused(two: Two, capsys: pytest.CaptureFixture[str]) -> None:
    assert two
    assert ciwm(["bench", "main", "both", "--factors", "a,b"]) == 2
    assert "--factors is for --factor" in capsys.readouterr().err
