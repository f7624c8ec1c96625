"""`ciwm bump-preview`: the newest upstream merged on trial, told as it is."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from ciwm.cli import run
from ciwm.demo.repositories import make_example
from ciwm.records import BumpReport, read_record

if TYPE_CHECKING:
    from pathlib import Path


def git(path: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=path, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def fork(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The embedded fork, whose block size conflicts with upstream's."""
    path = make_example(tmp_path / "example").fork.path
    for name in ("GITHUB_EVENT_NAME", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(path)
    return path


def report(folder: Path) -> BumpReport:
    return read_record(folder / "report.json", BumpReport)


def without_workloads(fork: Path) -> None:
    """One commit before the conflict, and nothing to measure."""
    git(fork, "switch", "-q", "--detach", "main~1")
    text = (fork / "ciwm.toml").read_text()
    (fork / "ciwm.toml").write_text(text[: text.index("[[workload]]")])
    git(fork, "commit", "-qam", "Nothing to measure")


def test_an_upstream_that_conflicts_is_a_no_with_its_culprit_named(
    fork: Path, tmp_path: Path
) -> None:
    assert run(["bump-preview", "--out", str(tmp_path / "out"), "--culprits", "30"]) == 1
    told = report(tmp_path / "out")
    assert told.conclusion == "failure"
    assert told.headline == "The newest upstream does not merge: conflicts in 1 file"
    assert told.sync_base is not None
    assert told.sync_base.conflicts is not None
    (culprit,) = told.sync_base.conflicts.culprits
    assert culprit.subject == "matmul: block of 48 suits the new CI machines (#4)"
    assert git(fork, "status", "--short") == ""


def test_an_upstream_that_merges_is_built_and_is_no_branch(fork: Path, tmp_path: Path) -> None:
    without_workloads(fork)
    head, branches = git(fork, "rev-parse", "HEAD"), git(fork, "for-each-ref", "refs/heads")
    assert run(["bump-preview", "--out", str(tmp_path / "out")]) == 0
    told = report(tmp_path / "out")
    assert [build.ok for build in told.builds] == [True, True]
    merged = git(fork, "rev-parse", "refs/ciwm/preview")
    assert told.head is not None
    assert told.head.sha == merged
    parents = git(fork, "rev-list", "--parents", "-n1", merged).split()[1:]
    assert parents == [head, git(fork, "rev-parse", "upstream/main")]
    # git itself merges the same tree
    git(fork, "merge", "-q", "--no-edit", "upstream/main")
    assert git(fork, "rev-parse", "HEAD^{tree}") == git(fork, "rev-parse", f"{merged}^{{tree}}")
    assert git(fork, "for-each-ref", "refs/heads") == branches


def test_an_upstream_that_is_merged_already_builds_nothing(fork: Path, tmp_path: Path) -> None:
    git(fork, "switch", "-q", "sync/upstream")
    assert run(["bump-preview", "--out", str(tmp_path / "out")]) == 0
    told = report(tmp_path / "out")
    assert told.builds == ()
    assert told.headline.endswith("Up to date with upstream")


def test_an_upstream_that_breaks_the_build_is_a_no(fork: Path, tmp_path: Path) -> None:
    without_workloads(fork)
    upstream = tmp_path / "example" / "upstream"
    kernel = upstream / "tiny" / "kernel.c"
    kernel.write_text(kernel.read_text() + "\nint broken(void) { return 1 }\n")
    git(upstream, "commit", "-qam", "A semicolon less")
    assert run(["bump-preview", "--out", str(tmp_path / "out")]) == 1
    assert "Head does not build" in report(tmp_path / "out").headline


@pytest.mark.usefixtures("fork")
def test_no_upstream_and_an_unknown_one_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["bump-preview", "--upstream", "upstream/nope"]) == 2
    assert "no such revision: upstream/nope" in capsys.readouterr().err
    git(tmp_path / "example" / "fork", "rm", "-q", "ciwm.toml")
    git(tmp_path / "example" / "fork", "commit", "-qm", "No configuration")
    git(tmp_path / "example" / "fork", "remote", "remove", "upstream")
    assert run(["bump-preview"]) == 2
    assert "no upstream is configured" in capsys.readouterr().err
