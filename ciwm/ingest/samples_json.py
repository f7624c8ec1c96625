"""ciwm's own samples, as a `command` workload writes them.

`{"metric": number-or-list, ...}`, or `{"samples": [{"metric": "...", "values": [...],
"series": "...", "unit": "...", "better": "lower"}, ...]}`; `series`, `unit` and `better` may be
left out. Several entries of one series and metric are launches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.ingest.fields import Malformed, Node, is_number
from ciwm.ingest.joining import as_launches
from ciwm.ingest.measured import NO_NAME, Measured, Reading

if TYPE_CHECKING:
    from ciwm.ingest.source import Source
    from ciwm.records.run import Better

WRITTEN_BY = "a workload of ciwm"
_KEYS = {"series", "metric", "values", "unit", "better"}
_BETTER: dict[str, Better] = {"lower": "lower", "higher": "higher"}


def recognises(source: Source) -> bool:
    """Whether it is an object with samples, or one of numbers and lists of them alone."""
    if not source.looks_like_json:
        return False
    data = source.document
    if not isinstance(data, dict) or not data:
        return False
    if isinstance(data.get("samples"), list):
        return True
    return all(is_number(one) or _is_numbers(one) for one in data.values())


def read(source: Source) -> Reading:
    """What is there, with unit and direction where they are stated."""
    if len(source.documents) > 1:
        raise Malformed("it holds several JSON documents")
    data = Node(source.document)
    if not isinstance(data.value, dict) or not data.value:
        raise Malformed("it is not a JSON object with samples")
    if "samples" not in data.value:
        measured = [_plain(name, node) for name, node in data.items()]
        return Reading(tuple(measured), "ciwm")
    if not isinstance(data.value["samples"], list):
        raise Malformed("samples is not a list")
    return Reading(as_launches([[_entry(entry)] for entry in data["samples"]]), "ciwm")


def _plain(metric: str, node: Node) -> Measured:
    """A metric, or a remark beside them: what is no number matters to who asks for it alone."""
    try:
        return Measured(NO_NAME, metric, "", None, (_values(node, metric),))
    except Malformed as error:
        return Measured(NO_NAME, metric, "", None, failure=str(error))


def _entry(entry: Node) -> Measured:
    if not isinstance(entry.value, dict) or not isinstance(entry.value.get("metric"), str):
        raise Malformed("a sample is not an object with a metric")
    metric = entry["metric"].text()
    unknown = sorted(entry.value.keys() - _KEYS)
    if unknown or entry.get("values") is None:
        what = f"an unknown key {unknown[0]!r}" if unknown else "no values"
        raise Malformed(f"the sample of {metric} has {what}")
    series, unit, better = (entry.get(key) for key in ("series", "unit", "better"))
    if better is not None and better.value not in _BETTER:
        raise Malformed(f"better of {metric} is lower or higher, not {better.value!r}")
    name = series.text() if series is not None else NO_NAME
    return Measured(
        name,
        metric,
        unit.text() if unit is not None else "",
        _BETTER[better.text()] if better is not None else None,
        (_values(entry["values"], f"{name} {metric}".strip()),),
    )


def _values(node: Node, name: str) -> tuple[float, ...]:
    if isinstance(node.value, list):
        if not node.value:
            raise Malformed(f"{name} has no values")
        return tuple(Node(value, name).number() for value in node.value)
    return (Node(node.value, name).number(),)


def _is_numbers(value: object) -> bool:
    return isinstance(value, list) and all(is_number(one) for one in value)
