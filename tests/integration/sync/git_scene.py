"""Real repositories for the tests of `ciwm sync-report`, and plain git as their second opinion."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ciwm import cli

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

FIXED_DATE = 1_750_000_000  # 2025-06-15, so that ids and days are the same in every run


@dataclass
class Scene:
    """One repository; each commit is an hour later than the one before."""

    path: Path
    clock: int = FIXED_DATE

    def git(self, *arguments: str, **variables: str) -> str:
        """Standard output of a git command that must succeed, stripped."""
        return self.raw(*arguments, variables=variables).decode("utf-8", "surrogateescape").strip()

    def raw(
        self, *arguments: str | bytes, stdin: bytes = b"", variables: dict[str, str] | None = None
    ) -> bytes:
        """Standard output of a git command that must succeed."""
        date = f"@{self.clock} +0200"
        environment = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date, **(variables or {})}
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            env={**os.environ, **environment},
            input=stdin,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, f"git {arguments}: {done.stderr.decode(errors='replace')}"
        return done.stdout

    def status(self, *arguments: str) -> tuple[int, str]:
        """Exit status and standard output of a git command that may fail."""
        done = subprocess.run(
            ["git", *arguments], cwd=self.path, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout

    def write(self, name: str | bytes, content: str | bytes) -> None:
        """Write a file of the work tree."""
        path = os.path.join(os.fsencode(self.path), os.fsencode(name))  # noqa: PTH118  bytes
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120  bytes
        with open(path, "wb") as file:  # noqa: PTH123  bytes
            file.write(content.encode() if isinstance(content, str) else content)

    def commit(self, message: str, **files: str | bytes) -> str:
        """Write files (`a__b` is a.b), commit everything, and return the sha."""
        for name, content in files.items():
            self.write(name.replace("__", "."), content)
        self.git("add", "-A")
        return self.commit_index(message)

    def commit_index(self, message: str, *options: str, **variables: str) -> str:
        """Commit what is staged and return the sha."""
        self.clock += 3600
        self.git("commit", "-q", "--allow-empty", "-m", message, *options, **variables)
        return self.git("rev-parse", "HEAD")

    def fingerprint(self) -> dict[str, str]:
        """Everything in the repository's folder, .git and work tree, by content."""
        return {
            str(path.relative_to(self.path)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(self.path.rglob("*"))
            if path.is_file() and not path.is_symlink()
        }


def numbered(first: int, last: int, **changed: str) -> str:
    """A file of numbered lines, some of them replaced (`l7="seven"`)."""
    lines = {f"l{number}": f"line {number}" for number in range(first, last + 1)}
    return "\n".join({**lines, **changed}.values()) + "\n"


def new_repository(path: Path, *options: str) -> Scene:
    """An empty repository with branch main."""
    path.mkdir(parents=True, exist_ok=True)
    scene = Scene(path)
    scene.git("init", "-q", "-b", "main", *options)
    return scene


def fork_with_upstream(path: Path) -> Scene:
    """A fork on branch `fork`, upstream on remote-tracking branch upstream/main.

    Both sides changed line 5 of a.txt (a conflict) and distinct lines of b.txt (none).
    """
    scene = new_repository(path)
    scene.commit("base", a__txt=numbered(1, 20), b__txt=numbered(1, 20), c__txt=numbered(1, 9))
    scene.git("checkout", "-q", "-b", "fork")
    scene.commit("fork: five", a__txt=numbered(1, 20, l5="FIVE"))
    scene.commit(
        "fork: seventeen", b__txt=numbered(1, 20, l17="SEVENTEEN"), own__py="x = 1\ny = 2\n"
    )
    scene.git("checkout", "-q", "main")
    scene.commit("upstream: five", a__txt=numbered(1, 20, l5="five"))
    scene.commit("upstream: two", b__txt=numbered(1, 20, l2="two"))
    scene.commit("upstream: new", d__txt="d\n")
    publish_upstream(scene, "main")
    scene.git("checkout", "-q", "fork")
    return scene


def publish_upstream(scene: Scene, revision: str) -> None:
    """Make upstream/main what a `git fetch upstream` would have made it."""
    scene.git("remote", "add", "upstream", "https://git.example.org/project.git")
    scene.git("update-ref", "refs/remotes/upstream/main", revision)


@dataclass(frozen=True)
class Ended:
    """What a command line left."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        """The JSON record on standard output."""
        assert self.code == 0, self.err
        found: dict[str, Any] = json.loads(self.out)
        return found


class Ciwm:
    """The command line, in this process."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self.capture = capture

    def __call__(self, path: Path, *arguments: str) -> Ended:
        self.capture.readouterr()
        before = os.getcwd()  # noqa: PTH109  restored as it was
        try:
            code = cli.run(["-C", str(path), "sync-report", *arguments])
        finally:
            os.chdir(before)
        out, err = self.capture.readouterr()
        return Ended(code, out, err)
