"""The sentences and rows about past syncs and the next ones, for terminal and comment alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.report.figures import plural

if TYPE_CHECKING:
    from ciwm.records.sync_history import (
        Cadence,
        Calibration,
        Expected,
        Forecast,
        Horizon,
        SyncHistory,
    )

HORIZON_TITLES = ("Merging", "Upstream commits", "Chance of conflict", "Files", "Lines by hand")

_BY_HAND = (
    "Lines by hand: lines added and removed by which the recorded merge differs from git's "
    "automatic one, conflict markers included."
)


def history_sentences(history: SyncHistory) -> list[str]:
    """What past syncs took, how often they come, and what is wrong with some."""
    return [*_replayed(history), *_rhythm(history), *_hygiene(history), *history.notes]


def _replayed(history: SyncHistory) -> list[str]:
    if not history.replayed:
        return [f"{plural(history.total, 'past sync')}, none replayed yet."]
    some = "" if history.replayed == history.total else f", {history.replayed:,} of them replayed"
    conflicting = f"{history.conflict:,} conflicted"
    if history.conflicted_files_median is not None:
        conflicting += (
            f" (median {history.conflicted_files_median:g} files, "
            f"at most {history.conflicted_files_max:,})"
        )
    return [
        (
            f"{plural(history.total, 'past sync')}{some}: {conflicting}, {history.clean:,} clean, "
            f"{history.evil:,} edited though nothing conflicted; "
            f"median {history.hand_lines_median or 0:g} lines by hand."
        ),
        _BY_HAND,
    ]


def _rhythm(history: SyncHistory) -> list[str]:
    if history.age_days is None:
        return []
    age = f"The last sync was {history.age_days:.1f} days ago"
    if history.gap_days_median is None or history.gap_days_max is None:
        return [f"{age}."]
    return [
        (
            f"{age}; between syncs lie {history.gap_days_median:.1f} days (median), "
            f"at most {history.gap_days_max:.1f}."
        )
    ]


def _hygiene(history: SyncHistory) -> list[str]:
    told = []
    if history.edited_outside:
        number = f"{history.edited_outside:,} of {history.conflict:,} that conflicted"
        told.append(f"Edited in other files too, which git had merged: {number}.")
    if history.marker_files:
        files = plural(history.marker_files, "file")
        told.append(f"Conflict markers were committed in {files}.")
    return told


def horizon_rows(forecast: Forecast) -> list[tuple[str, ...]]:
    """A row for each time of merging: expected figures with their 80 % ranges."""
    return [
        (
            _when(horizon),
            f"{horizon.upstream_commits:,}{'*' if horizon.beyond else ''}",
            _percent(horizon.chance),
            _ranged(horizon.files),
            _ranged(horizon.lines),
        )
        for horizon in forecast.horizons
    ]


def forecast_sentences(forecast: Forecast) -> list[str]:
    """How to read the rows, the cheapest cadence, and how far all this can be trusted."""
    if forecast.refused:
        return [f"{forecast.refused[0].upper()}{forecast.refused[1:]}."]
    alike = max((horizon.alike for horizon in forecast.horizons), default=0)
    sentences = [
        (
            f"Told from the {alike} past syncs nearest in size, with 80 % ranges, at upstream's "
            f"{forecast.commits_per_week:g} commits a week."
        )
    ]
    if any(horizon.beyond for horizon in forecast.horizons):
        sentences.append("* Far more than in most of them: likely too low.")
    if any(horizon.tried for horizon in forecast.horizons):
        sentences.append(
            "Now is what the trial merge gave, with lines told from past syncs with about as many "
            "conflicting files; later is never below it."
        )
    return [*sentences, *_cadence(forecast), *_trust(forecast.calibration)]


def _when(horizon: Horizon) -> str:
    return f"in {plural(round(horizon.weeks), 'week')}" if horizon.weeks else "now"


def _percent(chance: Expected) -> str:
    if chance.low == chance.high:
        return "conflicts already" if chance.value else "clean"
    value, low, high = (100 * part for part in (chance.value, chance.low, chance.high))
    return f"{value:.0f} % ({low:.0f}–{high:.0f})"


def _ranged(expected: Expected) -> str:
    if expected.low == expected.high:
        return f"{expected.value:,.0f}"
    return f"{expected.value:,.0f} ({expected.low:,.0f}–{expected.high:,.0f})"


def _cadence(forecast: Forecast) -> list[str]:
    costs = "; ".join(map(_cost, forecast.cadences))
    if forecast.cheapest_days is None or len(forecast.cadences) < 2:  # noqa: PLR2004  no choice
        return []
    if forecast.clear:
        best = f"Fewest lines by hand: {_every(forecast.cheapest_days)}"
    else:
        best = "No cadence clearly needs fewer lines by hand than the others"
    return [f"{best}. A week takes {costs}."]


def _cost(cadence: Cadence) -> str:
    lines = cadence.lines_per_week
    return f"{_ranged(lines)} lines {_every(cadence.days)}"


def _every(days: int) -> str:
    return "syncing every day" if days == 1 else f"syncing every {days} days"


def _trust(calibration: Calibration | None) -> list[str]:
    if calibration is None:
        return []
    held = (calibration.files_held, calibration.lines_held, calibration.tried_lines_held)
    files, lines, tried = (f"{100 * part:.0f} %" for part in held)
    said = (
        f"Tried on its own past, each of {calibration.syncs:,} syncs foretold from the others: the "
        f"80 % ranges held {files} of files and {lines} of lines ({tried} told from files); Brier "
        f"score of the chance {calibration.brier:.3f} ({calibration.base_brier:.3f} for always "
        "saying the overall share)."
    )
    return [said]
