"""ciwm-waivers.toml: what is accepted, how mistakes are explained, and what a waiver does."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.config import GateConfig
from ciwm.errors import ConfigError
from ciwm.policy import Waivers, conclusion, decide
from ciwm.waivers import find_waivers, parse_waivers
from tests.runs import RunBuilder, series

if TYPE_CHECKING:
    from pathlib import Path

    from ciwm.records import Verdict

TODAY = date(2026, 9, 14)
LINES = {
    "series": '"decode/*"',
    "ceiling": '"8%"',
    "reason": '"the sampler checks for NaN"',
    "author": '"@jane"',
    "issue": '"acme/fork#12"',
    "expires": "2026-12-31",
}


def text(**changes: str) -> str:
    lines = {**LINES, **changes}
    return "[[waiver]]\n" + "\n".join(f"{key} = {value}" for key, value in lines.items() if value)


def waivers(*texts: str) -> Waivers:
    return Waivers(parse_waivers("\n".join(texts).encode(), "ciwm-waivers.toml"), TODAY)


def judged(percent: float, over: Waivers, **fields: Any) -> Verdict:
    builder = RunBuilder(family=[series(**fields)]).blocks(8, 1.0, 1 + percent / 100)
    return decide(builder.run(), GateConfig(), waivers=over)


def test_a_regression_below_its_ceiling_is_waived_and_neutral() -> None:
    verdict = judged(6, waivers(text()))
    (found,) = verdict.series
    assert found.outcome == "waived"
    assert (verdict.outcome, conclusion(verdict)) == ("pass", "neutral")
    assert found.reason.startswith(
        "waived up to 8 % until 2026-12-31 by @jane (the sampler checks for NaN; acme/fork#12): "
        "decode/b1 step_time is 6.0 % slower"
    )
    assert found.waiver is not None
    assert (found.waiver.author, found.waiver.expires) == ("@jane", date(2026, 12, 31))
    assert found.ratio == pytest.approx(1.06, abs=1e-3)


def test_a_regression_beyond_its_ceiling_blocks() -> None:
    verdict = judged(9, waivers(text()))
    assert verdict.outcome == "fail"
    assert verdict.series[0].reason.endswith("beyond its waiver's ceiling of 8 %")


@pytest.mark.parametrize(("expires", "outcome"), [("2026-09-14", "pass"), ("2026-09-13", "fail")])
def test_a_waiver_counts_up_to_its_last_day(expires: str, outcome: str) -> None:
    verdict = judged(6, waivers(text(expires=expires)))
    assert verdict.outcome == outcome
    if outcome == "fail":
        assert "its waiver expired on 2026-09-13 (acme/fork#12)" in verdict.series[0].reason


def test_an_expired_waiver_does_not_hide_one_in_force() -> None:
    assert judged(6, waivers(text(expires="2026-01-01"), text())).outcome == "pass"


def test_a_waiver_with_a_low_ceiling_does_not_hide_one_that_allows_more() -> None:
    wide, own = text(series='"*"', ceiling='"5%"'), text(series='"decode/b1"', ceiling='"12%"')
    for both in (waivers(wide, own), waivers(own, wide)):
        assert judged(9, both).outcome == "pass"
        (told,) = judged(14, both).series
        assert told.outcome == "regressed"
        assert "beyond its waiver's ceiling" in told.reason


def test_a_waiver_is_for_its_series_and_metric_alone() -> None:
    for other in (text(series='"train"'), text(metric='"ttft"')):
        verdict = judged(6, waivers(other))
        assert verdict.outcome == "fail"
        assert any("matches no series" in problem for problem in verdict.problems)


def test_a_waiver_names_a_workload_too() -> None:
    assert judged(6, waivers(text(series='"decode"'))).outcome == "pass"


def test_a_recovered_series_asks_for_its_waiver_to_be_removed() -> None:
    verdict = judged(0, waivers(text()))
    assert verdict.outcome == "pass"
    assert any("covers nothing that is slower here" in problem for problem in verdict.problems)


def test_a_ceiling_in_the_unit_covers_a_difference_and_no_ratio() -> None:
    absolute = text(ceiling="", ceiling_abs="0.1")
    assert judged(6, waivers(absolute), threshold_abs=0.03).outcome == "pass"
    assert judged(20, waivers(absolute), threshold_abs=0.03).outcome == "fail"
    verdict = judged(6, waivers(absolute))
    assert verdict.outcome == "fail"
    assert "on another scale" in verdict.series[0].reason


def test_higher_is_better_is_waived_by_its_loss() -> None:
    builder = RunBuilder(family=[series(better="higher")]).blocks(8, 1.0, 0.93)
    assert decide(builder.run(), GateConfig(), waivers=waivers(text())).outcome == "pass"
    builder = RunBuilder(family=[series(better="higher")]).blocks(8, 1.0, 0.91)
    assert decide(builder.run(), GateConfig(), waivers=waivers(text())).outcome == "fail"


def test_a_workload_that_fails_is_not_waived() -> None:
    builder = RunBuilder().block(
        0, {"base": [1.0] * 2, "head": [1.0] * 2}, exits={"head": ["failed", "oom"]}
    )
    assert decide(builder.run(), GateConfig(), waivers=waivers(text())).outcome == "fail"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"reason": ""}, "waiver.0.reason: Field required"),
        ({"author": '""'}, "waiver.0.author"),
        ({"reason": '"  "'}, "waiver.0.reason: must not be blank"),
        ({"ceiling_pct": "1"}, "state ceiling or ceiling_pct, not both"),
        ({"issue": ""}, "waiver.0.issue"),
        ({"expires": '"never"'}, "waiver.0.expires"),
        ({"ceiling": ""}, "state one of ceiling and ceiling_abs"),
        ({"ceiling_abs": "1"}, "state one of ceiling and ceiling_abs"),
        ({"ceiling": '"much"'}, "ceiling is a percentage"),
        ({"cieling": "1"}, "waiver.0.cieling"),
        ({"reason": "[["}, "is not TOML"),
    ],
)
def test_each_mistake_is_one_clear_line(changed: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=r"ciwm-waivers\.toml") as raised:
        waivers(text(**changed))
    assert said in raised.value.message
    assert "\n" not in raised.value.message


def test_a_checkout_without_the_file_has_no_waivers(tmp_path: Path) -> None:
    assert find_waivers(tmp_path) == ()
    (tmp_path / "ciwm-waivers.toml").write_text(text())
    assert len(find_waivers(tmp_path)) == 1


def test_what_a_waiver_accepts_waits_for_no_second_run() -> None:
    run = RunBuilder().blocks(8, 1.0, 1.06).run()
    verdict = decide(run, GateConfig(confirm=True), waivers=waivers(text()))
    assert [one.outcome for one in verdict.series] == ["waived"]
    assert not verdict.needs_confirmation
