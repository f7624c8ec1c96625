"""Fallbacks of a toy device as the profiler shows them, against the device's own books."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.opmap.fallback import workload_fallbacks
from ciwm.opmap.observe import Observed, environment, observe
from tests.integration.on_device.models import STEP
from tests.toy_backend.site import OPTIONS, cpu_site, lines, subject, toy_site, toy_variables

if TYPE_CHECKING:
    from pathlib import Path

# the same step without ciwm: what the device's fallback counted itself
TRUTH = """
import json, sys, torch, toy_device, workload
torch.manual_seed(0)
made = workload.build()
model, x = made["model"].to("toy"), made["inputs"][0].to("toy")
optimizer = torch.optim.AdamW(model.parameters())
def step():
    made["loss"](model(x)).backward()
    optimizer.step()
step()
toy_device.take_fallbacks()
step()
print(json.dumps(toy_device.take_fallbacks()))
"""


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Observed]:
    folder = tmp_path_factory.mktemp("fallback")
    site = toy_site(folder, toy_variables())
    return folder, observe("fallback", subject(folder, STEP, "train"), site, OPTIONS)


def test_every_fallback_and_no_other_is_found_with_its_overload_and_count(
    profiled: tuple[Path, Observed],
) -> None:
    folder, observed = profiled
    site = toy_site(folder, toy_variables())
    variables = environment(site)
    variables["PYTHONPATH"] = os.pathsep.join([variables["PYTHONPATH"], str(folder)])
    done = subprocess.run(
        [sys.executable, "-c", TRUTH], env=variables, check=True, capture_output=True, text=True
    )
    truth: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    found: dict[str, int] = {}
    for line in lines(observed, "fallback"):
        found.update(line["overloads"])
    assert len(truth) > 5
    assert found == truth
    by_name: dict[str, int] = {}
    for overload, count in truth.items():
        name = overload.split(".")[0]
        by_name[name] = by_name.get(name, 0) + count
    assert {line["operator"]: line["calls"] for line in lines(observed, "fallback")} == by_name


def test_shares_are_of_the_step_and_what_is_native_is_not_among_them(
    profiled: tuple[Path, Observed],
) -> None:
    found = workload_fallbacks("build", profiled[1])
    assert found is not None
    assert found.device == "toy"
    assert 0 < found.time_share_pct <= 100
    assert found.time_share_pct == pytest.approx(sum(op.time_share_pct for op in found.ops))
    named = {op.op for op in found.ops}
    assert "aten::gelu" in named
    assert not named & {"aten::addmm", "aten::mm", "aten::add", "aten::mul"}


def test_a_kernel_that_copies_to_the_host_by_hand_is_suspected(
    profiled: tuple[Path, Observed],
) -> None:
    hidden = {
        (line["operator"], line["what"]): line["calls"] for line in lines(profiled[1], "hidden")
    }
    assert hidden == {("aten::sigmoid.out", "copy"): 1}


def test_a_kernel_the_backend_lost_shows_as_a_new_fallback(tmp_path: Path) -> None:
    site = toy_site(tmp_path, toy_variables(TOY_WITHOUT="addmm.out"))
    observed = observe("fallback", subject(tmp_path, STEP, "prefill"), site, OPTIONS)
    found = {line["operator"]: line for line in lines(observed, "fallback")}
    assert found["aten::addmm"]["overloads"] == {"aten::addmm.out": 2}


def test_on_the_cpu_nothing_falls_back_and_onednn_is_named_by_its_own_log(tmp_path: Path) -> None:
    text = STEP.replace("torch.randn(3, 8)", "torch.randn(3, 8, dtype=torch.bfloat16)")
    text = text.replace("Small()", "Small().bfloat16()")
    observed = observe(
        "fallback", subject(tmp_path, text, "prefill"), cpu_site(tmp_path), {"device": "cpu"}
    )
    found = workload_fallbacks("build", observed)
    assert found is not None
    assert (found.ops, found.hidden) == ((), ())
    libraries: dict[str, Any] = {use.library: use for use in found.libraries}
    assert set(libraries) & {"oneDNN", "oneMKL"}
    assert all(use.calls > 0 for use in libraries.values())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"device": "toy", "imports": ["no_such_plugin"]}, "cannot import no_such_plugin"),
        ({"device": "warp"}, "knows no device 'warp'"),
    ],
)
def test_a_device_that_is_not_there_is_a_problem_in_one_line(
    tmp_path: Path, options: dict[str, Any], words: str
) -> None:
    made = subject(tmp_path, STEP, "prefill")
    observed = observe("fallback", made, cpu_site(tmp_path), options)
    assert observed.problem is not None
    assert words in observed.problem.detail
    assert "\n" not in observed.problem.detail


def test_a_bare_step_that_never_touches_the_device_is_not_called_free_of_fallbacks(
    tmp_path: Path,
) -> None:
    text = "import torch\ndef step():\n    torch.randn(4, 4) @ torch.randn(4, 4)\n"
    made = replace(subject(tmp_path, text, "prefill", "step"), entry="step")
    observed = observe("fallback", made, toy_site(tmp_path, toy_variables()), OPTIONS)
    assert observed.problem is not None
    assert observed.problem.detail == "nothing of it ran on toy, so that nothing can fall back"
    assert workload_fallbacks("step", observed) is None
