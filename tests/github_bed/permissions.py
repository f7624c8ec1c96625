"""What a token may do, refused in GitHub's words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.github_bed.answers import Refusal

if TYPE_CHECKING:
    from tests.github_bed.contract import Operation
    from tests.github_bed.state import Token

# the first pattern that an operation's path matches names the permissions, any of which suffices
_NEEDED: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"/check-(runs|suites)", ("checks",)),
    (r"/statuses/|/status$", ("statuses",)),
    (r"/issues", ("issues", "pull_requests")),
    (r"/pulls", ("pull_requests",)),
    (r"/actions/", ("actions",)),
    (r"", ("contents",)),
)
_NOT_ACCESSIBLE = {
    "job": "Resource not accessible by integration",
    "app": "Resource not accessible by integration",
    "pat": "Resource not accessible by personal access token",
}


def check(operation: Operation, token: Token | None) -> None:
    """Refuse what the token does not permit."""
    if operation.template == "/user":
        _check_user(token)
        return
    if not operation.repository:
        return
    write = operation.method != "GET"
    if token is None:
        if write:
            raise Refusal(401, "Requires authentication")
        return
    if token.repository and write and token.repository != operation.repository:
        raise Refusal(403, _NOT_ACCESSIBLE[token.kind])
    if write and "/check-" in operation.template and token.kind == "pat":
        raise Refusal(403, "You must authenticate via a GitHub App.")
    if write and not _permitted(operation, token):
        raise Refusal(403, _NOT_ACCESSIBLE[token.kind])


def _check_user(token: Token | None) -> None:
    """A job's own token belongs to no user: GitHub refuses to say who it is."""
    if token is None:
        raise Refusal(401, "Requires authentication")
    if token.kind != "pat":
        raise Refusal(403, _NOT_ACCESSIBLE[token.kind])


def _permitted(operation: Operation, token: Token) -> bool:
    path = operation.template.removeprefix("/repos/{owner}/{repo}")
    names = next(names for pattern, names in _NEEDED if re.search(pattern, path))
    return any(token.permissions.get(name) == "write" for name in names)
