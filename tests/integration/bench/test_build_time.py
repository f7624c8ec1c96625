"""Builds really made, timed, and judged by base's limits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from ciwm.cli import run as ciwm
from ciwm.errors import NO, OK
from tests.integration.bench.test_bench_command import Two
from tests.integration.bench.test_policy_of_base import config, on_main, on_sync, series, told

if TYPE_CHECKING:
    from tests.fork import Fork

BUILD = '[build]\ncommand = "sleep 0.05; cp -r framework built"\n'
NEVER = 'build_limit = "0.000001s"'
ALWAYS = 'build_limit = "10h"\nbuild_growth = "100000%"'


def test_a_build_beyond_the_limit_blocks_and_head_cannot_raise_it(fork: Fork) -> None:
    on_main(fork, config=BUILD + config("w", gate=NEVER))
    on_sync(fork, config=BUILD + config("w", gate=ALWAYS))
    report = told(fork)
    assert series(report)["build"].outcome == "regressed"
    assert (report.exit_code, report.conclusion) == (NO, "failure")
    assert "build takes too long" in report.headline


def test_builds_are_made_anew_where_their_time_counts(fork: Fork) -> None:
    text = BUILD + config("w", gate=ALWAYS)
    on_main(fork, config=text)
    on_sync(fork, config=text)
    for name in ("first", "second"):
        report = told(fork)
        assert [one.status for one in report.builds] == ["built", "built"]
        assert series(report)["build"].outcome == "unchanged"
        (fork.runs / "story").rename(fork.runs / name)


def test_without_a_workload_builds_are_judged_all_the_same(fork: Fork) -> None:
    on_main(fork, config=f"{BUILD}[gate]\n{NEVER}\n")
    on_sync(fork)
    report = told(fork)
    assert (report.exit_code, report.conclusion) == (NO, "failure")
    assert report.headline.startswith("Head's build takes too long")
    assert "no benchmark ran" in report.headline


@pytest.fixture
def two(fork: Fork, monkeypatch: pytest.MonkeyPatch) -> Two:
    on_main(fork, config=BUILD + config("w", gate=ALWAYS))
    fork.commit({"framework/more.py": ""}, branch="sync")
    monkeypatch.chdir(fork.path)
    return Two(fork)


def test_a_build_from_the_cache_leaves_its_time_in_doubt(
    two: Two, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, outcome in (("one", "pass"), ("two", "inconclusive")):
        out = str(two.fork.runs / name)
        assert ciwm(["bench", "main", "sync", "--out", out]) == OK
        capsys.readouterr()
        assert ciwm(["gate", out, "--json"]) == OK
        assert json.loads(capsys.readouterr().out)["outcome"] == outcome
