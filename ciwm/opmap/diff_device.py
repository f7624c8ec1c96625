"""Stages that ran on another device at head: nothing of them is compared, which is no all-clear."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.records.opmap_diff import MapChange

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ciwm.records import WorkloadMap

HOST = "cpu"


def device_changes(base: WorkloadMap, head: WorkloadMap) -> Iterator[MapChange]:
    """A loss for each stage that ran on a device at base and on the CPU at head."""
    for stage, was, now in _moved(base, head):
        if now == HOST:
            yield MapChange(
                kind="workload lost",
                subject=stage,
                base=was,
                head=now,
                sentence=f"{stage}: base ran on {was}, head on the CPU, where none of it shows",
                lost=True,
                counts_as="correctness" if stage == "correctness" else "coverage",
            )


def device_warnings(base: WorkloadMap, head: WorkloadMap) -> Iterator[str]:
    """One for each stage that ran on two devices otherwise."""
    for stage, was, now in _moved(base, head):
        if now != HOST:
            yield f"{stage}: base ran on {was}, head on {now}; that is not compared"


def _moved(base: WorkloadMap, head: WorkloadMap) -> Iterator[tuple[str, str, str]]:
    before, after = dict(_devices(base)), dict(_devices(head))
    for stage, was in before.items():
        now = after.get(stage, was)
        if now != was:
            yield stage, was, now


def _devices(side: WorkloadMap) -> Iterator[tuple[str, str]]:
    """The kind of device of each stage that ran on one."""
    for each in side.fallbacks[:1]:
        yield "fallback", _kind(each.device)
    found = side.correctness
    checked = () if found is None else (found.sweep, *found.workloads)
    for device in [one.device for one in checked if one is not None][:1]:
        yield "correctness", _kind(device)
    if side.communication is not None and side.communication.probe is not None:
        yield "communication", _kind(side.communication.probe.device)
    lowered = [one.inductor.device for one in side.compile_paths if one.inductor is not None]
    for device in [each for each in lowered if each][:1]:  # one that failed early names none
        yield "compile", _kind(device)


def _kind(device: str) -> str:
    return device.partition(":")[0]
