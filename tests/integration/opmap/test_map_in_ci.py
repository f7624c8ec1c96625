"""`ciwm ci` with [map] enabled: two builds of a fork, the same workloads, what the bump lost."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.cli import run
from ciwm.launch.builds import release_builds
from ciwm.opmap.manifests import compact
from ciwm.records import BumpReport, WorkloadMap, read_record
from tests import map_examples as examples

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("cache")

CONFIG = f"""
[build]
python = "{sys.executable}"
[map]
enabled = true
only = ["census", "ghost"]
target = "npu.json"
[[map.workload]]
id = "net"
phase = "prefill"
model = "bench/net.py:build"
"""
WORKLOAD = """
import framework
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        return framework.scan(x)

def build():
    return {"model": Net(), "inputs": (torch.randn(3, 4),)}
"""
NATIVE = "import torch\ndef scan(x):\n    return torch.tanh(x)\n"
FALLEN = "import torch\ndef scan(x):\n    return torch.cumsum(x, 0)\n"
BROKEN = "def scan(x):\n    raise RuntimeError('no scan any more')\n"


@dataclass
class Fork:
    """A fork with one commit for each state of its framework."""

    path: Path

    def commit(
        self, framework: str, config: str = CONFIG, manifest: str = "", workload: str = WORKLOAD
    ) -> str:
        for name, text in {
            "framework.py": framework,
            "bench/net.py": workload,
            "npu.json": manifest or target("tanh.out"),
            "ciwm.toml": config,
        }.items():
            place = self.path / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        self.git("add", "--all")
        self.git("commit", "-q", "--allow-empty", "-m", "state")
        return self.git("rev-parse", "HEAD")

    def git(self, *arguments: str) -> str:
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments]
        done = subprocess.run(command, cwd=self.path, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def ci(self, base: str, head: str, *options: str) -> tuple[int, BumpReport, str]:
        """The exit code, the report and the comment of a bump."""
        out = self.path.parent / f"out-{head[:8]}"
        asked = ["ci", "--base", base, "--head", head, "--no-fetch", "--no-publish"]
        code = run([*asked, "--out", str(out), *options])
        release_builds()
        report = read_record(out / "report.json", BumpReport)
        return code, report, (out / "comment.md").read_text()


def target(*kernels: str) -> str:
    rows: dict[str, Any] = {
        "kernel": {"RegisterNPU.cpp": kernels},
        "backend fallback": {"": tuple({"cumsum.out"} - {*kernels})},
    }
    return compact(examples.manifest(rows=rows, fallback_files=()))


@pytest.fixture
def fork(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fork:
    path = tmp_path / "fork"
    path.mkdir()
    made = Fork(path)
    made.git("init", "-q", "-b", "main")
    monkeypatch.chdir(path)
    monkeypatch.setenv("CIWM_LOCK_DIR", str(tmp_path / "locks"))
    return made


def test_a_bump_that_sends_an_operator_to_the_cpu_is_blocked_by_name(fork: Fork) -> None:
    base, head = fork.commit(NATIVE), fork.commit(FALLEN)
    code, report, comment = fork.ci(base, head)
    assert code == 1
    assert report.conclusion == "failure"
    assert report.map_diff is not None
    lost = [change for change in report.map_diff.changes if change.lost]
    assert [(change.subject, change.blocks) for change in lost] == [("aten::cumsum.out", True)]
    assert "aten::cumsum.out is newly needed by net" in comment.splitlines()[0]
    maps = [read_record(path, WorkloadMap) for path in out_maps(fork, head)]
    assert [each.provenance.revision for each in maps] == [base, head]
    assert not any("edits workloads" in warning for warning in report.map_diff.warnings)


def test_a_head_that_edits_what_is_mapped_is_told_to_be_the_workload_of_both(fork: Fork) -> None:
    base = fork.commit(NATIVE)
    head = fork.commit(NATIVE, workload=WORKLOAD.replace("(x)\n", "(x).tanh()\n"))
    code, report, comment = fork.ci(base, head)
    assert code == 0
    assert report.map_diff is not None
    assert report.map_diff.warnings[0].startswith(
        "this change edits workloads it is mapped by: net"
    )
    assert "edits workloads it is mapped by: net" in comment


def test_the_map_alone_is_made_where_it_is_asked_for(fork: Fork) -> None:
    config = CONFIG.replace("enabled = true\n", "")
    base, head = fork.commit(NATIVE, config), fork.commit(FALLEN, config)
    code, report, _ = fork.ci(base, head, "--only", "map")
    assert code == 1
    assert report.map_diff is not None
    assert report.map_diff.blocks
    stages = {stage.name: stage.status for stage in report.stages}
    assert stages == {
        "sync": "skipped",
        "build": "done",
        "map": "done",
        "bench": "skipped",
        "gate": "skipped",
    }


@pytest.mark.parametrize(
    ("key", "proven"),
    [
        ("", {False}),
        pytest.param('queue = "proven"\n', {True}, marks=pytest.mark.heavy),
        pytest.param('queue = "off"\n', set(), marks=pytest.mark.heavy),
    ],
)
def test_the_queue_is_told_when_it_changed_at_the_price_that_is_stated(
    fork: Fork, key: str, proven: set[bool]
) -> None:
    only = f'only = ["census", "ghost", "queue"]\n{key}'
    config = CONFIG.replace('only = ["census", "ghost"]\n', only)
    base, head = fork.commit(NATIVE, config), fork.commit(FALLEN, config)
    code, report, comment = fork.ci(base, head)
    assert code == 1  # by the fallback, as without a queue
    assert report.map_diff is not None
    told = [change for change in report.map_diff.changes if change.kind == "queue"]
    assert [change.lost for change in told] == [False] * len(proven)
    sentence = "kernels to write: 0 in 0 steps → 1 in 1 step; new aten::cumsum.out"
    assert (sentence in comment) == bool(proven)
    (_, after) = [read_record(path, WorkloadMap) for path in out_maps(fork, head)]
    assert {bool(entry.proofs) for entry in after.queue} == proven


@pytest.mark.heavy
def test_the_way_back_passes_and_says_what_is_better(fork: Fork) -> None:
    base, head = fork.commit(FALLEN), fork.commit(NATIVE)
    code, report, comment = fork.ci(base, head)
    assert code == 0
    assert report.map_diff is not None
    assert not any(change.lost for change in report.map_diff.changes)
    assert "No loss in the workload map" in comment


@pytest.mark.heavy
def test_a_workload_that_no_longer_runs_is_lost_with_its_reason(fork: Fork) -> None:
    base, head = fork.commit(NATIVE), fork.commit(BROKEN)
    code, _, comment = fork.ci(base, head)
    assert code == 1
    assert "no scan any more" in comment


@pytest.mark.heavy
def test_a_head_that_loosens_policy_target_and_stages_is_judged_by_its_base(fork: Fork) -> None:
    base = fork.commit(NATIVE)
    loosened = CONFIG.replace('["census", "ghost"]', '["census"]')
    more = target("tanh.out", "cumsum.out")
    head = fork.commit(FALLEN, loosened + "[gate]\nblock_on = []\n", more)
    code, report, _ = fork.ci(base, head)
    assert code == 1
    assert report.map_diff is not None
    assert report.map_diff.blocks


@pytest.mark.heavy
def test_a_workload_that_head_no_longer_declares_is_lost(fork: Fork) -> None:
    second = CONFIG[CONFIG.index("[[map.workload]]") :].replace('id = "net"', 'id = "other"')
    base, head = fork.commit(NATIVE, CONFIG + second), fork.commit(NATIVE)
    code, _, comment = fork.ci(base, head)
    assert code == 1
    assert "other is declared by base and not by head" in comment


@pytest.mark.heavy
def test_a_loss_that_the_base_does_not_block_on_is_neutral(fork: Fork) -> None:
    lenient = CONFIG + "[gate]\nblock_on = ['regression']\n"
    base, head = fork.commit(NATIVE, lenient), fork.commit(FALLEN, lenient)
    code, report, _ = fork.ci(base, head)
    assert (code, report.conclusion) == (0, "neutral")


def out_maps(fork: Fork, head: str) -> list[Path]:
    folder = fork.path.parent / f"out-{head[:8]}"
    return [folder / "map-base.json", folder / "map.json"]
