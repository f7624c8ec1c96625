"""The run of another workflow that a workflow_run job is for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ciwm.actions.payload import Payload


@dataclass(frozen=True)
class WorkflowRun:
    """A run as the event describes it: which event began it, of which commit, how it ended.

    `head_repository` is None where the fork is gone; `conclusion` is GitHub's word. `again_at`:
    when its newest attempt began; None for the first.
    """

    id: int
    event: str
    conclusion: str | None
    head_sha: str
    head_branch: str | None
    head_repository: str | None
    url: str | None
    again_at: datetime | None = None


def workflow_run(payload: Payload) -> WorkflowRun:
    """The run in a workflow_run payload; raises UsageError when it is not what GitHub sends."""
    part = "workflow_run"
    return WorkflowRun(
        id=payload.number(part, "id"),
        event=payload.text(part, "event") or "",
        conclusion=payload.text(part, "conclusion", optional=True),
        head_sha=payload.sha(part, "head_sha"),
        head_branch=payload.text(part, "head_branch", optional=True),
        head_repository=payload.text(part, "head_repository", "full_name", optional=True),
        url=payload.text(part, "html_url", optional=True),
        again_at=_again_at(payload),
    )


def _again_at(payload: Payload) -> datetime | None:
    where = ("workflow_run", "run_started_at")
    attempt = payload.value("workflow_run", "run_attempt")
    begun = payload.text(*where, optional=True)
    if begun is None or not isinstance(attempt, int) or attempt < 2:  # noqa: PLR2004  the first
        return None
    try:
        return datetime.fromisoformat(begun.replace("Z", "+00:00"))
    except ValueError as error:
        raise payload.wrong(*where) from error
