"""One GraphQL query: its answer, what it cost, and the failures that come with status 200."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from ciwm.github.failures import graphql_failure, rate_limited, seconds_to_reset

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Answer = tuple[Mapping[str, Any], Any]

_NOT_FOUND = "NOT_FOUND"
_WAITS = 3


@dataclass(frozen=True)
class GraphAnswer:
    """What a query gave: its data, GitHub's clock, its cost in points, and what does not exist.

    `absent` names the parts of the query that GitHub could not find.
    """

    data: dict[str, Any]
    at: datetime
    points: int
    absent: frozenset[str]


def graph_answer(ask: Callable[[], Answer], wait_at_most_s: float) -> GraphAnswer:
    """Ask, waiting for the rate limit as long as we may; raises the GitHubError it ends in.

    A query of which some parts do not exist is answered without them.
    """
    for _ in range(_WAITS):
        headers, data = ask()
        if not rate_limited(data):
            break
        wait_s = seconds_to_reset(headers)
        if wait_s > wait_at_most_s:
            break
        wait_at_most_s -= wait_s
        time.sleep(wait_s)
    failure = graphql_failure(_without_absent(data), headers)
    if failure is not None:
        raise failure
    found = data["data"]
    limit = found.get("rateLimit") or {}
    return GraphAnswer(found, _clock(headers), int(limit.get("cost", 1)), _absent(data))


def _errors(data: Any) -> list[dict[str, Any]]:
    errors = data.get("errors") if isinstance(data, dict) else None
    return [one for one in errors if isinstance(one, dict)] if isinstance(errors, list) else []


def _without_absent(data: Any) -> dict[str, Any]:
    """The answer without the errors that only say that something does not exist."""
    if not isinstance(data, dict) or not (isinstance(data.get("data"), dict) or _errors(data)):
        raise ValueError("it holds neither data nor errors")
    if not isinstance(data.get("data"), dict):
        return data
    return {**data, "errors": [one for one in _errors(data) if one.get("type") != _NOT_FOUND]}


def _absent(data: Any) -> frozenset[str]:
    paths = [one.get("path") or [""] for one in _errors(data) if one.get("type") == _NOT_FOUND]
    return frozenset(str(path[-1]) for path in paths)


def _clock(headers: Mapping[str, Any]) -> datetime:
    """GitHub's time at the answer; ours where it does not say."""
    told = {str(name).lower(): str(value) for name, value in headers.items()}.get("date", "")
    try:
        return parsedate_to_datetime(told).astimezone(timezone.utc)
    except ValueError:
        return datetime.now(timezone.utc)
