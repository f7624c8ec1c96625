"""What is wrong with a workload before anything runs is told before anything is built."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from ciwm.cli import run
from ciwm.config import Config
from ciwm.errors import ENVIRONMENT, USAGE
from ciwm.git import Repository
from ciwm.story.bump import Bump
from ciwm.story.story import Story
from ciwm.story.telling import tell
from tests.integration.test_job import commit, git

if TYPE_CHECKING:
    from pathlib import Path

ABSENT = '[[workload]]\nid = "w"\npython = "bench/absent.py:step"\n'
MUTE = '[[workload]]\nid = "w"\ncommand = "echo 1"\nmetrics.t = { unit = "s", better = "lower" }\n'
BUILD = '[build]\ncommand = "touch {marker}"\n'


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CIWM_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "checkout"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    return path


@pytest.mark.parametrize(
    ("workload", "says"), [(ABSENT, "there is no bench/absent.py at"), (MUTE, "put {out} where")]
)
def test_bench_finds_it_before_it_builds(
    checkout: Path,
    workload: str,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    marker = checkout.parent / "built"
    commit(checkout, BUILD.format(marker=marker) + workload)
    monkeypatch.chdir(checkout)
    assert run(["bench", "HEAD", "HEAD"]) == USAGE
    assert says in capsys.readouterr().err
    assert not marker.exists()


def test_ci_finds_it_before_it_builds_and_says_how_to_mend_it(checkout: Path) -> None:
    marker = checkout.parent / "built"
    commit(checkout, BUILD.format(marker=marker) + MUTE)
    repository = Repository.open(checkout)
    revision = repository.revision("HEAD")
    config = Config.model_validate(
        {
            "build": {"command": f"touch {marker}"},
            "workload": [
                {
                    "id": "w",
                    "command": "echo 1",
                    "metrics": {"t": {"unit": "s", "better": "lower"}},
                }
            ],
        }
    )
    bump = Bump(
        repository=repository,
        base=revision,
        head=revision,
        config=config,
        base_config=config,
        upstream=None,
        upstream_name="",
        directory=checkout.parent / "story",
        seed=1,
        name="checkout",
    )
    report = tell(Story(bump, threading.Event(), lambda _: None))
    assert not marker.exists()
    assert report.exit_code == ENVIRONMENT
    assert {stage.name: stage.status for stage in report.stages} == {
        "sync": "skipped",
        "bench": "failed",
        "build": "skipped",
    }
    assert report.headline.startswith("The benchmark failed")
