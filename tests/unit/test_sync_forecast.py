"""The forecast, from histories of which the tests know the truth."""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone

import pytest

from ciwm.records.sync_history import PastSync
from ciwm.upstream.syncs.forecast import FEWEST_SYNCS, Outlook, forecast

WHEN = datetime(2026, 3, 2, tzinfo=timezone.utc)


def sync(number: int, commits: int, files: int, lines: int) -> PastSync:
    return PastSync(
        merge=f"{number:040x}",
        merged_at=WHEN - timedelta(days=number),
        upstream=f"{number:040x}",
        kind="conflict" if files else "clean",
        conflicted_files=files,
        hand_files=files,
        hand_lines=lines,
        upstream_commits=commits,
        lag_days=0.5,
    )


def growing(count: int = 60) -> list[PastSync]:
    """Syncs of 1 to 100 commits; from 10 on all conflict, with a file and ten lines a commit."""
    sizes = [1 + 99 * number // (count - 1) for number in range(count)]
    return [
        sync(number, size, size if size >= 10 else 0, 10 * size if size >= 10 else 0)
        for number, size in enumerate(sizes)
    ]


def test_too_few_syncs_are_refused_with_their_number() -> None:
    found = forecast(growing()[: FEWEST_SYNCS - 1], Outlook(10, 50))
    assert found.refused == "no forecast: 19 past syncs could be replayed, and it needs 20"
    assert found.horizons == ()
    assert forecast(growing(20), Outlook(10, 50)).refused == ""


def test_each_horizon_is_behind_by_what_upstream_makes_meanwhile() -> None:
    found = forecast(growing(), Outlook(behind=5, commits_per_week=20))
    assert [horizon.upstream_commits for horizon in found.horizons] == [5, 25, 45, 85]


def test_larger_syncs_are_expected_to_take_more() -> None:
    horizons = forecast(growing(), Outlook(2, 20)).horizons
    for part in ("chance", "files", "lines"):
        values = [getattr(horizon, part).value for horizon in horizons]
        assert values == sorted(values)
        assert values[0] < values[-1]
    assert horizons[2].files.low <= 42 <= horizons[2].files.high


def test_a_merge_that_was_tried_is_a_fact_and_a_floor() -> None:
    horizons = forecast(growing(), Outlook(2, 1, conflicts_now=40)).horizons
    assert (horizons[0].chance.value, horizons[0].files.value) == (1, 40)
    assert horizons[0].tried
    assert horizons[0].lines.low <= 400 <= horizons[0].lines.high
    assert all(horizon.files.low >= 40 for horizon in horizons)
    assert not any(horizon.tried for horizon in horizons[1:])


def test_a_clean_merge_today_says_nothing_against_conflicts_later() -> None:
    horizons = forecast(growing(), Outlook(2, 20, conflicts_now=0)).horizons
    assert horizons[0].chance.value == 0
    assert horizons[3].chance.value > 0.9


def test_what_is_far_larger_than_the_past_is_marked() -> None:
    found = forecast(growing(), Outlook(behind=10, commits_per_week=120))
    assert [horizon.beyond for horizon in found.horizons] == [False, False, True, True]


def test_the_cadence_with_the_fewest_lines_is_found_where_it_is_clear() -> None:
    # small syncs take a line a commit, large ones ten
    draw = random.Random(3)
    sizes = [draw.choice((4, 5, 6, 60, 70, 80)) for _ in range(80)]
    syncs = [sync(n, size, 1, size * (10 if size > 20 else 1)) for n, size in enumerate(sizes)]
    found = forecast(syncs, Outlook(behind=5, commits_per_week=35))
    assert found.cheapest_days == 1
    assert found.clear
    costs = {cadence.days: cadence.lines_per_week.value for cadence in found.cadences}
    # 35 commits a week, at a line each and at ten
    assert costs[1] == pytest.approx(35, rel=0.2)
    assert costs[14] == pytest.approx(350, rel=0.2)


def test_where_lines_grow_with_commits_no_cadence_is_clearly_cheaper() -> None:
    draw = random.Random(4)
    sizes = [draw.randrange(3, 120) for _ in range(80)]
    syncs = [sync(n, size, 1, round(size * draw.uniform(0, 4))) for n, size in enumerate(sizes)]
    assert not forecast(syncs, Outlook(5, 35)).clear


def test_a_cadence_unlike_any_past_sync_is_not_offered() -> None:
    days = [cadence.days for cadence in forecast(growing(), Outlook(5, 1000)).cadences]
    assert days == [1]


def test_the_forecast_tells_how_it_does_on_its_own_past() -> None:
    draw = random.Random(6)
    syncs = []
    for number in range(100):
        size = draw.randrange(1, 200)
        conflicts = draw.random() < size / 200
        files = draw.randrange(1, 6) if conflicts else 0
        syncs.append(sync(number, size, files, files * draw.randrange(5, 30)))
    found = forecast(syncs, Outlook(20, 40)).calibration
    assert found is not None
    assert found.syncs == 100
    assert found.brier < found.base_brier
    assert 0.75 <= found.files_held <= 1
    assert 0.75 <= found.lines_held <= 1


def test_the_same_history_gives_the_same_forecast() -> None:
    assert forecast(growing(), Outlook(5, 30)) == forecast(growing(), Outlook(5, 30))
