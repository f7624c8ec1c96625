"""Pull requests by the thousand, as GitHub's GraphQL tells them: search, pages, timelines, cost."""

from __future__ import annotations

import base64
import shlex
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Literal

from graphql import FieldNode, FragmentSpreadNode, IntValueNode, VariableNode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from graphql import GraphQLResolveInfo, SelectionSetNode

LISTED = 1000
A_PAGE = 100
NODE_LIMIT = 500_000
_EVENTS = {
    "review": "PullRequestReview",
    "comment": "IssueComment",
    "ready": "ReadyForReviewEvent",
    "draft": "ConvertToDraftEvent",
    "closed": "ClosedEvent",
}
_ITEM_TYPES = {
    "PULL_REQUEST_REVIEW": "PullRequestReview",
    "ISSUE_COMMENT": "IssueComment",
    "READY_FOR_REVIEW_EVENT": "ReadyForReviewEvent",
    "CONVERT_TO_DRAFT_EVENT": "ConvertToDraftEvent",
    "CLOSED_EVENT": "ClosedEvent",
}


class BrokenPart(Exception):  # noqa: N818  it is GitHub's own trouble, not an error of the bed
    """GitHub gave a part of the answer up."""


class BadQuery(Exception):  # noqa: N818  it is GitHub's no, not an error of the bed
    """GitHub refuses the query."""


@dataclass(frozen=True)
class Event:
    """One item of a timeline; `actor` None is an account that is gone."""

    kind: Literal["review", "comment", "ready", "draft", "closed"]
    at: datetime
    actor: str | None = "reviewer"


@dataclass(frozen=True)
class BedPull:
    """A pull request that exists in the bed's GraphQL alone; logins that end in [bot] are apps."""

    number: int
    author: str | None
    created: datetime
    state: Literal["OPEN", "CLOSED", "MERGED"] = "OPEN"
    ended: datetime | None = None
    updated: datetime | None = None
    title: str = ""
    draft: bool = False
    labels: tuple[str, ...] = ()
    timeline: tuple[Event, ...] = ()
    broken: bool = False  # asked for its timeline, GitHub gives up on it

    @property
    def changed(self) -> datetime:
        """When it changed last."""
        times = (self.created, self.updated, self.ended, *(event.at for event in self.timeline))
        return max(time for time in times if time is not None)


def node(pull: BedPull, repository: str) -> dict[str, Any]:
    """A pull request as resolvers of the schema's type."""
    merged = pull.state == "MERGED"
    return {
        "__typename": "PullRequest",
        "number": pull.number,
        "title": pull.title or f"Change {pull.number}",
        "url": f"https://github.com/{repository}/pull/{pull.number}",
        "state": pull.state,
        "isDraft": pull.draft,
        "createdAt": told(pull.created),
        "updatedAt": told(pull.changed),
        "closedAt": told(pull.ended) if pull.ended else None,
        "mergedAt": told(pull.ended) if pull.ended and merged else None,
        "author": actor(pull.author),
        "labels": lambda _info, first, **_: {
            "nodes": [{"name": one} for one in pull.labels[:first]]
        },
        "timelineItems": lambda _info, **asked: _timeline(pull, **asked),
    }


def _timeline(
    pull: BedPull,
    itemTypes: Sequence[str],  # noqa: N803  the schema's name
    first: int | None = None,
    last: int | None = None,
    after: str | None = None,
) -> dict[str, Any]:
    if pull.broken:
        raise BrokenPart(
            "Something went wrong while executing your query. Please include `BED:1` when "
            "reporting this issue."
        )
    wanted = {_ITEM_TYPES[name] for name in itemTypes}
    items = [event for event in pull.timeline if _EVENTS[event.kind] in wanted]
    items.sort(key=lambda event: event.at)
    if last is not None:
        return {"nodes": [_item(event) for event in items[-last:]]}
    return page(items, first, after, _item)


def _item(event: Event) -> dict[str, Any]:
    told_at, who = told(event.at), actor(event.actor)
    common = {"__typename": _EVENTS[event.kind], "createdAt": told_at, "actor": who, "author": who}
    return {**common, "submittedAt": told_at} if event.kind == "review" else common


def actor(login: str | None) -> dict[str, str] | None:
    """Who it was; GraphQL leaves out an app's [bot]."""
    if login is None:
        return None
    app = login.endswith("[bot]")
    return {"__typename": "Bot" if app else "User", "login": login.removesuffix("[bot]")}


def search(
    query: str,
    pulls: Callable[[str], Iterable[BedPull]],
    first: int | None,
    after: str | None,
) -> dict[str, Any]:
    """GitHub's search for pull requests, as far as our clients' words go; 1,000 are listed."""
    words = dict(_qualifier(word) for word in shlex.split(query))
    repository = words.pop("repo")
    assert words.pop("is") == "pr"
    author = words.pop("author").lower()
    author = f"{author.removeprefix('app/')}[bot]" if author.startswith("app/") else author
    order, _, direction = words.pop("sort", "created-desc").partition("-")
    found = [pull for pull in pulls(repository) if (pull.author or "").lower() == author]
    for name in ("created", "updated"):
        if name in words:
            bounds = _bounds(words.pop(name))
            found = [pull for pull in found if _within(_time(pull, name), bounds)]
    if words:
        raise BadQuery(f"the bed's search does not know {', '.join(words)}")
    found.sort(key=lambda pull: _time(pull, order), reverse=direction == "desc")
    listed = page(found[:LISTED], first, after, lambda pull: node(pull, repository))
    return {"issueCount": len(found), **listed}


def _qualifier(word: str) -> tuple[str, str]:
    name, colon, value = word.partition(":")
    if not colon:
        raise BadQuery(f"the bed's search takes qualifiers only, not {word!r}")
    return name, value


def _time(pull: BedPull, name: str) -> datetime:
    return pull.created if name == "created" else pull.changed


def _bounds(value: str) -> tuple[datetime | None, datetime | None]:
    """First and last second, both included."""
    if value.startswith(">="):
        return _read(value[2:]), None
    if value.startswith("<"):
        return None, datetime.fromtimestamp(_read(value[1:]).timestamp() - 1, timezone.utc)
    start, dots, end = value.partition("..")
    if not dots:
        raise BadQuery(f"the bed's search does not know the range {value}")
    return _read(start), _read(end)


def _within(time: datetime, bounds: tuple[datetime | None, datetime | None]) -> bool:
    second, (start, end) = time.replace(microsecond=0), bounds
    return (start is None or start <= second) and (end is None or second <= end)


def page(
    items: Sequence[Any], first: int | None, after: str | None, shown: Callable[[Any], Any]
) -> dict[str, Any]:
    """A page of a connection, and where it goes on."""
    if first is None or not 1 <= first <= A_PAGE:
        raise BadQuery(f"`first` must be between 1 and {A_PAGE}, not {first}")
    start = int(base64.b64decode(after).decode().removeprefix("cursor:")) if after else 0
    end = min(start + first, len(items))
    cursor = base64.b64encode(f"cursor:{end}".encode()).decode()
    return {
        "pageInfo": {"hasNextPage": end < len(items), "endCursor": cursor if end else None},
        "nodes": [shown(item) for item in items[start:end]],
    }


@dataclass
class Cost:
    """What a query takes of the rate limit: requests for connections, by the hundred."""

    info: GraphQLResolveInfo[Any]
    requests: int = 0
    nodes: int = 0
    fragments: list[str] = field(default_factory=list)

    def of_query(self) -> dict[str, Any]:
        """The answer to `rateLimit`; more nodes than GitHub allows are refused."""
        self._add(self.info.operation.selection_set, 1)
        if self.nodes > NODE_LIMIT:
            raise BadQuery(f"{self.nodes} nodes are more than {NODE_LIMIT}")
        cost = max(1, round(self.requests / 100))
        reset = told(datetime.now(timezone.utc))
        return {"cost": cost, "remaining": 5000 - cost, "resetAt": reset, "nodeCount": self.nodes}

    def _add(self, selected: SelectionSetNode | None, times: int) -> None:
        for found in selected.selections if selected else ():
            if isinstance(found, FragmentSpreadNode):
                self._add(self.info.fragments[found.name.value].selection_set, times)
            elif isinstance(found, FieldNode):
                size = self._size(found)
                self.requests += times if size else 0
                self.nodes += times * (size or 0)
                self._add(found.selection_set, times * (size or 1))

    def _size(self, found: FieldNode) -> int | None:
        for argument in found.arguments or ():
            if argument.name.value in {"first", "last"}:
                value = argument.value
                if isinstance(value, VariableNode):
                    values: Any = self.info.variable_values
                    return int(getattr(values, "coerced", values)[value.name.value])
                return int(value.value) if isinstance(value, IntValueNode) else None
        return None


def told(moment: datetime) -> str:
    """A moment as GitHub writes it, to the second."""
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _read(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
