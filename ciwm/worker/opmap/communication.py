"""What each parallel strategy of a workload would call, counted without a second process."""

from __future__ import annotations

import warnings
from typing import Any, Callable, Dict, List, Mapping, Tuple

from ..problem import Problem
from ..workload import load_module
from .collective_count import Counted
from .isolate import Limits, run_isolated
from .one_operator import in_words
from .own_collectives import run_own
from .strategies import STRATEGIES, NotApplicable, Ready, run_strategy
from .subject import build, has_model

WORLD = 8
OWN = "own"
Emit = Callable[[Dict[str, Any]], None]


def observe(job: Mapping[str, Any], emit: Emit) -> None:
    """Lines of kind `strategy` and `need`; raises Problem for a bare step of one device.

    A workload of several devices is run as it is too (`own`), as one rank of so many.
    """
    import torch

    devices = int(job.get("devices") or 1)
    if not has_model(job) and devices == 1:
        raise Problem("invalid", "its strategies cannot be set up without a model: state one")
    torch.set_num_threads(1)  # a thread pool that has worked would hang the forked children
    tasks = _tasks(job, devices)
    if devices == 1:
        build(job)  # what it imports is imported once, and what it raises is raised here
    else:
        load_module(job["file"])  # to build it may take the ranks that only its children play

    def work(task: str, send: Emit) -> None:
        warnings.simplefilter("ignore")
        name, world = task.split()
        for line in _lines(name, int(world), job):
            send(line)

    def lost(task: str, verdict: str, detail: str) -> None:
        name, world = task.split()
        emit(_strategy(name, int(world), "failed", f"{verdict}: {detail}"))

    # each has a process of its own: groups, meshes and wrapped modules are global
    # one that hangs ends before the whole does, so that what it was is known
    each_s = 0.9 * float(job["timeout_s"]) / len(tasks)
    run_isolated(tasks, work, emit, lost, Limits(1, 1, each_s))


def _tasks(job: Mapping[str, Any], devices: int) -> List[str]:
    """Strategy and ranks of each, for every world asked for and for the workload's own."""
    options = job["options"]
    own = {devices} if devices > 1 else set()
    worlds = sorted({int(each) for each in options.get("worlds") or [WORLD]} | own)
    wanted = options.get("strategies") or list(STRATEGIES)
    unknown = [name for name in wanted if name not in STRATEGIES]
    if unknown:
        raise Problem("invalid", f"no strategy {unknown[0]}; there are {', '.join(STRATEGIES)}")
    tasks = [f"{name} {world}" for name in wanted for world in worlds] if has_model(job) else []
    return tasks + [f"{OWN} {world}" for world in sorted(own)]


def _lines(name: str, world: int, job: Mapping[str, Any]) -> List[Dict[str, Any]]:
    """What one strategy needs; tensor parallelism takes the most ranks that the shapes allow."""
    ranks = world
    while True:
        try:
            counted, ready = _run(name, job, ranks)
        except NotApplicable as reason:
            return [_strategy(name, world, "not applicable", str(reason))]
        except Exception as error:  # noqa: BLE001  many a model does not fit a strategy
            _end_group()
            if name == "tp" and ranks > 2 and not isinstance(error, Problem):  # noqa: PLR2004
                ranks //= 2
                continue
            return [_strategy(name, world, "failed", in_words(error))]
        break
    detail = ready.detail if ranks == world else f"{ready.detail}; {ranks} ranks fit its shapes"
    needs = [
        {
            "kind": "need",
            "strategy": name,
            "world": world,
            **key._asdict(),
            "calls": len(sizes),
            "bytes": sum(sizes),
            "smallest_bytes": min(sizes),
            "largest_bytes": max(sizes),
            "evidence": ready.evidence,
        }
        for key, sizes in counted.uses.items()
    ]
    return [_strategy(name, world, ready.evidence, detail), *needs]


def _run(name: str, job: Mapping[str, Any], ranks: int) -> Tuple[Counted, Ready]:
    return run_own(job, ranks) if name == OWN else run_strategy(name, job, ranks)


def _end_group() -> None:
    from torch import distributed

    if distributed.is_initialized():
        distributed.destroy_process_group()


def _strategy(name: str, world: int, status: str, detail: str) -> Dict[str, Any]:
    return {
        "kind": "strategy",
        "strategy": name,
        "world": world,
        "status": status,
        "detail": detail,
    }
