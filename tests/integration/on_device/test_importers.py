"""Other stacks' own importers, the real ones: each under the interpreter that has it.

    CIWM_TVM_PYTHON=tvm/bin/python CIWM_XLA_PYTHON=xla/bin/python CIWM_TORCHAX_PYTHON=ax/bin/python
        pytest -m heavy tests/integration/on_device/test_importers.py

docs/map.md says how to make them. TensorRT's is not among them: torch-tensorrt does not import
without CUDA.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ciwm.opmap.compile_paths import workload_compile
from ciwm.opmap.observe import observe
from tests.integration.on_device.models import BLOCKS
from tests.need import missing
from tests.toy_backend.site import cpu_site, subject

if TYPE_CHECKING:
    from ciwm.records.opmap_compile import ImporterPath

pytestmark = pytest.mark.heavy

STACKS = {
    "TVM": "CIWM_TVM_PYTHON",
    "StableHLO (torch_xla)": "CIWM_XLA_PYTHON",
    "StableHLO (torchax)": "CIWM_TORCHAX_PYTHON",
}
RARE = """
import torch
from torch import nn

class Rare(nn.Module):
    def forward(self, x):
        odd = torch.special.airy_ai(x) + torch.special.bessel_j0(x)
        return odd + torch.histc(x, 4).sum() + torch.linalg.svdvals(x).sum()

def build():
    return {"model": Rare(), "inputs": (torch.randn(4, 4),)}
"""


def said(stack: str, text: str, folder: Path) -> ImporterPath:
    """What the stack's importer says of a model, under the interpreter that has it."""
    python = os.environ.get(STACKS[stack])
    if python is None:
        missing(f"{STACKS[stack]} does not name an interpreter with {stack}")
    site = replace(cpu_site(folder, timeout_s=600), python=str(Path(python).absolute()))
    made = subject(folder, text, "prefill")
    observed = observe("compile", made, site, {"device": "cpu", "paths": [stack]})
    assert observed.problem is None, observed.problem
    found = workload_compile("w", observed)
    assert found is not None
    (answer,) = found.importers
    return answer


@pytest.mark.parametrize("stack", STACKS)
def test_a_plain_model_is_imported(stack: str, tmp_path: Path) -> None:
    answer = said(stack, BLOCKS, tmp_path)
    assert (answer.status, answer.unsupported, answer.detail) == ("imported", (), "")
    assert answer.version


@pytest.mark.parametrize("stack", STACKS)
def test_what_an_importer_lacks_it_names_itself(stack: str, tmp_path: Path) -> None:
    """Each stack lacks something else of four rare operators; none had airy_ai (December 2026)."""
    answer = said(stack, RARE, tmp_path)
    assert (answer.status, answer.detail) == ("unsupported", "")
    lacking = {name.split(".")[1] for name in answer.unsupported}
    assert "special_airy_ai" in lacking
    assert lacking <= {"special_airy_ai", "special_bessel_j0", "histc", "_linalg_svd"}
