"""An interrupted run goes on where it was, or says why it cannot."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ciwm.bench.measure import resume
from ciwm.bench.run_directory import held
from ciwm.config import BuildConfig
from ciwm.errors import EnvironmentFailure, IncomparableError, LaunchError, UsageError
from ciwm.launch.builds import build, release_builds
from ciwm.records import Run, read_record
from ciwm.stats.gate import block_order
from tests.fork import exits, workload

if TYPE_CHECKING:
    from ciwm.config import Config
    from tests.fork import Fork

SLOW = "import time\ndef step(): time.sleep(0.02)\n"


@pytest.fixture
def stopped(fork: Fork) -> Run:
    """A run stopped during its third launch."""
    head = fork.commit({"bench/steps.py": SLOW})
    stop = threading.Event()
    started: list[str] = []

    def listen(line: str) -> None:
        started.extend([line] if " block " in line else [])
        if len(started) == 2:
            threading.Timer(0.15, stop.set).start()

    from ciwm.bench.measure import measure  # noqa: PLC0415

    request = fork.request(head, head, workload(iterations=20))
    run = measure(request, stop=stop, on_progress=listen)
    assert [launch.exit for launch in run.launches] == ["ok", "ok", "interrupted"]
    return run


def resumed(fork: Fork, config: Config | None = None, budget_s: float | None = None) -> Run:
    return resume(
        fork.runs / "run",
        stop=threading.Event(),
        on_progress=fork.said.append,
        config=config,
        budget_s=budget_s,
    )


def test_a_stopped_run_goes_on_with_a_fresh_attempt_at_its_block(fork: Fork, stopped: Run) -> None:
    run = resumed(fork)

    assert run.complete
    assert run.launches[:3] == stopped.launches
    assert [launch.number for launch in run.launches] == list(range(1, 12))
    again = run.launches[3:7]
    assert {(launch.block, launch.attempt) for launch in again} == {(0, 1)}
    assert tuple(launch.side for launch in again) == block_order(7, "w", 0, 1)
    assert (run.id, run.started_at, run.plan) == (stopped.id, stopped.started_at, stopped.plan)
    assert read_record(fork.runs / "run" / "run.json", Run) == run


def test_a_launch_nobody_saw_end_is_lost_with_its_samples_kept(fork: Fork, stopped: Run) -> None:
    directory = fork.runs / "run"
    third = directory / Path(stopped.launches[2].log).parent
    (third / "result.json").unlink()
    (directory / "run.json").unlink()
    with (third / "journal.jsonl").open("a") as journal:
        journal.write(
            '{"kind": "samples", "series": "w", "metric": "step_time", "values": [0.5]}\n'
        )
        journal.write('{"kind": "samples", "series": "w", "me')

    run = resumed(fork)

    lost = run.launches[2]
    assert lost.exit == "lost"
    assert lost.samples[0].values[-1] == 0.5
    assert run.complete
    assert exits(run, "base").count("ok") + exits(run, "head").count("ok") == 10


@pytest.mark.parametrize("job", ["{}", '{"launch": 5}', '{"launch": {"number": 1}}', "[", None])
def test_a_launch_of_which_nothing_can_be_read_has_its_block_drawn_anew(
    fork: Fork, job: str | None
) -> None:
    head = fork.repository.revision("HEAD")
    # a calibration uses its launches up, where a gate may have decided on what is left
    run = fork.measure(fork.request(head, head, gate={"max_launches": 8}, calibrate=True))
    assert len(run.launches) == 16
    directory = fork.runs / "run"
    (directory / "run.json").unlink()
    hole = directory / Path(run.launches[1].log).parent
    (hole / "result.json").unlink()
    (hole / "job.json").unlink()
    if job is not None:
        (hole / "job.json").write_text(job)

    again = resumed(fork)

    new = again.launches[len(run.launches) - 1 :]
    assert [launch.number for launch in new[:4]] == [len(run.launches) + n for n in range(1, 5)]
    assert {(launch.block, launch.attempt) for launch in new[:4]} == {(0, 1)}
    assert len({launch.number for launch in again.launches}) == len(again.launches)
    # Eight of each side that count, beside the block with the hole: 3 of its 4 are left.
    assert len(again.launches) == 2 * 8 + 3
    assert again.complete


def test_a_run_whose_budget_is_spent_goes_on_with_a_larger_one(fork: Fork) -> None:
    head = fork.commit({"bench/steps.py": "import time\ndef step(): time.sleep(0.3)\n"})
    request = fork.request(head, head, workload(iterations=1), gate={"budget": "0.5s"})
    assert not fork.measure(request).complete

    assert not resumed(fork).complete
    assert resumed(fork, request.config, budget_s=600).complete


def test_a_complete_run_is_returned_as_it_is(fork: Fork) -> None:
    head = fork.repository.revision("HEAD")
    run = fork.measure(fork.request(head, head))
    before = (fork.runs / "run" / "run.json").read_bytes()

    assert resumed(fork) == run
    assert (fork.runs / "run" / "run.json").read_bytes() == before


def test_a_folder_somebody_works_in_is_refused(fork: Fork, stopped: Run) -> None:
    assert stopped
    with (
        held(fork.runs / "run"),
        pytest.raises(LaunchError, match=r"run is in use by pid \d+"),
    ):
        resumed(fork)


def test_a_changed_workload_is_named(fork: Fork, stopped: Run) -> None:
    head = stopped.head.revision
    changed = fork.request(head, head, workload(iterations=21)).config

    with pytest.raises(UsageError, match="workload w changed since this run was begun"):
        resumed(fork, changed)


def test_metrics_that_ci_wrote_out_are_those_that_bench_has_by_default(
    fork: Fork, stopped: Run
) -> None:
    head = stopped.head.revision
    config = fork.request(head, head, workload(iterations=20)).config
    assert not config.workload[0].metrics
    saved = fork.runs / "run" / "request.json"
    request = json.loads(saved.read_text())
    request["settings"]["workload"][0]["metrics"] = {"step_time": {"unit": "s", "better": "lower"}}
    saved.write_text(json.dumps(request))

    assert resumed(fork, config).complete


def test_a_changed_recipe_is_refused(fork: Fork, stopped: Run) -> None:
    head = stopped.head.revision
    config = fork.request(head, head, workload(iterations=20)).config
    changed = config.model_copy(
        update={"build": config.build.model_copy(update={"command": "true"})}
    )

    with pytest.raises(UsageError, match=r"\[build\] changed"):
        resumed(fork, changed)


def test_a_build_that_is_gone_is_named(fork: Fork, stopped: Run) -> None:
    assert stopped.base.build is not None
    release_builds()
    Path(stopped.base.build.directory).parent.rename(fork.runs / "moved")

    with pytest.raises(EnvironmentFailure, match=r"cannot resume: base: the build in .* is gone"):
        resumed(fork)


def test_a_build_that_was_made_anew_is_another_build(fork: Fork) -> None:
    mark = fork.runs / "slow"
    recipe = BuildConfig(command=f"test ! -e {mark} || sleep 0.2")
    head = fork.repository.revision("HEAD")
    request = fork.request(head, head, recipe=recipe, gate={"budget": "0.01s"})
    assert not fork.measure(request).complete
    mark.touch()
    build(fork.repository, head, recipe, fresh=True)
    release_builds()

    with pytest.raises(EnvironmentFailure, match="was made anew since"):
        resumed(fork)


def test_another_host_is_incomparable(fork: Fork, stopped: Run) -> None:
    assert stopped
    saved = fork.runs / "run" / "request.json"
    data = json.loads(saved.read_text())
    data["environment"]["cpu_model"] = "Another CPU"
    saved.write_text(json.dumps(data))

    with pytest.raises(IncomparableError, match="another host: CPU was Another CPU") as caught:
        resumed(fork)
    assert caught.value.exit_code == 5


@pytest.mark.parametrize("damage", ["request.json", "plan.json", "launches/*/result.json"])
def test_a_damaged_file_is_named_in_one_line(fork: Fork, stopped: Run, damage: str) -> None:
    assert stopped
    path = next((fork.runs / "run").glob(damage))
    path.write_text('{"half')

    with pytest.raises(UsageError) as caught:
        resumed(fork)
    assert caught.value.message.startswith(f"{path} is not JSON: ")
    assert "\n" not in caught.value.message


def test_a_folder_without_a_run_is_refused(fork: Fork) -> None:
    with pytest.raises(UsageError, match="there is no run in"):
        resumed(fork)
    (fork.runs / "run").mkdir()
    with pytest.raises(UsageError, match="holds no run that was begun"):
        resumed(fork)
