"""A run's place in a workflow matrix whose runs are merged and judged together."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ciwm.errors import UsageError

LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,50}")


@dataclass(frozen=True)
class Place:
    """Which shard of a workflow matrix a run is, and the labels of all of them.

    Each measures the configuration's workloads on a device of its own, or some of them.
    """

    label: str = ""
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raises UsageError for labels that cannot be."""
        for label in (*self.labels, *([self.label] if self.label else [])):
            if not LABEL.fullmatch(label):
                raise UsageError(
                    f"{label!r} cannot be the label of a shard",
                    "use letters, digits, '.', '_' and '-' (at most 51), one for each",
                )
        if len(set(self.labels)) != len(self.labels):
            raise UsageError(f"the labels of the shards are not distinct: {', '.join(self.labels)}")
        if self.label not in self.labels and (self.label or self.labels):
            raise UsageError(
                f"shard {self.label or 'without a label'} is none of {', '.join(self.labels)}",
                "name all of the matrix, this one among them",
            )


NO_MATRIX = Place()


def place_of(label: str | None, labels: str | None) -> Place:
    """The place that two options name, the labels with commas between; empty ones name none."""
    return Place(label or "", names_of(labels))


def names_of(labels: str | None) -> tuple[str, ...]:
    """The labels in a list with commas between; none where it has nothing but commas."""
    if not (labels or "").strip(", "):
        return ()
    return tuple(name.strip() for name in (labels or "").split(","))
