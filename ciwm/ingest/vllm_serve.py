"""vLLM: `vllm bench serve --save-result`, with `--save-detailed` for the samples.

A file that `--append-result` wrote to holds one JSON object a line: each is a launch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.ingest.fields import Node
from ciwm.ingest.joining import as_launches
from ciwm.ingest.measured import Reading
from ciwm.ingest.serving import (
    OUTPUT,
    REQUESTS,
    TOTAL,
    aggregated,
    failed_requests,
    failure,
    load_of,
    rates,
    requests,
    sampled,
    setting,
)

if TYPE_CHECKING:
    from ciwm.ingest.measured import Measured
    from ciwm.ingest.serving import Load
    from ciwm.ingest.source import Source

WRITTEN_BY = "vllm bench serve (0.9 to 0.32)"
_RATES = {
    "request_throughput": REQUESTS,
    "output_throughput": OUTPUT,
    "total_token_throughput": TOTAL,
}
_NAMES = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2e_latency": "e2el"}


def recognises(source: Source) -> bool:
    """Whether it is JSON with a throughput and the name that vLLM has for the total."""
    return source.is_object_with("request_throughput", "total_token_throughput", "completed")


def read(source: Source) -> Reading:
    """Latencies of requests in s, and rates."""
    runs = [tuple(_run(Node(document))) for document in source.documents]
    return Reading(as_launches(runs), "vllm bench serve")


def _run(run: Node) -> list[Measured]:
    load = load_of(run, setting(run))
    broken = failure(load)
    if broken is not None:
        return [broken]
    samples = requests(run) if run.get("ttfts") is not None else _end_to_end(run, load)
    have = [name for name, values in samples.items() if values]
    return [
        *sampled(load, samples),
        *aggregated(run, load, _NAMES, have),
        *rates(run, load, _RATES),
        failed_requests(load),
    ]


def _end_to_end(run: Node, load: Load) -> dict[str, list[float]]:
    """Newer files have the latency of each request even without details; of a failed one, zero."""
    latencies = run.get("latencies")
    values = [value for value in latencies.numbers() if value > 0] if latencies else []
    return {"e2e_latency": values if len(values) == load.completed else []}
