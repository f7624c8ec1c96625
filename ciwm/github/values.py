"""What is sent to GitHub and what comes back, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from datetime import datetime

Conclusion = Literal["success", "failure", "neutral"]
AnnotationLevel = Literal["notice", "warning", "failure"]
StatusState = Literal["success", "failure", "error", "pending"]


@dataclass(frozen=True)
class Comment:
    """A comment on a pull request; an app's author name ends in [bot]."""

    id: int
    author: str
    by_app: bool
    body: str
    url: str


@dataclass(frozen=True)
class Annotation:
    """A remark on lines of a file, shown beside the change."""

    path: str
    start_line: int
    end_line: int
    level: AnnotationLevel
    message: str
    title: str = ""


@dataclass(frozen=True)
class Check:
    """A completed check run to be shown on a commit."""

    name: str
    sha: str
    external_id: str
    conclusion: Conclusion
    title: str
    summary: str
    details_url: str | None = None
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True)
class Status:
    """A commit status, for tokens that may not post checks; `context` is its name."""

    sha: str
    context: str
    state: StatusState
    description: str
    url: str | None


@dataclass(frozen=True)
class CheckRun:
    """A check run as GitHub has it; `conclusion` is None until it is completed."""

    id: int
    name: str
    external_id: str
    conclusion: str | None
    title: str
    summary: str
    annotations_count: int
    url: str
    details_url: str = ""
    completed_at: datetime | None = None
