"""Makes the example's upstream and fork as real git repositories."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from ciwm.demo.history import FORK, KERNEL, RESOLUTION, SHARED, UPSTREAM, Change, Edit
from ciwm.git import Repository

if TYPE_CHECKING:
    from collections.abc import Iterable

EPOCH = datetime(2026, 1, 1, tzinfo=timezone.utc)
BASE = "main"
HEAD = "sync/upstream"
SOURCES = Path(__file__).parent / "tiny"
_CONFLICT = re.compile(r"<<<<<<<.*?>>>>>>>[^\n]*\n", re.DOTALL)


@dataclass(frozen=True)
class Example:
    """The two repositories: `fork` has a branch main and a sync branch.

    Its remotes are `upstream`, and `origin` where both branches are.
    """

    upstream: Repository
    fork: Repository


def make_example(directory: Path) -> Example:
    """Two repositories in a folder: a fork that carries patches, and a sync that got slower."""
    upstream = _new_repository(directory / "upstream", "tiny upstream")
    shutil.copytree(
        SOURCES, upstream.path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
    )
    _commit(upstream, Change(0, "tiny: two kernels and a Python front (#1)", ()))
    _commit_all(upstream, SHARED)
    upstream.run("clone", "-q", "-o", "upstream", str(upstream.path), str(directory / "fork"))
    fork = _identified(Repository(directory / "fork"), "tiny fork")
    _commit_all(fork, FORK)
    _commit_all(upstream, UPSTREAM)
    fork.run("fetch", "-q", "upstream")
    _merge_upstream(fork)
    origin = directory / "origin.git"
    fork.run("clone", "-q", "--bare", str(fork.path), str(origin))
    fork.run("remote", "add", "origin", str(origin))
    fork.run("fetch", "-q", "origin")
    return Example(upstream, fork)


def _merge_upstream(fork: Repository) -> None:
    """The sync a person made: merge, resolve the conflict our way, commit."""
    fork.run("switch", "-q", "-c", HEAD)
    dated = _at(fork, 13)
    merge = dated.run("merge", "-q", "--no-edit", "upstream/main", check=False)
    if merge.status == 0:
        raise AssertionError("the example's sync is meant to conflict")
    kernel = fork.path / KERNEL
    kernel.write_text(_CONFLICT.sub(RESOLUTION.new + "\n", kernel.read_text()))
    dated.run("commit", "-q", "--all", "--no-edit")
    fork.run("switch", "-q", BASE)


def _new_repository(path: Path, name: str) -> Repository:
    path.mkdir(parents=True)
    repository = Repository(path)
    repository.run("init", "-q", "-b", BASE)
    return _identified(repository, name)


def _identified(repository: Repository, name: str) -> Repository:
    for key, value in (
        ("user.name", name),
        ("user.email", f"{name.replace(' ', '-')}@example.org"),
        ("commit.gpgSign", "false"),
        ("core.hooksPath", "/dev/null"),
        ("merge.conflictStyle", "merge"),
    ):
        repository.run("config", key, value)
    return repository


def _commit_all(repository: Repository, changes: Iterable[Change]) -> None:
    for change in changes:
        _commit(repository, change)


def _commit(repository: Repository, change: Change) -> None:
    for edit in change.edits:
        _apply(repository.path / edit.path, edit)
    repository.run("add", "--all")
    _at(repository, change.day).run("commit", "-q", "-m", change.subject)


def _apply(path: Path, edit: Edit) -> None:
    if not edit.old:
        path.write_text(edit.new)
        return
    text = path.read_text()
    if text.count(edit.old) != 1:
        raise AssertionError(f"{edit.path} does not hold {edit.old!r} exactly once")
    path.write_text(text.replace(edit.old, edit.new))


def _at(repository: Repository, day: int) -> Repository:
    when = (EPOCH + timedelta(days=day)).isoformat()
    return repository.with_variables(GIT_AUTHOR_DATE=when, GIT_COMMITTER_DATE=when)
