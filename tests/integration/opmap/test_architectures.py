"""Thirteen Hugging Face architectures: census, unlock order, and the ghost of CUDA."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest

import tests
from ciwm.cli import run
from ciwm.records import WorkloadMap, read_record
from tests.need import missing
from tests.workloads.architectures import MODELS

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("cache")]

CONFIG = f"""
[build]
python = "{sys.executable}"
[map]
cases = {len(MODELS)}
[[map.workload]]
id = "infer"
phase = "prefill"
model = "architectures.py:infer"
params = {{ arch = {sorted(MODELS)} }}
"""


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WorkloadMap:
    if importlib.util.find_spec("transformers") is None:
        missing("transformers is not installed here")
    shutil.copy(Path(tests.__file__).parent / "workloads" / "architectures.py", tmp_path)
    (tmp_path / "ciwm.toml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    assert run(["map", "run", "--only", "census,queue", "--out", "map.json"]) == 0
    assert run(["map", "run", "--only", "ghost", "--target", "cuda", "--out", "ghost.json"]) == 0
    return read_record(tmp_path / "map.json", WorkloadMap)


def test_thirteen_architectures_are_ordered_and_every_step_is_proven(found: WorkloadMap) -> None:
    assert not found.problems
    assert all((one.max_abs_diff or 0) < 1e-4 for one in found.workloads)
    # a convolutional net needs least, the mixture of experts with latent attention most
    assert found.queue[0].unlocks == ("infer/arch=resnet",)
    assert found.queue[-1].unlocks == ("infer/arch=deepseek_v3",)
    together = next(one for one in found.queue if "infer/arch=llama" in one.unlocks)
    assert together.unlocks == ("infer/arch=llama", "infer/arch=qwen3")
    proofs = [(entry, proof) for entry in found.queue for proof in entry.proofs]
    assert len(proofs) == len(MODELS)
    for entry, proof in proofs:
        assert proof.passes
        assert not proof.passes_without
        assert set(proof.fails_without) == {kernel.op for kernel in entry.kernels}
    ghost = read_record(Path("ghost.json"), WorkloadMap)
    assert {one.support for one in ghost.supports} == {"native", "composite-reuse"}
