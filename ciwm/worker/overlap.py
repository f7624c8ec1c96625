"""Collectives and computation in the events of a trace, and how much of the two overlaps.

On an accelerator collectives are kernels, on its own time line. On the CPU torch.distributed
records each one from its start to its end, on the thread that works for it, beside the operators.
"""

from __future__ import annotations

import bisect
import re
from typing import Any, Dict, Iterable, List, NamedTuple, Tuple

STEP = "ciwm::step"
Spans = List[Tuple[float, float]]  # begin and end in us

# the libraries' kernels, and those by which frameworks take their place within a host
_KERNEL = re.compile(
    r"(?i)nccl|rccl|hccl|hcom_|oneccl|nvshmem|mscclpp?"
    r"|cross_device_reduce|(one|two)_shot_all_?reduce|multimem_(all|one|two|reduce)"
)
# what process groups record of one that runs on the CPU: gloo:all_reduce
_WORK = re.compile(r"(gloo|mpi|ucc):")
# the operators that begin one, or wait for it
_CALL = re.compile(r"c10d::|_?c10d_functional::|record_param_comms")
_DEVICE = frozenset(["kernel", "gpu_memcpy", "gpu_memset"])


class Share(NamedTuple):
    """One step in us; `device_events` is how many events of an accelerator were in it."""

    step_us: float
    total_us: float
    exposed_us: float
    device_events: int


class Event(NamedTuple):
    """What is used of an event of a trace."""

    name: str
    category: str
    thread: Any
    begin: float
    end: float


def shares(trace: Iterable[Dict[str, Any]], *, on_device: bool) -> List[Share]:
    """The communication of each step of a trace."""
    events = [
        Event(
            str(one.get("name", "")),
            str(one.get("cat", "")).lower(),
            (one.get("pid"), one.get("tid")),
            float(one["ts"]),
            float(one["ts"]) + float(one.get("dur", 0)),
        )
        for one in trace
        if one.get("ph") == "X" and "ts" in one
    ]
    steps = [one for one in events if one.name == STEP and one.category == "user_annotation"]
    return [_share(step, events, on_device=on_device) for step in steps]


def _share(step: Event, events: List[Event], *, on_device: bool) -> Share:
    inside = [one for one in events if one.end > step.begin and one.begin < step.end]
    device = [one for one in inside if one.category in _DEVICE]
    communication = [one for one in inside if _communicates(one, on_device=on_device)]
    computed = [one for one in device if not _KERNEL.search(one.name)]
    if not on_device:
        computed = _operators(inside, communication, step)
    total = _within(step, communication)
    exposed = _length(total) - _overlap(total, _within(step, computed))
    return Share(step.end - step.begin, _length(total), max(exposed, 0.0), len(device))


def _communicates(event: Event, *, on_device: bool) -> bool:
    """Whether it is a collective under way; on an accelerator begun ones are only queued."""
    if event.category == "kernel":
        return _KERNEL.search(event.name) is not None
    if _WORK.match(event.name):
        return event.category in ("user_annotation", "cpu_op")
    return not on_device and event.category == "cpu_op" and _CALL.match(event.name) is not None


def _operators(inside: List[Event], communication: List[Event], step: Event) -> List[Event]:
    """Operators that compute: none that has a collective in it, nor those of a worker's thread."""
    busy: Dict[Any, Spans] = {}
    for one in sorted(communication, key=lambda event: event.begin):
        busy.setdefault(one.thread, []).append((one.begin, one.end))
    return [
        one
        for one in inside
        if one.category == "cpu_op"
        and (one.thread == step.thread or one.thread not in busy)
        and not _CALL.match(one.name)
        and not _holds(one, busy.get(one.thread, []))
    ]


def _holds(operator: Event, spans: Spans) -> bool:
    """Whether one of the spans, sorted and of the same thread, is inside the operator."""
    place = bisect.bisect_left(spans, (operator.begin, operator.begin))
    return place < len(spans) and spans[place][1] <= operator.end


def _within(step: Event, events: Iterable[Event]) -> Spans:
    """The times of events inside the step, none twice."""
    spans = sorted((max(one.begin, step.begin), min(one.end, step.end)) for one in events)
    joined: Spans = []
    for begin, end in spans:
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((begin, end))
    return joined


def _length(spans: Spans) -> float:
    return sum(end - begin for begin, end in spans)


def _overlap(one: Spans, other: Spans) -> float:
    """How long both have something; each is sorted and overlaps nowhere itself."""
    found, i, j = 0.0, 0, 0
    while i < len(one) and j < len(other):
        found += max(0.0, min(one[i][1], other[j][1]) - max(one[i][0], other[j][0]))
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return found
