"""Counts, and the chance that a pull request is merged, closed or answered by a day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ciwm.records.sync_pulls import OpenPull, Share, Within
from ciwm.stats.survival import incidence
from ciwm.upstream.dates import days_between

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from ciwm.stats.survival import Incidence
    from ciwm.upstream.pulls.endings import Settled

LISTED_OPEN = 200


def figures(pulls: Sequence[Settled], now: datetime) -> dict[str, Any]:
    """The fields of `Pulls` that follow from the pull requests as they were at `now`."""
    merged = incidence(filter(None, (pull.fate(now) for pull in pulls)))
    closed = incidence(filter(None, (pull.fate(now, "closed") for pull in pulls)))
    answered = incidence(filter(None, (pull.response(now) for pull in pulls)))
    return {
        **{
            state: sum(pull.state == state for pull in pulls)
            for state in ("open", "merged", "closed")
        },
        "drafts": sum(pull.started_at is None for pull in pulls),
        "merged_within": _within(merged),
        "closed_within": _within(closed),
        "answered_within": _within(answered),
        "median_days_to_merge": merged.median(),
        "median_days_to_response": answered.median(),
        "waiting": _waiting(pulls, now),
    }


def _within(curve: Incidence) -> Within:
    return Within(d7=_share(curve, 7), d30=_share(curve, 30), d90=_share(curve, 90))


def _share(curve: Incidence, day: int) -> Share:
    found = curve.at(day)
    return Share(
        value=found.value, low=found.low, high=found.high, n=found.n, at_risk=found.at_risk
    )


def _waiting(pulls: Sequence[Settled], now: datetime) -> tuple[OpenPull, ...]:
    """The open ones, longest waiting first and drafts last."""
    listed = [_open(pull, now) for pull in pulls if pull.state == "open"]
    listed.sort(key=lambda one: (one.waiting_days is None, -(one.waiting_days or 0), one.number))
    return tuple(listed[:LISTED_OPEN])


def _open(settled: Settled, now: datetime) -> OpenPull:
    pull, start = settled.pull, settled.started_at
    return OpenPull(
        number=pull.number,
        title=pull.title,
        url=pull.url,
        author=pull.author,
        waiting_days=None if start is None else max(0.0, days_between(start, now)),
        answered=pull.answered_at is not None,
    )
