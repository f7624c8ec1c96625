"""PipelineFigures: how often this repository's workflows succeed, how long they take, where not."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime

from ciwm.records.base import Record, RecordFile

PipelineStage = Literal["build", "test", "package", "other"]


class StageFigures(Record):
    """One stage of one workflow, over its jobs that ran to success or failure.

    Times are those of jobs that succeeded: one that fails ends early.
    """

    stage: PipelineStage
    jobs: int
    failed: int
    p50_s: float | None = None
    p90_s: float | None = None

    @property
    def success_pct(self) -> float:
        """The share of jobs that succeeded, in percent."""
        return 100 * (self.jobs - self.failed) / self.jobs


class WorkflowFigures(Record):
    """One workflow over its last runs; cancelled and skipped ones are counted apart.

    `failures` counts failed runs by the stage of the first step that failed.
    """

    workflow: str
    runs: int
    failed: int
    left_out: int
    p50_s: float | None = None
    p90_s: float | None = None
    stages: tuple[StageFigures, ...] = ()
    failures: dict[PipelineStage, int] = {}

    @property
    def success_pct(self) -> float | None:
        """The share of runs that succeeded, in percent; None of no runs."""
        return 100 * (self.runs - self.failed) / self.runs if self.runs else None


class PipelineFigures(RecordFile):
    """All workflows of a repository that ran among its last runs."""

    at: AwareDatetime
    repository: str
    branch: str | None
    asked: int
    found: int
    workflows: tuple[WorkflowFigures, ...]
