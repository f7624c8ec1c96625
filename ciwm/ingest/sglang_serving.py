"""sglang: `python -m sglang.bench_serving --output-file FILE`, with `--output-details` for samples.

The file grows by one JSON object a run: each is a launch.
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
    from ciwm.ingest.source import Source

WRITTEN_BY = "sglang.bench_serving (0.4 to 0.5)"
_RATES = {"request_throughput": REQUESTS, "output_throughput": OUTPUT, "total_throughput": TOTAL}
_NAMES = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2e_latency": "e2e_latency"}


def recognises(source: Source) -> bool:
    """Whether it is JSON with a throughput and the latency that only sglang calls so."""
    return source.is_object_with("request_throughput", "median_e2e_latency_ms", "completed")


def read(source: Source) -> Reading:
    """Latencies of requests in s, and rates."""
    runs = [tuple(_run(Node(document))) for document in source.documents]
    return Reading(as_launches(runs), "sglang.bench_serving")


def _run(run: Node) -> list[Measured]:
    load = load_of(run, setting(run))
    broken = failure(load)
    if broken is not None:
        return [broken]
    samples = requests(run) if run.get("ttfts") is not None else {}
    have = [name for name, values in samples.items() if values]
    failed = [failed_requests(load)] if run.get("failed") or run.get("num_prompts") else []
    return [
        *sampled(load, samples),
        *aggregated(run, load, _NAMES, have),
        *rates(run, load, _RATES),
        *failed,
    ]
