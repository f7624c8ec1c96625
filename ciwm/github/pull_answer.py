"""What is asked about one pull request, and what the answer means."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

from ciwm.records.sync_pulls import PullRequest, PullState

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

GHOST = "ghost"  # as GitHub shows an account that is gone
_TITLE_LIMIT = 300
# people's accounts that machines write with; apps are told by their type
_KNOWN_BOTS = re.compile(
    r"(?:.*[-_])?(?:bot|robot)|.*(?:mergebot|robot)|codecov-commenter|codecov-io|cla-?assistant"
    r"|googlebot|copybara-service",
    re.IGNORECASE,
)

ACTOR = "{ __typename login }"
TALK = f"""{{
  pageInfo {{ hasNextPage endCursor }}
  nodes {{
    ... on PullRequestReview {{ createdAt submittedAt author {ACTOR} }}
    ... on IssueComment {{ createdAt author {ACTOR} }}
  }}
}}"""
TALK_TYPES = "itemTypes: [PULL_REQUEST_REVIEW, ISSUE_COMMENT]"
PULL = f"""
fragment pull on PullRequest {{
  number title url state isDraft createdAt updatedAt closedAt mergedAt
  author {ACTOR}
  labels(first: 50) {{ nodes {{ name }} }}
  drafting: timelineItems(first: 1, itemTypes: [READY_FOR_REVIEW_EVENT, CONVERT_TO_DRAFT_EVENT]) {{
    nodes {{ __typename ... on ReadyForReviewEvent {{ createdAt }} }}
  }}
  talk: timelineItems(first: 20, {TALK_TYPES}) {TALK}
  closing: timelineItems(last: 1, itemTypes: [CLOSED_EVENT]) {{
    nodes {{ ... on ClosedEvent {{ actor {ACTOR} }} }}
  }}
}}
"""


class PullAnswer(NamedTuple):
    """A pull request, and where to read on when its first response may lie further on."""

    pull: PullRequest
    read_on: str | None = None


def pull_answer(node: Mapping[str, Any], bots: Collection[str]) -> PullAnswer:
    """The pull request of a `pull` fragment; a part that GitHub left out is not known."""
    author, state = name_of(node.get("author")), _state(str(node["state"]))
    created, draft = moment(node["createdAt"]), bool(node["isDraft"])
    answered, read_on = first_response(node.get("talk"), author, bots)
    pull = PullRequest(
        number=node["number"],
        title=_line(str(node["title"])),
        url=str(node["url"]),
        author=author,
        state=state,
        draft=draft,
        created_at=created,
        updated_at=moment(node["updatedAt"]),
        closed_at=moment(node["closedAt"]) if node.get("closedAt") else None,
        merged_at=moment(node["mergedAt"]) if node.get("mergedAt") else None,
        closed_by=_closer(node) if state == "closed" else None,
        labels=tuple(str(one["name"]) for one in _nodes(node.get("labels"))),
        ready_at=_ready_at(_nodes(node.get("drafting")), created, draft=draft),
        answered_at=answered,
    )
    return PullAnswer(pull, read_on)


def first_response(
    talk: Mapping[str, Any] | None, author: str, bots: Collection[str]
) -> tuple[datetime | None, str | None]:
    """When somebody else than author and bots first spoke, or the cursor to look on from."""
    times = [
        moment(one.get("submittedAt") or one["createdAt"])
        for one in _nodes(talk)
        if one.get("createdAt") and _is_response(one.get("author"), author, bots)
    ]
    page = (talk or {}).get("pageInfo") or {}
    if times or not page.get("hasNextPage"):
        return min(times, default=None), None
    return None, page.get("endCursor")


def name_of(actor: Mapping[str, Any] | None) -> str:
    """A login; apps with [bot], accounts that are gone as ghost."""
    if not actor:
        return GHOST
    login = str(actor["login"])
    app = actor.get("__typename") == "Bot" and not login.endswith("[bot]")
    return f"{login}[bot]" if app else login


def _is_response(actor: Mapping[str, Any] | None, author: str, bots: Collection[str]) -> bool:
    name = name_of(actor)
    ours = {bot.lower().removeprefix("@") for bot in bots}
    machine = name.endswith("[bot]") or _KNOWN_BOTS.fullmatch(name) or name.lower() in ours
    return not machine and name.lower() != author.lower()


def _ready_at(
    drafting: list[Mapping[str, Any]], created: datetime, *, draft: bool
) -> datetime | None:
    """When it was first ready for review: its first change of that kind tells how it began."""
    if drafting:
        ready = drafting[0]["__typename"] == "ReadyForReviewEvent"
        return moment(drafting[0]["createdAt"]) if ready else created
    return None if draft else created


def _closer(node: Mapping[str, Any]) -> str | None:
    closing = _nodes(node.get("closing"))
    return name_of(closing[-1].get("actor")) if closing else None


def _state(state: str) -> PullState:
    known: dict[str, PullState] = {"OPEN": "open", "MERGED": "merged", "CLOSED": "closed"}
    return known[state]


def _nodes(connection: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    return [node for node in (connection or {}).get("nodes") or () if node]


def moment(text: str) -> datetime:
    """A moment as GitHub writes it."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)


def _line(text: str) -> str:
    """A title that a UTF-8 record can hold."""
    whole = " ".join(text.encode("utf-8", "replace").decode().split())
    return whole if len(whole) <= _TITLE_LIMIT else f"{whole[: _TITLE_LIMIT - 1]}…"
