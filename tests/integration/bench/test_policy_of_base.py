"""A pull request is judged by base's policy: it cannot loosen its own gate."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from ciwm.errors import ConfigError
from ciwm.story.bump import Bump
from ciwm.story.files_at import config_at, waivers_at
from ciwm.story.story import Story
from ciwm.story.telling import tell

if TYPE_CHECKING:
    from ciwm.records import BumpReport
    from ciwm.records.verdict import SeriesVerdict
    from tests.fork import Fork

COST = """
import json, pathlib
import framework
print(json.dumps({"cost": framework.cost}))
"""
WORKLOAD = """
[[workload]]
id = "{name}"
command = "{{python}} bench/cost.py > {{out}}"
metrics = {{ cost = {{ unit = "units", better = "lower", threshold = "{threshold}" }} }}
"""
WAIVER = """
[[waiver]]
series = "w"
ceiling = "50%"
reason = "known"
author = "@jane"
issue = "#1"
expires = 9999-12-31
"""


def config(*names: str, threshold: str = "3%", gate: str = "") -> str:
    workloads = "".join(WORKLOAD.format(name=name, threshold=threshold) for name in names)
    return workloads + f'[gate]\nmax_launches = 4\n{gate}\n[store]\nurl = "dir:kept"\n'


def told(fork: Fork) -> BumpReport:
    """The story of main -> sync, as `ciwm ci` tells it."""
    base, head = (fork.repository.revision(name) for name in ("main", "sync"))
    configs = [config_at(fork.repository, one.sha) for one in (base, head)]
    assert configs[0] is not None
    assert configs[1] is not None
    bump = Bump(
        repository=fork.repository,
        base=base,
        head=head,
        config=configs[1],
        base_config=configs[0],
        upstream=None,
        upstream_name="",
        directory=fork.runs / "story",
        seed=3,
        name="acme/fork",
        waivers=waivers_at(fork.repository, base.sha),
    )
    return tell(Story(bump, threading.Event(), fork.said.append))


def series(report: BumpReport) -> dict[str, SeriesVerdict]:
    assert report.verdict is not None
    return {one.series: one for one in report.verdict.series}


def on_main(fork: Fork, **files: str) -> None:
    names = {"config": "ciwm.toml", "waivers": "ciwm-waivers.toml"}
    known = {"bench/cost.py": COST, "framework/__init__.py": "cost = 100\n"}
    fork.commit({**known, **{names[name]: text for name, text in files.items()}})


def on_sync(fork: Fork, **files: str) -> None:
    names = {"config": "ciwm.toml", "waivers": "ciwm-waivers.toml"}
    slower = {"framework/__init__.py": "cost = 120\n"}
    changed = {**slower, **{names[name]: text for name, text in files.items()}}
    fork.commit(changed, branch="sync")


@pytest.mark.parametrize(
    "loosened",
    [
        config("w", threshold="90%"),
        config("w", gate='[[gate.series]]\nthreshold = "90%"'),
        config("w", gate="block_on = []"),
    ],
)
def test_a_threshold_that_head_loosens_does_not_count(fork: Fork, loosened: str) -> None:
    on_main(fork, config=config("w"))
    on_sync(fork, config=loosened)
    report = told(fork)
    assert series(report)["w"].outcome == "regressed"
    assert series(report)["w"].threshold_pct == 3
    assert (report.conclusion, report.exit_code) == ("failure", 1)


def test_a_waiver_that_head_brings_does_not_count_and_one_of_base_does(fork: Fork) -> None:
    on_main(fork, config=config("w"))
    on_sync(fork, config=config("w"), waivers=WAIVER)
    assert told(fork).exit_code == 1


def test_a_waiver_of_base_covers_the_regression(fork: Fork) -> None:
    on_main(fork, config=config("w"), waivers=WAIVER)
    on_sync(fork, config=config("w"))
    report = told(fork)
    assert series(report)["w"].outcome == "waived"
    assert (report.conclusion, report.exit_code) == ("neutral", 0)


def test_a_workload_that_head_loses_is_missing_and_its_new_name_pointed_out(fork: Fork) -> None:
    on_main(fork, config=config("w", "decode"))
    on_sync(fork, config=config("w", "decode2", gate='removed = ["decode"]', threshold="90%"))
    report = told(fork)
    found = series(report)
    assert found["decode"].outcome == "missing"
    assert found["decode2"].outcome == "unchanged"  # of 90 %: base declares nothing of it
    assert report.exit_code == 1
    assert report.verdict is not None
    assert any("decode cost may have been renamed to decode2" in p for p in report.verdict.problems)


def test_a_workload_that_base_declares_removed_is_not_missed(fork: Fork) -> None:
    on_main(fork, config=config("w", "decode", threshold="90%", gate='removed = ["decode"]'))
    on_sync(fork, config=config("w"))
    report = told(fork)
    assert list(series(report)) == ["w"]
    assert report.exit_code == 0


def test_waivers_that_cannot_be_read_are_an_error_that_names_the_commit(fork: Fork) -> None:
    on_main(fork, config=config("w"), waivers="[[waiver]]\n")
    sha = fork.repository.revision("main").sha
    with pytest.raises(ConfigError, match=f"{sha[:12]}:ciwm-waivers.toml: waiver.0"):
        waivers_at(fork.repository, sha)
