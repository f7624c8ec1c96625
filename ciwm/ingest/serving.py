"""What load generators measure, under one name each.

- `ttft`: from sending a request to its first token.
- `tpot`: (latency - ttft) / (output tokens - 1), one value a request. vLLM and sglang call it TPOT,
  AIPerf calls it inter token latency (ITL).
- `itl`: from one piece of the stream to the next, a value for each. vLLM and sglang call it ITL,
  AIPerf calls it inter chunk latency (ICL).
- `e2e_latency`: from sending a request to its last token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ciwm.ingest.fields import Malformed
from ciwm.ingest.measured import Measured

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ciwm.ingest.fields import Node
    from ciwm.records.run import Better

FAILED_REQUESTS = "failed_requests"
LATENCIES = ("ttft", "tpot", "itl", "e2e_latency")


class Rate(NamedTuple):
    """A rate of the whole run, which is one measurement and no aggregate of others."""

    metric: str
    unit: str
    extra: bool


REQUESTS = Rate("request_throughput", "requests/s", extra=False)
OUTPUT = Rate("output_throughput", "tokens/s", extra=False)
TOTAL = Rate("total_throughput", "tokens/s", extra=True)


class Load(NamedTuple):
    """One run of a load generator: its series, and how many requests ended how."""

    series: str
    completed: int
    failed: int


def load_of(run: Node, series: str) -> Load:
    """The counts of a run; `failed` is the rest where it is not stated."""
    completed = int(run["completed"].number())
    failed, asked = run.get("failed"), run.get("num_prompts")
    if failed is not None:
        return Load(series, completed, int(failed.number()))
    return Load(series, completed, int(asked.number()) - completed if asked is not None else 0)


def setting(run: Node) -> str:
    """The load in words, which a comparison must have in common."""
    parts = [_last(run, name) for name in ("model_id", "dataset_name")]
    for key, word in (("request_rate", "rate"), ("max_concurrency", "concurrency")):
        found = run.get(key)
        if found is not None:
            parts.append(f"{word}={_short(found.value)}")
    return " ".join(part for part in parts if part) or "serving"


def failure(load: Load) -> Measured | None:
    """What a run says in which no request was answered."""
    if load.completed > 0:
        return None
    why = f"no request was completed, {load.failed} failed"
    return Measured(load.series, "request_throughput", "requests/s", "higher", failure=why)


def failed_requests(load: Load) -> Measured:
    """How many requests failed: the other figures are of those that did not."""
    return Measured(load.series, FAILED_REQUESTS, "requests", "lower", ((float(load.failed),),))


def rates(run: Node, load: Load, keys: Mapping[str, Rate]) -> Iterator[Measured]:
    """The rates of a run that it states."""
    for key, rate in keys.items():
        found = run.get(key)
        if found is not None:
            yield Measured(
                load.series,
                rate.metric,
                rate.unit,
                "higher",
                ((found.number(),),),
                extra=rate.extra,
            )


def sampled(load: Load, values: Mapping[str, Sequence[float]]) -> Iterator[Measured]:
    """Latencies that the file holds one by one, in s."""
    for metric, found in values.items():
        if found:
            yield Measured(load.series, metric, "s", "lower", (tuple(found),))


def requests(run: Node) -> dict[str, list[float]]:
    """Latencies in s of the requests that were completed, from lists with a place for each.

    Raises Malformed where the lists do not belong together.
    """
    ttfts, gaps, lengths = (list(run[key]) for key in ("ttfts", "itls", "output_lens"))
    errors = [error.value for error in run["errors"]]
    if not len(ttfts) == len(gaps) == len(lengths) == len(errors):
        raise Malformed("ttfts, itls, output_lens and errors are not of one length")
    found: dict[str, list[float]] = {name: [] for name in LATENCIES}
    for ttft, gap, length, error in zip(ttfts, gaps, lengths, errors, strict=True):
        if error:
            continue
        first, each = ttft.number(), [one.number() for one in gap]
        found["ttft"].append(first)
        found["itl"] += each
        found["e2e_latency"].append(first + sum(each))
        tokens = length.number()
        if tokens > 1 and each:
            found["tpot"].append(sum(each) / (tokens - 1))
    return found


def aggregated(
    run: Node, load: Load, names: Mapping[str, str], have: Sequence[str]
) -> Iterator[Measured]:
    """Median, mean and quantiles in ms; the median stands in where there are no samples.

    `names` are the tool's names of ciwm's metrics; quantiles are extras (`p99_ttft`).
    """
    better: Better = "lower"
    for metric, theirs in names.items():
        for key, node in run.items():
            kind = key.removesuffix(f"_{theirs}_ms")
            if kind in (key, "std") or node.value is None:
                continue
            primary = kind == "median" and metric not in have
            yield Measured(
                load.series,
                metric if primary else f"{kind}_{metric}",
                "s",
                better,
                ((node.number() / 1e3,),),
                aggregate=f"{kind} of {load.completed} requests",
                extra=not primary,
            )


def _last(run: Node, key: str) -> str:
    """The last part of a path or a name: where a model lies is no part of what it is."""
    found = run.get(key)
    return str(found.value).rstrip("/").rsplit("/", 1)[-1] if found is not None else ""


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
