"""When to ask GitHub again, and for how long at most: a runner with GPUs must not sleep an hour."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ciwm.github.failures import FORBIDDEN, SERVER_ERROR, TOO_MANY, UnreachableError, limited

if TYPE_CHECKING:
    from collections.abc import Iterator

    from github import GithubRetry


@dataclass(frozen=True)
class Patience:
    """How long to bear with GitHub; `total_wait_s` bounds all waiting of one connection."""

    retries: int = 4
    backoff_s: float = 1.0
    total_wait_s: float = 120.0
    timeout_s: int = 20


def retry_policy(patience: Patience) -> GithubRetry:
    """The policy for PyGithub: rate limits are waited for within the budget, writes never doubled.

    A POST that may have been applied (a server error, a lost answer) is not sent again here: the
    caller looks first whether it was. PATCH and DELETE leave the same however often they are sent
    (but for annotations, which would be shown twice).
    """
    policy: GithubRetry = _policy()(
        left=[patience.total_wait_s],
        total=patience.retries,
        backoff_factor=patience.backoff_s,
        backoff_max=patience.total_wait_s,
        status_forcelist=[TOO_MANY, *range(SERVER_ERROR, 600)],
        allowed_methods=["GET", "POST", "PATCH", "PUT", "DELETE"],
        secondary_rate_wait=60,
        max_rate_limit_wait=patience.total_wait_s,
    )
    return policy


def _policy() -> Any:
    """The class, made here since its base is imported late."""
    from github import GithubRetry

    class BoundedRetry(GithubRetry):
        def __init__(self, *, left: list[float], **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.left = left  # shared by all copies urllib3 makes, one a retry

        def new(self, **kwargs: Any) -> Any:
            return super().new(left=self.left, **kwargs)

        def increment(
            self,
            method: str | None = None,
            url: str | None = None,
            response: Any = None,
            error: Exception | None = None,
            *rest: Any,
            **named: Any,
        ) -> Any:
            with _given_back(response):
                _refuse_doubling(method, url, response, error)
                _refuse_waiting(response, self.left)
                again = super().increment(method, url, response, error, *rest, **named)
                return _paid(again, response, self.left)

    return BoundedRetry


@contextmanager
def _given_back(response: Any) -> Iterator[None]:
    """Whoever refuses a response has its connection closed by nobody, unless it is drained."""
    try:
        yield
    except Exception:
        if response is not None:
            response.drain_conn()
        raise


def _refuse_waiting(response: Any, left: list[float]) -> None:
    """Raise GitHubError where GitHub asks for a longer wait than is left."""
    asked_s = _asked_wait(response)
    if asked_s is not None and asked_s > left[0]:
        raise limited(response.status, asked_s)


def _paid(again: Any, response: Any, left: list[float]) -> Any:
    """The policy of the next try, its wait taken from what is left."""
    asked_s = _asked_wait(response)
    if asked_s is not None and "retry-after" not in response.headers:
        again.get_backoff_time = lambda: asked_s
    wait_s = asked_s if asked_s is not None else again.get_backoff_time()
    if wait_s > left[0]:
        raise UnreachableError("GitHub does not answer, and the time to wait for it is over")
    left[0] -= wait_s
    return again


def _refuse_doubling(
    method: str | None, url: str | None, response: Any, error: Exception | None
) -> None:
    """Raise UnreachableError for a POST that GitHub may have applied."""
    from urllib3.exceptions import ConnectTimeoutError, NewConnectionError  # noqa: PLC0415

    path = url or ""
    if method != "POST" or path.endswith("/graphql") or "/statuses/" in path:
        return  # our GraphQL only reads, and of two equal statuses the later one counts
    if response is not None and response.status >= SERVER_ERROR:
        raise UnreachableError(f"GitHub answered {response.status}")
    unsent = (NewConnectionError, ConnectTimeoutError)
    if error is not None and not isinstance(error, unsent):
        raise UnreachableError(f"the answer was lost ({type(error).__name__})")


def _asked_wait(response: Any) -> float | None:
    """Seconds GitHub asks us to wait in a refusal; None where it asks for none."""
    if response is None:
        return None
    after = response.headers.get("retry-after", "")
    if after.isdigit():
        return float(after)
    reset = response.headers.get("x-ratelimit-reset", "")
    spent = response.headers.get("x-ratelimit-remaining") == "0"
    if response.status in (FORBIDDEN, TOO_MANY) and spent and reset.isdigit():
        return max(0.0, int(reset) - time.time()) + 1  # the second of the reset is not over
    return None
