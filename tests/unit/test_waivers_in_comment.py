"""Waivers in the comment: those that hold, and the text that makes a new one."""

from __future__ import annotations

import re
from datetime import date

from ciwm.config import GateConfig
from ciwm.policy import Waivers, decide
from ciwm.records import Waived
from ciwm.report.bump_markdown import comment_markdown
from ciwm.waivers import parse_waivers
from tests.records_examples import bump, series_verdict, verdict
from tests.runs import RunBuilder, series


def suggested(text: str) -> str:
    """The waiver that a comment offers."""
    found = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_offered_waiver_accepts_the_regression_it_was_offered_for() -> None:
    gate = GateConfig()
    run = RunBuilder(family=[series('odd "name"/b=[1]')]).blocks(8, 1.0, 1.2, workload='odd "name"')
    blocked = decide(run.run(), gate)
    assert blocked.outcome == "fail"
    offered = suggested(comment_markdown(bump(verdict=blocked)))
    waivers = parse_waivers(offered.encode(), "ciwm-waivers.toml")
    accepted = decide(run.run(), gate, waivers=Waivers(waivers, date(2026, 9, 14)))
    assert [one.outcome for one in accepted.series] == ["waived"]
    assert [waiver.ceiling_pct for waiver in waivers] == [21.0]  # 20 % and one more


def test_an_absolute_threshold_is_waived_in_its_unit() -> None:
    gate = GateConfig()
    memory = series("load", metric="memory", unit="MiB", threshold_abs=10.0)
    run = RunBuilder(family=[memory]).blocks(8, 1000.0, 1100.0, workload="load").run()
    offered = suggested(comment_markdown(bump(verdict=decide(run, gate))))
    (waiver,) = parse_waivers(offered.encode(), "ciwm-waivers.toml")
    assert waiver.ceiling_abs == 105.0
    accepted = decide(run, gate, waivers=Waivers((waiver,), date(2026, 9, 14)))
    assert [one.outcome for one in accepted.series] == ["waived"]


def test_a_waiver_that_holds_is_shown_with_who_why_and_until_when() -> None:
    waiver = Waived(
        ceiling_pct=8,
        reason="the sampler checks for @NaN now",
        author="@ines",
        issue="https://github.com/acme/vllm-npu/issues/12",
        expires=date(2026, 12, 31),
    )
    row = series_verdict("waived", waiver=waiver)
    text = comment_markdown(bump(verdict=verdict("waived", series=(row,))))
    (line,) = [line for line in text.splitlines() if line.startswith("- `decode-8b")]
    assert "up to 8% until 2026-12-31" in line
    assert "[its issue](https://github.com/acme/vllm-npu/issues/12)" in line
    assert "@ines" not in line  # a comment pings nobody
    assert "How to accept" not in text


def test_an_issue_that_is_no_address_is_shown_as_words() -> None:
    waiver = Waived(
        ceiling_abs=12,
        reason="r",
        author="a",
        issue="javascript:alert(1)",
        expires=date(2026, 12, 31),
    )
    row = series_verdict("waived", waiver=waiver, unit="MiB")
    text = comment_markdown(bump(verdict=verdict("waived", series=(row,))))
    assert "up to 12 MiB" in text
    assert "](javascript" not in text
