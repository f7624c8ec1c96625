"""vLLM: `vllm bench throughput --output-json FILE`: two rates of one offline run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.ingest.fields import Malformed, Node
from ciwm.ingest.measured import Measured, Reading

if TYPE_CHECKING:
    from ciwm.ingest.source import Source

WRITTEN_BY = "vllm bench throughput (0.6 to 0.32)"
_SERIES = "vllm bench throughput"


def recognises(source: Source) -> bool:
    """Whether it is JSON with vLLM's names of the two rates."""
    return source.is_object_with("elapsed_time", "requests_per_second", "tokens_per_second")


def read(source: Source) -> Reading:
    """Requests a second; tokens a second, prompt and output together, as an extra."""
    data = Node(source.document)
    if data["elapsed_time"].number() <= 0 or data["requests_per_second"].number() <= 0:
        raise Malformed("elapsed_time or requests_per_second is not above zero: nothing was run")
    requests = ((data["requests_per_second"].number(),),)
    tokens = ((data["tokens_per_second"].number(),),)
    return Reading(
        (
            Measured(_SERIES, "request_throughput", "requests/s", "higher", requests),
            Measured(_SERIES, "total_throughput", "tokens/s", "higher", tokens, extra=True),
        ),
        "vllm bench throughput",
    )
