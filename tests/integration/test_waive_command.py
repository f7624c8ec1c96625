"""`ciwm waive`: a regression accepted for a while, in a file that is reviewed."""

from __future__ import annotations

import json
import subprocess
from datetime import date, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest

from ciwm.cli import run
from ciwm.config import GateConfig
from ciwm.policy import Waivers, decide
from ciwm.waivers import find_waivers
from tests.records_examples import bump
from tests.runs import RunBuilder, series

if TYPE_CHECKING:
    from pathlib import Path

WHY = ("--reason", "checks for NaN", "--issue", "#12")
TODAY = datetime.now(timezone.utc).date()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for command in (["init", "-q"], ["config", "user.name", "Ines"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    return tmp_path


def test_a_waiver_is_written_at_the_top_of_the_repository(checkout: Path) -> None:
    assert run(["waive", "decode/b=1", "--ceiling", "8%", *WHY]) == 0
    (one,) = find_waivers(checkout)
    assert (one.series, one.ceiling_pct, one.author) == ("decode/b=1", 8.0, "Ines")
    assert one.expires == TODAY + timedelta(days=60)


def test_a_report_gives_the_ceiling_of_each_regression(checkout: Path) -> None:
    decode = RunBuilder(family=[series("decode-a"), series("decode-b"), series("load")])
    for one, ratio in (("decode-a", 1.2), ("decode-b", 1.1), ("load", 1.0)):
        decode.blocks(8, 1.0, ratio, workload=one)
    measured = decode.run()
    verdict = decide(measured, GateConfig())
    (checkout / "report.json").write_text(bump(verdict=verdict).to_json())
    arguments = ["waive", "decode-*", "--from", str(checkout), "--author", "@jane", *WHY]
    assert run(arguments) == 0
    found = find_waivers(checkout)
    assert [(one.series, one.ceiling_pct) for one in found] == [
        ("decode-a", 21.0),
        ("decode-b", 11.0),
    ]
    judged = decide(measured, GateConfig(), waivers=Waivers(found, TODAY))
    assert [one.outcome for one in judged.series] == ["waived", "waived", "unchanged"]


def test_tidying_removes_what_expired_and_what_recovered(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("gone", "healed", "slow"):
        assert run(["waive", name, "--ceiling", "30%", *WHY]) == 0
    file = checkout / "ciwm-waivers.toml"
    over = f"expires = {TODAY + timedelta(days=60)}"
    file.write_text(file.read_text().replace(over, "expires = 2020-01-01", 1))
    healed = RunBuilder(family=[series("healed"), series("slow")])
    for name, ratio in (("healed", 1.0), ("slow", 1.2)):
        healed.blocks(8, 1.0, ratio, workload=name)
    waivers = Waivers(find_waivers(checkout), TODAY)
    verdict = decide(healed.run(), GateConfig(), waivers=waivers)
    (checkout / "verdict.json").write_text(verdict.to_json())
    assert any("ciwm waive --tidy" in line for line in verdict.problems)
    capsys.readouterr()
    assert run(["waive", "--tidy", "--from", str(checkout / "verdict.json"), "--json"]) == 0
    assert [one["series"] for one in json.loads(capsys.readouterr().out)] == ["gone", "healed"]
    assert [one.series for one in find_waivers(checkout)] == ["slow"]


def test_tidying_with_nothing_to_tidy_writes_nothing(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["waive", "--tidy"]) == 0
    assert "every waiver is in force" in capsys.readouterr().out
    assert not (checkout / "ciwm-waivers.toml").exists()


def test_a_name_that_no_workload_has_is_a_warning(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "ciwm.toml").write_text('[[workload]]\nid = "decode"\npython = "b.py:f"\n')
    assert run(["waive", "decod", "--ceiling", "8%", *WHY]) == 0
    assert "warning: no workload here is named decod" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name a SERIES, or ask for --tidy"),
        (["x", "--tidy"], "name a SERIES, or ask for --tidy"),
        (["x", *WHY], "needs --ceiling (or --ceiling-abs, or --from a report)"),
        (["x", "--ceiling", "8%"], "reason"),
        (["x", "--ceiling", "8%", *WHY, "--expires", "2020-01-01"], "is over"),
        (["x", *WHY, "--from", "nowhere.json"], "cannot read nowhere.json"),
        (["x", *WHY, "--from", "r", "--ceiling", "8%"], "leave the other out"),
    ],
)
def test_each_mistake_is_one_line_and_writes_nothing(
    checkout: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert run(["waive", *arguments]) == 2
    first, *_ = capsys.readouterr().err.splitlines()
    assert said in first
    assert not (checkout / "ciwm-waivers.toml").exists()


def test_a_bare_number_is_a_percentage_and_a_file_that_is_no_text_is_left_alone(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["waive", "x", "--ceiling", "7.5", *WHY]) == 0
    assert [one.ceiling_pct for one in find_waivers(checkout)] == [7.5]
    (checkout / "ciwm-waivers.toml").write_bytes(b"\xff")
    for arguments in (["y", "--ceiling", "8%", *WHY], ["--tidy"]):
        assert run(["waive", *arguments]) == 2
        assert "ciwm-waivers.toml is not TOML" in capsys.readouterr().err
    assert (checkout / "ciwm-waivers.toml").read_bytes() == b"\xff"


def test_a_regression_that_the_report_has_not_is_told_with_those_it_has(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_of = RunBuilder(family=[series("load")]).blocks(8, 1.0, 1.2, workload="load").run()
    (checkout / "verdict.json").write_text(decide(run_of, GateConfig()).to_json())
    assert run(["waive", "decode", *WHY, "--from", str(checkout / "verdict.json")]) == 2
    err = capsys.readouterr().err
    assert "the report has no regression of decode" in err
    assert "hint: regressed: load" in err


def test_the_last_day_can_be_named(checkout: Path) -> None:
    day = date(TODAY.year + 1, 1, 31)
    assert run(["waive", "x", "--ceiling-abs", "12", *WHY, "--expires", str(day)]) == 0
    (one,) = find_waivers(checkout)
    assert (one.ceiling_abs, one.expires) == (12.0, day)


def test_all_that_a_waiver_lacks_is_told_by_its_options_at_once(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["waive", "decode"]) == 2
    told = capsys.readouterr().err
    assert (
        "a waiver needs --reason, --issue, --ceiling (or --ceiling-abs, or --from a report) as well"
        in told
    )
    assert not (checkout / "ciwm-waivers.toml").exists()
