"""The workload maps of a matrix as one: what changed on any device, and where it was not on all."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ciwm.gate_config import BlockOn
    from ciwm.records import BumpReport
    from ciwm.records.opmap_diff import MapChange, MapDiff


def merged_map(
    told: Iterable[tuple[str, BumpReport]], block_on: Iterable[BlockOn]
) -> MapDiff | None:
    """Every change that a job found, once; None where none made a map.

    Provenance and totals are those of the first job: of one target all take the same census.
    """
    from ciwm.policy.map_gate import judged_map  # noqa: PLC0415  each stage loads what it needs
    from ciwm.story.mapping import SHOWN  # noqa: PLC0415

    found = [(label, each.map_diff) for label, each in told if each.map_diff is not None]
    if not found:
        return None
    first = found[0][1]
    known = {change.sentence: change for _, diff in found for change in diff.changes}
    labels = _labels((label, change.sentence) for label, diff in found for change in diff.changes)
    news = {
        "changes": tuple(
            _labelled(change, labels[sentence], len(found)) for sentence, change in known.items()
        ),
        "void": "; ".join(dict.fromkeys(diff.void for _, diff in found if diff.void)),
        "warnings": tuple(dict.fromkeys(line for _, diff in found for line in diff.warnings)),
        "since": next((diff.since for _, diff in found if diff.since), ""),
    }
    diff = judged_map(first.model_copy(update=news), block_on)
    return diff.model_copy(update={"changes": diff.changes[:SHOWN]})


def _labels(said: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for label, sentence in said:
        found.setdefault(sentence, []).append(label)
    return found


def _labelled(change: MapChange, labels: Sequence[str], jobs: int) -> MapChange:
    """The change, with the devices that it was found on where others did not have it."""
    if len(labels) == jobs:
        return change
    sentence = f"{change.sentence} [{', '.join(labels)}]"
    return change.model_copy(update={"sentence": sentence})
