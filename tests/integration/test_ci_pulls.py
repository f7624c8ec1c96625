"""`ciwm ci` asks GitHub how our pull requests fare upstream: only where it is told to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ciwm import cli
from ciwm.records import BumpReport, read_record
from tests.fork import git, new_fork
from tests.integration.sync.pulls_scene import NOW, many

if TYPE_CHECKING:
    from pathlib import Path

    from tests.github_bed.bed import GitHubBed

UPSTREAM = '[upstream]\nremote = "upstream"\ngithub = "{}"\nauthors = ["@jane"]\n'


@pytest.fixture
def fork(tmp_path: Path, github: GitHubBed, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fork that moved once, whose upstream changed the file it carries."""
    for name, word in github.environment().items():
        monkeypatch.setenv(name, word)
    monkeypatch.delenv("GITHUB_EVENT_NAME", raising=False)
    github.make_up(many(1_000), clock=NOW)
    made = new_fork(tmp_path)
    git(made.path, "switch", "-q", "-c", "theirs")
    made.commit({"framework/__init__.py": "def work(): return 2\n"})
    git(made.path, "switch", "-q", "main")
    git(made.path, "update-ref", "refs/remotes/upstream/main", "theirs")
    git(made.path, "remote", "add", "upstream", str(tmp_path / "nowhere"))
    made.commit({"framework/more.py": "x = 1\n"})
    made.commit({"framework/__init__.py": "def work(): return 3\n"})
    return made.path


def told(fork: Path, config: str, folder: str = "out") -> BumpReport:
    (fork / "ciwm.toml").write_text(config)
    out = fork.parent / folder
    sides = ("--base", "main~1", "--head", "main", "--no-fetch", "--only", "sync")
    code = cli.run(["-C", str(fork), "ci", *sides, "--out", str(out)])
    assert code == 0
    return read_record(out / "report.json", BumpReport)


def test_pull_requests_are_part_of_the_report_where_configuration_says_so(
    fork: Path, github: GitHubBed
) -> None:
    upstream = UPSTREAM.format(github.repository)
    quiet = told(fork, upstream)
    assert quiet.sync is not None
    assert quiet.sync.pulls is None
    assert github.exchanges == []
    report = told(fork, f"{upstream}[sync]\npulls = true\n", "asked")
    assert report.sync is not None
    assert report.sync.pulls is not None
    pulls = report.sync.pulls
    assert (pulls.open or 0) + (pulls.merged or 0) + (pulls.closed or 0) == 1_000
    assert report.sync_base is not None
    assert report.sync_base.pulls is not None
    assert report.sync_base.pulls.merged == pulls.merged, "asked once for both sides"
    assert len(github.exchanges) <= 12
    assert report.sync.rating is not None
    rated = {factor.name: factor.value for factor in report.sync.rating.factors}
    assert rated["unmerged_pct"] is not None
    assert "closed unmerged" in (fork.parent / "asked" / "comment.md").read_text()


def test_without_upstreams_place_on_github_nothing_is_asked(fork: Path, github: GitHubBed) -> None:
    report = told(fork, '[upstream]\nremote = "upstream"\n[sync]\npulls = true\n')
    assert report.sync is not None
    assert report.sync.pulls is None
    assert github.exchanges == []
