"""Budgets, hygiene and rating of a sync report: no hidden formula, every answer with its reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.policy.sync_figures import figures, plain, section
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
    from ciwm.records.sync_gate import HygieneCheck, Level

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
        over = figure.value is None or figure.value > limit
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
    newest = next(iter(section(report, "syncs") or ()), None)
    if newest is not None and newest.kind == "evil":
        yield "evil", f"the newest sync {newest.merge[:12]} has edits outside of its conflicts"
    if report.pin_back is not None:
        move = report.pin_back
        yield (
            "pin",
            f"the pin moved backwards in {move.sha[:12]}: {move.old[:12]} to {move.new[:12]}",
        )


def _unchecked(report: SyncReport, config: HygieneConfig) -> Iterator[str]:
    """Checks that are to fail and could not be made: never a pass."""
    if "markers" in config.fail_on and report.markers is None and report.shape.style != "plugin":
        yield "hygiene markers: what is carried could not be read"


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
