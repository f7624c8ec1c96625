"""Workloads that break in every way: each is named, and the rest of the map goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ciwm.opmap.making import NOT_BUILT

if TYPE_CHECKING:
    from pathlib import Path

    from ciwm.opmap.observe import Observed
    from tests.integration.opmap.conftest import Bed

GOOD = """
import torch
def build():
    return {'model': torch.nn.ReLU(), 'inputs': (torch.ones(2),)}
"""
BROKEN = {
    "crash": (
        "import os, signal\ndef build():\n    os.kill(os.getpid(), signal.SIGSEGV)\n",
        "signal",
    ),
    "exits": ("import sys\ndef build():\n    sys.exit(3)\n", "failed"),
    "hard_exit": ("import os\ndef build():\n    os._exit(0)\n", "failed"),
    "absent_data": ("def build():\n    open('/no/such/weights.bin')\n", "failed"),
    "no_module": ("import no_such_framework\ndef build():\n    return {}\n", "failed"),
    "not_a_mapping": ("def build():\n    return 7\n", "invalid"),
    "no_model": ("def build():\n    return {'inputs': ()}\n", "invalid"),
    "unknown_key": ("def build():\n    return {'model': 1, 'inputs': (), 'lose': 2}\n", "invalid"),
    "no_module_class": ("def build():\n    return {'model': 1, 'inputs': ()}\n", "invalid"),
}


@pytest.fixture(scope="module")
def found(bed: Bed) -> dict[str, Observed]:
    """All of them in one map, with a good one before and after; by the name of the file."""
    bed.write("good.py", GOOD)
    bed.write("also.py", GOOD)
    for name, (text, _) in BROKEN.items():
        bed.write(f"{name}.py", text)
    names = ["good", *BROKEN, "also"]
    return bed.observe_all("census", [bed.subject(f"{name}.py:build", id=name) for name in names])


def test_what_breaks_is_named_and_the_others_are_seen(found: dict[str, Observed]) -> None:
    reasons = {name: each.problem.reason if each.problem else None for name, each in found.items()}
    expected = {name: reason for name, (_, reason) in BROKEN.items()}
    assert reasons == {"good": None, "also": None, **expected}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("absent_data", "/no/such/weights.bin"),
        ("no_module", "no_such_framework"),
        ("not_a_mapping", "build returned int, not a mapping"),
        ("unknown_key", "unknown key 'lose'; it may have model, inputs, loss,"),
    ],
)
def test_the_reason_is_one_line_that_says_what_is_wrong(
    found: dict[str, Observed], name: str, words: str
) -> None:
    problem = found[name].problem
    assert problem is not None
    assert words in problem.detail
    assert "\n" not in problem.detail


def test_a_workload_that_hangs_is_ended_and_the_rest_goes_on(bed: Bed) -> None:
    bed.write("good.py", GOOD)
    bed.write("hangs.py", "import time\ndef build():\n    time.sleep(600)\n")
    impatient = replace(bed, site=replace(bed.site, timeout_s=4))
    subjects = [bed.subject("hangs.py:build"), bed.subject("good.py:build")]
    found = impatient.observe_all("census", subjects)
    problem = found["hangs.py:build"].problem
    assert problem is not None
    assert problem.reason == "timeout"
    assert "its time limit (4 s)" in problem.detail
    assert "good.py:build" in found


def test_what_another_workload_broke_is_not_blamed_on_the_next(bed: Bed) -> None:
    """The first one leaves the process in a state in which the second cannot run."""
    bed.write(
        "poison.py", "import torch\n" + GOOD.replace("return", "torch.relu = None\n    return")
    )
    bed.write(
        "victim.py",
        "import torch\n"
        "class M(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        return torch.relu(x)\n"
        "def build():\n"
        "    return {'model': M(), 'inputs': (torch.ones(2),)}\n",
    )
    both = [bed.subject("poison.py:build"), bed.subject("victim.py:build")]
    assert bed.observe_all("census", both)["victim.py:build"].problem is None


def test_without_the_library_the_reason_is_told(bed: Bed, tmp_path: Path) -> None:
    bed.write("good.py", GOOD)
    elsewhere = replace(bed, site=replace(bed.site, cache=tmp_path))
    problem = elsewhere.observe("census", bed.subject("good.py:build")).problem
    assert problem is not None
    assert problem.detail == NOT_BUILT
