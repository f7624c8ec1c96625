"""The last runs of a repository's workflows, with the jobs of each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ciwm.github.failures import reading

if TYPE_CHECKING:
    from collections.abc import Callable

    from ciwm.github.api import GitHub

PAGE = 100
NEEDS = "actions: read"


@dataclass(frozen=True)
class SeenJob:
    """A job that ran; `failed_step` is its first step that failed, `seconds` None where unknown."""

    name: str
    conclusion: str
    seconds: float | None
    failed_step: str | None


@dataclass(frozen=True)
class SeenRun:
    """A run that is over; its `seconds` are those of its last attempt, waiting for runners too."""

    id: int
    workflow: str
    conclusion: str
    seconds: float | None
    jobs: tuple[SeenJob, ...]


def recent_runs(
    github: GitHub,
    repository: str,
    count: int,
    branch: str | None = None,
    say: Callable[[str], None] = lambda _line: None,
) -> tuple[SeenRun, ...]:
    """The newest completed runs of all workflows, of one branch where named.

    A request each, and another for each hundred jobs more. Raises GitHubError.
    """
    what, only = f"list the workflow runs of {repository}", ""
    if branch:
        only = f"&branch={quote(branch, safe='')}"
    place = f"/repos/{repository}/actions/runs?status=completed{only}"
    asked = _listed(github, what, place, "workflow_runs", count)
    runs = []
    for number, one in enumerate(asked, start=1):
        say(f"run {number} of {len(asked)}")
        runs.append(_run(one, _jobs(github, repository, one)))
    return tuple(runs)


def _jobs(github: GitHub, repository: str, run: dict[str, Any]) -> tuple[SeenJob, ...]:
    """All jobs of a run: of a large matrix, those of the later pages too."""
    what = "list the jobs of a workflow run"
    with reading(what):
        place = f"/repos/{repository}/actions/runs/{int(run['id'])}/jobs?filter=latest"
    found = _listed(github, what, place, "jobs")
    with reading(what):
        return tuple(_job(one) for one in found)


def _listed(
    github: GitHub, what: str, place: str, key: str, count: int | None = None
) -> list[dict[str, Any]]:
    """What a paged list holds, as many as are asked for, or all."""
    found: list[dict[str, Any]] = []
    size, page = min(PAGE, count or PAGE), 1
    while count is None or len(found) < count:
        said = github.get(what, f"{place}&per_page={size}&page={page}", NEEDS)
        with reading(what):
            part = list(said[key])
        found += part
        if len(part) < size:
            break
        page += 1
    return found[:count]


def _run(said: dict[str, Any], jobs: tuple[SeenJob, ...]) -> SeenRun:
    with reading("read a workflow run"):
        return SeenRun(
            id=int(said["id"]),
            workflow=str(said["name"] or said["path"]),
            conclusion=str(said["conclusion"] or ""),
            seconds=_between(said.get("run_started_at"), said.get("updated_at")),
            jobs=jobs,
        )


def _job(said: dict[str, Any]) -> SeenJob:
    failed = [step["name"] for step in said.get("steps") or () if step["conclusion"] == "failure"]
    return SeenJob(
        name=str(said["name"]),
        conclusion=str(said["conclusion"] or ""),
        seconds=_between(said.get("started_at"), said.get("completed_at")),
        failed_step=failed[0] if failed else None,
    )


def _between(begun: str | None, ended: str | None) -> float | None:
    if not begun or not ended:
        return None
    span = datetime.fromisoformat(_plain(ended)) - datetime.fromisoformat(_plain(begun))
    return max(span.total_seconds(), 0.0)


def _plain(moment: str) -> str:
    return moment.replace("Z", "+00:00")  # Python 3.10 reads no Z
