"""Which collectives the installed backend has, by trying every one under torchrun."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Sequence

from ..problem import Problem
from .collective_rank import TIMEOUT_S
from .target import device_of, load_plugins

RANK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "collective_rank.py")
STALL_S = 5 * TIMEOUT_S  # without a word: the backend's own time limit has not helped
SHARE = 0.9  # of the time there is: what is known then has to be told
POLL_S, GRACE_S = 0.5, 10.0
Emit = Callable[[Dict[str, Any]], None]


class _Probe(NamedTuple):
    """What is started: backend, device and ranks, where results go, until when."""

    backend: str
    device: str
    ranks: int
    out: str
    deadline: float
    stall_s: float = STALL_S
    imports: Sequence[str] = ()


def observe(job: Mapping[str, Any], emit: Emit) -> None:
    """Lines of kind `probe` and `cell`; raises Problem when not every cell could be tried."""
    deadline = time.monotonic() + SHARE * float(job["timeout_s"])
    options = job["options"]
    load_plugins(options)
    device = device_of(options).split(":")[0]
    ranks = _ranks(device, options)
    backend = str(options.get("backend") or _backend(device))
    emit({"kind": "probe", "backend": backend, "device": device, "ranks": ranks})
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "cells.jsonl")
        stall_s = float(options.get("stall_s") or STALL_S)
        imports = tuple(options.get("imports", ()))
        _try_all(_Probe(backend, device, ranks, out, deadline, stall_s, imports), emit)


def _ranks(device: str, options: Mapping[str, Any]) -> int:
    import torch

    if options.get("ranks"):
        return int(options["ranks"])
    if device == "cpu":
        return 2
    count = int(torch.accelerator.device_count())
    if count < 2:  # noqa: PLR2004  a collective of one moves nothing
        raise Problem("invalid", f"a probe of collectives needs 2 devices, here is {count}")
    return min(count, 8)


def _backend(device: str) -> str:
    from torch import distributed

    found = distributed.Backend.default_device_backend_map.get(device)
    if found is None:
        raise Problem("invalid", f"PyTorch knows no collective backend for {device}")
    return str(found)


def _try_all(probe: _Probe, emit: Emit) -> None:
    """Start the ranks, and again behind each cell that took them down."""
    first = 0
    while True:
        status = _torchrun(probe, first)
        lines = _lines(probe.out)
        os.truncate(probe.out, 0)
        begun = {line["begun"]: line for line in lines if "begun" in line}
        for line in lines:
            if "number" in line:
                emit(_cell(begun[line["number"]], line["status"], line["detail"]))
        done = {line["number"] for line in lines if "number" in line}
        if not begun:
            raise Problem("failed", f"no rank came up with {probe.backend}: torchrun {status}")
        last, every = max(begun), max(begun.values(), key=lambda line: line["of"])["of"]
        if last not in done:
            emit(_cell(begun[last], "crash", status))
        first = last + 1
        if first >= every:
            return
        if time.monotonic() > probe.deadline:
            raise Problem("timeout", f"in its time {first} of {every} collectives were tried")


def _cell(named: Mapping[str, Any], status: str, detail: str) -> Dict[str, Any]:
    keys = ("primitive", "dtype", "reduce_op")
    found = {key: str(named[key]).lower() for key in keys}
    return {"kind": "cell", **found, "status": status, "detail": detail}


def _torchrun(probe: _Probe, first: int) -> str:
    """Run the ranks to their end; how that was. All they write goes to the log."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--max-restarts=0"]
    command += [f"--nproc-per-node={probe.ranks}", RANK]
    command += [probe.backend, probe.device, probe.out, str(first), *probe.imports]
    open(probe.out, "a", encoding="utf-8").close()
    environment = {"OMP_NUM_THREADS": "1", **os.environ}
    process = subprocess.Popen(command, env=environment, start_new_session=True)
    why = _followed(process, probe)
    if why:
        _end(process)
    return why or f"ended with status {process.returncode}"


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Torchrun ends its ranks, which are in sessions of their own, when it is asked to."""
    process.terminate()
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _followed(process: "subprocess.Popen[bytes]", probe: _Probe) -> str:
    """Wait for the ranks' end; why that was given up, or "" when it came."""
    size, since = 0, time.monotonic()
    while process.poll() is None:
        now, written = time.monotonic(), os.path.getsize(probe.out)
        if written != size:
            size, since = written, now
        if now > probe.deadline:
            return "did not end in time"
        if size and now - since > probe.stall_s:  # before its first word it imports
            return f"hung: no answer in {probe.stall_s:g} s"
        time.sleep(POLL_S)
    return ""


def _lines(path: str) -> List[Dict[str, Any]]:
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.endswith("\n")]
