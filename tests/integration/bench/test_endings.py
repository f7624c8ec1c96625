"""However a launch ends, it is recorded by its reason, and nothing measured is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.records import SIDES, Run, read_record
from tests.fork import exits, only_launch, workload

if TYPE_CHECKING:
    from tests.fork import Fork

METRIC = {"latency": {"unit": "ms", "better": "lower"}}


def run_step(fork: Fork, text: str, **fields: Any) -> Run:
    """A run whose workload file both sides share; so both sides end alike."""
    revision = fork.commit({"bench/steps.py": text})
    return fork.measure(fork.request(revision, revision, workload(**fields)))


def run_command(fork: Fork, command: str, **fields: Any) -> Run:
    revision = fork.repository.revision("HEAD")
    given = {"metrics": METRIC, "command": command, **fields}
    return fork.measure(fork.request(revision, revision, workload(**given)))


@pytest.mark.parametrize(
    ("body", "reason", "detail"),
    [
        ("raise ValueError('no kernel')", "failed", "ValueError: no kernel (steps.py:3 in step)"),
        ("os._exit(7)", "failed", "exit status 7"),
        ("os._exit(0)", "failed", "exit status 0 before the worker was done: it called exit"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "signal", "SIGSEGV in step, steps.py:3"),
        ("os.abort()", "signal", "SIGABRT in step, steps.py:3"),
        (
            "os.kill(os.getpid(), signal.SIGKILL)",
            "oom",
            "killed by SIGKILL, which ciwm did not send: out of memory, likely",
        ),
        ("return float('nan')", "invalid", "the step returned nan"),
        ("return float('inf')", "invalid", "the step returned inf"),
    ],
)
def test_a_launch_that_does_not_end_well_has_a_reason_and_a_line(
    fork: Fork, body: str, reason: str, detail: str
) -> None:
    run = run_step(fork, f"import os, signal\ndef step():\n    {body}\n")

    for side in SIDES:
        launch = only_launch(run, side)
        assert (launch.exit, launch.detail) == (reason, detail)
    assert run.complete


def test_running_out_of_a_memory_limit_is_out_of_memory(fork: Fork) -> None:
    run = run_step(
        fork,
        "import resource\n"
        "def setup():\n"
        "    resource.setrlimit(resource.RLIMIT_AS, (2**29, 2**29))\n"
        "    return []\n"
        "def step(kept):\n"
        "    kept.append(bytearray(2**27))\n",
    )

    launch = only_launch(run, "base")
    assert launch.exit == "oom"
    assert launch.detail == "MemoryError (steps.py:6 in step)"
    assert 1 <= len(launch.samples[0].values) <= 4


def test_a_hang_is_killed_after_its_time_limit_and_keeps_its_samples(fork: Fork) -> None:
    run = run_step(
        fork,
        "import time\nsteps = iter([0.3, 0.3, 600])\ndef step(): time.sleep(next(steps))\n",
        timeout_s=2,
    )

    launch = only_launch(run, "head")
    assert launch.exit == "timeout"
    assert len(launch.samples[0].values) == 2
    assert launch.duration_s < 60


def test_what_a_launch_started_is_gone_when_it_has_ended(fork: Fork) -> None:
    run = run_step(
        fork,
        "import subprocess\n"
        "def setup():\n"
        "    child = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        "    print('child', child.pid, flush=True)\n"
        "def step(state): pass\n",
    )

    for launch in run.launches:
        log = (fork.runs / "run" / launch.log).read_text()
        pid = int(log.split("child ")[1].split()[0])
        assert not Path(f"/proc/{pid}").exists()


def test_samples_from_before_a_crash_are_in_the_record_and_on_disk(fork: Fork) -> None:
    run = run_step(
        fork,
        "import os, time\n"
        "left = [4]\n"
        "def step():\n"
        "    time.sleep(0.21)\n"
        "    left[0] -= 1\n"
        "    if not left[0]: os.abort()\n",
    )

    assert len(only_launch(run, "base").samples[0].values) == 3
    assert read_record(fork.runs / "run" / "run.json", Run) == run


def test_garbage_on_every_descriptor_disturbs_nothing(fork: Fork) -> None:
    run = run_step(
        fork,
        "import os\n"
        "def step():\n"
        "    for fd in range(1, 256):\n"
        "        try: os.write(fd, os.urandom(64) + b'\\n')\n"
        "        except OSError: pass\n",
    )

    assert exits(run, "base") == exits(run, "head") == ["ok"] * 4


def test_secrets_of_the_job_do_not_reach_a_launch(
    fork: Fork, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "ACTIONS_RUNTIME_TOKEN", "INPUT_TOKEN", "HF_TOKEN"):
        monkeypatch.setenv(name, "s3cret-value")
    monkeypatch.setenv("GITHUB_ENV", "/s3cret-value/env")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")

    run = run_step(fork, "import os\nprint(sorted(os.environ.items()))\ndef step(): pass\n")
    other = fork.request(
        fork.repository.revision("HEAD"),
        fork.repository.revision("HEAD"),
        workload(command="env; echo '{\"latency\": 1}' > {out}", metrics=METRIC),
        directory=fork.runs / "other",
    )
    by_command = fork.measure(other)

    for directory, seen in (("run", run), ("other", by_command)):
        log = (fork.runs / directory / seen.launches[0].log).read_text()
        assert "OMP_NUM_THREADS" in log
        assert "s3cret-value" not in log


def test_cuda_numbers_cards_as_they_are_locked_and_watched(
    fork: Fork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_DEVICE_ORDER", "FASTEST_FIRST")

    told = "import os\nprint('order', os.environ['CUDA_DEVICE_ORDER'])\ndef step(): pass\n"
    run = run_step(fork, told)

    assert "order PCI_BUS_ID" in (fork.runs / "run" / run.launches[0].log).read_text()


def test_where_a_compilation_is_measured_each_launch_begins_with_empty_caches(fork: Fork) -> None:
    metrics = {"first_step_time": {"unit": "s", "better": "lower"}}
    run = run_step(
        fork,
        "import os, pathlib\n"
        "place = pathlib.Path(os.environ['TORCHINDUCTOR_CACHE_DIR'])\n"
        "def step():\n"
        "    assert not place.exists() or list(place.iterdir()) == [place / 'of-this-launch']\n"
        "    place.mkdir(parents=True, exist_ok=True)\n"
        "    (place / 'of-this-launch').touch()\n",
        metrics=metrics,
        warmup_iterations=1,
    )

    assert exits(run, "base") == exits(run, "head") == ["ok"] * 4
    assert not list(fork.runs.glob("run/launches/*/compiled"))


def test_a_command_writes_its_samples(fork: Fork) -> None:
    run = run_command(fork, 'echo \'{"latency": [1, 2.5], "other": 3}\' > {out}')

    assert exits(run, "base") == ["ok"] * 4
    (samples,) = only_launch(run, "base").samples
    assert (samples.series, samples.metric, samples.values) == ("w", "latency", (1.0, 2.5))


@pytest.mark.parametrize(
    ("command", "reason", "detail"),
    [
        ("true {out}", "invalid", "it wrote no results to {out}"),
        ("echo '{\"latency\": NaN}' > {out}", "invalid", "w latency is nan"),
        ("echo '{\"latency\": []}' > {out}", "invalid", "w latency has no values"),
        (
            "echo '{\"latncy\": 1}' > {out}",
            "invalid",
            "no samples of w latency",
        ),
        ("echo broken wheel >&2; exit 3 # {out}", "failed", "exit status 3: broken wheel"),
        ("kill -SEGV $$; : {out}", "signal", "SIGSEGV"),
        ("sh -c 'kill -KILL $$'; : {out}", "oom", "killed by SIGKILL, which ciwm did not send: "),
        ("sh -c 'kill -BUS $$'; : {out}", "signal", "SIGBUS"),
    ],
)
def test_a_command_that_does_not_end_well(
    fork: Fork, command: str, reason: str, detail: str
) -> None:
    launch = only_launch(run_command(fork, command), "head")

    assert launch.exit == reason
    assert launch.detail.startswith(detail)


def test_a_command_stops_at_its_first_failing_line(fork: Fork) -> None:
    run = run_command(fork, "false\necho '{\"latency\": 1}' > {out}")
    assert only_launch(run, "base").exit == "failed"


def test_a_command_runs_once_for_each_case_of_its_parameters(fork: Fork) -> None:
    run = run_command(
        fork,
        'echo "{\\"latency\\": {n}}" > {out}',
        params={"n": [3, 4]},
    )

    values = {one.series: one.values for one in only_launch(run, "base").samples}
    assert values == {"w/n=3": (3.0,), "w/n=4": (4.0,)}


def test_a_command_may_report_every_case_by_name(fork: Fork) -> None:
    results = {
        "samples": [
            {"series": "w/n=3", "metric": "latency", "values": [1]},
            {"series": "w/n=4", "metric": "latency", "values": [2]},
        ]
    }
    run = run_command(fork, f"echo '{json.dumps(results)}' > {{out}}", params={"n": [3, 4]})

    assert {one.series for one in only_launch(run, "head").samples} == {"w/n=3", "w/n=4"}


def test_a_command_finds_its_files_its_build_and_its_python(fork: Fork) -> None:
    fork.commit(
        {
            "tools/time it.py": "import framework, json, sys\n"
            "json.dump({'latency': 5}, open(sys.argv[1], 'w'))\n"
            "print(framework.__file__)\n",
        }
    )
    run = run_command(
        fork, "test -d {build}/framework && {python} 'tools/time it.py' {out} && ls {workloads}"
    )

    launch = only_launch(run, "base")
    assert launch.exit == "ok", launch.detail
    log = (fork.runs / "run" / launch.log).read_text().splitlines()
    assert run.base.build is not None
    assert log == [f"{run.base.build.directory}/framework/__init__.py", "tools"]
