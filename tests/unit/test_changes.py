"""Changes as people read them, in percent or in a unit; and rows whose tail decided."""

from __future__ import annotations

from typing import Any

import pytest

from ciwm.records import LaunchCount, SeriesVerdict, TailVerdict, Verdict
from ciwm.report.changes import as_decided, interval, limit, seen
from ciwm.report.headline import headline
from ciwm.report.series_table import by_severity
from ciwm.report.verdict_markdown import verdict_section


def row(**fields: Any) -> SeriesVerdict:
    known: dict[str, Any] = {
        "series": "decode/b1",
        "metric": "rss",
        "unit": "bytes",
        "better": "lower",
        "outcome": "regressed",
        "threshold_pct": 3.0,
        "launches": LaunchCount(base=8, head=8),
        "reason": "decode/b1 rss is larger",
    }
    return SeriesVerdict(**{**known, **fields})


MEBIBYTES = {
    "threshold_abs": 2.0 * 2**20,
    "difference": 5.0 * 2**20,
    "difference_low": -1.0 * 2**20,
    "difference_high": 6.0 * 2**20,
}
TAIL = TailVerdict(
    outcome="regressed",
    gated=True,
    iterations=200,
    ratio=1.25,
    ci_low=1.2,
    ci_high=1.3,
    base_value=2.0,
    head_value=2.5,
    evidence=9.0,
    evidence_needed=6.2,
    threshold_pct=10.0,
    reason="the slowest 5 % are slower",
)


def verdict(*rows: SeriesVerdict) -> Verdict:
    return Verdict(
        run="r",
        outcome="fail",
        reason="",
        alpha=0.01,
        family_size=len(rows),
        interval_method="by hand",
        series=rows,
    )


def test_a_difference_is_shown_in_the_unit_that_reads_best() -> None:
    found = row(**MEBIBYTES)
    assert seen(found) == "+5 MiB"
    assert interval(found, " to ") == "\N{MINUS SIGN}1 MiB to +6 MiB"
    assert limit(found) == "+2 MiB"


@pytest.mark.parametrize(("better", "sign"), [("lower", "+"), ("higher", "\N{MINUS SIGN}")])
def test_the_limit_stands_on_the_side_that_is_worse(better: str, sign: str) -> None:
    assert limit(row(better=better)) == f"{sign}3%"
    assert limit(row(better=better, threshold_abs=5.0, unit="points")) == f"{sign}5 points"


def test_nothing_compared_is_an_empty_cell() -> None:
    assert seen(row()) == interval(row(), " to ") == ""


def test_a_row_that_its_tail_decided_shows_the_tail() -> None:
    found = as_decided(row(metric="step_time", ratio=1.0, tail=TAIL, by_tail=True))
    assert found.metric == "step_time, slowest 5%"
    assert (found.base_value, found.head_value) == (2.0, 2.5)
    assert (seen(found), interval(found, " to "), limit(found)) == (
        "+25.0%",
        "+20.0% to +30.0%",
        "+10%",
    )


def test_a_tail_that_did_not_decide_leaves_the_row_as_it_is() -> None:
    found = row(ratio=1.1, tail=TAIL)
    assert as_decided(found) == found


def test_the_larger_harm_comes_first_whether_in_percent_or_in_a_unit() -> None:
    percent, absolute = row(ratio=1.04), row(series="other", **MEBIBYTES)  # 1.3 and 2.5 limits
    assert by_severity(verdict(percent, absolute)) == [absolute, percent]
    assert "+5 MiB" in headline((), (), None, verdict(percent, absolute))


def test_markdown_says_what_a_gated_tail_came_to() -> None:
    said = verdict_section(verdict(row(ratio=1.1, tail=TAIL)))
    assert "  - regressed: the slowest 5 % are slower" in said


def test_a_hostile_unit_cannot_leave_its_cell() -> None:
    said = verdict_section(verdict(row(unit="x|y", difference=5.0, threshold_abs=1.0)))
    assert "x|y" not in said
