"""What the user states of metrics: in [[workload]], and in [ingest] for files of other tools."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from ciwm.config_ranks import OverRanks
from ciwm.config_section import Section, with_percent

# the forms in which a command may write its results; docs/formats.md tells what is read of each
Format = Literal[
    "samples-json",
    "pytest-benchmark",
    "google-benchmark",
    "asv",
    "hyperfine",
    "pyperf",
    "criterion",
    "go",
    "nvbench",
    "github-action-benchmark",
    "vllm-serve",
    "vllm-throughput",
    "vllm-latency",
    "sglang",
    "aiperf",
    "nccl-tests",
    "torch-operator",
]


class MetricConfig(Section):
    """Unit and direction are stated, never guessed."""

    unit: str
    """The unit its values are in ("s", "tokens/s", "MiB")."""
    better: Literal["lower", "higher"]
    """Which direction is the better one."""
    threshold_pct: float | None = Field(default=None, gt=0)
    """The change that counts, in percent; also threshold = "3%". Else that of [gate]."""
    threshold_abs: float | None = Field(default=None, gt=0)
    """The change that counts, in `unit`, instead: differences are compared."""
    over_ranks: OverRanks = "worst"
    """Of several ranks: the value of the worst one (of a time the slowest), the sum, the mean."""

    @model_validator(mode="before")
    @classmethod
    def _threshold(cls, data: Any) -> Any:
        return with_percent(data)

    @model_validator(mode="after")
    def _one_threshold(self) -> MetricConfig:
        if self.threshold_pct is not None and self.threshold_abs is not None:
            raise ValueError("state threshold or threshold_abs, not both")
        return self


class IngestConfig(Section):
    """Files of other tools that `ciwm gate --base FILE --head FILE` compares.

    A format brings unit and direction of what it measures; a metric of the user's own
    (a counter, a `track_` benchmark) has neither, and is an error until they are stated here.
    """

    metrics: dict[str, MetricConfig] = {}
    """Unit and direction of metrics by name or glob; a metric that a format has as an extra is
    read once it is named here."""
    ignore: tuple[str, ...] = ()
    """Metrics to leave out, as globs."""
