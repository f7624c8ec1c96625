"""`ciwm ci` and the budgets of a sync: they block only where the base's configuration says so."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ciwm.config import Config
from ciwm.errors import ENVIRONMENT, NO, OK
from ciwm.report.bump_answer import next_steps
from ciwm.story.bump import Bump
from ciwm.story.story import Story
from ciwm.story.telling import tell
from tests.fork import new_fork

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from ciwm.records import BumpReport

OVER: dict[str, object] = {"budget": {"behind_commits": 0}}


def told(
    tmp_path: Path, base: dict[str, object], head: dict[str, object] | None = None
) -> BumpReport:
    """The story of a fork one commit behind, under the `sync` of the base's configuration."""
    fork = new_fork(tmp_path)
    start = fork.repository.revision("HEAD")
    upstream = fork.commit({"new.py": "x = 1\n"}, branch="upstream")
    bump = Bump(
        repository=fork.repository,
        base=start,
        head=start,
        config=Config.model_validate({"sync": head or {}}),
        base_config=Config.model_validate({"sync": base}),
        upstream=upstream.sha,
        upstream_name="upstream/main",
        directory=tmp_path / "story",
        seed=1,
        name="fork",
    )
    return tell(Story(bump, threading.Event(), lambda _: None))


def test_over_budget_fails_the_stage_and_the_check_where_it_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    report = told(tmp_path, {"block": True, **OVER})
    stage = next(stage for stage in report.stages if stage.name == "sync")
    assert (stage.status, report.exit_code, report.conclusion) == ("failed", NO, "failure")
    assert stage.message == "1 commit behind upstream (budget behind_commits: 0)"
    assert report.headline == "The cost of syncing is over its budget"
    (step,) = next_steps(report)
    assert step.startswith("sync with upstream, or raise the budget")


def test_over_budget_is_told_and_nothing_more_where_it_does_not_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    report = told(tmp_path, OVER)
    assert (report.exit_code, report.conclusion) == (OK, "success")
    assert report.sync is not None
    assert report.sync.gate is not None
    assert report.sync.gate.over == ("1 commit behind upstream (budget behind_commits: 0)",)


def test_a_change_cannot_set_its_own_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    loosened = told(tmp_path, {"block": True, **OVER}, {"block": False})
    assert loosened.exit_code == NO


def test_records_that_cannot_be_saved_cost_no_answer_and_end_in_four(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "story").touch()  # where the folder should be
    report = told(tmp_path, {})
    assert report.sync is not None
    assert (report.exit_code, report.conclusion) == (ENVIRONMENT, "success")
    (why,) = [stage.message for stage in report.stages if stage.status == "failed"]
    assert str(tmp_path / "story") in why
    assert "MiB free" not in why  # a file is in the way: room has nothing to do with it
    assert told(tmp_path / "again", {}).exit_code == OK
