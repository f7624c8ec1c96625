"""One issue that is kept up to date: found by a hidden marker among our own, edited in place."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.errors import GitHubError
from ciwm.github import UnreachableError
from ciwm.github.issues import create_issue, edit_issue, labelled_issues, pin_issue
from ciwm.publish.published import Posted
from ciwm.publish.sticky import BODY_LIMIT, marker

if TYPE_CHECKING:
    from collections.abc import Callable

    from ciwm.github import GitHub
    from ciwm.github.issues import Issue

TRIES = 3


@dataclass(frozen=True)
class Standing:
    """The issue as it should be; `key` tells several of ours apart."""

    repository: str
    key: str
    title: str
    text: str

    @property
    def body(self) -> str:
        """The text with the marker by which a later run finds it."""
        return f"{marker(self.key)}\n{self.text}"


def keep_issue(github: GitHub, issue: Standing, warn: Callable[[str], None]) -> Posted:
    """Make the one issue say this; a new one is pinned where there is a place for it.

    An issue that a person closed is edited and stays closed: it was closed on purpose.
    """
    if len(issue.body) > BODY_LIMIT:
        raise GitHubError(f"the issue has {len(issue.body)} characters, GitHub takes {BODY_LIMIT}")
    found = _ours(github, issue)
    if found is None:
        return _create(github, issue, warn)
    if found.title == issue.title and _same(found.body, issue.body):
        return Posted(what="issue", done="unchanged", url=found.url)
    edit_issue(github, issue.repository, found.number, issue.title, issue.body)
    return Posted(what="issue", done="edited", url=found.url)


def _create(github: GitHub, issue: Standing, warn: Callable[[str], None]) -> Posted:
    """A POST whose answer is lost may have been applied: look before sending it again."""
    for attempt in range(1, TRIES + 1):
        try:
            made = create_issue(github, issue.repository, issue.title, issue.body)
        except UnreachableError:
            if attempt == TRIES:
                raise
            time.sleep(github.patience.backoff_s * attempt)
            found = _ours(github, issue)
            if found is None:
                continue
            made = found
        try:
            pin_issue(github, made)
        except GitHubError as error:
            warn(f"the issue is not pinned: {error.message}")
        return Posted(what="issue", done="created", url=made.url)
    raise AssertionError  # the last attempt returned or raised


def _ours(github: GitHub, issue: Standing) -> Issue | None:
    sign = marker(issue.key)
    for found in labelled_issues(github, issue.repository):
        if found.body.startswith(sign) and github.wrote(found.author, by_app=found.by_app):
            return found
    return None


def _same(one: str, other: str) -> bool:
    return one.replace("\r\n", "\n").rstrip() == other.replace("\r\n", "\n").rstrip()
