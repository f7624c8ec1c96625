"""What observers said of one subject, in the map's own terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ciwm.records.opmap import OpUse, TensorSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ciwm.opmap.observe import Observed

LEAF, NATIVE, HARD, STRUCTURAL = "L", "N", "H", "S"


@dataclass(frozen=True)
class Fact:
    """What torch knows of an operator: a decomposition, a meta kernel, how Inductor serves it."""

    decomposition: bool = False
    meta: bool = False
    inductor: str = ""


@dataclass(frozen=True)
class SeenOps:
    """The operators of one subject: kinds by operator, uses, composites, what the CPU refused."""

    uses: tuple[OpUse, ...]
    kinds: Mapping[str, frozenset[str]]
    counts: Mapping[str, int]
    composites: Mapping[str, tuple[str, ...]]
    broken: Mapping[str, str]
    facts: Mapping[str, Fact]

    def of_kind(self, *kinds: str) -> set[str]:
        """Operators seen as any of these kinds."""
        return {op for op, found in self.kinds.items() if found & set(kinds)}

    @property
    def needed(self) -> set[str]:
        """Kernels that a device without any must bring, beside the structural ones."""
        return self.of_kind(LEAF, HARD)


def seen_ops(subject: str, observed: Observed) -> SeenOps:
    """The operators in an observer's lines."""
    ops = [line for line in observed.lines if line.get("what") == "op"]
    kinds: dict[str, frozenset[str]] = {}
    counts: dict[str, int] = {}
    for line in ops:
        kinds[line["op"]] = kinds.get(line["op"], frozenset()) | {line["kind"]}
        counts[line["op"]] = counts.get(line["op"], 0) + line["count"]
    return SeenOps(
        uses=tuple(_use(subject, line) for line in ops),
        kinds=kinds,
        counts=counts,
        composites={line["op"]: tuple(line["leaves"]) for line in said(observed, "composite")},
        broken={line["op"]: line["why"] for line in said(observed, "broken")},
        facts={
            line["op"]: Fact(line["decomposition"], line["meta"])
            for line in ops
            if line["kind"] != STRUCTURAL
        },
    )


def said(observed: Observed, what: str) -> list[dict[str, Any]]:
    """The lines of one sort."""
    return [line for line in observed.lines if line.get("what") == what]


def _use(subject: str, line: dict[str, Any]) -> OpUse:
    return OpUse(
        workload=subject,
        op=line["op"],
        part=line["part"],
        count=line["count"],
        structural=line["kind"] == STRUCTURAL,
        modules=tuple(line["modules"]),
        specs=tuple(
            TensorSpec(tensors=tuple(filter(None, tensors)), count=count)
            for tensors, count in line["specs"]
        ),
        spec_count=line["spec_count"],
        dtypes=tuple(line["dtypes"]),
    )
