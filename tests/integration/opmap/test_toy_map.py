"""A young backend mapped without running on it: its manifest, what would fall back, the queue."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tests
from ciwm.cli import run
from ciwm.records import Manifest, WorkloadMap, read_record
from tests.need import missing

TOY = Path(tests.__file__).parent / "toy_backend"
WORKLOADS = """
import torch

class Net(torch.nn.Module):
    def __init__(self, scan):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.scan = scan

    def forward(self, x):
        x = self.layer(x) * 2 + x
        return torch.cumsum(torch.erfinv(torch.sigmoid(x)), 0) if self.scan else x

def build(scan):
    return {"model": Net(scan), "inputs": (torch.randn(3, 4),)}
"""
CONFIG = f"""
[build]
python = "{sys.executable}"
python_path = ["{TOY}"]
[[map.workload]]
id = "net"
phase = "prefill"
model = "nets.py:build"
params = {{ scan = [false, true] }}
"""


@pytest.fixture(scope="module")
def toy() -> str:
    """The toy's library, kept for all sessions."""
    if shutil.which("g++") is None:
        missing("there is no C++ compiler")
    command = [sys.executable, "-m", "tests.toy_backend.build"]
    root = TOY.parent.parent
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path, toy: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    assert cache
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / "nets.py").write_text(WORKLOADS)
    (folder / "ciwm.toml").write_text(CONFIG)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TOY_LIBRARY", toy)
    dumped = ["--key", "PrivateUse1", "--import", "device", "--name", "toy", "--out", "toy.json"]
    assert run(["map", "manifest", *dumped]) == 0
    return folder


def test_a_young_backend_is_mapped_from_its_manifest_alone(checkout: Path) -> None:
    table = read_record(checkout / "toy.json", Manifest).table()
    assert table["aten::mm.out"].kind == "kernel"
    assert table["aten::cumsum.out"].kind == "backend fallback"
    # a fallback registered as a kernel, in the file of real ones: only running it tells
    assert table["aten::erfinv.out"].kind == "kernel"
    assert table["aten::erfinv.out"].registered_at == "toy.cpp"

    stages = ["--target", "toy.json", "--only", "census,ghost,queue", "--out", "map.json"]
    assert run(["map", "run", *stages]) == 0
    found = read_record(checkout / "map.json", WorkloadMap)
    assert not found.problems
    classes = {one.op: one.support for one in found.supports if one.calls}
    assert classes == {
        "aten::addmm.out": "native",
        "aten::mul.out": "native",
        "aten::add.out": "native",
        "aten::sigmoid.out": "native",
        "aten::erfinv.out": "native",
        "aten::cumsum.out": "fallback",
    }
    unlocked = {entry.unlocks: [kernel.op for kernel in entry.kernels] for entry in found.queue}
    assert unlocked == {("net/scan=false",): [], ("net/scan=true",): ["aten::cumsum.out"]}
    (proof,) = found.queue[1].proofs
    assert proof.passes
    assert proof.fails_without == ("aten::cumsum.out",)
