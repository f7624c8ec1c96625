"""From a backend that lost a kernel to the sentence in the comment, by the command line."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from ciwm.cli import run
from tests.integration.on_device.models import STEP
from tests.toy_backend.site import HERE, toy_variables

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = """
[build]
command = "true"
python = "{python}"
python_path = ["plugin"]
[map.on_device]
device = "toy"
imports = ["toy_device"]
[[map.workload]]
id = "train"
model = "workload.py:build"
phase = "train"
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    plugin = tmp_path / "plugin"
    plugin.mkdir()
    shutil.copy(HERE / "device.py", plugin / "toy_device.py")
    shutil.copy(HERE / "wrong_kernels.py", plugin / "wrong_kernels.py")
    (tmp_path / "workload.py").write_text(STEP)
    (tmp_path / "ciwm.toml").write_text(CONFIG.format(python=sys.executable))
    for name, value in toy_variables().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CIWM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_kernel_that_a_backend_lost_is_a_new_fallback_in_the_comment(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = ["map", "run", "--only", "fallback"]
    assert run([*stage, "--out", "base.json"]) == 0
    monkeypatch.setenv("TOY_WITHOUT", "addmm.out")
    code = run([*stage, "--out", "head.json", "--base", "base.json", "--markdown", "head.md"])
    assert code == 1  # [gate] block_on has coverage by default
    comment = (project / "head.md").read_text()
    assert "**1 new CPU fallback**" in comment
    assert "new CPU fallback: aten::addmm," in comment
    assert "% of step time" in comment
    (workload,) = json.loads((project / "head.json").read_text())["fallbacks"]
    assert "aten::addmm" in [op["op"] for op in workload["ops"]]
