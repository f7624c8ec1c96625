"""`ciwm probe`: figures with units, a sick card named, and what cannot be probed said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.bench.probes import compared, probe_all
from ciwm.cli import run as ciwm
from ciwm.errors import DeviceError, IncomparableError
from ciwm.records import Accelerator, parse_record
from ciwm.records.probe import Probes
from ciwm.worker import probe as probe_worker
from tests.runs import MACHINE

if TYPE_CHECKING:
    import threading

ROOT = Path(__file__).resolve().parents[2]
# what a probing worker would write, by a program in its place: no card is at hand here
WORKER = """#!{python}
import json, os, sys
journal = sys.argv[sys.argv.index("--journal") + 1]
card = os.environ.get("CUDA_VISIBLE_DEVICES", "")
rates = {rates!r}
with open(journal, "a") as out:
    for line in (
        {{"kind": "probe", "what": "matmul", "dtype": "float16", "unit": "op/s",
          "values": [rates[card]] * 3}},
        {{"kind": "probe", "what": "launch", "dtype": "", "unit": "s",
          "values": [2e-6, 4e-6, 3e-6]}},
        {{"kind": "unprobed", "what": "matmul int8", "why": "no such kernel"}},
        {{"kind": "end"}},
    ):
        out.write(json.dumps(line) + "\\n")
"""


@pytest.fixture(autouse=True)
def _locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CIWM_LOCK_DIR", str(tmp_path / "locks"))


@pytest.fixture
def stop() -> threading.Event:
    import threading  # noqa: PLC0415

    return threading.Event()


def python_that_says(tmp_path: Path, rates: dict[str, float]) -> str:
    path = tmp_path / "python"
    path.write_text(WORKER.format(python=sys.executable, rates=rates))
    path.chmod(0o755)
    return str(path)


def cards(*names: str) -> Any:
    made = [
        Accelerator(index=number, vendor="nvidia", name=name, uuid=f"GPU-{number}")
        for number, name in enumerate(names)
    ]
    return MACHINE.model_copy(update={"accelerators": tuple(made)})


def test_a_cpu_without_torch_is_probed_for_copies_and_the_rest_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=False
    )
    assert bare.returncode == 0
    python = str(tmp_path / "venv" / "bin" / "python")

    assert ciwm(["probe", "--python", python, "--json"]) == 0
    text = capsys.readouterr().out
    found = parse_record(text, Probes, "probe")
    (figure,) = found.figures
    assert (figure.what, figure.unit, figure.better) == ("copy", "B/s", "higher")
    assert figure.median > 0
    assert found.unprobed == ("matmul, launch: there is no torch here",)

    expected = json.loads(text)
    expected["figures"][0]["median"] *= 1000
    expected["figures"].append({**expected["figures"][0], "what": "launch"})
    (tmp_path / "expected.json").write_text(json.dumps(expected))
    asked = ["probe", "--python", python, "--expect", str(tmp_path / "expected.json")]
    assert ciwm(asked) == 1
    told = capsys.readouterr().out
    assert "sick: copy is 0% of what" in told
    assert f"sick: launch was not measured, and {tmp_path / 'expected.json'} has it" in told


def test_the_interpreter_that_the_configuration_names_is_probed_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    python = python_that_says(tmp_path, dict.fromkeys(["", "GPU-0"], 7e14))
    (tmp_path / "ciwm.toml").write_text(f'[build]\npython = "./{Path(python).name}"\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ciwm.devices.describe_host", lambda: MACHINE)
    assert ciwm(["probe", "--json"]) == 0
    found = parse_record(capsys.readouterr().out, Probes, "probe")
    assert found.figures[0].median == 7e14


def test_each_card_is_probed_alone_and_one_that_lags_behind_its_like_is_sick(
    tmp_path: Path, stop: threading.Event
) -> None:
    host = cards("H200", "H200", "H200", "L4")
    rates = {"GPU-0": 7e14, "GPU-1": 6e14, "GPU-2": 7.1e14, "GPU-3": 1e14}

    found = probe_all(python_that_says(tmp_path, rates), host, stop, lambda _line: None)

    assert [(one.accelerator, one.name) for one in found.figures] == [
        (card, name) for card in range(4) for name in ("matmul float16", "launch")
    ]
    assert found.figures[1].median == 3e-6
    assert found.unprobed == ("matmul int8: no such kernel",)
    # the median of the two others is 7.05e14, of which 6e14 is 85 %
    (sick,) = found.sick
    assert (sick.accelerator, sick.figure, sick.share) == (1, "matmul float16", 0.851)
    assert sick.than == "the other H200 have"


def test_what_was_expected_and_is_not_there_is_sick_and_of_another_machine_refused(
    tmp_path: Path, stop: threading.Event
) -> None:
    host = cards("H200")
    python = python_that_says(tmp_path, {"": 7e14})
    healthy = probe_all(python, host, stop, lambda _line: None)
    lost = healthy.model_copy(update={"figures": healthy.figures[1:]})
    slow_launch = healthy.figures[1].model_copy(update={"median": 6e-6})
    slow = healthy.model_copy(update={"figures": (healthy.figures[0], slow_launch)})

    assert compared(healthy, healthy, "f").sick == ()
    assert [one.figure for one in compared(lost, healthy, "f").sick] == ["matmul float16"]
    assert [(one.figure, one.share) for one in compared(slow, healthy, "f").sick] == [
        ("launch", 0.5)
    ]
    other = healthy.model_copy(update={"environment": cards("A10")})
    with pytest.raises(Exception, match="f is of A10, and this machine is H200"):
        compared(healthy, other, "f")


def test_a_probe_without_torch_is_not_held_against_one_with_it(
    tmp_path: Path, stop: threading.Event
) -> None:
    python = python_that_says(tmp_path, {"": 7e14})
    bare = probe_all(python, cards("H200"), stop, lambda _line: None)
    with_torch = bare.environment.model_copy(update={"torch": "2.13.0"})
    healthy = bare.model_copy(update={"environment": with_torch})

    with pytest.raises(IncomparableError, match="f was probed with torch, and this was without"):
        compared(bare, healthy, "f")
    with pytest.raises(IncomparableError, match="f was probed without torch, and this was with"):
        compared(healthy, bare, "f")


def test_a_probe_that_dies_is_an_error_that_names_the_card(
    tmp_path: Path, stop: threading.Event
) -> None:
    path = tmp_path / "python"
    path.write_text("#!/bin/sh\nkill -SEGV $$\n")
    path.chmod(0o755)
    with pytest.raises(DeviceError, match="accelerator 0: it ended with signal: SIGSEGV"):
        probe_all(str(path), cards("H200"), stop, lambda _line: None)


class Emulating:
    """A torch that takes a second for 1e8 operations, and has no device but the CPU."""

    float32 = "float32"

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def randn(self, size: int, _width: int, device: str) -> Emulating:
        assert device == "cpu"
        self.sizes.append(size)
        return self

    def to(self, _dtype: str) -> Emulating:
        return self

    def mm(self, _left: object, _right: object) -> None:
        time.sleep(2 * self.sizes[-1] ** 3 / 1e8)


def test_a_type_that_a_device_only_emulates_is_probed_by_small_products() -> None:
    emulating = Emulating()

    unit, rates = probe_worker._product(emulating, "cpu", "float32")

    # 64 take 5 ms, which is too short to keep it busy, and 128 take 42 ms
    assert emulating.sizes == [64, 128]
    assert unit == "op/s"
    assert max(rates) <= 1e8


@pytest.mark.heavy
def test_a_cpu_with_torch_is_probed_for_everything() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ciwm", "probe", "--python", sys.executable, "--json"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    found = parse_record(done.stdout, Probes, "probe")
    names = {one.name for one in found.figures}
    assert {"matmul float32", "matmul bfloat16", "copy", "launch"} <= names
    assert found.environment.torch is not None
