"""The event a workflow runs for, read from the payload GitHub leaves for every step."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.actions.comment import CheckAsked, IssueComment, check_asked, issue_comment
from ciwm.actions.payload import Payload, read_payload
from ciwm.actions.workflow_run import WorkflowRun, workflow_run
from ciwm.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_COMMIT = "0" * 40  # what `before` is when a branch is new, and `after` when it is deleted
_REPOSITORY = re.compile(r"[A-Za-z0-9-]+/[A-Za-z0-9._-]+")
_ABOUT_A_COMMIT = ("workflow_run", "check_run", "check_suite")


@dataclass(frozen=True)
class PullRequest:
    """The pull request of an event.

    `from_fork`: its head is in another repository than its base, or in one that is gone; then the
    job's own token is read-only. (Whether the repository itself is a fork says nothing.)
    """

    number: int
    head_sha: str
    base_sha: str
    base_ref: str
    from_fork: bool


@dataclass(frozen=True)
class Event:
    """What happened; None where the event has no such thing.

    `before` and `after` are the tips of a push, or base and head of a merge group; for a workflow
    or check run, `after` is its commit.
    """

    name: str
    action: str | None
    repository: str
    default_branch: str | None
    ref: str | None
    pull_request: PullRequest | None
    before: str | None
    after: str | None
    run_url: str | None
    workflow_run: WorkflowRun | None = None
    comment: IssueComment | None = None
    check: CheckAsked | None = None


def read_event(variables: Mapping[str, str]) -> Event:
    """The event of this job, by GITHUB_EVENT_NAME and GITHUB_EVENT_PATH.

    Raises UsageError when there is none, or it is not what GitHub sends.
    """
    name = variables.get("GITHUB_EVENT_NAME")
    if not name:
        raise UsageError(
            "there is no event: GITHUB_EVENT_NAME is not set",
            "this runs in a GitHub Actions job; elsewhere, name the revisions",
        )
    payload = Payload(name, read_payload(variables))
    before, after = _span(name, payload)
    return Event(
        name=name,
        action=payload.text("action", optional=True),
        repository=_repository(payload, variables),
        default_branch=payload.text("repository", "default_branch", optional=True),
        ref=payload.text("ref", optional=True) or variables.get("GITHUB_REF") or None,
        pull_request=_pull_request(name, payload),
        before=before,
        after=after,
        run_url=_run_url(variables),
        workflow_run=workflow_run(payload) if name == "workflow_run" else None,
        comment=issue_comment(payload) if name == "issue_comment" else None,
        check=check_asked(payload) if name == "check_run" else None,
    )


def _repository(payload: Payload, variables: Mapping[str, str]) -> str:
    name = payload.value("repository", "full_name") or variables.get("GITHUB_REPOSITORY")
    if not isinstance(name, str) or not _REPOSITORY.fullmatch(name):
        raise payload.wrong("repository", "full_name")
    return name


def _span(name: str, payload: Payload) -> tuple[str | None, str | None]:
    if name == "push":
        return payload.sha("before"), payload.sha("after")
    if name == "merge_group":
        return payload.sha("merge_group", "base_sha"), payload.sha("merge_group", "head_sha")
    if name in _ABOUT_A_COMMIT:
        return None, payload.sha(name, "head_sha")
    return None, None


def _pull_request(name: str, payload: Payload) -> PullRequest | None:
    if name in _ABOUT_A_COMMIT:
        return _only_pull_request(name, payload)
    if not isinstance(payload.value("pull_request"), dict):
        if name in {"pull_request", "pull_request_target"}:
            raise payload.wrong("pull_request")
        return None
    here = payload.value("pull_request", "base", "repo", "full_name")
    here = here or payload.value("repository", "full_name")
    theirs = payload.value("pull_request", "head", "repo", "full_name")
    return PullRequest(
        number=payload.number("pull_request", "number"),
        head_sha=payload.sha("pull_request", "head", "sha"),
        base_sha=payload.sha("pull_request", "base", "sha"),
        base_ref=payload.text("pull_request", "base", "ref") or "",
        from_fork=here is None or theirs != here,
    )


def _only_pull_request(name: str, payload: Payload) -> PullRequest | None:
    """The one pull request of a run; GitHub lists none for a fork's, and none is chosen of many."""
    listed = payload.value(name, "pull_requests")
    if not isinstance(listed, list) or len(listed) != 1 or not isinstance(listed[0], dict):
        return None
    one = Payload(f"{name} pull_requests[0]", listed[0])
    theirs = one.value("head", "repo", "id")
    return PullRequest(
        number=one.number("number"),
        head_sha=one.sha("head", "sha"),
        base_sha=one.sha("base", "sha"),
        base_ref=one.text("base", "ref") or "",
        from_fork=theirs is None or theirs != one.value("base", "repo", "id"),
    )


def _run_url(variables: Mapping[str, str]) -> str | None:
    names = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")
    server, repository, run = (variables.get(name) for name in names)
    if not (server and repository and run):
        return None
    return f"{server}/{repository}/actions/runs/{run}"
