"""How much of a step is communication: a few steps under torch.profiler, on each rank.

Nothing is timed in such a launch: the profiler would be a part of every time.
"""

from __future__ import annotations

import importlib
import json
import os
import tempfile
import time
from typing import Any, Dict, List, Optional

from .clock import barrier, device_kind
from .journal import Journal
from .overlap import STEP, Share, shares
from .problem import Problem
from .result import check_number, refuse_unrun
from .workload import Prepared, load_module, prepare

FEWEST, MOST, LIMIT_S = 3, 10, 30.0  # steps under the profiler, and how long they may take
WARMED = 2  # steps at least before them: the first ones compile, and open connections


def run(job: Dict[str, Any], journal: Journal, ranks: Any) -> None:
    """Profile each series of the job, and write a line for each; or why that cannot be."""
    profiler = _profiler()
    if profiler is None:
        journal.write("unprofiled", why="this torch has no profiler (torch.profiler, by Kineto)")
        return
    module = load_module(job["file"])
    for one in job["series"]:
        prepared = prepare(module, job["callable"], one["params"])
        _warm_up(prepared, job["schedule"], ranks)
        kind = device_kind() or "cpu"
        journal.write("profile", series=one["series"], device=kind, **_profiled(prepared, ranks))
        prepared.teardown()


def _profiler() -> Any:
    """The module of the profiler; None where torch, or what it needs of torch, is not there."""
    try:
        torch: Any = importlib.import_module("torch")
        found: Any = importlib.import_module("torch.profiler")
    except ImportError:
        return None
    available = getattr(torch.autograd, "kineto_available", None)
    return found if available is not None and available() else None


def _warm_up(prepared: Prepared, schedule: Dict[str, Any], ranks: Any) -> None:
    """As many steps, and as long, as before a timing; all ranks the same."""
    began, done = time.monotonic(), 0
    least = max(schedule["warmup_iterations"], WARMED)
    while ranks.any(done < least or time.monotonic() - began < schedule["warmup_s"]):
        result = prepared.step()
        refuse_unrun(result)
        check_number(result)
        done += 1


def _profiled(prepared: Prepared, ranks: Any) -> Dict[str, Any]:
    """Steps under the profiler, and what it saw of them, in seconds a step."""
    kind = device_kind()
    wait = barrier(kind) if kind else None
    profiler: Any = importlib.import_module("torch.profiler")
    began, done = time.monotonic(), 0
    with profiler.profile(activities=_activities(profiler)) as seen:
        while ranks.any(done < FEWEST) or ranks.any(_more(done, began)):
            ranks.meet()
            with profiler.record_function(STEP):
                prepared.step()
                if wait is not None:
                    wait()
            done += 1
    found = shares(_events(seen), on_device=bool(kind))
    if not found:
        raise Problem("failed", "the profiler recorded no step")
    return _average(found, kind)


def _more(done: int, began: float) -> bool:
    return done < MOST and time.monotonic() - began < LIMIT_S


def _activities(profiler: Any) -> List[Any]:
    """The CPU, and every kind of device that this torch's profiler supports here."""
    return sorted(profiler.supported_activities(), key=str)


def _events(seen: Any) -> List[Dict[str, Any]]:
    """The events as they are exported for people: their categories are the same in all versions."""
    with tempfile.TemporaryDirectory(prefix="ciwm-trace-") as folder:
        path = os.path.join(folder, "trace.json")
        seen.export_chrome_trace(path)
        with open(path, encoding="utf-8", errors="replace") as file:
            found: List[Dict[str, Any]] = json.load(file)["traceEvents"]
    return found


def _average(found: List[Share], kind: str) -> Dict[str, Any]:
    count = len(found)
    why: Optional[str] = None
    if kind and not any(one.device_events for one in found):
        why = f"torch.profiler records nothing of {kind} here"
    elif not any(one.total_us for one in found):
        why = "torch.profiler saw no collective"
    return {
        "steps": count,
        "step_s": sum(one.step_us for one in found) / count / 1e6,
        "total_s": sum(one.total_us for one in found) / count / 1e6,
        "exposed_s": sum(one.exposed_us for one in found) / count / 1e6,
        "why": why,
    }
