"""pytest-benchmark: `pytest --benchmark-json=FILE`, or a file that `--benchmark-save` kept.

`data` holds the seconds of each round; a saved file has it with `--benchmark-save-data` only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.ingest.fields import Node
from ciwm.ingest.measured import Measured, Reading

if TYPE_CHECKING:
    from ciwm.ingest.source import Source

WRITTEN_BY = "pytest-benchmark 3.1 to 5"


def recognises(source: Source) -> bool:
    """Whether it is JSON with `benchmarks` and `machine_info`."""
    return source.is_object_with("machine_info", "benchmarks")


def read(source: Source) -> Reading:
    """The time of each benchmark's rounds, in s."""
    data = Node(source.document)
    cpu = data["machine_info"].get("cpu")
    version = data.get("version")
    return Reading(
        tuple(_measured(entry) for entry in data["benchmarks"]),
        f"pytest-benchmark {version.text() if version else ''}".strip(),
        cpu_model=_text(cpu, "brand_raw") or _text(cpu, "brand"),
        cpu_count=_count(cpu),
    )


def _measured(entry: Node) -> Measured:
    name = entry.get("fullname") or entry["name"]
    stats = entry["stats"]
    if stats.get("data") is not None:
        return Measured(name.text(), "time", "s", "lower", (stats["data"].numbers(),))
    rounds = stats["rounds"].number()
    return Measured(
        name.text(),
        "time",
        "s",
        "lower",
        ((stats["median"].number(),),),
        aggregate=f"median of {rounds:g} rounds",
    )


def _text(cpu: Node | None, key: str) -> str:
    found = cpu.get(key) if cpu is not None else None
    return found.value if found is not None and isinstance(found.value, str) else ""


def _count(cpu: Node | None) -> int:
    found = cpu.get("count") if cpu is not None else None
    return found.value if found is not None and isinstance(found.value, int) else 0
