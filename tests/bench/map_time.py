"""`ciwm map run` beside the bare import of the framework that it maps, by turns.

python -m tests.bench.map_time [ROUNDS]

Needs torch and transformers where it runs. What a stage costs by itself is its wall time less that
of the import, in the same round: the framework's start-up is the larger part and nothing of ours.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tests
from tests.workloads.architectures import MODELS

LLAMA = """
import torch
def prefill():
    from transformers import LlamaConfig, LlamaForCausalLM
    torch.set_default_dtype(torch.bfloat16)
    inputs = {"input_ids": torch.zeros(1, 2048, dtype=torch.long)}
    return {"model": LlamaForCausalLM(LlamaConfig()), "inputs": inputs}
"""
LAYER = """
import torch
def build():
    return {"model": torch.nn.Linear(64, 64), "inputs": torch.randn(16, 64)}
"""
IMPORTS = {
    "llama": "from transformers import LlamaConfig, LlamaForCausalLM",
    "architectures": "import torch, transformers",
    "layer": "import torch",
}
STAGES = {"llama": "intensity", "architectures": "census", "layer": "communication"}
WRITE_NO_TOKENS = sorted({"bert", "convnext", "resnet", "vit", "whisper"})
LIMITS_S = {"llama": 6, "architectures": 15, "layer": 15}


def workload(name: str, phase: str, model: str, arch: list[str]) -> str:
    """One table of ciwm.toml."""
    params = f"\nparams = {{ arch = {arch} }}" if arch else ""
    return f'[[map.workload]]\nid = "{name}"\nphase = "{phase}"\nmodel = "{model}"{params}\n'


def projects(folder: Path) -> None:
    """A folder for each of STAGES, with what it maps."""
    writing = [arch for arch in sorted(MODELS) if arch not in WRITE_NO_TOKENS]
    tables = {
        "llama": workload("llama-7b", "prefill", "model.py:prefill", []),
        "layer": workload("layer", "prefill", "model.py:build", []),
        "architectures": "[map]\ncases = 40\n"
        + workload("infer", "prefill", "architectures.py:infer", sorted(MODELS))
        + workload("train", "train", "architectures.py:train", sorted(MODELS))
        + workload("generate", "generate", "architectures.py:generate", writing),
    }
    for name, table in tables.items():
        (folder / name).mkdir()
        (folder / name / "ciwm.toml").write_text(f'[build]\npython = "{sys.executable}"\n{table}')
    (folder / "llama" / "model.py").write_text(LLAMA)
    (folder / "layer" / "model.py").write_text(LAYER)
    source = Path(tests.__file__).parent / "workloads" / "architectures.py"
    shutil.copy(source, folder / "architectures")


def wall_s(command: list[str], folder: Path) -> float:
    """Of a child process; raises CalledProcessError, with its own words on stderr, if it fails."""
    began = time.monotonic()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began


def main() -> None:
    """Print a row for each stage: medians, in seconds."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        os.environ["CIWM_CACHE_DIR"] = str(folder / "cache")
        projects(folder)
        print(
            "| stage | limit | whole command | import alone | the stage's own |\n|--|--|--|--|--|"
        )
        for name, stage in STAGES.items():
            run = [sys.executable, "-m", "ciwm", "map", "run", "--only", stage, "--out", "map.json"]
            bare = [sys.executable, "-c", IMPORTS[name]]
            wall_s(run, folder / name)  # compiles the null device, fills the page cache
            pairs = [(wall_s(run, folder / name), wall_s(bare, folder)) for _ in range(rounds)]
            whole, alone, own = (
                statistics.median(values)
                for values in (*zip(*pairs, strict=True), [w - a for w, a in pairs])
            )
            limit_s = LIMITS_S[name]
            print(f"| {stage} of {name} | {limit_s} s | {whole:.1f} | {alone:.1f} | {own:.1f} |")


if __name__ == "__main__":
    main()
