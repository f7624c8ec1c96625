"""Reading objects from a repository that may lack some: the one it lacks gets its name told."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ciwm.errors import GitError

if TYPE_CHECKING:
    from ciwm.git import Repository
    from ciwm.git_process import Completed

DAMAGED_AT_MOST = 16  # unreadable objects found one by one, before giving up
_OBJECT = re.compile(r"\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b")
_COMPLAINT = re.compile(
    r"could not fetch|unable to (?:read|find|unpack|parse|open)|cannot read|could not read"
    r"|failed to read|corrupt|bad object|missing (?:blob|tree|commit|object)|is empty"
)


class MissingObjectError(GitError):
    """Git needed an object that this repository does not have, or has only in pieces."""

    def __init__(self, object_id: str, message: str) -> None:
        super().__init__(
            message,
            "git fetch what a partial clone left out, or find damage with: git fsck --full",
        )
        self.object_id = object_id


def read(
    repository: Repository,
    *arguments: str,
    stdin: bytes | None = None,
    accept: tuple[int, ...] = (),
) -> Completed:
    """Run a reading git command; raises MissingObjectError when an object is not there.

    Statuses in `accept` are answers, like 0.
    """
    completed = repository.run(*arguments, check=False, stdin=stdin)
    verb = next(part for part in arguments if not part.startswith("-") and "=" not in part)
    if completed.status in (0, *accept):
        return completed
    complaints = [line for line in completed.stderr.splitlines() if _COMPLAINT.search(line)]
    named = [(found[0], line) for line in complaints if (found := _OBJECT.search(line))]
    if named:
        object_id, line = named[0]
        raise MissingObjectError(object_id, f"git {verb}: {line.strip()}")
    words = (complaints or completed.stderr.splitlines() or ["no message"])[-1].strip()
    raise GitError(
        f"git {verb} failed in {repository.path} (status {completed.status}): {words}",
        "is the repository whole? check it with: git fsck --full",
    )
