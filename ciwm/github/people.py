"""What somebody may do in a repository, as GitHub says it and never as their comment does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from ciwm.github.failures import NotFoundError, reading

if TYPE_CHECKING:
    from ciwm.github.api import GitHub

Reaction = Literal["+1", "-1", "confused", "eyes", "rocket"]
_WRITERS = ("admin", "write")  # what GitHub calls maintain is "write" here, and triage is "read"


@dataclass(frozen=True)
class Access:
    """What the account of a name may do, and which account that is now; 0 where there is none."""

    may_write: bool
    account: int


def access_of(github: GitHub, repository: str, login: str) -> Access:
    """What somebody may do in a repository; nothing, where GitHub knows nobody of that name."""
    what = f"ask what {login} may do in {repository}"
    try:
        said = github.get(what, f"/repos/{repository}/collaborators/{quote(login)}/permission")
    except NotFoundError:
        return Access(may_write=False, account=0)
    with reading(what):
        return Access(said["permission"] in _WRITERS, int((said["user"] or {}).get("id", 0)))


def react(github: GitHub, repository: str, comment: int, reaction: Reaction) -> None:
    """Put a reaction on a comment; one that is there already stays as it is."""
    path = f"/repos/{repository}/issues/comments/{comment}/reactions"
    what = f"react to comment {comment}"
    github.send(what, "POST", path, {"content": reaction}, "pull-requests: write")
