"""Accelerators that only torch knows, asked in a worker; torch itself is a stand-in of a few lines.

That the real one names none on a machine without is in the last test.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ciwm.bench.cards import hidden
from ciwm.bench.host import measured_host
from ciwm.config import BenchConfig, Config
from ciwm.errors import DeviceError
from ciwm.launch.torch_devices import torch_accelerators, with_torch_devices
from tests.runs import MACHINE

if TYPE_CHECKING:
    from collections.abc import Callable

NPU = """
class npu:
    class Properties:
        name, total_memory = "Ascend910B4", 32 << 30
    @staticmethod
    def get_device_properties(index): return npu.Properties()
class accelerator:
    class current:
        type = "npu"
    is_available = staticmethod(lambda: True)
    device_count = staticmethod(lambda: 2)
    current_accelerator = staticmethod(lambda: accelerator.current)
"""


@pytest.fixture
def python_with(tmp_path: Path) -> Callable[[str], str]:
    """An interpreter that imports this text as torch."""

    def made(text: str) -> str:
        (tmp_path / "torch.py").write_text(text)
        path = tmp_path / "python"
        path.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n')
        path.chmod(0o755)
        return str(path)

    return made


def test_the_devices_that_torch_names_are_the_accelerators(
    python_with: Callable[[str], str],
) -> None:
    found = torch_accelerators(python_with(NPU))
    assert [(one.index, one.vendor, one.name, one.memory_bytes) for one in found] == [
        (0, "npu", "Ascend910B4", 32 << 30),
        (1, "npu", "Ascend910B4", 32 << 30),
    ]


def test_auto_asks_torch_only_where_the_machine_shows_such_a_device(
    python_with: Callable[[str], str], tmp_path: Path
) -> None:
    python, said = python_with(NPU), list[str]()
    dev = tmp_path / "dev"
    dev.mkdir()
    bare = with_torch_devices(MACHINE, BenchConfig(), python, said.append, dev)
    assert bare.accelerators == ()
    (dev / "davinci0").touch()
    shown = with_torch_devices(MACHINE, BenchConfig(), python, said.append, dev)
    assert len(shown.accelerators) == 2
    assert said == []
    dead = python_with("import os; os.abort()")
    assert with_torch_devices(MACHINE, BenchConfig(), dead, said.append, dev) == MACHINE
    assert said[0].startswith("accelerators are not known: asking ")
    assert "SIGABRT" in said[0]


def test_a_torch_that_must_name_an_accelerator_and_names_none_is_an_error(
    python_with: Callable[[str], str],
) -> None:
    config = Config(bench=BenchConfig(devices="torch"))
    with pytest.raises(DeviceError, match="names no accelerator"):
        measured_host(config, python_with(""), print)
    with pytest.raises(DeviceError, match="cannot start /nowhere/python"):
        measured_host(config, "/nowhere/python", print)


def test_an_accelerator_that_was_not_locked_is_hidden_by_the_vendors_own_variable(
    python_with: Callable[[str], str],
) -> None:
    accelerators = torch_accelerators(python_with(NPU))
    host = MACHINE.model_copy(update={"accelerators": accelerators})
    assert hidden(accelerators[1:], host) == {"ASCEND_RT_VISIBLE_DEVICES": "1"}
    amd = [one.model_copy(update={"vendor": "amd"}) for one in accelerators]
    host = MACHINE.model_copy(update={"accelerators": tuple(amd)})
    assert hidden(amd[1:], host) == {"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "0"}
    assert hidden(amd, host) == {}


def test_a_clock_that_cannot_be_held_for_want_of_a_card_is_said() -> None:
    if Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has a card")
    said: list[str] = []
    measured_host(Config(bench=BenchConfig(lock_clocks=1500)), sys.executable, said.append)
    assert said == ["[bench] lock_clocks: there is no NVIDIA card here, so no clock is held"]


def test_a_run_on_the_cpu_looks_for_no_cards() -> None:
    host = measured_host(Config(bench=BenchConfig(devices="cpu")), "/nowhere/python", print)
    assert host.accelerators == ()


@pytest.mark.heavy
def test_the_real_torch_names_none_on_a_machine_without() -> None:
    if Path("/dev/nvidiactl").exists() or "CUDA_VISIBLE_DEVICES" in os.environ:
        pytest.skip("this machine has a card")
    assert torch_accelerators(sys.executable) == ()
