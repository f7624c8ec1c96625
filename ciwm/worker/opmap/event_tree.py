"""What a profile says about fallbacks, as plain rows: which operators, how often, how long.

`at::native::cpu_fallback` begins with `aten::_to_cpu`, whoever calls it, so an operator with such a
child fell back. That holds for every backend that uses this function, registered for all operators
or for one; warnings come once a process and are no measure.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

STEP = "ciwm::step"
TO_CPU = "aten::_to_cpu"
# a copy to the host below one of these is what was asked for
TRANSFERS = frozenset(
    [
        "aten::to",
        "aten::_to_copy",
        "aten::copy_",
        "aten::_copy_from",
        "aten::_copy_from_and_resize",
        "aten::cpu",
        "aten::item",
        "aten::_local_scalar_dense",
        "aten::is_nonzero",
        "aten::_to_cpu",
        "aten::equal",
        "aten::clone",
        "aten::contiguous",
    ]
)
_TO_HOST = ("dtoh", "d2h", "device -> pageable", "device -> pinned", "copydevicetohost")


class Row(NamedTuple):
    """One event: its name, its parent's place in the list (-1: none), time in us, its kernels."""

    name: str
    parent: int
    time_us: float
    kernels: Sequence[Tuple[str, float]] = ()


class Fallbacks(NamedTuple):
    """Operators that fell back: calls, and time in us not counted twice where they nest."""

    calls: Counter[str]
    time_us: Dict[str, float]


def rows_of(events: Sequence[Any]) -> List[Row]:
    """The host's events of a torch profile as rows.

    A device has events of its own: kernels, which hang on the host's, and a second mark for each
    range that a record_function opens, which is no step and no kernel.
    """
    marks = {event.name for event in events if getattr(event, "is_user_annotation", False)}
    ours = [event for event in events if str(event.device_type).endswith("CPU")]
    places = {id(event): place for place, event in enumerate(ours)}
    return [
        Row(
            event.name,
            -1 if event.cpu_parent is None else places.get(id(event.cpu_parent), -1),
            float(event.cpu_time_total),
            [
                (kernel.name, float(kernel.duration))
                for kernel in event.kernels
                if kernel.name not in marks
            ],
        )
        for event in ours
    ]


def fallbacks(rows: Sequence[Row]) -> Fallbacks:
    """Every operator with a `_to_cpu` child; the time of a nested one belongs to the outer one."""
    fell = _fell(rows)
    inner = {place for place in fell if not fell.isdisjoint(_above(rows, place))}
    calls: Counter[str] = Counter(rows[place].name for place in sorted(fell))
    time_us = {rows[place].name: 0.0 for place in sorted(fell)}
    for place in sorted(fell):
        time_us[rows[place].name] += 0.0 if place in inner else rows[place].time_us
    return Fallbacks(calls, time_us)


def _fell(rows: Sequence[Row]) -> Set[int]:
    """The places of operators that fell back."""
    return {row.parent for row in rows if row.name == TO_CPU and row.parent >= 0}


def _above(rows: Sequence[Row], place: int) -> set[int]:
    """The places of all ancestors."""
    found: set[int] = set()
    at = rows[place].parent
    while at >= 0 and at not in found:
        found.add(at)
        at = rows[at].parent
    return found


def hidden_copies(rows: Sequence[Row]) -> Counter[str]:
    """Device-to-host copies by the operator they happen under, where nobody asked for one.

    A kernel that works on the host by hand leaves no `_to_cpu`; its copy shows as a memcpy.
    """
    found: Counter[str] = Counter()
    fell = _fell(rows)
    for place, row in enumerate(rows):
        count = sum(any(word in name.lower() for word in _TO_HOST) for name, _ in row.kernels)
        blamed = _blamed(rows, place, fell) if count else None
        if blamed is not None:
            found[blamed] += count
    return found


def _blamed(rows: Sequence[Row], place: int, fell: Set[int]) -> Optional[str]:
    """The innermost operator around a copy that is no transfer; None below a fallback."""
    innermost = None
    at = place
    while at >= 0:
        name = rows[at].name
        if name == TO_CPU or at in fell:
            return None
        if innermost is None and name.startswith("aten::") and name not in TRANSFERS:
            innermost = name
        at = rows[at].parent
    return innermost


def step_time_us(rows: Sequence[Row]) -> float:
    """Time inside the steps, in us; 0 when there was none."""
    return sum(row.time_us for row in rows if row.name == STEP)


def kernels(rows: Sequence[Row]) -> Dict[Tuple[str, str], Tuple[int, float]]:
    """(operator, kernel) -> launches and device time in us; the operator is the innermost one.

    On the CPU a library shows as an operator of its own, which is its own kernel then.
    """
    found: Dict[Tuple[str, str], Tuple[int, float]] = {}

    def add(operator: str, kernel: str, time_us: float) -> None:
        calls, total = found.get((operator, kernel), (0, 0.0))
        found[operator, kernel] = (calls + 1, total + time_us)

    for place, row in enumerate(rows):
        for name, duration in row.kernels:
            add(_operator(rows, place), name, duration)
        if row.name.startswith(("aten::mkldnn_", "mkldnn::", "onednn::")):
            add(_operator(rows, row.parent), row.name, row.time_us)
    return found


def _operator(rows: Sequence[Row], place: int) -> str:
    at = place
    while at >= 0:
        if "::" in rows[at].name:
            return rows[at].name
        at = rows[at].parent
    return ""


class Traced(NamedTuple):
    """What an execution trace adds: overloads of fallbacks, and hidden copies by overload.

    `calls` are those that were given a tensor of the device, or made one.
    """

    overloads: Counter[str]
    hidden: Counter[Tuple[str, str]]  # (overload, "copy" or "scalar")
    calls: int


def traced(nodes: Sequence[Mapping[str, Any]], device: str) -> Traced:
    """Read an execution trace, whose tensors say where they lie."""
    by_id = {node["id"]: node for node in nodes}
    fell = {node["ctrl_deps"] for node in nodes if node["name"] == TO_CPU}
    overloads = Counter(_overload(by_id[number]) for number in fell if number in by_id)
    hidden: Counter[Tuple[str, str]] = Counter()
    for node in nodes:
        kind = _copy_kind(node, device)
        blamed = None if kind is None else _blamed_node(node, by_id, fell)
        if kind is not None and blamed is not None:
            hidden[blamed, kind] += 1
    kind = device.split(":", maxsplit=1)[0]
    calls = sum(kind in _devices(node[side]) for node in nodes for side in ("inputs", "outputs"))
    return Traced(overloads, hidden, calls)


def _copy_kind(node: Mapping[str, Any], device: str) -> Optional[str]:
    """Whether a node brings data of the device to the host: a copy, or one number."""
    kind = device.split(":", maxsplit=1)[0]
    if node["name"] == "aten::_local_scalar_dense":
        return "scalar" if kind in _devices(node["inputs"]) else None
    if node["name"] not in ("aten::_to_copy", "aten::copy_"):
        return None
    places = _devices(node["inputs"])
    if node["name"] == "aten::copy_":  # (to, from)
        return "copy" if places[:2] == ["cpu", kind] else None
    return "copy" if places[:1] == [kind] and _devices(node["outputs"])[:1] == ["cpu"] else None


def _devices(side: Mapping[str, Any]) -> List[str]:
    """The kinds of device of a node's plain tensor arguments, in order."""
    types = side.get("types", [])
    values = side.get("values", [])
    return [
        str(value[5]).split(":")[0]
        for value, form in zip(values, types)
        if str(form).startswith("Tensor") and isinstance(value, list) and len(value) > 5  # noqa: PLR2004  id, storage, offset, count, size, device
    ]


def _blamed_node(
    node: Mapping[str, Any], by_id: Mapping[int, Mapping[str, Any]], fell: "set[int]"
) -> Optional[str]:
    """The innermost operator around a copy that is no transfer; a copy in a copy counts once."""
    innermost = None
    at = by_id.get(node["ctrl_deps"])
    while at is not None:
        name = at["name"]
        if at["id"] in fell or name == TO_CPU:
            return None
        if innermost is None and name in ("aten::_to_copy", "aten::copy_"):
            return None  # the outer one is counted
        if innermost is None and name.startswith("aten::") and name not in TRANSFERS:
            innermost = _overload(at)
        parent = at["ctrl_deps"]
        at = by_id.get(parent) if parent != at["id"] else None
    return innermost


def _overload(node: Mapping[str, Any]) -> str:
    """`aten::sum.IntList_out`, from the schema; the bare name where the trace has none."""
    for attribute in node.get("attrs", []):
        if attribute["name"] == "op_schema" and attribute["value"]:
            return str(attribute["value"]).split("(")[0]
    return str(node["name"])
