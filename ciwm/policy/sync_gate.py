"""Budgets, hygiene and rating of a sync report: no hidden formula, every answer with its reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.policy.sync_figures import figures, plain
from ciwm.records.sync_gate import (
    BudgetLine,
    HygieneFinding,
    Rating,
    RatingFactor,
    SyncGate,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ciwm.config_sync import HygieneConfig, Levels, RatingConfig, SyncConfig
    from ciwm.policy.sync_figures import Figure
    from ciwm.records.sync import SyncReport
    from ciwm.records.sync_gate import HygieneCheck, Level, PinMove
    from ciwm.records.sync_history import PastSync

_LEVELS: tuple[Level, ...] = ("low", "medium", "high")
NAMED = 5


def judged(
    report: SyncReport, config: SyncConfig, ignored: Callable[[str], bool] = lambda _: False
) -> SyncReport:
    """The report with its gate and rating; `ignored` paths may hold conflict markers."""
    known = figures(report)
    budgets = tuple(_budgets(config, known))
    hygiene = tuple(
        HygieneFinding(check=check, sentence=sentence, fails=check in config.hygiene.fail_on)
        for check, sentence in _hygiene(report, ignored)
    )
    over = tuple(line.sentence for line in budgets if line.over)
    over += tuple(finding.sentence for finding in hygiene if finding.fails)
    over += tuple(_unchecked(report, config.hygiene))
    gate = SyncGate(ok=not over, over=over, budgets=budgets, hygiene=hygiene)
    return report.model_copy(update={"gate": gate, "rating": _rating(config.rating, known)})


def _budgets(config: SyncConfig, known: Mapping[str, Figure]) -> Iterator[BudgetLine]:
    for name, limit in config.budget:
        if limit is None:
            continue
        figure = known[name]
        over = figure.value is None or figure.value > limit or figure.at_least
        yield BudgetLine(
            name=name,
            limit=limit,
            found=figure.value,
            unit=figure.unit,
            over=over,
            sentence=_budget_sentence(name, figure, limit),
        )


def _budget_sentence(name: str, figure: Figure, limit: float) -> str:
    return f"{figure.told} (budget {name}: {plain(limit)})"


def _hygiene(
    report: SyncReport, ignored: Callable[[str], bool]
) -> Iterator[tuple[HygieneCheck, str]]:
    for sync in report.shape.squashed:
        if not sync.healed:
            yield "squashed", f"squashed sync {sync.sha[:12]} ({sync.subject}): ancestry is lost"
    markers = [marker for marker in report.markers or () if not ignored(marker.path)]
    for marker in markers[:NAMED]:
        yield "markers", f"conflict marker left in {marker.path} line {marker.line}"
    if len(markers) > NAMED:
        yield "markers", f"and {len(markers) - NAMED} more lines with conflict markers"
    newest = max(report.syncs, key=lambda sync: sync.merged_at, default=None)
    if newest is not None and (newest.outside or newest.kind == "evil"):
        yield "evil", f"the newest sync {newest.merge[:12]} is no plain merge: {_outside(newest)}"
    for pin, move in _moves(report):
        if not move.unknown:
            told = f"{move.sha[:12]}: {move.old[:12]} to {move.new[:12]}"
            yield "pin", f"{pin} moved backwards in {told}"


def _outside(sync: PastSync) -> str:
    if sync.kind == "evil":
        return f"{sync.hand_lines:,} lines edited though nothing conflicted"
    more = sync.outside - 1
    named = next(iter(sync.outside_files), "a file") + (f" and {more:,} more" if more else "")
    return f"{named} edited besides what conflicted"


def _moves(report: SyncReport) -> Iterator[tuple[str, PinMove]]:
    """The last move of each pin that went backwards or cannot be followed, with the pin's name."""
    if report.pin_back is not None:
        yield "the pin", report.pin_back
    for lane in report.lanes:
        if lane.moved_back is not None:
            yield f"the pin {lane.name}" if len(report.lanes) > 1 else "the pin", lane.moved_back


def _unchecked(report: SyncReport, config: HygieneConfig) -> Iterator[str]:
    """Checks that are to fail and could not be made: never a pass."""
    if "markers" in config.fail_on and report.markers is None and report.shape.style != "plugin":
        yield "hygiene markers: what is carried could not be read"
    if "pin" in config.fail_on:
        lost = ((pin, move.unknown) for pin, move in _moves(report) if move.unknown)
        yield from (f"hygiene pin: the last move of {pin} is not known: {why}" for pin, why in lost)
    past = report.sync_history
    looked_at = past is not None and (past.replayed > 0 or past.total == 0)
    if "evil" in config.fail_on and not looked_at and report.shape.style == "fork":
        yield "hygiene evil: no past sync was replayed (--history, or [sync] history_s)"


def _rating(config: RatingConfig, known: Mapping[str, Figure]) -> Rating:
    factors = tuple(_factor(known[name], levels) for name, levels in config if known[name].fits)
    reached = [factor.level for factor in factors if factor.level is not None]
    level = max(reached, key=_LEVELS.index, default=None)
    return Rating(
        level=level,
        reasons=tuple(each.sentence for each in factors if level and each.level == level),
        unknown=tuple(factor.sentence for factor in factors if factor.level is None),
        factors=factors,
    )


def _factor(figure: Figure, levels: Levels) -> RatingFactor:
    level, sentence = _level(figure, levels)
    return RatingFactor(
        name=figure.name,
        value=figure.value,
        unit=figure.unit,
        medium=levels.medium,
        high=levels.high,
        level=level,
        sentence=sentence,
    )


def _level(figure: Figure, levels: Levels) -> tuple[Level | None, str]:
    if figure.value is None:
        return None, figure.told
    if figure.value >= levels.high:
        return "high", f"{figure.told} (high from {plain(levels.high)})"
    if figure.value >= levels.medium:
        return "medium", f"{figure.told} (medium from {plain(levels.medium)})"
    return "low", f"{figure.told} (medium from {plain(levels.medium)})"
