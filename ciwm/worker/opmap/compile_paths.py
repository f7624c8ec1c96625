"""Which compilers can take a workload, and what of it they cannot: each in a process of its own."""

from __future__ import annotations

import warnings
from typing import Any, Callable, Dict, List, Mapping, NamedTuple

from ..problem import Problem
from . import importers, inductor
from .isolate import Limits, run_isolated
from .one_operator import in_words
from .subject import TRAINING, Built, build, has_model, loss_of, to_device
from .target import device_of, load_plugins
from .tensors import tensors_in

Emit = Callable[[Dict[str, Any]], None]
SHARE = 0.9  # of a workload's time, for all of them
GRAPHS, INDUCTOR, EXPORT = "graphs", "inductor", "export"


class _Case(NamedTuple):
    """What every path begins with, made once and inherited through the fork."""

    built: Built
    phase: str
    device: str


def observe(job: Mapping[str, Any], emit: Emit) -> None:
    """Lines of kind `graphs`, `inductor`, `export` and `importer`; raises Problem."""
    import torch

    if not has_model(job):
        raise Problem("invalid", "a compiler takes a model, and this workload states none")
    options = job["options"]
    torch.set_num_threads(1)  # a thread pool that has worked would hang the forked children
    load_plugins(options)
    built = build(job)
    built.model.train(job["phase"] in TRAINING)
    case = _Case(built, job["phase"] or "", device_of(options))
    tasks = list(options.get("paths") or [GRAPHS, INDUCTOR, EXPORT, *importers.STACKS])

    def work(task: str, send: Emit) -> None:
        warnings.simplefilter("ignore")
        send(_path(task, case))

    def lost(task: str, verdict: str, detail: str) -> None:
        emit(_failed(task, f"{verdict}: {detail}"))

    run_isolated(tasks, work, emit, lost, _limits(job))


def _limits(job: Mapping[str, Any]) -> Limits:
    """As many paths that hang as there are children end in time for the others."""
    stated = job["options"].get("path_timeout_s")
    return Limits(2, 1, float(stated or SHARE * float(job["timeout_s"]) / 2))


def _path(task: str, case: _Case) -> Dict[str, Any]:
    """One line about one path; a failure of the path is its answer."""
    if task in importers.STACKS:
        return importers.imported(task, lambda: _program(case).run_decompositions())
    made: Dict[str, Callable[[_Case], Dict[str, Any]]] = {
        GRAPHS: _graphs,
        INDUCTOR: _inductor,
        EXPORT: _export,
    }
    try:
        return made[task](case)
    except Exception as error:  # noqa: BLE001  whatever a compiler throws is an answer
        return _failed(task, in_words(error))


def _failed(task: str, detail: str) -> Dict[str, Any]:
    if task in importers.STACKS:
        line = {"kind": "importer", "stack": task, "version": "", "unsupported": []}
        return {**line, "status": "failed", "detail": detail}
    return {"kind": task, "status": "failed", "detail": detail}


def _graphs(case: _Case) -> Dict[str, Any]:
    built = case.built
    found = inductor.breaks(built.model, built.args, built.kwargs)
    if not found["graphs"]:
        why = "; ".join(each["reason"] for each in found["breaks"][:3])
        return _failed(GRAPHS, "it captures no graph" + (f": {why}" if why else ""))
    return {"kind": GRAPHS, "status": "done", "detail": "", **found}


def _inductor(case: _Case) -> Dict[str, Any]:
    """Lowered on the device where it has codegen; else on the CPU, which says less."""
    codegen = inductor.has_codegen(case.device)
    built = to_device(case.built, case.device) if codegen else case.built
    found = inductor.lowered(lambda compiled: _step(built, compiled, case.phase in TRAINING))
    lacking = f"{len(found.failed)} of {found.graphs} graphs: " if found.failed else ""
    where = case.device if codegen else "cpu"
    return {
        "kind": INDUCTOR,
        "status": "failed" if found.failed else "done",
        "detail": lacking + "; ".join(found.failed[:3]),
        "device": where,
        "codegen": codegen,
        "graphs": found.graphs,
        "generated": found.generated,
        "extern": dict(found.extern),
        "fallback": dict(found.fallback),
    }


def _step(built: Built, compiled: Callable[[Any], Any], training: bool) -> None:  # noqa: FBT001
    import torch

    with torch.set_grad_enabled(training):
        outputs = compiled(built.model)(*built.args, **built.kwargs)
        if training:
            loss_of(built, outputs).backward()


def _program(case: _Case) -> Any:
    """The exported forward pass of the model as it is deployed."""
    import torch

    class Plain(torch.nn.Module):  # type: ignore[misc]  # torch is not typed here
        """The model with nothing but tensors as its result: caches cannot be exported."""

        def __init__(self, model: Any) -> None:
            super().__init__()
            self.model = model

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return tuple(tensors_in(self.model(*args, **kwargs)))

    built = case.built
    plain = Plain(built.model.eval())
    with torch.no_grad():
        return torch.export.export(plain, built.args, built.kwargs, strict=False)


def _export(case: _Case) -> Dict[str, Any]:
    """Operators after decomposition to the core set, and those that are not of it."""
    import torch

    program = _program(case).run_decompositions()
    targets: List[Any] = [node.target for node in program.graph.nodes if node.op == "call_function"]
    operators = {each for each in targets if isinstance(each, torch._ops.OpOverload)}  # noqa: SLF001
    odd = sorted(str(each) for each in operators if torch.Tag.core not in each.tags)
    return {
        "kind": EXPORT,
        "status": "done",
        "detail": "",
        "nodes": len(targets),
        "operators": len(operators),
        "not_core": odd,
    }
