"""What became of each pull request, by the rule of its upstream, and the days it took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.stats.survival import Observed
from ciwm.upstream.dates import days_between

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from ciwm.config_pulls import MergeRule
    from ciwm.records.sync_pulls import PullRequest, PullState
    from ciwm.stats.survival import Ending


@dataclass(frozen=True)
class Settled:
    """A pull request with what became of it; `ended_at` is None while it is open."""

    pull: PullRequest
    state: PullState
    ended_at: datetime | None

    @property
    def started_at(self) -> datetime | None:
        """When the clock started: ready for review; None for a draft that never was.

        One merged as a draft was ready all along.
        """
        if self.pull.ready_at is None and self.state == "merged":
            return self.pull.created_at
        return self.pull.ready_at

    def fate(self, now: datetime, event: PullState = "merged") -> Observed | None:
        """Days from the start to how it ended, "event" or "other"; None when it never started."""
        start = self.started_at
        if start is None:
            return None
        if self.state == "open":
            return Observed(_days(start, now), "waiting")
        ending: Ending = "event" if self.state == event else "other"
        return Observed(_days(start, self.ended_at or now), ending)

    def response(self, now: datetime) -> Observed | None:
        """Days from the start to the first response; None when it never started.

        Ended before anybody responded is "other".
        """
        start, answered = self.started_at, self.pull.answered_at
        if start is None:
            return None
        if answered is not None and (self.ended_at is None or answered <= self.ended_at):
            return Observed(_days(start, answered), "event")
        ending: Ending = "waiting" if self.ended_at is None else "other"
        return Observed(_days(start, self.ended_at or now), ending)


def settled(pull: PullRequest, rule: MergeRule, landed: Mapping[int, datetime]) -> Settled:
    """What became of a pull request; `landed` are those that commits say are in them."""
    if pull.state == "merged":
        return Settled(pull, "merged", pull.merged_at or pull.closed_at)
    if pull.state == "open":
        return Settled(pull, "open", None)
    if pull.number in landed:
        return Settled(pull, "merged", landed[pull.number])
    by_rule = _has_label(pull, rule.label) or _is(pull.closed_by, rule.closed_by)
    return Settled(pull, "merged" if by_rule else "closed", pull.closed_at)


def _has_label(pull: PullRequest, label: str | None) -> bool:
    return label is not None and label.lower() in {name.lower() for name in pull.labels}


def _is(login: str | None, expected: str | None) -> bool:
    if login is None or expected is None:
        return False
    return login.lower() == expected.removeprefix("@").lower()


def _days(start: datetime, end: datetime) -> float:
    """Days, none below zero: answered before it was ready, or seen by a clock that is behind."""
    return max(0.0, days_between(start, end))
