"""Waivers that should go: over, or with their regression behind them."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from ciwm.config import GateConfig
from ciwm.policy import Waivers, decide
from ciwm.policy.closing import closings
from ciwm.waivers import Waiver, waiver_of
from tests.runs import RunBuilder, series

TODAY = date(2026, 9, 14)
SERIES = series("decode")


def waiver(**changes: Any) -> Waiver:
    known = {"series": "decode", "ceiling_pct": 25.0, "reason": "r", "author": "a", "issue": "#1"}
    return waiver_of(**{**known, "expires": date(2026, 12, 31), **changes})


def run(ratio: float, planned: Any = SERIES) -> Any:
    return RunBuilder(family=[planned]).blocks(8, 1.0, ratio).run()


def closed(now: float, before: list[float], *waivers: Waiver, planned: Any = SERIES) -> list[str]:
    held = Waivers(waivers or (waiver(),), TODAY)
    rows = decide(run(now, planned), GateConfig(), waivers=held).series
    return [one.why for one in closings(held, rows, [run(one, planned) for one in before])]


def test_a_waiver_that_waits_for_its_change_stays() -> None:
    assert closed(1.0, []) == []
    assert closed(1.0, [1.0, 1.01, 0.9]) == []


def test_a_waiver_whose_regression_is_behind_us_goes() -> None:
    (why,) = closed(1.0, [1.0, 1.2, 1.0])
    assert why == f"its regression came with {'b' * 12}, and nothing it covers is slower since"


def test_a_waiver_in_use_stays_whatever_was_before() -> None:
    assert closed(1.2, [1.2]) == []


def test_a_waiver_that_is_over_goes_in_use_or_not() -> None:
    over = waiver(expires=date(2026, 9, 13))
    assert closed(1.0, [], over) == closed(1.2, [], over) == ["it expired on 2026-09-13"]
    assert closed(1.0, [], waiver(expires=TODAY)) == []


def test_a_waiver_of_something_else_is_not_closed_by_it() -> None:
    assert closed(1.0, [1.2], waiver(series="load")) == []


@pytest.mark.parametrize(
    ("planned", "ratio", "gone"),
    [
        (series("decode", better="higher", unit="tokens/s"), 0.8, True),
        (series("decode", better="higher", unit="tokens/s"), 1.2, False),
        (series("decode", threshold_abs=0.3, unit="MiB"), 1.2, False),
        (series("decode", threshold_abs=0.1, unit="MiB"), 1.2, True),
    ],
)
def test_what_is_worse_is_the_series_own(planned: Any, ratio: float, *, gone: bool) -> None:
    assert bool(closed(1.0, [ratio], planned=planned)) is gone
