"""Somebody's comment on a pull request, or their wish to have a check run again."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ciwm.actions.payload import Payload

_LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,99})")


@dataclass(frozen=True)
class Person:
    """An account; the number stays the same when its name is given to somebody else."""

    login: str
    id: int
    is_app: bool


@dataclass(frozen=True)
class IssueComment:
    """A comment; `body` is anybody's text and is never a reason to trust its author."""

    id: int
    body: str
    author: Person
    url: str
    number: int
    on_pull_request: bool


@dataclass(frozen=True)
class CheckAsked:
    """A check run that somebody acts on; `external_id` says whether we made it."""

    name: str
    external_id: str
    asked_by: Person


def issue_comment(payload: Payload) -> IssueComment:
    """The comment of an issue_comment payload; raises UsageError when it is not GitHub's."""
    return IssueComment(
        id=payload.number("comment", "id"),
        body=_words(payload, "comment", "body"),
        author=_person(payload, "comment", "user"),
        url=payload.text("comment", "html_url") or "",
        number=payload.number("issue", "number"),
        on_pull_request=isinstance(payload.value("issue", "pull_request"), dict),
    )


def check_asked(payload: Payload) -> CheckAsked:
    """The check of a check_run payload and who acts on it; raises UsageError."""
    return CheckAsked(
        name=payload.text("check_run", "name") or "",
        external_id=_words(payload, "check_run", "external_id"),
        asked_by=_person(payload, "sender"),
    )


def _words(payload: Payload, *path: str) -> str:
    """A text that may be empty or missing."""
    value = payload.value(*path)
    return value if isinstance(value, str) else ""


def _person(payload: Payload, *path: str) -> Person:
    login = payload.value(*path, "login")
    kind = payload.value(*path, "type")
    is_app = kind != "User"
    plain = login.removesuffix("[bot]") if isinstance(login, str) else ""
    if not _LOGIN.fullmatch(plain) or (plain != login and not is_app):
        raise payload.wrong(*path, "login")
    return Person(str(login), payload.number(*path, "id"), is_app)
