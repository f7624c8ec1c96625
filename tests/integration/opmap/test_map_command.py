"""`ciwm map`: the whole way from a configuration to a map, a diff and an exit code."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ciwm.cli import run
from ciwm.commands.map_site import place_of, revision_of
from ciwm.opmap.manifests import compact
from ciwm.records import Manifest, MapDiff, WorkloadMap, parse_record, read_record
from tests import map_examples as examples

pytestmark = pytest.mark.usefixtures("cache")

WORKLOADS = """
import torch

class Net(torch.nn.Module):
    def __init__(self, deep):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.deep = deep

    def forward(self, x):
        x = torch.relu(self.layer(x))
        return torch.cumsum(x, 0).tanh() if self.deep else x

def build(deep):
    return {"model": Net(deep), "inputs": (torch.randn(3, 4),)}
"""
CONFIG = f"""
[build]
python = "{sys.executable}"
[[map.workload]]
id = "net"
phase = "prefill"
model = "nets.py:build"
params = {{ deep = [false, true] }}
"""
HAS = ("addmm.out", "relu", "tanh.out")  # of what the nets need, cumsum is lacking


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / "nets.py").write_text(WORKLOADS)
    (folder / "ciwm.toml").write_text(CONFIG)
    (folder / "npu.json").write_text(target(HAS))
    monkeypatch.chdir(folder)
    return folder


def target(kernels: tuple[str, ...]) -> str:
    rows: dict[str, Any] = {
        "kernel": {"RegisterNPU.cpp": kernels},
        "backend fallback": {"": ("cumsum.out",)},
    }
    return compact(examples.manifest(rows=rows, fallback_files=()))


def made(*arguments: str) -> WorkloadMap:
    assert run(["map", "run", *arguments, "--out", "map.json"]) == 0
    return read_record(Path("map.json"), WorkloadMap)


def test_a_map_from_nothing_orders_the_kernels_and_proves_each_step(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = made("--only", "census,queue", "--csv", "ops.csv", "--json")
    assert json.loads(capsys.readouterr().out) == json.loads(found.model_dump_json())
    assert not found.problems
    first, second = found.queue
    assert first.unlocks == ("net/deep=false",)
    assert {kernel.op for kernel in first.kernels} == {"aten::addmm.out", "aten::relu"}
    assert {kernel.op for kernel in second.kernels} == {"aten::cumsum.out", "aten::tanh.out"}
    for entry in found.queue:
        (proof,) = entry.proofs
        assert proof.passes
        assert set(proof.fails_without) == {kernel.op for kernel in entry.kernels}
        assert not proof.passes_without
    with (checkout / "ops.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == len(found.ops)
    (one,) = [line for line in lines if line["op"] == "aten::tanh.out"]
    assert one["workload"] == "net/deep=true"
    assert (one["calls"], one["part"], one["tensors"]) == ("1", "forward", "Float[3,4] Float[3,4]")


def test_a_target_is_predicted_and_what_it_loses_ends_with_1(checkout: Path) -> None:
    stages = ["--target", "npu.json", "--only", "census,ghost,queue"]
    found = made(*stages)
    classes = {one.op: one.support for one in found.supports}
    assert classes["aten::addmm.out"] == "native"
    assert classes["aten::cumsum.out"] == "fallback"
    assert classes["aten::cumsum"] == "fallback"  # a composite of it
    assert classes["aten::linear"] == "composite-reuse"
    counted = {(one.workload, one.support): one.calls for one in found.coverage}
    assert counted["net/deep=true", "fallback"] == 1
    assert ("net/deep=false", "fallback") not in counted
    needed = {entry.unlocks: {kernel.op for kernel in entry.kernels} for entry in found.queue}
    assert needed == {("net/deep=false",): set(), ("net/deep=true",): {"aten::cumsum.out"}}

    (checkout / "map.json").rename(checkout / "base.json")
    (checkout / "npu.json").write_text(target(HAS[:2]))
    told = ["--base", "base.json", "--markdown", "section.md", "--out", "map.json"]
    assert run(["map", "run", "--target", "npu.json", "--only", "ghost", *told]) == 1
    section = (checkout / "section.md").read_text()
    assert "aten::tanh.out was native on npu, is must-write" in section
    assert "no longer needed" not in section  # head took no census
    (checkout / "ciwm.toml").write_text(CONFIG + "[gate]\nblock_on = ['regression']\n")
    assert run(["map", "diff", "base.json", "map.json"]) == 0


def test_a_named_revision_is_its_commit(checkout: Path) -> None:
    assert revision_of(place_of(None), None) == ""  # no repository yet
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(checkout)]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "nets"]):
        subprocess.run([*git, *words], check=True)
    sha = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    assert {revision_of(place_of(None), rev) for rev in ("HEAD", None)} == {sha.stdout.strip()}


def test_a_diff_as_json_is_the_record_and_nothing_else(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "map.json").write_text(examples.workload_map().to_json())
    assert run(["map", "diff", "map.json", "map.json", "--json"]) == 0
    assert parse_record(capsys.readouterr().out, MapDiff, "stdout").changes == ()


def test_maps_for_different_targets_are_void_and_told_so_first(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    none = examples.workload_map(
        provenance=examples.provenance(target=None), supports=(), coverage=()
    )
    (checkout / "none.json").write_text(none.to_json())
    (checkout / "npu.map.json").write_text(examples.workload_map().to_json())
    assert run(["map", "diff", "none.json", "npu.map.json"]) == 5
    told = capsys.readouterr().out.split()
    assert " ".join(told).startswith("Void: base was mapped for no target, head for npu: ")
    assert "no loss" not in " ".join(told)
    lost = examples.workload_map(workloads=())
    (checkout / "lost.json").write_text(lost.to_json())
    assert run(["map", "diff", "none.json", "lost.json"]) == 1


@pytest.mark.heavy
def test_a_manifest_is_dumped_where_a_backend_imports(checkout: Path) -> None:
    assert run(["map", "manifest", "--key", "CPU", "--out", "cpu.json"]) == 0
    table = read_record(checkout / "cpu.json", Manifest).table()
    assert table["aten::mm.out"].kind == "kernel"
    assert table["aten::linear"].kind in ("kernel", "math kernel")
    assert table["aten::add.out"].registered_at.endswith(".cpp")


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("key", "words"),
    [("XPU", "no kernel for XPU"), ("NoSuch", "torch knows no dispatch key NoSuch")],
)
def test_a_backend_that_is_not_there_has_no_manifest(
    checkout: Path, capsys: pytest.CaptureFixture[str], key: str, words: str
) -> None:
    assert run(["map", "manifest", "--key", key, "--out", "none.json"]) == 4
    assert words in capsys.readouterr().err
    assert not (checkout / "none.json").exists()


def test_a_workload_that_no_compiler_takes_since_it_fails_itself_was_not_observed(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = WORKLOADS.replace("x = torch.relu(self.layer(x))", "raise ValueError('no')")
    (checkout / "nets.py").write_text(text)
    options = ["--only", "compile", "--out", "map.json"]
    assert run(["map", "run", *options]) == 4
    assert "nothing could be observed" in capsys.readouterr().err
    failed = read_record(checkout / "map.json", WorkloadMap).compile_paths[0].graphs
    assert failed is not None
    assert failed.status == "failed"


def test_what_torch_itself_registers_for_every_key_is_no_backend(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """torch.distributed has collectives for PrivateUse1, whose plugin is not here."""
    assert run(["map", "manifest", "--key", "PrivateUse1", "--out", "none.json"]) == 4
    assert "no kernel for PrivateUse1" in capsys.readouterr().err
    assert not (checkout / "none.json").exists()


def test_the_shipped_cuda_manifest_serves_these_nets(checkout: Path) -> None:
    assert checkout
    found = made("--target", "cuda", "--only", "census,ghost", "--csv", "ops.csv")
    with (checkout / "ops.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == len(found.ops)
    assert {line["support"] for line in lines if line["structural"] == "no"} == {"native"}
    assert all(line["support"] and line["evidence"] for line in lines)
    leaves = [one for one in found.supports if one.calls]
    assert {one.support for one in leaves} == {"native"}
    assert any("is of torch 2.14.1+cu130" in warning for warning in found.warnings)


def test_what_a_declared_device_would_tell_is_told_once(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = made("--only", "intensity", "--markdown", "section.md")
    assert len(found.workloads) == 2
    assert {one.intensity and one.intensity.bound for one in found.workloads} == {"undetermined"}
    assert len(found.warnings) == 1
    for told in (capsys.readouterr().out, (checkout / "section.md").read_text()):
        assert told.count("ridge point") == 1


BAD_FILES = {
    "truncated": '{"schema_version": 1, "provenance": {',
    "another record": '{"schema_version": 1, "licence": "x"}',
    "empty": "",
    "newer": '{"schema_version": 99}',
}


@pytest.mark.parametrize("bad", BAD_FILES)
def test_a_map_that_cannot_be_read_is_one_line(
    checkout: Path, capsys: pytest.CaptureFixture[str], bad: str
) -> None:
    (checkout / "bad.json").write_text(BAD_FILES[bad])
    assert run(["map", "diff", "bad.json", "bad.json"]) == 2
    assert run(["map", "run", "--target", "bad.json"]) == 2
    errors = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error:")]
    assert len(errors) == 2
    assert all("bad.json" in line for line in errors)


def test_without_a_workload_the_way_to_declare_one_is_told(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "ciwm.toml").write_text("")
    assert run(["map", "run"]) == 2
    assert "[[map.workload]]" in capsys.readouterr().err


def test_unknown_names_are_told_with_what_there_is(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert checkout
    assert run(["map", "run", "--only", "consus"]) == 2
    assert run(["map", "run", "--workload", "nett"]) == 2
    assert run(["map", "run", "--target", "cuda13"]) == 2
    told = capsys.readouterr().err
    assert "there are: intensity, census" in told
    assert "declared are: net" in told
    assert "shipped are: cuda" in told


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("nots.py:build", "workload net: there is no file nots.py"),
        ("nets.py:built", "workload net: there is no built in nets.py"),
    ],
)
def test_a_model_that_is_not_there_is_one_line_before_anything_runs(
    checkout: Path, capsys: pytest.CaptureFixture[str], model: str, said: str
) -> None:
    (checkout / "ciwm.toml").write_text(CONFIG.replace("nets.py:build", model))
    assert run(["map", "run", "--out", "map.json"]) == 2
    told = capsys.readouterr().err.splitlines()
    assert [line for line in told if not line.startswith("hint:")] == [f"error: {said}"]


@pytest.mark.parametrize("option", ["--base", "--out", "--csv", "--markdown"])
def test_a_path_that_will_not_do_is_told_before_anything_runs(
    checkout: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    assert checkout
    assert run(["map", "run", option, "nets.py/in-the-way"]) in {2, 4}
    told = capsys.readouterr().err.splitlines()
    assert [line for line in told if not line.startswith("hint:")] == told[:1]
    assert told[0].startswith("error:")
    assert "nets.py" in told[0]


@pytest.mark.heavy
def test_a_workload_that_cannot_be_seen_ends_with_4_when_it_is_the_only_one(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "nets.py").write_text("import no_such_framework\n" + WORKLOADS)
    assert run(["map", "run", "--only", "census", "--out", "map.json"]) == 4
    assert "no_such_framework" in capsys.readouterr().out
    found = read_record(checkout / "map.json", WorkloadMap)
    assert {problem.reason for problem in found.problems} == {"failed"}


def test_bundles_go_out_and_come_in(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shared = ["npu.json", "--out", "bundle.json", "--licence", "CC0-1.0"]
    assert run(["map", "export", *shared]) == 0
    assert run(["map", "import", "bundle.json", "--into", "ours"]) == 0
    (ours,) = (checkout / "ours").iterdir()
    ours.write_text(target(HAS[:1]))
    assert run(["map", "import", "bundle.json", "--into", "ours"]) == 1
    assert "differs in rows" in capsys.readouterr().out
