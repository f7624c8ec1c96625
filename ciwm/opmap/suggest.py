"""Workloads that a map lacks: phases that belong to what is declared, and are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ciwm.config import WorkloadConfig

SERVING = ("prefill", "decode")
GENERATING = ("decode", "generate", "serve")
TRAINING = ("train", "finetune")


def suggestions(workloads: Sequence[WorkloadConfig]) -> tuple[str, ...]:
    """What to declare besides, each with its reason."""
    return tuple(_suggested(workloads))


def _suggested(workloads: Sequence[WorkloadConfig]) -> Iterator[str]:
    for one in workloads:
        yield from _of(one)
    phases = {one.phase for one in workloads}
    if phases & set(GENERATING) and "prefill" not in phases:
        yield "prefill: tokens are generated and no prefill is declared, which is bound otherwise"
    if "prefill" in phases and not phases & set(GENERATING):
        yield "decode: prefill is declared alone; decoding one token at a time is bound by memory"
    if "train" in phases and not phases & {"prefill", "generate", "decode", "serve"}:
        yield "prefill: only training is declared; evaluation runs other kernels (no dropout)"
    if not phases & set(TRAINING) and None not in phases and phases:
        yield "train: no training is declared; backward and optimizer kernels are not in this map"
    yield from _single_points(workloads)
    if workloads and all(one.devices == 1 for one in workloads):
        yield "a workload with devices = 2 or more: no collective is in this map"


def _of(one: WorkloadConfig) -> Iterator[str]:
    """What one workload leaves unsaid."""
    if one.phase is None:
        yield f"{one.id}: state its phase, which decides what of it runs"
    if one.model is None and one.python is not None:
        yield f"{one.id}: model = 'file.py:build' would tell modules, parts and intensity"
    elif one.model is None:
        yield f"{one.id}: a command is not seen: declare a [[map.workload]] with its model"
    elif one.devices > 1 and not one.parallel:
        yield f"{one.id}: parallel = ['fsdp2'] or another would tell what its devices exchange"


def _single_points(workloads: Sequence[WorkloadConfig]) -> Iterator[str]:
    for one in workloads:
        sizes = {name: values for name, values in one.params.items() if "batch" in name}
        if one.phase in SERVING and sizes and all(len(values) == 1 for values in sizes.values()):
            name, values = next(iter(sizes.items()))
            yield f"{one.id}: a second {name} beside {values[0]}: intensity grows with it"
