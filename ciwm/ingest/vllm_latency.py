"""vLLM: `vllm bench latency --output-json FILE`: the latency of a batch, iteration by iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.ingest.fields import Node
from ciwm.ingest.measured import Measured, Reading

if TYPE_CHECKING:
    from ciwm.ingest.source import Source

WRITTEN_BY = "vllm bench latency (0.6 to 0.32)"
_SERIES = "vllm bench latency"


def recognises(source: Source) -> bool:
    """Whether it is JSON with an average latency and percentiles."""
    return source.is_object_with("avg_latency", "percentiles")


def read(source: Source) -> Reading:
    """Seconds of each iteration."""
    data = Node(source.document)
    every = data.get("latencies")
    if every is not None:
        one = Measured(_SERIES, "batch_latency", "s", "lower", (every.numbers(),))
    else:
        average = ((data["avg_latency"].number(),),)
        one = Measured(
            _SERIES, "batch_latency", "s", "lower", average, aggregate="mean of its iterations"
        )
    return Reading((one,), "vllm bench latency")
