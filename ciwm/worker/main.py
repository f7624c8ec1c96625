"""Read the job, run it, and say how it went in the journal and in the exit status."""

from __future__ import annotations

import faulthandler
import json
import os
import sys
import time
from typing import Any, Dict, List, Optional

from .journal import Journal
from .origin import check_origin
from .problem import full_text, one_line, reason_of
from .ranks import join, journal_of, rank_of
from .timing import Schedule, Series, run_series
from .workload import load_module

DONE, FAILED, USAGE = 0, 1, 2
RESERVE_BYTES = 1 << 20


def main(arguments: List[str]) -> int:
    """Run the job of the command line; the exit status is 0 only when all of it was measured."""
    given = dict(zip(arguments[::2], arguments[1::2]))  # argparse would be a fifth of our start
    if given.keys() != {"--job", "--journal"}:
        sys.stderr.write("usage: enter.py --job JOB.json --journal JOURNAL.jsonl\n")
        return USAGE
    with open(given["--job"], encoding="utf-8") as file:
        job: Dict[str, Any] = json.load(file)
    faulthandler.enable()  # a segmentation fault leaves the Python line in the log
    journal = Journal(journal_of(given["--journal"], rank_of(job)))
    return _run(job, journal)


def _run(job: Dict[str, Any], journal: Journal) -> int:
    reserve: Optional[bytes] = bytes(RESERVE_BYTES)
    try:
        _WORK[job["kind"]](job, journal)
    except BaseException as error:  # noqa: BLE001  whatever a workload can throw is a line
        del reserve  # out of memory still leaves room to say so
        reason, text = reason_of(error), full_text(error)
        message = one_line(error, os.path.dirname(job.get("file", "")))
        error.__traceback__ = None  # its frames hold what filled the memory
        journal.write("error", at=time.time(), reason=reason, message=message, traceback=text)
        sys.stderr.write(text)
        return FAILED
    journal.write("end")
    return DONE


def _bench(job: Dict[str, Any], journal: Journal) -> None:
    journal.write(
        "start",
        pid=os.getpid(),
        host=os.uname().nodename,
        interpreter=_interpreter(),
        executable=sys.executable,
    )
    sys.argv = [job["file"]]
    sys.path.extend(entry for entry in job["path"] if entry not in sys.path)
    ranks = join(job)
    module = load_module(job["file"])
    schedule = Schedule(**job["schedule"])
    try:
        for one in job["series"]:
            own = schedule._replace(batch_before=one.get("batch_before", 0))
            series = Series(one["series"], own, journal, ranks)
            run_series(module, job["callable"], one["params"], series)
    finally:
        journal.write("software", **_software())
    journal.write("origin", own_files=check_origin(job))


def _communication(job: Dict[str, Any], journal: Journal) -> None:
    from .communication import run  # noqa: PLC0415  a launch that times does without

    journal.write("start", pid=os.getpid(), interpreter=_interpreter(), executable=sys.executable)
    sys.argv = [job["file"]]
    sys.path.extend(entry for entry in job["path"] if entry not in sys.path)
    run(job, journal, join(job))
    journal.write("origin", own_files=check_origin(job))


def _map(job: Dict[str, Any], journal: Journal) -> None:
    from .opmap.running import run  # noqa: PLC0415  a launch that times does without

    journal.write("start", pid=os.getpid(), interpreter=_interpreter(), executable=sys.executable)
    try:
        run(job, journal)
    finally:
        journal.write("software", **_software())


def _probe(_job: Dict[str, Any], journal: Journal) -> None:
    from .probe import run  # noqa: PLC0415  a launch that times does without

    journal.write("start", pid=os.getpid(), interpreter=_interpreter(), executable=sys.executable)
    try:
        run(journal)
    finally:
        journal.write("software", **_software())


def _devices(_job: Dict[str, Any], journal: Journal) -> None:
    from .devices import run  # noqa: PLC0415

    run(journal)


_WORK = {
    "bench": _bench,
    "communication": _communication,
    "map": _map,
    "devices": _devices,
    "probe": _probe,
}


def _interpreter() -> str:
    name = {"cpython": "CPython", "pypy": "PyPy"}.get(sys.implementation.name)
    return f"{name or sys.implementation.name} {sys.version.split()[0]}"


def _software() -> Dict[str, Optional[str]]:
    """The framework's version and build, if the workload imported it; it is never imported here."""
    torch = sys.modules.get("torch")
    version = getattr(torch, "version", None)
    if torch is None or version is None:
        return {"torch": None, "torch_build": None, "collective_library": None}
    parts = {
        "git": str(getattr(version, "git_version", "") or "")[:12],
        "cuda": getattr(version, "cuda", None),
        "hip": getattr(version, "hip", None),
        "xpu": getattr(version, "xpu", None),
        "debug": getattr(version, "debug", None),
    }
    build = ", ".join(f"{name} {value}" for name, value in parts.items() if value)
    return {
        "torch": str(getattr(torch, "__version__", "")),
        "torch_build": build,
        "collective_library": _collective_library(torch),
    }


def _collective_library(torch: Any) -> Optional[str]:
    """NCCL, or RCCL, with its version, as torch was built with it; None where it was not."""
    try:
        version = torch.cuda.nccl.version()
    except (AttributeError, RuntimeError, ImportError):
        return None
    name = "RCCL" if getattr(torch.version, "hip", None) else "NCCL"
    return name + " " + ".".join(map(str, version if isinstance(version, tuple) else (version,)))
