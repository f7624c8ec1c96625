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
    """What a query gave: its data, GitHub's clock, and its cost in points.

    What does not exist, or what GitHub gave up on by itself, is None in the data; `gave_up` says
    that there is something of the second kind.
    """

    data: dict[str, Any]
    at: datetime
    points: int
    gave_up: bool = False


def graph_answer(ask: Callable[[], Answer], wait_at_most_s: float) -> GraphAnswer:
    """Ask, waiting for the rate limit as long as we may; raises the GitHubError it ends in."""
    for _ in range(_WAITS):
        headers, data = ask()
        if not rate_limited(data):
            break
        wait_s = seconds_to_reset(headers)
        if wait_s > wait_at_most_s:
            break
        wait_at_most_s -= wait_s
        time.sleep(wait_s)
    failure = graphql_failure(_decisive(data), headers)
    if failure is not None:
        raise failure
    found = data["data"]
    limit = found.get("rateLimit") or {}
    gave_up = any(one.get("type") != _NOT_FOUND for one in _errors(data))
    return GraphAnswer(found, _clock(headers), int(limit.get("cost", 1)), gave_up)


def _decisive(data: Any) -> dict[str, Any]:
    """The answer without the errors that concern a part of it only."""
    listed = _errors(data)
    if not isinstance(data, dict) or not (isinstance(data.get("data"), dict) or listed):
        raise ValueError("it holds neither data nor errors")
    return {**data, "errors": [one for one in listed if not _concerns_a_part(one, data)]}


def _errors(data: Any) -> list[dict[str, Any]]:
    errors = data.get("errors") if isinstance(data, dict) else None
    return [one for one in errors if isinstance(one, dict)] if isinstance(errors, list) else []


def _concerns_a_part(error: Mapping[str, Any], data: Mapping[str, Any]) -> bool:
    """Whether something does not exist, or lies in an object that is there for the rest."""
    path, found = error.get("path"), data.get("data")
    if not isinstance(found, dict) or not isinstance(path, list) or not path:
        return False
    return error.get("type") == _NOT_FOUND or (len(path) > 1 and found.get(path[0]) is not None)


def _clock(headers: Mapping[str, Any]) -> datetime:
    """GitHub's time at the answer; ours where it does not say."""
    told = {str(name).lower(): str(value) for name, value in headers.items()}.get("date", "")
    try:
        return parsedate_to_datetime(told).astimezone(timezone.utc)
    except ValueError:
        return datetime.now(timezone.utc)
