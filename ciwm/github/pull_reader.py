"""Reading pull requests by GraphQL: a hundred a request, by author or by number."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

from ciwm.github.failures import NotFoundError, UnreachableError
from ciwm.github.pull_answer import (
    ACTOR,
    PULL,
    TALK,
    TALK_TYPES,
    PullAnswer,
    first_response,
    moment,
    name_of,
    pull_answer,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from typing import TypeGuard

    from ciwm.github.api import GitHub
    from ciwm.github.graph import GraphAnswer
    from ciwm.github.pull_slice import Slice
    from ciwm.records.sync_pulls import PullRequest

A_REQUEST = 100  # pull requests: GitHub gives no more
LISTED = 1000  # results GitHub's search lists of one query
_SMALLEST_PAGE = 25
_TALK_PAGES = 10  # of 100 comments each: who has not answered by then, has not
_COST = "rateLimit { cost remaining resetAt }"
_SEARCH = (
    "query($query: String!, $all: String!, $first: Int!, $after: String) {"
    f" {_COST} all: search(type: ISSUE, query: $all, first: 1) {{ issueCount }}"
    " search(type: ISSUE, query: $query, first: $first, after: $after) {"
    " issueCount pageInfo { hasNextPage endCursor } nodes { ...pull } } }" + PULL
)


class Facts(NamedTuple):
    """A repository's present name, when it was made, and the authors of some pull requests."""

    name: str
    created_at: datetime
    authors: dict[int, str]


class _Page(NamedTuple):
    all: int
    total: int
    answers: list[PullAnswer]
    unread: int
    after: str | None


@dataclass
class Found:
    """The pull requests of a search, of which GitHub did not tell `unread`.

    `expected` is how many it counts of this author in all, whatever the slice. `talks` says where
    to read on in those whose first response was not among the first comments.
    """

    pulls: dict[int, PullRequest] = field(default_factory=dict)
    talks: dict[int, str] = field(default_factory=dict)
    expected: int = 0
    unread: int = 0

    def add(self, answers: Iterable[PullAnswer], unread: int = 0) -> None:
        """Add what a page listed; of a pull request listed twice, the later state counts."""
        self.unread += unread
        for pull, read_on in answers:
            known = self.pulls.get(pull.number)
            if known is None or known.updated_at <= pull.updated_at:
                self.pulls[pull.number] = pull
                self.talks.pop(pull.number, None)
                if read_on is not None:
                    self.talks[pull.number] = read_on


class PullReader:
    """Reads pull requests of one repository, and counts what that takes.

    `requests` and `points` are what was asked so far, `at` is GitHub's clock at the last answer.
    """

    def __init__(self, hub: GitHub, repository: str, bots: Collection[str] = ()) -> None:
        self.hub = hub
        self.repository = repository
        self.bots = bots
        self.requests = 0
        self.points = 0
        self.at = datetime.now(timezone.utc)
        self.born: datetime | None = None
        self._page_size = A_REQUEST

    def facts(self, numbers: Collection[int] = ()) -> Facts:
        """The repository by its present name, and the authors of up to 100 pull requests.

        Raises NotFoundError for a repository that is not there.
        """
        asked = " ".join(
            f"p{number}: pullRequest(number: {number}) {{ author {ACTOR} }}"
            for number in sorted(numbers)[:A_REQUEST]
        )
        found = self._of_repository(f"nameWithOwner createdAt {asked}")
        authors = {n: name_of(found[f"p{n}"]["author"]) for n in numbers if found.get(f"p{n}")}
        self.repository, self.born = str(found["nameWithOwner"]), moment(found["createdAt"])
        return Facts(self.repository, self.born, authors)

    def of_author(self, author: str, part: Slice) -> Found:
        """All pull requests of one author in a slice of time, each once."""
        found, waiting = Found(), [part]
        while waiting:
            part = waiting.pop()
            page = self._page(author, part, None)
            halves = part.halves(self.born or self.at, self.at) if page.total > LISTED else None
            if halves is not None:
                waiting += halves
                continue
            found.expected = page.all
            found.add(page.answers, page.unread + max(0, page.total - LISTED))
            for _ in range(LISTED // _SMALLEST_PAGE):
                if page.after is None:
                    break
                page = self._page(author, part, page.after)
                found.add(page.answers, page.unread)
        self._read_on(found)
        return found

    def numbered(self, numbers: Iterable[int]) -> dict[int, PullRequest]:
        """Pull requests by number, 100 a request; those that do not exist are left out."""
        found = Found()
        for some in _batches(sorted(set(numbers)), A_REQUEST):
            asked = " ".join(
                f"p{number}: pullRequest(number: {number}) {{ ...pull }}" for number in some
            )
            answer = self._of_repository(asked, PULL)
            nodes = [answer.get(f"p{number}") for number in some]
            found.add(pull_answer(node, self.bots) for node in nodes if _whole(node))
        self._read_on(found)
        return found.pulls

    def _page(self, author: str, part: Slice, after: str | None) -> _Page:
        """One page of a search; where GitHub gives up on a page, a smaller one is asked for."""
        who = f"app/{author.removesuffix('[bot]')}" if author.endswith("[bot]") else author
        theirs = f"repo:{self.repository} is:pr author:{who}"
        query = " ".join(f"{theirs} {part.qualifier} sort:{part.field}-asc".split())
        while True:
            size = self._page_size
            variables = {"query": query, "all": theirs, "first": size, "after": after}
            try:
                answer = self._ask(f"list the pull requests of {author}", _SEARCH, variables)
            except UnreachableError:
                if size <= _SMALLEST_PAGE:
                    raise
                self._page_size = size // 2
                continue
            found = answer.data["search"]
            answers = [pull_answer(node, self.bots) for node in found["nodes"] if _whole(node)]
            page = found["pageInfo"]
            return _Page(
                int(answer.data["all"]["issueCount"]),
                int(found["issueCount"]),
                answers,
                len(found["nodes"]) - len(answers),
                page["endCursor"] if page["hasNextPage"] else None,
            )

    def _read_on(self, found: Found) -> None:
        """Look for first responses beyond the first comments, which bots may have written."""
        for _ in range(_TALK_PAGES):
            for some in _batches(sorted(found.talks), A_REQUEST):
                asked = " ".join(_talk_of(number, found.talks[number]) for number in some)
                answer = self._of_repository(asked)
                for number in some:
                    self._answered(found, number, answer.get(f"p{number}") or {})
            if not found.talks:
                return

    def _answered(self, found: Found, number: int, said: Mapping[str, Any]) -> None:
        pull = found.pulls[number]
        answered, read_on = first_response(said.get("talk"), pull.author, self.bots)
        found.talks.pop(number)
        if read_on is not None:
            found.talks[number] = read_on
        found.pulls[number] = pull.model_copy(update={"answered_at": answered})

    def _of_repository(self, asked: str, fragment: str = "") -> Mapping[str, Any]:
        owner, _, name = self.repository.partition("/")
        text = (
            f"query($owner: String!, $name: String!) {{ {_COST}"
            f" repository(owner: $owner, name: $name) {{ {asked} }} }}{fragment}"
        )
        what = f"read pull requests of {self.repository}"
        answer = self._ask(what, text, {"owner": owner, "name": name})
        if answer.data.get("repository") is None:
            raise NotFoundError(
                f"cannot {what}: there is no such repository at {self.hub.api_url}",
                "is [upstream] github its owner/name, and may the token see it?",
            )
        found: Mapping[str, Any] = answer.data["repository"]
        return found

    def _ask(self, what: str, text: str, variables: Mapping[str, Any]) -> GraphAnswer:
        self.requests += 1
        answer = self.hub.query(what, text, variables)
        self.points += answer.points
        self.at = answer.at
        return answer


def _whole(node: Mapping[str, Any] | None) -> TypeGuard[Mapping[str, Any]]:
    """Whether GitHub told a pull request, and gave up on no part of it."""
    parts = ("labels", "drafting", "talk", "closing")
    return node is not None and all(node.get(part) is not None for part in parts)


def _talk_of(number: int, after: str) -> str:
    found = f"talk: timelineItems(first: 100, after: {json.dumps(after)}, {TALK_TYPES}) {TALK}"
    return f"p{number}: pullRequest(number: {number}) {{ {found} }}"


def _batches(numbers: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (numbers[start : start + size] for start in range(0, len(numbers), size))
