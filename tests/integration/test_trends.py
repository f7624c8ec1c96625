"""What a series was before: kept runs found by history and machine, asked of origin if need be."""

from __future__ import annotations

import subprocess
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from ciwm.config import Config, StoreConfig
from ciwm.errors import StoreError
from ciwm.git import Repository
from ciwm.records import Arm, Revision
from ciwm.store import open_store
from ciwm.story.trends import runs_before
from tests.records_examples import WHEN, environment, run

if TYPE_CHECKING:
    from pathlib import Path

    from ciwm.records import Run

MACHINE = environment().fingerprint


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def kept(sha: str, day: int, **changes: object) -> Run:
    """A run of a commit, on a day."""
    at = WHEN + timedelta(days=day)
    arm = Arm(revision=Revision(ref="main", sha=sha, tree="1" * 40), environment=environment())
    known = {"id": f"{at:%Y%m%dT%H%M%SZ}-{'a' * 8}-{sha[:8]}", "started_at": at, "head": arm}
    return run(**{**known, **changes})


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Four commits on main and a side branch; origin has them, and accepts partial fetches."""
    hub, folder = tmp_path / "hub.git", tmp_path / "work"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(hub))
    git(hub, "config", "uploadpack.allowFilter", "true")
    git(hub, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(tmp_path, "init", "-q", "-b", "main", str(folder))
    git(folder, "remote", "add", "origin", hub.as_uri())
    for number in range(4):
        git(folder, "commit", "-q", "--allow-empty", "-m", f"commit {number}")
    git(folder, "branch", "side", "HEAD~3")
    git(folder, "switch", "-q", "side")
    git(folder, "commit", "-q", "--allow-empty", "-m", "elsewhere")
    git(folder, "switch", "-q", "main")
    git(folder, "push", "-q", "origin", "main", "side")
    return folder


def fill(folder: Path, url: str) -> list[str]:
    """Runs of every commit of main, of a side branch, of another machine, and an incomplete one."""
    store = open_store(url, Repository.open(folder))
    shas = git(folder, "rev-list", "--reverse", "main").splitlines()
    for day, sha in enumerate(shas):
        store.add(kept(sha, day))
    store.add(kept(git(folder, "rev-parse", "side"), 9))
    other = Arm(
        revision=Revision(ref="main", sha=shas[0], tree="1" * 40),
        environment=environment(cpu_model="another"),
    )
    store.add(kept(shas[0], 10, head=other))
    store.add(kept(shas[3], 11, complete=False))
    store.push("origin", None)
    return shas


@pytest.mark.parametrize("url", ["git:ciwm-data", "dir:runs"])
def test_the_runs_of_this_machine_on_the_way_to_base_are_found(work: Path, url: str) -> None:
    shas = fill(work, url)
    config = Config(store=StoreConfig(url=url))
    found = runs_before(Repository.open(work), config, shas[2], MACHINE, remote=None)
    assert [one.head.revision.sha for one in found] == shas[:3]
    whole = runs_before(Repository.open(work), config, shas[3], MACHINE, remote=None)
    assert [one.head.revision.sha for one in whole] == shas


def test_a_checkout_without_the_branch_asks_origin_for_those_files_alone(
    work: Path, tmp_path: Path
) -> None:
    shas = fill(work, "git:ciwm-data")
    fresh = tmp_path / "fresh"
    git(tmp_path, "clone", "-q", "--single-branch", (tmp_path / "hub.git").as_uri(), str(fresh))
    before = git(fresh, "count-objects", "-v"), git(fresh, "config", "--list", "--local")
    repository = Repository.open(fresh)
    found = runs_before(repository, Config(), shas[3], MACHINE, remote=("origin", None))
    assert [one.head.revision.sha for one in found] == shas
    assert (git(fresh, "count-objects", "-v"), git(fresh, "config", "--list", "--local")) == before
    assert "ciwm-data" not in git(fresh, "for-each-ref")
    assert runs_before(repository, Config(), shas[3], MACHINE, remote=None) == []


def test_an_origin_without_the_branch_has_no_history_and_one_that_is_gone_is_said(
    work: Path,
) -> None:
    repository = Repository.open(work)
    assert runs_before(repository, Config(), "HEAD", MACHINE, remote=("origin", None)) == []
    git(work, "remote", "set-url", "origin", (work / "nowhere").as_uri())
    with pytest.raises(StoreError, match="cannot read ciwm-data"):
        runs_before(repository, Config(), "HEAD", MACHINE, remote=("origin", None))
