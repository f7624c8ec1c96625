"""Correctness on a device: operators, workloads' own calls, whole models; and what would show."""

from __future__ import annotations

from typing import Literal

from ciwm.records.amounts import Count, Distance
from ciwm.records.base import Record

CheckVerdict = Literal["strict", "drift", "WRONG", "error", "crash", "timeout", "untestable"]
FAILED: tuple[CheckVerdict, ...] = ("WRONG", "crash", "timeout", "error")  # gravest first


class OperatorCheck(Record):
    """The verdicts of one operator in one dtype and direction, and its gravest case.

    `counts` are cases by source and verdict. Errors are the largest absolute ones against float64,
    None where they are not finite or nothing was compared.
    """

    operator: str
    dtype: str
    direction: Literal["forward", "backward"]
    verdict: CheckVerdict
    counts: dict[str, dict[CheckVerdict, Count]]
    source: str = ""
    call: str = ""
    detail: str = ""
    error_device: Distance | None = None
    error_cpu: Distance | None = None


class PlantedDefect(Record):
    """A defect put in on purpose, and which checks of the same plan raised the alarm.

    Without a name nothing was planted: an alarm is a false one.
    """

    defect: str
    what: str
    caught: bool
    alarms: tuple[str, ...] = ()


class ModelCheck(Record):
    """A whole model against the CPU's: its outputs, its gradients, or the tokens it writes."""

    what: Literal["outputs", "gradients", "tokens"]
    verdict: CheckVerdict
    detail: str = ""
    compared: Count
    differing: Count | None = None
    error_device: Distance | None = None
    error_cpu: Distance | None = None


class Sweep(Record):
    """Operators of PyTorch's own descriptions, run on a device against the CPU in float64.

    `cases` counts calls by verdict, in both directions. `verdicts` has every operator and dtype
    (`sum float32 backward`), `checks` those that are neither strict nor drift. `kernels` says which
    operators and directions (`nn.functional.gelu backward`) are checks of a kernel
    (`aten::gelu_backward`, all its overloads together). `key` is the device's in the dispatcher.
    """

    device: str
    key: str = ""
    dtypes: tuple[str, ...]
    sources: tuple[str, ...]
    samples: Count
    operators: Count
    known: Count
    cases: dict[CheckVerdict, Count]
    verdicts: dict[str, CheckVerdict] = {}
    kernels: dict[str, tuple[str, ...]] = {}
    checks: tuple[OperatorCheck, ...] = ()
    planted: tuple[PlantedDefect, ...] = ()


class WorkloadCorrectness(Record):
    """One workload: its own calls one by one, then the whole model.

    `too_large` calls could not be kept, some for want of a copy, and so were not checked.
    """

    workload: str
    device: str
    calls: Count
    too_large: Count = 0
    checks: tuple[OperatorCheck, ...] = ()
    model: tuple[ModelCheck, ...] = ()


class Correctness(Record):
    """All that was checked of a device."""

    sweep: Sweep | None = None
    workloads: tuple[WorkloadCorrectness, ...] = ()
