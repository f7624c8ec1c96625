"""One comment on a pull request: found by a hidden marker among our own, edited in place."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from ciwm.errors import GitHubError
from ciwm.github import NotFoundError, UnreachableError
from ciwm.publish.published import Posted

if TYPE_CHECKING:
    from ciwm.github import Comment, GitHub
    from ciwm.publish.published import Done

BODY_LIMIT = 65_536  # characters; GitHub refuses more
TRIES = 3
_KEY = re.compile(r"[A-Za-z0-9._-]{1,60}")


def marker(key: str) -> str:
    """The hidden line by which a later run finds the comment of `key`."""
    if not _KEY.fullmatch(key):
        raise ValueError(f"not a key: {key!r}")
    return f"<!-- ciwm:{key} -->"


def stick(github: GitHub, repository: str, number: int, key: str, text: str) -> Posted:
    """Make the one comment of `key` say `text`; nothing is sent when it does already.

    A marker in somebody else's comment is ignored, further comments of ours with it are removed.
    """
    body = f"{marker(key)}\n{text}"
    if len(body) > BODY_LIMIT:
        raise GitHubError(f"the comment has {len(body)} characters, GitHub takes {BODY_LIMIT}")
    mine = _mine(github, repository, number, key)
    if mine:
        with suppress(NotFoundError):  # somebody has deleted it since it was listed
            return _settle(github, repository, number, mine, body)
    return _create(github, repository, number, key, body)


def _create(github: GitHub, repository: str, number: int, key: str, body: str) -> Posted:
    """A POST whose answer is lost may have been applied: look before sending it again."""
    for attempt in range(1, TRIES + 1):
        try:
            made = github.create_comment(repository, number, body)
            return Posted(what="comment", done="created", url=made.url)
        except UnreachableError:
            if attempt == TRIES:
                raise
            time.sleep(github.patience.backoff_s * attempt)
        mine = _mine(github, repository, number, key)
        if mine:
            settled = _settle(github, repository, number, mine, body)
            return settled.model_copy(update={"done": "created"})
    raise AssertionError  # the last attempt returned or raised


def _settle(github: GitHub, repository: str, number: int, mine: list[Comment], body: str) -> Posted:
    first, *more = mine
    same = _normal(first.body) == _normal(body)
    if not same:
        github.edit_comment(repository, number, first.id, body)
    removed = _remove(github, repository, number, more)
    done: Done = "unchanged" if same else "edited"
    return Posted(what="comment", done=done, url=first.url, removed=removed)


def _remove(github: GitHub, repository: str, number: int, comments: list[Comment]) -> int:
    """How many duplicates were removed; what cannot be is found again by the next run."""
    for removed, comment in enumerate(comments):
        try:
            github.delete_comment(repository, number, comment.id)
        except GitHubError:
            return removed
    return len(comments)


def _mine(github: GitHub, repository: str, number: int, key: str) -> list[Comment]:
    """Our comments that begin with the marker, oldest first."""
    sign = marker(key)
    marked = [found for found in github.comments(repository, number) if found.body.startswith(sign)]
    return [found for found in marked if github.is_ours(found)]


def _normal(body: str) -> str:
    """GitHub may change line ends and drop space at the end."""
    return body.replace("\r\n", "\n").rstrip()
