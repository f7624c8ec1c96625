"""Every operator PyTorch describes, on the device against the CPU in float64.

Tasks run in forked children (isolate.py). The planted defects run through the same plan on the CPU,
so that the report can say what it would have caught.
"""

from __future__ import annotations

import fnmatch
import os
import warnings
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence

from ..problem import Problem
from . import fp8
from .isolate import Limits, run_isolated
from .one_operator import Plan, check_operator, in_words
from .planted import DEFECTS
from .samples import operators
from .target import device_of, load_plugins, refuse_unusable

Emit = Callable[[Dict[str, Any]], None]
FP8, PLANTED, CONTROL = "fp8:", "planted:", "control:"


class _Sweep(NamedTuple):
    """What a child needs to do a task, inherited through the fork."""

    described: Dict[str, Any]
    plan: Plan
    names: Sequence[str]  # of the operators that are swept


def observe(job: Mapping[str, Any], emit: Emit) -> None:
    """Sweep the operators; lines of kind `plan`, `check` and `planted`. Raises Problem."""
    import torch

    options = job["options"]
    load_plugins(options)
    # a device counted through its driver library is not initialised, and so survives the fork
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
    plan = _plan(options)
    refuse_unusable(plan.device)
    described = _described()
    patterns = options.get("operators") or ["*"]
    sweep = _Sweep(described, plan, _named(described, patterns))
    tasks = _tasks(sweep, options)
    torch.set_num_threads(1)  # as many children as CPUs, and no thread pool to lose in a fork
    emit(
        {
            "kind": "plan",
            "key": _dispatch_key(plan.device),
            "operators": _count(tasks),
            "known": len(described),
            "unmatched": [each for each in patterns if not _named(described, [each])],
            **_stated(plan),
        }
    )
    told: Dict[str, Dict[str, Any]] = {}

    def work(task: str, send: Emit) -> None:
        torch.set_num_threads(1)
        warnings.simplefilter("ignore")  # samples provoke hundreds of them
        _do(task, sweep, lambda line: send({"task": task, **line}))

    def passed(line: Dict[str, Any]) -> None:
        task = line.pop("task")
        if line["kind"] == "begun":
            told[task] = line
        else:
            emit(line)

    def lost(task: str, verdict: str, detail: str) -> None:
        emit(_lost(task, verdict, detail, told.get(task)))

    run_isolated(tasks, work, passed, lost, _limits(plan, options))


def _plan(options: Mapping[str, Any]) -> Plan:
    import torch

    plan = Plan(device=device_of(options))
    for name in options.get("dtypes") or ():
        if not isinstance(getattr(torch, name, None), torch.dtype):
            raise Problem("invalid", f"this PyTorch knows no dtype {name!r}")
    given: Dict[str, Any] = {
        key: tuple(options[key]) if isinstance(options[key], list) else options[key]
        for key in ("dtypes", "sources", "samples")
        if options.get(key) is not None
    }
    return plan._replace(**given)


def _limits(plan: Plan, options: Mapping[str, Any]) -> Limits:
    """On a device a fault poisons the process, so each operator has its own."""
    on_cpu = plan.device.split(":")[0] == "cpu"
    children = int(options.get("children") or (os.cpu_count() or 1 if on_cpu else 1))
    each = int(options.get("tasks_per_child") or (1_000_000 if on_cpu else 1))
    return Limits(children, each, float(options.get("operator_timeout_s") or 60.0))


def _stated(plan: Plan) -> Dict[str, Any]:
    return {
        "device": plan.device,
        "dtypes": list(plan.dtypes),
        "sources": list(plan.sources),
        "samples": plan.samples,
    }


def _dispatch_key(device: str) -> str:
    """The device's key in the dispatcher, by which a manifest calls it."""
    import torch

    return str(torch._C._dispatch_key_for_device(device.split(":", maxsplit=1)[0]))  # noqa: SLF001


def _described() -> Dict[str, Any]:
    try:
        return operators()
    except ImportError as error:
        raise Problem(
            "failed",
            f"PyTorch's operator samples cannot be imported ({error}); in the environment of the "
            "build: pip install expecttest numpy",
        ) from None


def _tasks(sweep: _Sweep, options: Mapping[str, Any]) -> List[str]:
    """Operators of a part, float8 cases, planted defects; the slow ones first."""
    if not sweep.names:
        raise Problem("invalid", f"no operator is called {' or '.join(options['operators'])}")
    part, parts = options.get("part") or (0, 1)
    tasks = list(sweep.names[part::parts])
    if part == 0 and options.get("fp8", True):
        tasks += [FP8 + name for name in fp8.FORMATS]
    if part == 0 and options.get("planted", True):
        tasks += [PLANTED + name for name in DEFECTS] + [CONTROL]
    return tasks


def _named(described: Mapping[str, Any], patterns: Sequence[str]) -> List[str]:
    """The operators that a pattern names, in order."""
    found = (any(fnmatch.fnmatchcase(name, each) for each in patterns) for name in described)
    return sorted(name for name, chosen in zip(described, found) if chosen)


def _count(tasks: Sequence[str]) -> int:
    return sum(not task.startswith((FP8, PLANTED, CONTROL)) for task in tasks)


def _do(task: str, sweep: _Sweep, send: Emit) -> None:
    if task.startswith(FP8):
        _do_fp8(task[len(FP8) :], sweep.plan, send)
    elif task.startswith(PLANTED):
        _do_planted(task[len(PLANTED) :], sweep, send)
    elif task == CONTROL:
        _do_planted(None, sweep, send)
    else:
        check_operator(task, sweep.described[task], sweep.plan, send)


def _do_fp8(dtype_name: str, plan: Plan, send: Emit) -> None:
    for name, check in fp8.cases(dtype_name):
        call = f"float8 {name}"
        send({"kind": "begun", "dtype": dtype_name, "source": "float8", "call": call})
        try:
            judged = check(plan.device)
            verdict, detail = judged.verdict, judged.detail
        except Exception as error:  # noqa: BLE001  whatever a backend throws is a verdict
            verdict, detail = "error", in_words(error)
        send(_line(call, dtype_name, "float8", (verdict, detail), call))


def _do_planted(name: Optional[str], sweep: _Sweep, send: Emit) -> None:
    """Run the plan with one defect, on the CPU; without any, count what it cries wolf about.

    A plan that leaves an operator out cannot catch what is wrong with it.
    """
    defects = DEFECTS.values() if name is None else [DEFECTS[name]]
    plan = sweep.plan._replace(device="cpu", defect=name)
    found: List[Dict[str, Any]] = []
    touched = {each for defect in defects for each in defect.operators}
    for operator in sorted(touched.intersection(sweep.names)):
        check_operator(operator, sweep.described[operator], plan, found.append)
    alarms = sorted({alarm for line in found for alarm in _alarms(line)})
    what = "nothing is planted" if name is None else DEFECTS[name].what
    send({"kind": "planted", "defect": name or "", "what": what, "alarms": alarms})


def _alarms(line: Dict[str, Any]) -> List[str]:
    """Which sources raised the alarm in a check: `edge forward float32`."""
    if line["kind"] != "check":
        return []
    return [
        f"{source} {line['direction']} {line['dtype']}"
        for source, counts in line["counts"].items()
        if counts.get("WRONG") or counts.get("error")
    ]


def _lost(task: str, verdict: str, detail: str, told: Optional[Dict[str, Any]]) -> Dict[str, Any]:
    """The line of a task that died or hung: what it was at."""
    if task.startswith((PLANTED, CONTROL)):
        name = task.split(":", 1)[1]
        return {"kind": "planted", "defect": name, "what": detail, "alarms": [], "lost": verdict}
    at = told or {"dtype": "", "source": "", "call": ""}
    operator = at["call"] if told is not None and task.startswith(FP8) else task
    return _line(operator, at["dtype"], at["source"], (verdict, detail), at["call"])


def _line(
    operator: str, dtype: str, source: str, verdict: Sequence[str], call: str
) -> Dict[str, Any]:
    return {
        "kind": "check",
        "operator": operator,
        "dtype": dtype,
        "direction": "forward",
        "counts": {source: {verdict[0]: 1}},
        "verdict": verdict[0],
        "source": source,
        "call": call,
        "detail": verdict[1],
        "error_device": None,
        "error_cpu": None,
    }
