"""From a device's sweep to the evidence level of its kernels, by the command line."""

from __future__ import annotations

import csv
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ciwm.cli import run
from ciwm.records import WorkloadMap, read_record
from tests.integration.on_device.models import STEP
from tests.toy_backend.site import HERE, toy_variables

if TYPE_CHECKING:
    from ciwm.records.opmap import OpSupport

CONFIG = f"""
[build]
command = "true"
python = "{sys.executable}"
python_path = ["plugin"]
[map]
only = ["census", "ghost", "correctness"]
[map.on_device]
device = "toy"
imports = ["toy_device"]
operators = ["addmm", "mm", "mul", "nn.functional.gelu", "sum"]
dtypes = ["float32"]
[[map.workload]]
id = "train"
model = "workload.py:build"
phase = "train"
"""


@pytest.fixture
def project(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    assert cache
    plugin = tmp_path / "plugin"
    plugin.mkdir()
    shutil.copy(HERE / "device.py", plugin / "toy_device.py")
    shutil.copy(HERE / "wrong_kernels.py", plugin / "wrong_kernels.py")
    (tmp_path / "workload.py").write_text(STEP)
    (tmp_path / "ciwm.toml").write_text(CONFIG)
    for name, value in toy_variables().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    dumped = ["--key", "PrivateUse1", "--import", "toy_device", "--name", "toy"]
    assert run(["map", "manifest", *dumped, "--out", "toy.json"]) == 0
    return tmp_path


def supports(name: str, *more: str) -> dict[str, OpSupport]:
    assert run(["map", "run", "--target", "toy.json", "--out", name, *more]) == 0
    found = read_record(Path(name), WorkloadMap)
    return {one.op: one for one in found.supports}


def test_what_the_device_computes_right_is_verified_and_a_wrong_kernel_is_not(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right = supports("right.json", "--csv", "ops.csv", "--markdown", "map.md")
    verified = {op for op, one in right.items() if one.level == "verified" and one.calls}
    # the sweep was of five operators; what they are checks of, forward and backward, and no more
    assert verified >= {
        "aten::addmm.out",
        "aten::gelu.out",
        "aten::gelu_backward.grad_input",
        "aten::mm.out",
        "aten::sum.IntList_out",
    }
    assert right["aten::gelu.out"].support == "fallback"  # the CPU is right, and slow
    assert right["aten::sigmoid.out"].level == "traced"
    assert "right on toy in float32 (nn.functional.gelu backward)" in (
        right["aten::gelu_backward.grad_input"].evidence
    )
    assert right["aten::linear"].level == "verified"  # ends in addmm.out alone
    count = sum(one.level == "verified" for one in right.values())
    for told in (capsys.readouterr().out, (project / "map.md").read_text()):
        assert sum(map(int, re.findall(r"(\d+) verified", told))) == count
    with (project / "ops.csv").open(newline="") as file:
        levels = {line["op"]: line["level"] for line in csv.DictReader(file)}
    assert levels["aten::addmm.out"] == "verified"

    monkeypatch.setenv("TOY_DEFECTS", "gelu_backward")
    wrong = supports("wrong.json", "--only", "ghost,correctness")
    assert wrong["aten::gelu.out"].level == "verified"
    backward = wrong["aten::gelu_backward.grad_input"]
    assert backward.level == "traced"
    assert "not right on toy" in backward.evidence
    capsys.readouterr()

    # less evidence is no lost coverage: what is lost is that the gradient is right
    assert run(["map", "diff", "right.json", "wrong.json"]) == 1
    told = capsys.readouterr().out
    assert "nn.functional.gelu is no longer right on toy" in told.replace("\n", " ")
    assert "class worse" not in told
