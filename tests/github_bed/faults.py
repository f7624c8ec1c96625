"""Misbehaviour on order: what GitHub does on a bad day, in its own words."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tests.github_bed.answers import Answer, Refusal, answer, refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.github_bed.state import Fault

SECONDARY = (
    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again. "
    "If you reach out to GitHub Support for help, please include the request ID BED:1."
)
PRIMARY = "API rate limit exceeded for installation ID 1."


def commit(fault: Fault | None, do: Callable[[], Answer]) -> Answer | None:
    """Answer a request under a fault; None is no answer at all."""
    if fault is None:
        return do()
    if fault.kind in {"silence", "hang_up"}:
        time.sleep(fault.seconds if fault.kind == "silence" else 0)
        return None
    if fault.kind == "another_page":
        return Answer(200, b"<html>Sign in</html>", {"content-type": "text/html"})
    if fault.kind == "graphql_limit":
        return _graphql_limit(fault)
    if fault.kind == "applied_then_bad_gateway":
        do()
    if fault.kind in {"bad_gateway", "applied_then_bad_gateway"}:
        return _bad_gateway()
    return refusal(_limits(fault))


def _limits(fault: Fault) -> Refusal:
    wait = {"retry-after": str(int(fault.seconds))}
    if fault.kind == "too_many_requests":
        return Refusal(429, SECONDARY, wait)
    if fault.kind == "secondary_limit":
        return Refusal(403, SECONDARY, wait)
    if fault.kind == "primary_limit":
        reset = str(int(time.time() + fault.seconds))
        return Refusal(403, PRIMARY, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": reset})
    assert fault.kind == "bad_credentials"
    return Refusal(401, "Bad credentials")


def _bad_gateway() -> Answer:
    page = b"<html><head><title>502 Bad Gateway</title></head></html>"
    return Answer(502, page, {"content-type": "text/html"})


def _graphql_limit(fault: Fault) -> Answer:
    said = {"type": "RATE_LIMITED", "message": PRIMARY}
    reset = {"x-ratelimit-reset": str(int(time.time() + fault.seconds))}
    return answer({"errors": [said]}, headers=reset)
