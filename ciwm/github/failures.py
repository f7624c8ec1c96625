"""What GitHub's refusals mean, in one line, and how each is mended."""

from __future__ import annotations

import re
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from ciwm.errors import GitHubError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from github import GithubException

FORBIDDEN = 403
NOT_FOUND = 404
TOO_MANY = 429
SERVER_ERROR = 500
_LINE_LIMIT = 300
# other refusals with 403 speak for themselves: a locked conversation, an archived repository, SSO
_LACKS_PERMISSION = ("Resource not accessible", "Must have")
_LATER = "GitHub may be down (https://www.githubstatus.com): try again later"


class TokenRefusedError(GitHubError):
    """401: the token is wrong, revoked or expired."""


class ForbiddenError(GitHubError):
    """403: the token does not permit it."""


class NotFoundError(GitHubError):
    """404: no such thing, or the token cannot see it."""


class RateLimitedError(GitHubError):
    """A rate limit that would take longer to wait for than we are willing to."""


class UnreachableError(GitHubError):
    """No answer, or a server error: whether a write was applied is unknown."""


@contextmanager
def asking(what: str, *, token: str | None, needs: str = "") -> Iterator[None]:
    """Turn every failure of the block into a GitHubError that says `what` could not be done.

    `needs` is the workflow permission it takes; `token` is kept out of the message.
    """
    import requests  # noqa: PLC0415
    from github import BadAttributeException, GithubException

    try:
        yield
    except GitHubError as error:
        # raised by the retries, which do not know what for
        raise type(error)(_line(f"cannot {what}: {error.message}", token), error.hint) from error
    except GithubException as error:
        raise _explained(error, what, token, needs) from error
    except requests.exceptions.RetryError as error:
        found = re.search(r"too many (\d+) error", str(error))
        told = f"GitHub answered {found[1]}" if found else "GitHub did not answer"
        raise UnreachableError(f"cannot {what}: {told}, several times", _LATER) from error
    except requests.RequestException as error:
        told = _line(_innermost(error), token)
        raise UnreachableError(f"cannot {what}: GitHub did not answer: {told}", _LATER) from error
    except (
        BadAttributeException,
        AssertionError,
        AttributeError,
        ValueError,
        TypeError,
        KeyError,
    ) as error:
        # PyGithub asserts that addresses in an answer are of the server it asked; what an answer
        # lacks (a proxy's page with status 200) it takes for None
        told = _line(f"{type(error).__name__} {error}", token)
        raise GitHubError(
            f"cannot {what}: the answer is not GitHub's: {told}", "is GITHUB_API_URL right?"
        ) from error


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn an answer that lacks what GitHub's have into a GitHubError."""
    try:
        yield
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        told = _line(f"{type(error).__name__} {error}", None)
        raise GitHubError(
            f"cannot {what}: the answer is not GitHub's: {told}", "is GITHUB_API_URL right?"
        ) from error


def limited(status: int, wait_s: float) -> RateLimitedError:
    """A rate limit that ends in `wait_s` seconds."""
    until = datetime.fromtimestamp(datetime.now(timezone.utc).timestamp() + wait_s, timezone.utc)
    return RateLimitedError(
        f"GitHub's rate limit is used up until {until:%H:%M} UTC (status {status})",
        "ciwm does not wait that long: try again later",
    )


def graphql_failure(data: Mapping[str, Any], headers: Mapping[str, Any]) -> GitHubError | None:
    """The failure in a GraphQL answer, which comes with status 200; None when it is fine."""
    errors = data.get("errors")
    if not errors:
        return None
    first = errors[0] if isinstance(errors, list) and isinstance(errors[0], dict) else {}
    message = str(first.get("message", "no message"))
    kind = str(first.get("type", ""))
    if rate_limited(data):
        return limited(200, seconds_to_reset(headers))
    if kind == "FORBIDDEN":
        return ForbiddenError(f"GitHub refused: {message}", _permission(""))
    if not kind and re.match(r"Something went wrong|.*\btime(d ?)?out\b", message):
        return UnreachableError(f"GitHub gave the query up: {message}", _LATER)
    return GitHubError(f"GitHub refused the query: {message}")


def rate_limited(data: Any) -> bool:
    """Whether a GraphQL answer is the refusal that the rate limit is used up."""
    errors = data.get("errors") if isinstance(data, dict) else None
    first = errors[0] if isinstance(errors, list) and errors else {}
    return isinstance(first, dict) and first.get("type") in {"RATE_LIMITED", "RATE_LIMIT"}


def _explained(error: GithubException, what: str, token: str | None, needs: str) -> GitHubError:
    from github import RateLimitExceededException

    status, message = error.status, _message(error)
    told = _line(f"cannot {what}: GitHub answered {status} {message}", token)
    if status == 401:  # noqa: PLR2004
        return TokenRefusedError(
            told,
            "the token is wrong, revoked or expired (a job's own ends with its job): "
            "set CIWM_TOKEN to a valid one",
        )
    if isinstance(error, RateLimitExceededException) or status == TOO_MANY:
        wait = getattr(error, "wait", None) or seconds_to_reset(error.headers or {})
        line = limited(status, wait)
        return RateLimitedError(_line(f"cannot {what}: {line.message}", token), line.hint)
    if status == FORBIDDEN:
        lacks = any(words in message for words in _LACKS_PERMISSION)
        return ForbiddenError(told, _permission(needs) if lacks else "")
    if status == NOT_FOUND:
        return NotFoundError(
            told, "does it exist, and does the token see it (a private repository)?"
        )
    if status >= SERVER_ERROR:
        return UnreachableError(told, _LATER)
    return GitHubError(told)


def _permission(needs: str) -> str:
    grant = f"`permissions: {{{needs}}}`" if needs else "the permission"
    return (
        f"give the job {grant}; a job for a pull request from a fork never gets it: "
        "there, publish from a workflow_run job"
    )


def _message(error: GithubException) -> str:
    data = error.data if isinstance(error.data, dict) else {}
    parts = [str(error.message or data.get("message") or "")]
    errors = data.get("errors")
    parts += [
        str(one.get("message", one)) if isinstance(one, dict) else str(one)
        for one in (errors if isinstance(errors, list) else ())
    ]
    return "; ".join(part for part in parts if part) or "without a message"


def seconds_to_reset(headers: Mapping[str, Any]) -> float:
    """Seconds until the limit is lifted, as the headers say; an hour when they do not."""
    found = {str(name).lower(): str(value) for name, value in headers.items()}
    if found.get("retry-after", "").isdigit():
        return float(found["retry-after"])
    reset = found.get("x-ratelimit-reset", "")
    if not reset.isdigit():
        return 3600.0
    return max(0.0, int(reset) - datetime.now(timezone.utc).timestamp())


def _innermost(error: BaseException) -> str:
    """The reason at the bottom of a network error, without addresses of objects."""
    text = str(error)
    found = re.findall(r"(?:Caused by |: )(\w+(?:Error|Timeout))\b[^:]*: ?([^')\"]*)", text)
    if found:
        return ": ".join(part for part in found[-1] if part)
    return f"{type(error).__name__}: {text}"


def _line(text: str, token: str | None) -> str:
    """One line of bounded length that does not hold the token."""
    if token:
        text = text.replace(token, "***")
    text = " ".join(text.split())
    return text if len(text) <= _LINE_LIMIT else text[: _LINE_LIMIT - 1] + "…"
