"""What a run measured, judged again from what it left: the ceilings of waivers come from it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ciwm.actions import WorkflowRun
from ciwm.story.origin import Nothing, origin_of
from ciwm.story.posting import handed_by
from ciwm.story.receiving import received

if TYPE_CHECKING:
    from ciwm.actions import Event
    from ciwm.github import GitHub
    from ciwm.github.reruns import FoundRun
    from ciwm.records import SeriesVerdict


def regressed_in(github: GitHub, event: Event, run: FoundRun) -> tuple[SeriesVerdict, ...]:
    """The series that got slower in a run, by the policy of the base as it is now.

    Raises CiwmError where the run left nothing that can be read.
    """
    asked = WorkflowRun(
        id=run.id,
        event=run.event,
        conclusion=run.conclusion,
        head_sha=run.head_sha,
        head_branch=run.head_branch,
        head_repository=run.head_repository,
        url=run.url,
    )
    origin = origin_of(github, replace(event, workflow_run=asked))
    if isinstance(origin, Nothing):
        return ()
    reports = [received(take(), origin) for _, take in handed_by(github, origin.repository, run.id)]
    rows = [row for report in reports if report.verdict for row in report.verdict.series]
    return tuple(row for row in rows if row.outcome == "regressed")
