"""The runs of one workflow for a commit, and running one again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ciwm.github.failures import reading

if TYPE_CHECKING:
    from ciwm.github.api import GitHub

_FOR_PULLS = ("pull_request", "pull_request_target")


@dataclass(frozen=True)
class FoundRun:
    """A run of a workflow; `conclusion` is None until it is over."""

    id: int
    event: str
    status: str
    conclusion: str | None
    head_sha: str
    head_branch: str | None
    head_repository: str | None
    url: str


def newest_run(github: GitHub, repository: str, workflow: str, sha: str) -> FoundRun | None:
    """The newest run of a workflow file for a commit, one for a pull request before others."""
    place = f"/repos/{repository}/actions/workflows/{quote(workflow, safe='')}/runs"
    what = f"find the runs of {workflow} for {sha[:12]}"
    said = github.get(what, f"{place}?head_sha={sha}&per_page=50", "actions: read")
    with reading(what):
        runs = [_run(one) for one in said["workflow_runs"] if one["head_sha"] == sha]
    return max(runs, key=lambda run: (run.event in _FOR_PULLS, run.id), default=None)


def run_again(github: GitHub, repository: str, run: int) -> None:
    """Have all jobs of a run run again, for the same commit and with the same rights."""
    path = f"/repos/{repository}/actions/runs/{run}/rerun"
    github.send(f"run {run} again", "POST", path, {}, "actions: write")


def _run(said: dict[str, Any]) -> FoundRun:
    return FoundRun(
        id=said["id"],
        event=said["event"],
        status=said["status"] or "",
        conclusion=said["conclusion"],
        head_sha=said["head_sha"],
        head_branch=said["head_branch"],
        head_repository=(said["head_repository"] or {}).get("full_name"),
        url=said["html_url"],
    )
