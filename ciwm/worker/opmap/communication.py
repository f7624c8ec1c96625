"""What each parallel strategy of a workload would call, counted without a second process."""

from __future__ import annotations

import warnings
from typing import Any, Callable, Dict, List, Mapping

from ..problem import Problem
from .isolate import Limits, run_isolated
from .one_operator import in_words
from .strategies import STRATEGIES, NotApplicable, run_strategy
from .subject import build, has_model

WORLD = 8
Emit = Callable[[Dict[str, Any]], None]


def observe(job: Mapping[str, Any], emit: Emit) -> None:
    """Lines of kind `strategy` and `need`; raises Problem for a workload without a model."""
    import torch

    if not has_model(job):
        raise Problem("invalid", "its strategies cannot be set up without a model: state one")
    options = job["options"]
    torch.set_num_threads(1)  # a thread pool that has worked would hang the forked children
    worlds = [int(each) for each in options.get("worlds") or [WORLD]]
    wanted = options.get("strategies") or list(STRATEGIES)
    unknown = [name for name in wanted if name not in STRATEGIES]
    if unknown:
        raise Problem("invalid", f"no strategy {unknown[0]}; there are {', '.join(STRATEGIES)}")
    tasks = [f"{name} {world}" for name in wanted for world in worlds]
    build(job)  # what it imports is imported once, and what it raises is raised here

    def work(task: str, send: Emit) -> None:
        warnings.simplefilter("ignore")
        name, world = task.split()
        for line in _lines(name, int(world), job):
            send(line)

    def lost(task: str, verdict: str, detail: str) -> None:
        name, world = task.split()
        emit(_strategy(name, int(world), "failed", f"{verdict}: {detail}"))

    # each has a process of its own: groups, meshes and wrapped modules are global
    run_isolated(tasks, work, emit, lost, Limits(1, 1, float(job["timeout_s"]) / len(tasks)))


def _lines(name: str, world: int, job: Mapping[str, Any]) -> List[Dict[str, Any]]:
    """What one strategy needs; tensor parallelism takes the most ranks that the shapes allow."""
    ranks = world
    while True:
        try:
            counted, ready = run_strategy(name, job, ranks)
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
            "calls": calls,
            "bytes": size,
            "evidence": ready.evidence,
        }
        for key, (calls, size) in counted.uses.items()
    ]
    return [_strategy(name, world, ready.evidence, detail), *needs]


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
