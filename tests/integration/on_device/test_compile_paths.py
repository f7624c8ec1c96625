"""How far each compiler gets with a model that breaks its graph, and what others' importers say."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ciwm.opmap.compile_paths import workload_compile
from ciwm.opmap.observe import observe
from tests.integration.on_device.models import BLOCKS, ODD
from tests.toy_backend.site import cpu_site, subject

if TYPE_CHECKING:
    from pathlib import Path

    from ciwm.records.opmap_compile import WorkloadCompile

# as apache-tvm 0.27 answers (tvm/relax/frontend/torch/base_fx_graph_translator.py)
FAKE_TVM = """
def from_exported_program(program):
    names = [str(node.target).replace("aten.", "", 1) for node in program.graph.nodes
             if node.op == "call_function" and "cumsum" in str(node.target)]
    assert not names, f"Unsupported function types {names}"
"""


def paths(
    folder: Path, text: str, phase: str, *only: str, stub: Path | None = None
) -> WorkloadCompile:
    made = subject(folder, text, phase)
    site = replace(cpu_site(folder), python_path=(stub,) if stub else ())
    observed = observe("compile", made, site, {"device": "cpu", "paths": list(only)})
    assert observed.problem is None, observed.problem
    found = workload_compile("w", observed)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> WorkloadCompile:
    return paths(tmp_path_factory.mktemp("odd"), ODD, "prefill")


def test_a_graph_break_is_told_with_reason_and_place(odd: WorkloadCompile) -> None:
    assert odd.graphs is not None
    assert odd.graphs.graphs == 2
    (found,) = odd.graphs.breaks
    assert found.where.endswith(
        f"workload.py:{ODD.splitlines().index('        if y.sum() > 0:') + 1} in forward"
    )
    assert "jump" in found.reason


def test_inductor_says_what_it_generates_and_what_it_leaves_to_eager_kernels(
    odd: WorkloadCompile,
) -> None:
    assert odd.inductor is not None
    assert odd.inductor.codegen
    assert odd.inductor.generated > 0
    assert sum(odd.inductor.extern.values()) == 1  # the linear layer
    assert odd.inductor.fallback == {"aten.cumsum.default": 1}


def test_export_fails_where_data_decides_and_says_so(odd: WorkloadCompile) -> None:
    assert odd.export is not None
    assert odd.export.status == "failed"
    assert "data-dependent" in odd.export.detail


def test_a_stack_that_is_not_installed_is_not_called_unsupported(odd: WorkloadCompile) -> None:
    modules = {"TVM": "tvm", "TensorRT": "torch_tensorrt", "StableHLO (torchax)": "torchax"}
    told = {one.stack: one.status for one in odd.importers}
    for stack, module in modules.items():
        if importlib.util.find_spec(module) is None:
            assert told[stack] == "not installed"


def test_a_plain_model_exports_to_core_operators_in_training_too(tmp_path: Path) -> None:
    found = paths(tmp_path, BLOCKS, "train", "graphs", "inductor", "export")
    assert found.graphs is not None
    assert (found.graphs.graphs, found.graphs.breaks) == (1, ())
    assert found.export is not None
    assert (found.export.status, found.export.not_core) == ("done", ())
    assert found.inductor is not None
    assert found.inductor.graphs == 2  # forward and backward
    # 5 products forward; backward 2 each, without the one for the input of the first
    assert sum(found.inductor.extern.values()) == 5 + 9


@pytest.mark.parametrize(
    ("module", "status", "lacking"),
    [
        (FAKE_TVM, "unsupported", ("aten.cumsum.default",)),
        ("raise AttributeError('no prod.dim_Dimname')", "broken", ()),
    ],
)
def test_an_importer_names_what_it_lacks_and_one_that_cannot_be_imported_is_broken(
    tmp_path: Path, module: str, status: str, lacking: tuple[str, ...]
) -> None:
    stub = tmp_path / "stub" / "tvm" / "relax" / "frontend" / "torch"
    stub.mkdir(parents=True)
    (stub / "__init__.py").write_text(module)
    (tmp_path / "stub" / "tvm" / "__init__.py").write_text(module if status == "broken" else "")
    plain = ODD.replace("if y.sum() > 0:", "if True:")
    found = paths(tmp_path, plain, "prefill", "TVM", stub=tmp_path / "stub")
    (tvm,) = [one for one in found.importers if one.stack == "TVM"]
    assert (tvm.status, tvm.unsupported) == (status, lacking)


def test_a_folder_that_is_called_like_a_stack_is_no_stack(tmp_path: Path) -> None:
    (tmp_path / "stub" / "tvm").mkdir(parents=True)
    found = paths(tmp_path, BLOCKS, "prefill", "TVM", stub=tmp_path / "stub")
    assert [(one.stack, one.status) for one in found.importers] == [("TVM", "not installed")]


# as torch-tensorrt answers: a table that is asked for a node, and its own decompositions
FAKE_TENSORRT = {
    "__init__": "",
    "dynamo/__init__": "",
    "dynamo/conversion": """
class Table:
    def __contains__(self, node):
        return str(node.target).startswith("aten.")
DYNAMO_CONVERTERS = Table()
""",
    "dynamo/lowering": "def get_decompositions(): return {}",
}
OWN_OPERATOR = """
import torch
from torch import nn

@torch.library.custom_op("house::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2

@twice.register_fake
def _(x):
    return torch.empty_like(x)

class House(nn.Module):
    def forward(self, x):
        return torch.ops.house.twice(x) + 1

def build():
    return {"model": House(), "inputs": (torch.randn(4, 4),)}
"""


def test_an_operator_of_ones_own_that_tensorrt_has_nothing_for_is_named(tmp_path: Path) -> None:
    for name, text in FAKE_TENSORRT.items():
        file = tmp_path / "stub" / "torch_tensorrt" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    found = paths(tmp_path, OWN_OPERATOR, "prefill", "TensorRT", stub=tmp_path / "stub")
    (answer,) = found.importers
    assert (answer.status, answer.unsupported) == ("unsupported", ("house.twice.default",))


# nothing of it can be captured: the graph would break inside a loop
LOOP = """
import torch
from torch import nn

class Loop(nn.Module):
    def forward(self, x):
        for _ in range(3):
            torch._dynamo.graph_break()
            x = x + 1
        return x

def build():
    return {"model": Loop(), "inputs": (torch.randn(4, 4),)}
"""


def test_a_model_of_which_no_graph_is_captured_is_not_one_without_breaks(tmp_path: Path) -> None:
    found = paths(tmp_path, LOOP, "prefill", "graphs")
    assert found.graphs is not None
    assert found.graphs.status == "failed"
    assert "no graph" in found.graphs.detail


EARLY = """
import torch
from torch import nn

class Early(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x):
        print("before the first operator")
        return self.inner(x)

def build():
    return {"model": Early(), "inputs": (torch.randn(4, 8),)}
"""


def test_a_break_before_which_there_was_nothing_to_compile_is_told(tmp_path: Path) -> None:
    found = paths(tmp_path, EARLY, "prefill", "graphs")
    assert found.graphs is not None
    (one,) = found.graphs.breaks
    assert "print" in one.reason
