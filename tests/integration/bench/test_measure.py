"""Measuring two real builds: order, isolation of the sides, budget, builds that failed."""

from __future__ import annotations

import importlib.metadata
import json
import sys
import threading
from dataclasses import replace
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.bench.measure import measure
from ciwm.bench.plan import make_plan
from ciwm.config import BuildConfig, GateConfig
from ciwm.errors import ConfigError, EnvironmentFailure, UsageError
from ciwm.policy import conclusion, decide
from ciwm.records import SIDES, Run, read_record
from ciwm.stats.gate import block_order
from tests.fork import FRAMEWORK, STEP, exits, git, only_launch, workload

if TYPE_CHECKING:
    from tests.fork import Fork

REPORTS = (
    "import framework, json, sys\n"
    "def step(): return {'seen': framework.NUMBER}\n"
    "if __name__ == '__main__':\n"
    "    json.dump({'seen': framework.NUMBER}, open(sys.argv[1], 'w'))\n"
)
SEEN = {"seen": {"unit": "count", "better": "lower"}}
FULL = {"max_launches": 16}


def test_launches_come_in_the_seeded_order_of_their_blocks(fork: Fork) -> None:
    head = fork.repository.revision("HEAD")
    two = [workload("one"), workload("two")]

    run = fork.measure(fork.request(head, head, *two, seed=11))

    assert [launch.number for launch in run.launches] == list(range(1, 17))
    blocks = [run.launches[i : i + 4] for i in range(0, 16, 4)]
    assert [(b[0].workload, b[0].block) for b in blocks] == [
        ("one", 0),
        ("two", 0),
        ("one", 1),
        ("two", 1),
    ]
    for block in blocks:
        planned = block_order(11, block[0].workload, block[0].block, 0)
        assert tuple(launch.side for launch in block) == planned
        assert [launch.position for launch in block] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "way", [{"python": "bench/steps.py:step"}, {"command": "{python} bench/steps.py {out}"}]
)
def test_each_side_imports_its_own_framework_and_heads_workload(
    fork: Fork, way: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    base = fork.commit({"framework/__init__.py": "NUMBER = 1\n"})
    head = fork.commit({"framework/__init__.py": "NUMBER = 2\n", "bench/steps.py": REPORTS})
    monkeypatch.setenv("PYTHONPATH", str(fork.path))  # as in a CI job: the checkout, that is head

    run = fork.measure(fork.request(base, head, workload(metrics=SEEN, **way)))

    seen = {side: {one.values[0] for one in only_launch(run, side).samples} for side in SIDES}
    assert seen == {"base": {1.0}, "head": {2.0}}
    assert exits(run, "base") == exits(run, "head") == ["ok"] * 4


BENCH = "import json, sys\nimport fw\njson.dump({'seen': fw.NUMBER}, open(sys.argv[1], 'w'))\n"


@pytest.mark.parametrize(
    "command",
    [
        "{python} -m fw.bench {out}",
        "{python} -um fw.bench {out} fw/settings.json",  # which has the folder fw copied from head
        "{python} -X dev -m launcher bench/start.py {out}",  # as torchrun starts a script
    ],
)
def test_a_module_run_by_a_command_is_that_of_each_build(fork: Fork, command: str) -> None:
    start = "import subprocess, sys\nsubprocess.run([sys.executable, *sys.argv[1:]], check=True)\n"
    fork.commit({"fw/bench.py": BENCH, "fw/settings.json": "{}", "launcher.py": start})
    base = fork.commit({"fw/__init__.py": "NUMBER = 1\n"})
    head = fork.commit(
        {
            "fw/__init__.py": "NUMBER = 2\n",
            "bench/start.py": "import near\n",
            "bench/near.py": BENCH,
        }
    )

    run = fork.measure(fork.request(base, head, workload(metrics=SEEN, command=command)))

    seen = {side: {one.values[0] for one in only_launch(run, side).samples} for side in SIDES}
    assert seen == {"base": {1.0}, "head": {2.0}}


def test_workload_files_can_come_from_another_revision_than_head(fork: Fork) -> None:
    old = fork.commit({"bench/steps.py": "def step(): return {'seen': 1}\n"})
    head = fork.commit({"bench/steps.py": "def step(): return {'seen': 2}\n"})

    run = fork.measure(fork.request(old, head, workload(metrics=SEEN), workloads_from=old))

    assert {one.values for launch in run.launches for one in launch.samples} == {(1.0,) * 5}
    assert run.plan.workloads_from == old
    assert run.plan.touched_workloads == ("w",)


def test_only_workloads_whose_own_files_change_are_flagged(fork: Fork) -> None:
    base = fork.commit({"bench/a/steps.py": STEP, "bench/b/steps.py": STEP})
    head = fork.commit({"bench/a/common.py": "", "framework/__init__.py": FRAMEWORK + "\n"})
    both = [workload(name, python=f"bench/{name}/steps.py:step") for name in "ab"]

    run = fork.measure(fork.request(base, head, *both))

    assert run.plan.touched_workloads == ("a",)


def test_a_module_that_is_run_and_a_table_that_is_rewritten_count_as_edited(fork: Fork) -> None:
    base = fork.commit({"src/fw/bench.py": BENCH, "src/fw/other.py": BENCH})
    head = fork.commit({"src/fw/bench.py": "", "framework/__init__.py": FRAMEWORK + "\n"})
    run_it = [
        workload(name, metrics=SEEN, command=f"{{python}} -m fw.{name} {{out}}")
        for name in ("bench", "other")
    ]
    request = fork.request(base, head, *run_it, workload("w"), workload("rewritten"))
    before = [*run_it, workload("w"), workload("rewritten", iterations=99)]
    declared = request.config.model_copy(update={"workload": tuple(before)})

    plan, _ = make_plan(replace(request, base_config=declared))

    assert plan.touched_workloads == ("bench", "rewritten")


def test_a_revision_against_itself_changes_no_workload_whatever_the_checkout_declares(
    fork: Fork,
) -> None:
    same = fork.repository.revision("HEAD")
    request = fork.request(same, same, workload())
    committed = request.config.model_copy(update={"workload": (workload(iterations=99),)})

    plan, _ = make_plan(replace(request, base_config=committed))

    assert plan.touched_workloads == ()


def test_measuring_leaves_the_checkout_and_its_index_alone(fork: Fork) -> None:
    head = fork.repository.revision("HEAD")
    (fork.path / "bench" / "steps.py").write_text("raise AssertionError('not committed')\n")
    (fork.path / "new.txt").write_text("new")
    before = git(fork.path, "status", "--porcelain=v2", "--branch")
    index = (fork.path / ".git" / "index").read_bytes()

    run = fork.measure(fork.request(head, head))

    assert exits(run, "base") == ["ok"] * 4
    assert git(fork.path, "status", "--porcelain=v2", "--branch") == before
    assert (fork.path / ".git" / "index").read_bytes() == index


def test_a_head_that_crashes_is_launched_until_that_is_clear_and_no_more(fork: Fork) -> None:
    base = fork.repository.revision("HEAD")
    head = fork.commit({"framework/__init__.py": "import os\ndef work(): os.abort()\n"})

    run = fork.measure(fork.request(base, head, workload("w"), workload("x"), gate=FULL))

    for name in ("w", "x"):
        own = [launch for launch in run.launches if launch.workload == name]
        assert {launch.exit for launch in own if launch.side == "head"} == {"signal"}
        assert {launch.exit for launch in own if launch.side == "base"} == {"ok"}
        assert len(own) <= 4
    assert run.complete


def test_where_both_sides_fail_both_were_tried(fork: Fork) -> None:
    head = fork.commit({"bench/steps.py": "def step(): raise ValueError\n"})

    run = fork.measure(fork.request(head, head))

    assert exits(run, "base") == exits(run, "head") == ["failed"]
    verdict = decide(run, fork.request(head, head).config.gate)
    assert verdict.outcome == "fail"


def test_a_block_with_a_failed_launch_is_kept_and_drawn_anew(fork: Fork, tmp_path: Path) -> None:
    once = tmp_path / "failed-once"
    head = fork.commit(
        {
            "bench/steps.py": "import pathlib\n"
            f"MARK, COUNT = pathlib.Path({str(once)!r}), pathlib.Path({str(once) + '.n'!r})\n"
            "COUNT.write_text(str(int(COUNT.read_text()) + 1 if COUNT.exists() else 1))\n"
            "def step():\n"
            "    if COUNT.read_text() == '6': raise OSError('flaky')\n"
        }
    )

    run = fork.measure(fork.request(head, head))

    assert [launch.exit for launch in run.launches].count("failed") == 1
    failed = next(launch for launch in run.launches if launch.exit == "failed")
    again = [launch for launch in run.launches if launch.attempt == 1]
    assert (failed.block, failed.attempt) == (1, 0)
    assert [launch.block for launch in again] == [1] * 4
    assert tuple(launch.side for launch in again) == block_order(7, "w", 1, 1)
    assert run.complete


def test_a_side_that_did_not_build_gives_a_run_without_launches(fork: Fork) -> None:
    base = fork.repository.revision("HEAD")
    head = fork.commit({"broken": ""})
    recipe = BuildConfig(command="test ! -e broken || { echo 'ops.c:1: error: no'; exit 1; }")

    run = fork.measure(fork.request(base, head, recipe=recipe))

    assert run.launches == ()
    assert not run.complete
    assert run.stopped_because == "head did not build (failed)"
    assert run.head.build is not None
    assert "ops.c:1: error: no" in run.head.build.log_tail
    assert read_record(fork.runs / "run" / "run.json", Run) == run


def test_a_head_that_builds_where_the_base_does_not_is_run_alone_and_new(fork: Fork) -> None:
    base = fork.commit({"broken": "yes"})
    head = fork.commit({"broken": "no"})
    recipe = BuildConfig(command="grep no broken")

    run = fork.measure(fork.request(base, head, recipe=recipe))
    verdict = decide(run, GateConfig())

    assert {(launch.side, launch.exit) for launch in run.launches} == {("head", "ok")}
    assert run.stopped_because.startswith("base did not build")
    assert [each.outcome for each in verdict.series] == ["new"]
    assert conclusion(verdict) == "neutral"


def test_the_budget_ends_a_run_before_a_block_that_cannot_fit(fork: Fork) -> None:
    head = fork.commit({"bench/steps.py": "import time\ndef step(): time.sleep(0.1)\n"})

    run = fork.measure(fork.request(head, head, gate={"budget": "4s", "max_launches": 1000}))

    assert run.stopped_because == "the budget of 4 s is spent; undecided: w"
    assert 1 <= len(run.launches) <= 4  # a block takes more than 2 s, and two decide nothing


def test_too_few_launches_to_prove_anything_is_told_before_the_first(fork: Fork) -> None:
    head = fork.commit({"bench/steps.py": "def step(): sum(range(1000))\n"})

    fork.measure(fork.request(head, head, gate={"max_launches": 4}))

    # one series, family-wise 1 %: a block of evidence is worth 5.5, and three exceed a hundred
    assert "it takes 6 launches a side at least, and max_launches is 4" in fork.said[0]


def test_a_launch_that_outlasts_the_budget_is_interrupted_not_at_fault(fork: Fork) -> None:
    head = fork.commit({"bench/steps.py": "import time\ndef step(): time.sleep(60)\n"})

    run = fork.measure(fork.request(head, head, gate={"budget": "1s"}))

    (launch,) = run.launches
    assert (launch.exit, launch.detail) == (
        "interrupted",
        "the budget was spent during this launch",
    )
    assert run.stopped_because == "the budget of 1 s is spent; undecided: w"


def test_a_stop_ends_the_running_launch_and_keeps_the_run(fork: Fork) -> None:
    head = fork.commit({"bench/steps.py": "import time\ndef step(): time.sleep(0.3)\n"})
    stop = threading.Event()
    request = fork.request(head, head, workload(iterations=1000))
    timer = threading.Timer(1.5, stop.set)
    timer.start()

    run = fork.measure(request, stop)

    timer.join()
    (launch,) = run.launches
    assert launch.exit == "interrupted"
    assert launch.samples[0].values
    assert run.stopped_because == "interrupted"


def test_interpreter_and_framework_of_each_side_are_in_its_environment(fork: Fork) -> None:
    head = fork.repository.revision("HEAD")
    run = fork.measure(fork.request(head, head))

    for arm in (run.base, run.head):
        assert arm.environment.interpreter is not None
        assert arm.environment.interpreter.startswith("CPython 3.")
        assert arm.environment.torch is None


def test_a_launch_that_loads_nothing_of_its_build_says_so(fork: Fork) -> None:
    base = fork.commit({"bench/steps.py": "def step(): pass\n"})
    head = fork.commit({"other": ""})

    run = fork.measure(fork.request(base, head))

    assert {launch.detail for launch in run.launches} == {"loaded nothing from its build"}
    assert any("loaded nothing from its build" in line for line in fork.said)


def test_one_framework_installed_for_both_sides_is_no_comparison(
    fork: Fork, tmp_path: Path
) -> None:
    """The later build replaces what the earlier one installed, and both sides measure that."""
    shared = tmp_path / "site"
    shared.mkdir()
    step = f"import sys\nsys.path.append({str(shared)!r})\nimport fw\ndef step(): fw.work()\n"
    base = fork.commit({"src/fw.py": FRAMEWORK, "bench/steps.py": step})
    head = fork.commit({"src/fw.py": "def work(): return sum(range(9000))\n"})
    request = fork.request(base, head, recipe=BuildConfig(command=f"cp src/fw.py {shared}"))

    run = fork.measure(request)
    verdict = decide(run, request.config.gate)

    assert exits(run, "base") == exits(run, "head") == ["ok"] * 2  # more of them show no more
    assert (verdict.outcome, conclusion(verdict)) == ("void", "neutral")
    assert "set [build] venv = true, or python_path" in verdict.reason


def test_a_workload_that_declares_to_import_nothing_of_the_build_is_judged(fork: Fork) -> None:
    base = fork.commit({"bench/steps.py": "def step(): return sum(range(3000))\n"})
    head = fork.commit({"other": ""})
    request = fork.request(base, head, workload(imports_build=False))

    verdict = decide(fork.measure(request), request.config.gate)

    assert verdict.outcome != "void"


def test_a_framework_installed_over_the_other_sides_is_found_out(fork: Fork) -> None:
    """An editable install into an interpreter both sides share: the last build wins."""
    base = fork.commit({"src/framework2/__init__.py": ""})
    step = "import os, sys\nsys.path.append(os.environ['SHARED'])\nimport framework2\n"
    head = fork.commit({"new": "", "bench/steps.py": step + "def step(): pass\n"})
    request = fork.request(base, head)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHARED", str(Path(request.head.directory) / "src"))
        run = fork.measure(request)

    assert set(exits(run, "base")) == {"invalid"}
    assert "from the head build" in only_launch(run, "base").detail
    assert set(exits(run, "head")) == {"ok"}


def test_a_real_regression_is_measured_as_one(fork: Fork) -> None:
    slow = "def work(): return sum(range(4000))\n"
    base = fork.repository.revision("HEAD")
    head = fork.commit({"framework/__init__.py": slow})
    quiet = workload(iterations=60, warmup_iterations=20)

    run = fork.measure(fork.request(base, head, quiet, gate={"max_launches": 16}))

    (series,) = decide(run, fork.request(base, head).config.gate).series
    assert series.ratio is not None
    assert log(series.ratio) > log(1.4)


def test_both_sides_are_timed_by_as_many_calls(fork: Fork) -> None:
    # 20 us would be timed ten at a time, and 150 us alone
    spin = (
        "from time import perf_counter\n"
        "def work():\n"
        "    end = perf_counter() + {us}e-6\n"
        "    while perf_counter() < end: pass\n"
    )
    base = fork.commit({"framework/__init__.py": spin.format(us=20)})
    head = fork.commit({"framework/__init__.py": spin.format(us=150)})
    warm = workload(warmup_iterations=5, warmup_s=0.11)

    run = fork.measure(fork.request(base, head, warm))

    (calls,) = {launch.samples[0].calls for launch in run.launches}
    assert calls == (10 if run.launches[0].side == "base" else 1)


def test_a_folder_in_use_or_with_other_things_in_it_is_refused(fork: Fork) -> None:
    head = fork.repository.revision("HEAD")
    request = fork.request(head, head)
    fork.measure(request)
    mine = fork.runs / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("irreplaceable")

    with pytest.raises(UsageError, match="holds a run already"):
        fork.measure(request)
    with pytest.raises(UsageError, match="is not empty"):
        fork.measure(fork.request(head, head, directory=mine))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"python": "bench/missing.py:step"}, "there is no bench/missing.py at"),
        ({"python": "../outside.py:step"}, "outside the repository"),
        ({"files": ["data/**"]}, r"files: data/\*\* matches nothing at"),
        ({"command": "{python} x.py", "metrics": SEEN}, "has no {out}"),
        ({"command": "echo 'a > {out}", "metrics": SEEN}, "No closing quotation"),
        ({"command": "x {n} {out}", "params": {"n": [1], "m": [1]}, "metrics": SEEN}, "not {m}"),
        ({"params": {"n": []}}, "params.n has no value"),
        ({"params": {"n": [1, "1"]}}, "same series twice: w/n=1"),
        ({"metrics": {"step_time": {"unit": "tokens", "better": "lower"}}}, "unit is 'tokens'"),
    ],
)
def test_a_workload_that_cannot_be_run_is_refused_before_anything_is(
    fork: Fork, fields: dict[str, Any], words: str
) -> None:
    head = fork.repository.revision("HEAD")

    with pytest.raises(ConfigError, match=words):
        fork.measure(fork.request(head, head, workload(**fields)))

    assert not (fork.runs / "run").exists()


def test_a_folder_that_cannot_be_written_is_an_environment_failure(fork: Fork) -> None:
    head = fork.repository.revision("HEAD")
    (fork.runs / "file").write_text("")

    with pytest.raises((EnvironmentFailure, UsageError), match="file"):
        fork.measure(fork.request(head, head, directory=fork.runs / "file" / "run"))


def test_plan_and_job_are_on_disk_for_whoever_wants_to_repeat_a_launch(fork: Fork) -> None:
    head = fork.repository.revision("HEAD")
    run = fork.measure(fork.request(head, head))

    directory = fork.runs / "run"
    plan = json.loads((directory / "plan.json").read_text())
    assert plan["seed"] == run.plan.seed == 7
    first = directory / Path(run.launches[0].log).parent
    assert {path.name for path in first.iterdir()} == {
        "job.json",
        "journal.jsonl",
        "log.txt",
        "result.json",
        "telemetry.jsonl",
    }


def test_a_torch_workload_is_timed_and_its_torch_is_recorded(fork: Fork) -> None:
    version = importlib.metadata.version("torch")
    step = "import torch\ndef setup(n): return torch.rand(n, n)\ndef step(x): return x @ x\n"
    head = fork.commit({"bench/steps.py": step})
    stop = threading.Event()

    def stop_after_one(line: str) -> None:
        if "P50" in line:
            stop.set()

    request = fork.request(
        head,
        head,
        workload(params={"n": [64]}),
        recipe=BuildConfig(python=sys.executable),
    )
    run = measure(request, stop=stop, on_progress=stop_after_one)

    first = run.launches[0]
    assert first.exit == "ok", first.detail
    assert [(one.series, len(one.values)) for one in first.samples] == [("w/n=64", 5)]
    environment = run.arm(first.side).environment
    assert environment.torch == version
    assert (environment.torch_build or "").startswith("git ")
