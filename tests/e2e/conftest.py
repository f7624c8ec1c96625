"""A downstream on GitHub: the embedded example, whose origin is a repository of the bed."""

from __future__ import annotations

import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ciwm.demo.repositories import BASE, HEAD, make_example

if TYPE_CHECKING:
    from tests.github_bed.bed import GitHubBed

ROOT = Path(__file__).parents[2]
WORKFLOW = """\
on: [pull_request, push]
permissions: {contents: write, checks: write, pull-requests: write}
jobs:
  ciwm:
    runs-on: [self-hosted, gpu]
    steps:
      - uses: actions/checkout@v5
      - uses: acme/ciwm@v1
        with:
          token: ${{ secrets.GITHUB_TOKEN }}
          executable: ${{ vars.EXECUTABLE }}
          out: ${{ vars.OUT }}
"""


def git(path: Path, *arguments: str) -> str:
    """Standard output of a git command that must succeed."""
    done = subprocess.run(["git", *arguments], cwd=path, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@dataclass(frozen=True)
class Downstream:
    """The fork's checkout, as the runner finds it, and the bare repository behind `origin`."""

    path: Path
    origin: Path

    def commit(self, message: str) -> str:
        """Commit all there is and push the branch; the new commit."""
        git(self.path, "add", "--all")
        git(self.path, "commit", "-q", "-m", message)
        git(self.path, "push", "-q", "origin", "HEAD")
        return git(self.path, "rev-parse", "HEAD")

    def check_out_merge(self, head: str) -> str:
        """Put the checkout on the merge GitHub would test; that merge."""
        git(self.path, "switch", "-q", "--detach", BASE)
        git(self.path, "merge", "-q", "--no-ff", "-m", f"Merge {head} into {BASE}", head)
        return git(self.path, "rev-parse", "HEAD")


@pytest.fixture
def downstream(tmp_path: Path, github: GitHubBed) -> Downstream:
    """The fork with main and the slower sync branch, both pushed, and a workflow that uses ciwm."""
    fork = make_example(tmp_path / "example").fork.path
    origin = tmp_path / "origin.git"
    git(tmp_path, "init", "-q", "--bare", str(origin))
    git(fork, "remote", "set-url", "origin", github.remote_url)
    # the runner learns the repository's name from the URL, git is sent to the folder
    git(fork, "config", f"url.file://{origin}.insteadOf", github.remote_url)
    workflow = fork / ".github" / "workflows" / "ciwm.yml"
    for branch in (BASE, HEAD):
        git(fork, "switch", "-q", branch)
        workflow.parent.mkdir(parents=True, exist_ok=True)
        workflow.write_text(WORKFLOW)
        Downstream(fork, origin).commit("Measure every change with ciwm")
    return Downstream(fork, origin)


@pytest.fixture(scope="session")
def executable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installed ciwm, as far as the action can tell: these sources in this interpreter."""
    path = tmp_path_factory.mktemp("bin") / "ciwm"
    command = shlex.join(["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "ciwm"])
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    path.chmod(0o755)
    return path
