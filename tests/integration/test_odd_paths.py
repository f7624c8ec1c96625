"""Folders with names that records, git or a PYTHONPATH cannot hold as they are."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from ciwm.cli import run as ciwm
from ciwm.launch.builds import release_builds
from tests.fork import new_fork

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LATIN1 = os.fsdecode(b"caf\xe9")
CONFIG = (
    '[[workload]]\nid = "w"\npython = "bench/steps.py:step"\niterations = 5\nwarmup_s = 0\n'
    "[gate]\nmax_launches = 4\n"
)
VERBS = [
    ["build", "HEAD"],
    ["bench", "HEAD~1", "HEAD"],
    ["ci", "--base", "HEAD~1", "--head", "HEAD"],
]


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cache and locks of this test's own."""
    monkeypatch.setenv("CIWM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("CIWM_LOCK_DIR", str(tmp_path / "locks"))
    monkeypatch.setenv("RUNNER_TEMP", str(tmp_path))
    yield
    release_builds()


def in_a_fork(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fork = new_fork(path)
    fork.commit({"ciwm.toml": CONFIG})
    monkeypatch.chdir(fork.path)


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_a_repository_whose_name_is_not_utf8_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    verb: list[str],
) -> None:
    in_a_fork(tmp_path / LATIN1, monkeypatch)

    assert ciwm(verb) in ((1, 2, 4) if verb[0] == "ci" else (2,))
    out, err = capsys.readouterr()
    assert "the name of the repository" in out + err
    assert "caf\\xe9/fork is not UTF-8" in out + err


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
@pytest.mark.parametrize("name", [LATIN1, "a:b", "a\nb"])
def test_a_cache_folder_that_cannot_be_used_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    verb: list[str],
    name: str,
) -> None:
    in_a_fork(tmp_path, monkeypatch)
    monkeypatch.setenv("CIWM_CACHE_DIR", str(tmp_path / name))

    assert ciwm(verb) in ((1, 2, 4) if verb[0] == "ci" else (2,))
    out, err = capsys.readouterr()
    assert "the cache folder (CIWM_CACHE_DIR)" in out + err
    assert ("is not UTF-8" if name == LATIN1 else "a colon or a newline") in out + err


def test_a_folder_for_the_run_is_refused_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    in_a_fork(tmp_path, monkeypatch)

    assert ciwm(["bench", "HEAD~1", "HEAD", "--out", str(tmp_path / "a:b")]) == 2
    assert "the folder of the run" in capsys.readouterr().err


def test_a_repository_with_a_newline_in_its_name_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_a_fork(tmp_path / 'a\n"b"', monkeypatch)

    assert ciwm(["build", "HEAD"]) == 0
