"""Collectives that strategies need, those the backend has, and the gaps between the two."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from ciwm.records.opmap_communication import (
    CollectiveCell,
    CollectiveGap,
    CollectiveNeed,
    CollectiveProbe,
    Communication,
    StrategyNeeds,
)
from ciwm.records.opmap_diff import MapChange

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ciwm.opmap.observe import Observed
    from ciwm.records import WorkloadMap

Cell = tuple[str, str, str]  # primitive, dtype, reduce-op
RUN = ("counted", "estimated")
PAIR = {"send": "send_recv", "recv": "send_recv"}  # tried together, needed apart


def probe_of(observed: Observed) -> CollectiveProbe | None:
    """What the ranks tried; None when they did not come up."""
    begun = next((line for line in observed.lines if line.get("kind") == "probe"), None)
    cells = [line for line in observed.lines if line.get("kind") == "cell"]
    if begun is None or not cells:
        return None
    return CollectiveProbe(
        backend=begun["backend"],
        device=begun["device"],
        ranks=begun["ranks"],
        cells=tuple(CollectiveCell.model_validate(_without(line, "kind")) for line in cells),
    )


def strategies_of(workload: str, observed: Observed) -> list[StrategyNeeds]:
    """What each strategy of a workload needs, or why that is not known."""
    needs: dict[tuple[str, int], list[CollectiveNeed]] = defaultdict(list)
    for line in observed.lines:
        if line.get("kind") == "need":
            fields = {name: line[name] for name in CollectiveNeed.model_fields}
            needs[line["strategy"], line["world"]].append(CollectiveNeed.model_validate(fields))
    return [
        StrategyNeeds(
            workload=workload,
            needs=tuple(needs[line["strategy"], line["world"]]),
            **_without(line, "kind"),
        )
        for line in observed.lines
        if line.get("kind") == "strategy"
    ]


def _without(line: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in line.items() if name != key}


def communication(
    probe: CollectiveProbe | None, strategies: Sequence[StrategyNeeds]
) -> Communication | None:
    """Both with the gaps between them; None when neither is known."""
    if probe is None and not strategies:
        return None
    gaps = () if probe is None else tuple(_gaps(probe, strategies))
    return Communication(probe=probe, strategies=tuple(strategies), gaps=gaps)


def _gaps(probe: CollectiveProbe, strategies: Sequence[StrategyNeeds]) -> Iterator[CollectiveGap]:
    """Needs whose cell is not ok, and needs that were never tried."""
    tried = {(one.primitive, one.dtype, one.reduce_op): one for one in probe.cells}
    wanted: dict[Cell, list[StrategyNeeds]] = defaultdict(list)
    for strategy in strategies:
        for need in strategy.needs:
            primitive = PAIR.get(need.primitive, need.primitive)
            dtype = need.dtype or "float32"  # a barrier has none, and is tried under this one
            wanted[primitive, dtype, need.reduce_op].append(strategy)
    for cell, users in sorted(wanted.items()):
        found = tried.get(cell)
        if found is not None and found.status == "ok":
            continue
        primitive, dtype, reduce_op = cell
        yield CollectiveGap(
            primitive=primitive,
            dtype=dtype,
            reduce_op=reduce_op,
            status="untested" if found is None or found.status == "ok" else found.status,
            strategies=tuple(sorted({each.strategy for each in users})),
            workloads=tuple(sorted({each.workload for each in users})),
            detail="" if found is None else found.detail,
        )


def communication_changes(base: WorkloadMap, head: WorkloadMap) -> Iterator[MapChange]:
    """Collectives that strategies began or ceased to need, and that the backend lost or gained."""
    before, after = base.communication, head.communication
    if before is None or after is None:
        return
    yield from _set_up_changes(before, after)
    yield from _need_changes(before, after)
    if before.probe and after.probe and before.probe.backend == after.probe.backend:
        yield from _cell_changes(before.probe, after.probe)


def _set_up_changes(before: Communication, after: Communication) -> Iterator[MapChange]:
    """Strategies that can no longer be set up for a workload, have nothing to do, or work again."""
    known = {(one.workload, one.strategy, one.world): one for one in before.strategies}
    for one in after.strategies:
        old = known.get((one.workload, one.strategy, one.world))
        if old is None or (old.status in RUN) == (one.status in RUN):
            continue
        where = f"{one.strategy} of {one.workload} in {one.world} ranks"
        why = f": {one.detail}" if one.detail else ""
        if one.status in RUN:
            yield _change("collective new", one.workload, f"{where} can be set up now", lost=False)
        elif one.status == "failed":
            told = f"{where} can no longer be set up{why}"
            yield _change("collective gone", one.workload, told, lost=True)
        else:
            told = f"{where} has nothing to do any more{why}"
            yield _change("collective gone", one.workload, told, lost=False)


def _need_changes(before: Communication, after: Communication) -> Iterator[MapChange]:
    """Needs of strategies that both sides could set up, by workload and strategy."""
    old, new = _needs(before), _needs(after)
    gaps = {(gap.primitive, gap.dtype, gap.reduce_op): gap for gap in after.gaps}
    for key in sorted(old.keys() & new.keys()):
        workload, strategy, world = key
        for cell in sorted(new[key] - old[key]):
            gap = gaps.get((PAIR.get(cell[0], cell[0]), cell[1], cell[2]))
            lost = gap is not None and gap.status != "untested"
            told = f"{strategy} of {workload} in {world} ranks newly needs {_words(cell)}"
            told += f", which the backend does not have ({gap.detail})" if gap and lost else ""
            yield _change("collective new", workload, told, lost=lost)
        for cell in sorted(old[key] - new[key]):
            told = f"{strategy} of {workload} in {world} ranks no longer needs {_words(cell)}"
            yield _change("collective gone", workload, told, lost=False)


def _needs(side: Communication) -> dict[tuple[str, str, int], set[Cell]]:
    return {
        (one.workload, one.strategy, one.world): {
            (need.primitive, need.dtype, need.reduce_op) for need in one.needs
        }
        for one in side.strategies
        if one.status in RUN
    }


def _cell_changes(before: CollectiveProbe, after: CollectiveProbe) -> Iterator[MapChange]:
    old = {(one.primitive, one.dtype, one.reduce_op): one.status for one in before.cells}
    for one in after.cells:
        cell = (one.primitive, one.dtype, one.reduce_op)
        was = old.get(cell)
        if was is None or (was == "ok") == (one.status == "ok"):
            continue
        lost = was == "ok"
        told = f"{after.backend} {_words(cell)}: {was} → {one.status}"
        told += f" ({one.detail})" if lost and one.detail else ""
        yield MapChange(
            kind="collective gone" if lost else "collective new",
            subject=after.backend,
            base=was,
            head=one.status,
            sentence=told,
            lost=lost,
        )


def _words(cell: Cell) -> str:
    primitive, dtype, reduce_op = cell
    op = f" {reduce_op}" if reduce_op else ""
    return f"{primitive}{op} in {dtype}"


def _change(kind: str, workload: str, sentence: str, *, lost: bool) -> MapChange:
    return MapChange.model_validate(
        {
            "kind": kind,
            "subject": workload,
            "workloads": (workload,),
            "sentence": sentence,
            "lost": lost,
        }
    )
