"""How long until something happens, when some are still waiting and others ended another way.

Whoever still waits is right-censored; an ending that rules the event out is a competing risk. The
share that has had the event by a day is the Aalen-Johansen cumulative incidence. Leaving the open
ones out, or treating the other ending as censoring, would bias it.

The variance is the delta-method one, in discrete form (Marubini and Valsecchi, *Analysing Survival
Data from Clinical Trials and Observational Studies*, 1995, section 10.2; compared with others in
Braun and Yuan, Statistics in Medicine 26, 2007, 1170-1180). With n at risk, d endings of any kind
and e events at each moment s up to t, S the share not ended yet and F the incidence:

    var F(t) = sum (F(t) - F(s))^2 d / (n (n - d))
             + sum S(s-)^2 e (n - e) / n^3
             - 2 sum (F(t) - F(s)) S(s-) e / n^2

Without censoring it is the binomial F (1 - F) / n, without a competing risk Greenwood's. Intervals
are symmetric on the scale of log(-log F) and so stay between 0 and 1. Where F is 0 or 1 the
variance is 0 and says nothing: there the bound is the exact binomial one (Clopper-Pearson) of
those whose state on the day is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from math import exp, log, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Ending = Literal["event", "other", "waiting"]
HALF = 0.5


class Observed(NamedTuple):
    """One subject: how long it was watched, and how that ended."""

    time: float
    ending: Ending


class Estimate(NamedTuple):
    """The share that had the event by a time, with its interval; None where it is not known.

    `n` subjects were watched in all, `at_risk` of them were still waiting at that time.
    """

    value: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    n: int
    at_risk: int


@dataclass(frozen=True)
class _Step:
    """One moment at which something ended; `waiting` and `incidence` are those just after it."""

    time: float
    at_risk: int
    ended: int
    events: int
    waiting_before: float
    waiting: float
    incidence: float


@dataclass(frozen=True)
class Incidence:
    """The cumulative incidence as a step function of time."""

    observed: tuple[Observed, ...]
    steps: tuple[_Step, ...]

    def at(self, time: float, confidence: float = 0.95) -> Estimate:
        """The share by `time`; None when nobody was watched that long and somebody still waits."""
        n, at_risk = len(self.observed), sum(one.time > time for one in self.observed)
        past = [step for step in self.steps if step.time <= time]
        if not n or (not self._reaches(time) and (not past or past[-1].waiting > 0)):
            return Estimate(None, None, None, None, n, at_risk)
        share = past[-1].incidence if past else 0.0
        known = sum(one.time >= time or one.ending != "waiting" for one in self.observed)
        error = sqrt(max(0.0, _variance(past)))
        return Estimate(share, error, *_interval(share, error, known, confidence), n, at_risk)

    def median(self) -> float | None:
        """The time by which half of all have had the event; None when that was not reached."""
        return next((step.time for step in self.steps if step.incidence >= HALF - 1e-12), None)

    def _reaches(self, time: float) -> bool:
        return any(one.time >= time for one in self.observed)


def incidence(observed: Iterable[Observed]) -> Incidence:
    """The cumulative incidence of "event"; raises ValueError for a time below zero.

    Who is still waiting at a moment at which others end counts as at risk there.
    """
    ordered = tuple(sorted(observed, key=lambda one: one.time))
    if any(not one.time >= 0 for one in ordered):
        raise ValueError("a time before the start")
    steps, at_risk, waiting, share = [], len(ordered), 1.0, 0.0
    for time, group in groupby(ordered, key=lambda one: one.time):
        here = [one.ending for one in group]
        ended, events = len(here) - here.count("waiting"), here.count("event")
        if ended:
            before = waiting
            share += before * events / at_risk
            waiting = before * (at_risk - ended) / at_risk
            steps.append(_Step(time, at_risk, ended, events, before, waiting, share))
        at_risk -= len(here)
    return Incidence(ordered, tuple(steps))


def _variance(past: Sequence[_Step]) -> float:
    total = 0.0
    for step in past:
        n, d, e = step.at_risk, step.ended, step.events
        later = past[-1].incidence - step.incidence
        if n > d:  # nobody is left otherwise, and nothing comes later
            total += later**2 * d / (n * (n - d))
        total += step.waiting_before**2 * e * (n - e) / n**3
        total -= 2 * later * step.waiting_before * e / n**2
    return total


def _interval(share: float, error: float, known: int, confidence: float) -> tuple[float, float]:
    tail = (1 - confidence) / 2
    nothing, all_of_them = share <= 0, share >= 1 - 1e-12
    if nothing or all_of_them:
        bound = tail ** (1 / known) if known else 0.0
        return (0.0, 1 - bound) if nothing else (bound, 1.0)
    spread = NormalDist().inv_cdf(1 - tail) * error / (share * log(share))
    ends = share ** exp(-spread), share ** exp(spread)
    return min(ends), max(ends)
