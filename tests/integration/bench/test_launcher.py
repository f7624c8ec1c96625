"""Launches that another program starts, as `srun` does on a cluster."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.cli import run as ciwm
from ciwm.config import GateConfig
from ciwm.errors import ConfigError, LaunchError, UsageError
from ciwm.launch.series import family
from ciwm.policy import decide
from ciwm.records import SIDES
from tests.fork import exits, workload
from tests.runs import RunBuilder

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fork import Fork

METRIC = {"latency": {"unit": "ms", "better": "lower"}}
COMMAND = "echo '{\"latency\": 1}' > {out}"


@pytest.fixture
def starter(tmp_path: Path) -> str:
    """A launcher that notes what it was asked for, and starts the rest of its arguments."""
    script = tmp_path / "starter"
    script.write_text(
        '#!/bin/sh\necho "$1" >> "${0%/*}/asked"\necho "starter: granted" >&2\n'
        "shift\nSTARTED_BY=starter\nexport STARTED_BY\n"
        'exec "$@"\n'
    )
    script.chmod(0o755)
    return str(script)


def test_every_launch_is_started_by_it_and_tells_its_node(
    fork: Fork, starter: str, tmp_path: Path
) -> None:
    text = "import os\ndef step(): assert os.environ['STARTED_BY'] == 'starter'\n"
    revision = fork.commit({"bench/steps.py": text})
    steps = workload(launcher=f"{starter} --gpus={{devices}}")
    other = workload(
        id="c", command=COMMAND, metrics=METRIC, launcher=f"{starter} '{{workload}} x'"
    )
    run = fork.measure(fork.request(revision, revision, steps, other))
    for side in SIDES:
        assert set(exits(run, side)) == {"ok"}
    assert {launch.node for launch in run.launches} == {os.uname().nodename}
    asked = (tmp_path / "asked").read_text().splitlines()
    assert set(asked) == {"--gpus=1", "c x"}
    assert len(asked) == len(run.launches) + 1  # and once to describe the node


def test_the_machine_of_the_run_is_the_node(fork: Fork, tmp_path: Path) -> None:
    """The node has a variable that this process has not; the record of a machine holds it."""
    script = tmp_path / "elsewhere"
    script.write_text('#!/bin/sh\nNCCL_NODE=far\nexport NCCL_NODE\nexec "$@"\n')
    script.chmod(0o755)
    revision = fork.repository.revision("HEAD")
    there = workload(command=COMMAND, metrics=METRIC, launcher=str(script))
    run = fork.measure(fork.request(revision, revision, there))
    assert run.base.environment.variables["NCCL_NODE"] == "far"


@pytest.mark.parametrize(
    ("launcher", "said"),
    [
        ("srun 'x", "No closing quotation"),
        ("srun --gres=gpu:{gpus}", "unknown placeholder {gpus}"),
    ],
)
def test_a_template_that_cannot_be_is_one_clear_line(launcher: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        family([workload(launcher=launcher)], GateConfig())


@pytest.mark.parametrize(
    ("launcher", "said"),
    [
        ("/nowhere/srun", "the launcher /nowhere/srun cannot be started: No such file"),
        ("sh -c 'echo no node >&2; exit 3'", "the launcher sh ended with 3: no node"),
        (f"{sys.executable} -c pass", "the answer of .* is not JSON"),
    ],
)
def test_a_launcher_that_does_not_start_ends_the_bench_before_it_begins(
    fork: Fork, launcher: str, said: str
) -> None:
    revision = fork.repository.revision("HEAD")
    there = workload(command=COMMAND, metrics=METRIC, launcher=launcher)
    with pytest.raises((LaunchError, UsageError), match=said):
        fork.measure(fork.request(revision, revision, there))


def test_a_run_has_one_kind_of_machine(fork: Fork) -> None:
    revision = fork.repository.revision("HEAD")
    there = workload(id="there", command=COMMAND, metrics=METRIC, launcher="env")
    with pytest.raises(ConfigError, match="workload w has no launcher, and others have one"):
        fork.measure(fork.request(revision, revision, workload(), there))


def on_nodes(*nodes: str) -> Any:
    """A run whose blocks' four launches ran on these nodes, in turn."""
    run = RunBuilder().blocks(8, 1.0, 1.0).run()
    launches = tuple(
        launch.model_copy(update={"node": nodes[launch.position % len(nodes)]})
        for launch in run.launches
    )
    return run.model_copy(update={"launches": launches})


def test_a_block_that_was_spread_over_nodes_is_void() -> None:
    (one,) = decide(on_nodes("n1", "n2"), GateConfig()).series
    assert one.outcome == "void"
    assert "its block ran on several nodes (n1, n2)" in one.reason
    (one,) = decide(on_nodes("n1"), GateConfig()).series
    assert one.outcome == "unchanged"


def test_a_wrong_launcher_is_told_before_anything_is_built(
    fork: Fork, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fork.commit(
        {
            "ciwm.toml": '[[workload]]\nid = "w"\ncommand = "x {out}"\nlauncher = "srun {n}"\n'
            f"metrics = {json.dumps(METRIC).replace(':', ' =')}\n"
        }
    )
    monkeypatch.chdir(fork.path)
    assert ciwm(["bench", "HEAD", "HEAD"]) == 2
    told = capsys.readouterr().err
    assert "unknown placeholder {n}" in told
    assert "build of" not in told
