"""The GitHub Actions runner: the event a job is for, and what a step tells the runner."""

from ciwm.actions.comment import CheckAsked, IssueComment, Person
from ciwm.actions.event import NO_COMMIT, Event, PullRequest, read_event
from ciwm.actions.runner import SUMMARY_LIMIT_BYTES, Runner
from ciwm.actions.workflow_run import WorkflowRun

__all__ = [
    "NO_COMMIT",
    "SUMMARY_LIMIT_BYTES",
    "CheckAsked",
    "Event",
    "IssueComment",
    "Person",
    "PullRequest",
    "Runner",
    "WorkflowRun",
    "read_event",
]
