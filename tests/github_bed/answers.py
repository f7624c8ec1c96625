"""Answers as the proxy gives them, and refusals in GitHub's words."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Answer:
    """Status, body and the headers that differ from the usual."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def json(self) -> Any:
        """The body, read as JSON."""
        return json.loads(self.body)


class Refusal(Exception):  # noqa: N818  it is GitHub's no, not an error of the bed
    """GitHub says no."""

    def __init__(
        self, status: int, message: str, headers: dict[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers or {}
        self.more = more


def refusal(error: Refusal) -> Answer:
    """A refusal as GitHub words it."""
    body = {
        "message": error.message,
        **error.more,
        "documentation_url": "https://docs.github.com/rest",
        "status": str(error.status),
    }
    return Answer(error.status, json.dumps(body).encode(), error.headers)


def answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    """A JSON answer."""
    return Answer(status, json.dumps(value).encode(), headers or {})
