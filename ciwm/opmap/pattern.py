"""The communication pattern of a workload: what its ranks say to each other in one step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.records.opmap_communication import CommunicationPattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ciwm.opmap.subjects import Subject
    from ciwm.records.opmap_communication import CollectiveNeed, PatternClass, StrategyNeeds

RUN = ("counted", "estimated")
# not applicable where a model does not show how it is cut: whoever runs it may know
PLANNED = ("tp", "pp", "ep")
BOTH: PatternClass = "all-gather + reduce-scatter"
_CLASSES: dict[str, PatternClass] = {
    "all_reduce": "all-reduce",
    "all_gather": "all-gather",
    "reduce_scatter": "reduce-scatter",
    "all_to_all": "all-to-all",
    "send": "pipeline send/recv",
    "recv": "pipeline send/recv",
}


def pattern(
    subject: Subject, strategies: Sequence[StrategyNeeds], problem: str = ""
) -> CommunicationPattern:
    """By the strategies that it declares, else by what it called itself; or why it is not known.

    `problem` is what ended the communication stage for it, where something did.
    """
    ranks = subject.devices
    if ranks == 1:
        return CommunicationPattern(status="none", reason="it runs on one device")
    mine = [one for one in strategies if one.workload == subject.id and one.world == ranks]
    if not mine:
        return _unknown(ranks, problem or "the communication stage did not see it")
    if subject.parallel:
        return _declared(ranks, [one for one in mine if one.strategy in subject.parallel])
    own = next((one for one in mine if one.strategy == "own"), None)
    if own is None or own.status not in RUN:
        why = own.detail if own is not None else "it was not run"
        return _unknown(ranks, f"it declares no strategy (parallel), and as a rank it fails: {why}")
    return _observed(ranks, own.needs, of_model=subject.entry == "model")


def _unknown(ranks: int, reason: str) -> CommunicationPattern:
    return CommunicationPattern(status="undetermined", ranks=ranks, reason=reason)


def _observed(
    ranks: int, needs: Sequence[CollectiveNeed], *, of_model: bool
) -> CommunicationPattern:
    """A step that calls nothing needs nothing; a model may yet be spread by whoever runs it."""
    if not needs and of_model:
        why = f"its model calls no collective itself, and declares no strategy for {ranks} devices"
        return _unknown(ranks, why)
    why = "" if needs else f"its step calls no collective as one of {ranks} ranks"
    return _of(ranks, "observed", needs, why)


def _declared(ranks: int, stated: Sequence[StrategyNeeds]) -> CommunicationPattern:
    failed = [one for one in stated if one.status == "failed"]
    if failed or not stated:
        why = "; ".join(f"{one.strategy} cannot be set up: {one.detail}" for one in failed)
        return _unknown(ranks, why or "its strategies were not counted")
    lost = [one for one in stated if one.status == "not applicable" and one.strategy in PLANNED]
    if lost and not any(one.needs for one in stated):
        return _unknown(ranks, _said(lost))
    return _of(ranks, "declared", [need for one in stated for need in one.needs], _said(stated))


def _said(stated: Sequence[StrategyNeeds]) -> str:
    told = [f"{one.strategy}: {one.detail}" for one in stated if one.detail]
    if len(stated) > 1:
        told.append("each strategy counted alone in all ranks: together their groups are smaller")
    return "; ".join(told)


def _of(
    ranks: int, source: str, needs: Sequence[CollectiveNeed], reason: str
) -> CommunicationPattern:
    return CommunicationPattern.model_validate(
        {
            "status": "determined" if needs else "none",
            "classes": tuple(_classes({need.primitive for need in needs})),
            "source": source,
            "ranks": ranks,
            "collectives": tuple(needs),
            "calls": sum(need.calls for need in needs),
            "bytes": sum(need.bytes for need in needs),
            "smallest_bytes": min(
                (need.smallest_bytes for need in needs if need.largest_bytes), default=0
            ),
            "largest_bytes": max((need.largest_bytes for need in needs), default=0),
            "reason": reason,
        }
    )


def _classes(primitives: set[str]) -> Iterator[PatternClass]:
    """Gathering and scattering by turns, as sharded parameters do, is one class."""
    found: set[PatternClass] = {_CLASSES.get(each, "one to many") for each in primitives}
    if {"all-gather", "reduce-scatter"} <= found:
        found = found - {"all-gather", "reduce-scatter"} | {BOTH}
    yield from sorted(found)
