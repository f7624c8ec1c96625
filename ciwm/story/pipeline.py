"""Success and duration of a repository's own workflows, by workflow and by stage."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from ciwm.records.pipeline import PipelineFigures, StageFigures, WorkflowFigures
from ciwm.stats.launches import quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.github.jobs import SeenJob, SeenRun
    from ciwm.records.pipeline import PipelineStage

FAILED = ("failure", "timed_out", "startup_failure")
ENDED = ("success", *FAILED)
# by whole words of the names that people give to jobs and steps; the first that fits
STAGES: tuple[tuple[PipelineStage, str], ...] = (
    ("package", r"package|packaging|docker|image|images|container|publish|release|upload|deploy"),
    ("test", r"test|tests|testing|pytest|unit|integration|e2e|smoke|check|checks|ctest|tox|nox"),
    ("build", r"build|builds|building|compile|wheel|wheels|make|cmake|install"),
)


def pipeline_figures(
    repository: str, branch: str | None, asked: int, runs: Sequence[SeenRun]
) -> PipelineFigures:
    """The figures of runs that were read, the workflow that failed most often first."""
    names = dict.fromkeys(run.workflow for run in runs)
    found = [_workflow(name, [run for run in runs if run.workflow == name]) for name in names]
    return PipelineFigures(
        at=datetime.now(timezone.utc),
        repository=repository,
        branch=branch,
        asked=asked,
        found=len(runs),
        workflows=tuple(sorted(found, key=lambda one: (-one.failed, one.workflow))),
    )


def stage_of(*names: str | None) -> PipelineStage:
    """The stage that a step, or else its job, is named like; "other" where neither tells."""
    for name in filter(None, names):
        words = set(re.findall(r"[a-z0-9]+", name.lower()))
        for stage, pattern in STAGES:
            if any(re.fullmatch(pattern, word) for word in words):
                return stage
    return "other"


def _workflow(name: str, runs: Sequence[SeenRun]) -> WorkflowFigures:
    ended = [run for run in runs if run.conclusion in ENDED]
    failed = [run for run in ended if run.conclusion in FAILED]
    taken = [run.seconds for run in ended if run not in failed and run.seconds is not None]
    jobs = [job for run in ended for job in run.jobs if job.conclusion in ENDED]
    return WorkflowFigures(
        workflow=name,
        runs=len(ended),
        failed=len(failed),
        left_out=len(runs) - len(ended),
        p50_s=_quantile(taken, 0.5),
        p90_s=_quantile(taken, 0.9),
        stages=tuple(_stages(jobs)),
        failures=dict(Counter(_failed_stage(run) for run in failed)),
    )


def _stages(jobs: Sequence[SeenJob]) -> list[StageFigures]:
    found: dict[PipelineStage, list[SeenJob]] = {}
    for job in jobs:
        found.setdefault(stage_of(job.name), []).append(job)
    return [
        StageFigures(
            stage=stage,
            jobs=len(own),
            failed=sum(job.conclusion in FAILED for job in own),
            p50_s=_quantile(_succeeded(own), 0.5),
            p90_s=_quantile(_succeeded(own), 0.9),
        )
        for stage, own in sorted(found.items())
    ]


def _succeeded(jobs: Sequence[SeenJob]) -> list[float]:
    return [j.seconds for j in jobs if j.conclusion == "success" and j.seconds is not None]


def _failed_stage(run: SeenRun) -> PipelineStage:
    job = next((job for job in run.jobs if job.conclusion in FAILED), None)
    return "other" if job is None else stage_of(job.failed_step, job.name)


def _quantile(values: Sequence[float], probability: float) -> float | None:
    return round(quantile(values, probability), 1) if values else None
