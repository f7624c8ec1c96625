"""Starting git, and what it means when it cannot be started."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ciwm.errors import GitError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Completed:
    """What a git command left: exit status, standard output as bytes, standard error as text."""

    status: int
    stdout: bytes
    stderr: str

    @property
    def text(self) -> str:
        """Standard output; bytes that are not UTF-8 become surrogates and survive a round trip."""
        return self.stdout.decode("utf-8", "surrogateescape")


def execute(
    command: Sequence[str], path: Path, environment: Mapping[str, str], stdin: bytes | None
) -> Completed:
    """Run a git command in a folder; raises GitError when git cannot be started."""
    gitpython = _gitpython()
    with tempfile.TemporaryFile() as given:
        given.write(stdin or b"")
        given.seek(0)
        try:
            status, stdout, stderr = gitpython.Git(str(path)).execute(
                command,
                istream=given,
                env=environment,
                with_extended_output=True,
                with_exceptions=False,
                stdout_as_string=False,
                strip_newline_in_stdout=False,
            )
        except (gitpython.GitCommandNotFound, OSError) as error:
            raise _no_git(error) from error
    if status in (126, 127) and stderr.startswith("env: "):  # env found none it could start
        raise _no_git(stderr)
    return Completed(status, bytes(stdout or b""), stderr)


def _gitpython() -> Any:
    """GitPython, which refuses to be imported where there is no git it can start."""
    try:
        import git
    except (ImportError, OSError) as error:
        raise _no_git(error) from error
    return git


def _no_git(why: object) -> GitError:
    detail = f": {why.strerror}" if isinstance(why, OSError) and why.strerror else ""
    return GitError(
        f"git is not installed, not on PATH, or cannot be started{detail}",
        "install git, and see that `git version` works for the user of this job",
    )


def last_words(stderr: str) -> str:
    """What git said failed, in one line."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    for line in lines:
        if line.startswith(("fatal:", "error:")):
            return line
    return lines[-1] if lines else "no message"
