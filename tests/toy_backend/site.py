"""Observers on the toy device: the plugin on the path, its library built once for all sessions."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ciwm.opmap.observe import Site
from ciwm.opmap.subjects import Subject
from tests.need import missing

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = Path(__file__).parent
OPTIONS = {"device": "toy", "imports": ["toy_device"]}


@functools.lru_cache(maxsize=1)
def toy_library() -> str:
    """The built library; the test is skipped (or fails) where there is no compiler."""
    if shutil.which("g++") is None and shutil.which("c++") is None:
        missing("there is no C++ compiler")
    command = [sys.executable, "-m", "tests.toy_backend.build"]
    done = subprocess.run(
        command, cwd=HERE.parents[1], check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout.splitlines()[-1]


def toy_variables(**more: str) -> dict[str, str]:
    """What the plugin reads: TOY_DEFECTS, TOY_WITHOUT, TOY_REFUSE."""
    return {"TOY_LIBRARY": toy_library(), **more}


def toy_site(folder: Path, variables: Mapping[str, str], timeout_s: float = 180) -> Site:
    """A folder of workloads, with the plugin importable as `toy_device`."""
    plugin = folder / "plugin"
    plugin.mkdir(exist_ok=True)
    shutil.copy(HERE / "device.py", plugin / "toy_device.py")
    shutil.copy(HERE / "wrong_kernels.py", plugin / "wrong_kernels.py")
    return Site(
        python=sys.executable,
        root=folder,
        python_path=(plugin,),
        directory=folder,
        cache=folder / "cache",
        timeout_s=timeout_s,
        stop=threading.Event(),
        variables=variables,
    )


def cpu_site(folder: Path, timeout_s: float = 180) -> Site:
    """A folder of workloads on the plain CPU."""
    return Site(
        python=sys.executable,
        root=folder,
        python_path=(),
        directory=folder,
        cache=folder / "cache",
        timeout_s=timeout_s,
        stop=threading.Event(),
    )


def subject(folder: Path, text: str, phase: str, called: str = "build") -> Subject:
    """A workload whose file has this text."""
    file = folder / "workload.py"
    file.write_text(text)
    return Subject(id=called, workload=called, file=file.name, callable=called, phase=phase)


def lines(observed: Any, kind: str) -> list[dict[str, Any]]:
    """What an observer said of one kind; a problem fails the test with its own words."""
    assert observed.problem is None, observed.problem
    return [line for line in observed.lines if line.get("kind") == kind]
