"""Workflow runs, their artifacts and approvals: emulate has none, the test says what there is."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.github_bed.answers import Answer, Refusal, answer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.github_bed.bed import GitHubBed, Pull
    from tests.github_bed.contract import Operation
    from tests.github_bed.proxy import Proxy, Request
    from tests.github_bed.state import Token

_MOMENT = "2026-01-01T00:00:00Z"
_NUMBERS = itertools.count(9_000_001)
BLOBS = "/_blobs/"


@dataclass
class StoredArtifact:
    """An archive as a run left it; `size_bytes` is what the API says of it, true or not."""

    id: int
    run: int
    name: str
    data: bytes
    size_bytes: int
    expired: bool


class WorkflowRuns:
    """What a test says of workflow runs."""

    def __init__(self, bed: GitHubBed) -> None:
        self.bed = bed
        self.pinned: list[str] = bed.proxy.state.pinned

    def leave(
        self, run: int, data: bytes, name: str = "ciwm", *, size_bytes: int | None = None
    ) -> StoredArtifact:
        """An artifact of a run."""
        size = len(data) if size_bytes is None else size_bytes
        made = StoredArtifact(next(_NUMBERS), run, name, data, size, expired=False)
        self.bed.proxy.state.artifacts[made.id] = made
        return made

    def keep_in(self, folder: Path) -> None:
        """From now on archives in a folder are what the run that is asked about left."""
        self.bed.proxy.state.artifact_folder = folder

    def review(
        self, run: int, state: str = "approved", environment: str = "ciwm-fork", login: str = ""
    ) -> None:
        """Somebody answers the question of an environment whether a run may use it."""
        given = {"state": state, "comment": "", "environment": environment}
        reviews = self.bed.proxy.state.reviews.setdefault(run, [])
        reviews.append({**given, "login": login or "maintainer"})

    def write(self, sha: str, files: dict[str, str]) -> None:
        """The files a commit has, as far as GraphQL is asked for them."""
        self.bed.proxy.state.files[sha] = files

    def move_base(self, pull: Pull, sha: str) -> None:
        """From now on GraphQL shows the base branch of a pull request at that commit."""
        self.bed.proxy.state.base_tips[(self.bed.repository, pull.number)] = sha

    def list(self, pull: Pull, *, workflow: str = "compare.yml", **changes: Any) -> dict[str, Any]:
        """A run of a workflow file for a pull request, as the list of its runs shows it."""
        made: dict[str, Any] = self.event(pull, **changes)["workflow_run"]
        shown = {**made, "head_repository": pull.head_repository, "workflow": workflow}
        self.bed.proxy.state.listed_runs.append(shown)
        return shown

    def event(self, pull: Pull | None = None, **changes: Any) -> dict[str, Any]:
        """The payload of a completed run, of a pull request's head or of what `changes` say."""
        bed, number = self.bed, next(_NUMBERS)
        ours = pull is not None and pull.head_repository == bed.repository
        known = {
            "id": number,
            "event": "pull_request",
            "status": "completed",
            "conclusion": "success",
            "head_sha": pull.head_sha if pull else None,
            "head_branch": pull.branch if pull else "main",
            "head_repository": {"full_name": pull.head_repository if pull else bed.repository},
            "html_url": f"https://github.example/{bed.repository}/actions/runs/{number}",
            # of a fork's run GitHub lists none
            "pull_requests": [_listed(pull)] if pull and ours else [],
        }
        return {
            "action": "completed",
            "repository": bed.proxy.json("GET", f"/repos/{bed.repository}", None),
            "workflow_run": {**known, **changes},
        }


def _listed(pull: Pull) -> dict[str, Any]:
    repository = {"id": 1, "url": "https://api.example/repositories/1", "name": "engine"}
    return {
        "id": pull.number,
        "number": pull.number,
        "url": "https://api.example/pulls",
        "head": {"ref": pull.branch, "sha": pull.head_sha, "repo": repository},
        "base": {"ref": "main", "sha": pull.base_sha, "repo": repository},
    }


def list_artifacts(
    proxy: Proxy,
    operation: Operation,
    request: Request,  # noqa: ARG001  one shape for all holes
    token: Token | None,  # noqa: ARG001
) -> Answer:
    """The artifacts of one run."""
    run = int(operation.parameters["run_id"])
    found = [_artifact(proxy, operation, one) for one in _of(proxy, run)]
    return answer({"total_count": len(found), "artifacts": found})


def fetch_artifact(
    proxy: Proxy,
    operation: Operation,
    request: Request,  # noqa: ARG001  one shape for all holes
    token: Token | None,
) -> Answer:
    """A redirection to where the archive is, which only somebody who is known is told."""
    if token is None:
        raise Refusal(401, "Requires authentication")
    found = proxy.state.artifacts.get(int(operation.parameters["artifact_id"]))
    if found is None:
        raise Refusal(404, "Not Found")
    if found.expired:
        raise Refusal(410, "Artifact has expired")
    return Answer(302, b"", {"location": f"{proxy.url}{BLOBS}{found.id}?sig=secret"})


def list_reviews(
    proxy: Proxy,
    operation: Operation,
    request: Request,  # noqa: ARG001  one shape for all holes
    token: Token | None,
) -> Answer:
    """What reviewers said of a run."""
    reviews = proxy.state.reviews.get(int(operation.parameters["run_id"]), [])
    return answer(
        [
            {
                "state": one["state"],
                "comment": one["comment"],
                "environments": [{"id": 1, "node_id": "EN_1", "name": one["environment"]}],
                "user": proxy.json("GET", f"/users/{one['login']}", token),
            }
            for one in reviews
        ]
    )


def blob(proxy: Proxy, request: Request) -> Answer:
    """An archive, from a place that the token of the API must not reach."""
    if "authorization" in request.headers:
        proxy.state.violation("the token was sent to the place of an artifact")
    found = proxy.state.artifacts[int(request.path.removeprefix(BLOBS))]
    return Answer(200, found.data, {"content-type": "application/zip"})


def _of(proxy: Proxy, run: int) -> list[StoredArtifact]:
    folder = proxy.state.artifact_folder
    for path in sorted(folder.glob("*.zip")) if folder else ():
        data = path.read_bytes()
        made = StoredArtifact(next(_NUMBERS), run, path.stem, data, len(data), expired=False)
        proxy.state.artifacts[made.id] = made
    return [one for one in proxy.state.artifacts.values() if one.run == run]


def _artifact(proxy: Proxy, operation: Operation, one: StoredArtifact) -> dict[str, Any]:
    url = f"{proxy.url}/repos/{operation.repository}/actions/artifacts/{one.id}"
    return {
        "id": one.id,
        "node_id": f"A_{one.id}",
        "name": one.name,
        "size_in_bytes": one.size_bytes,
        "url": url,
        "archive_download_url": f"{url}/zip",
        "expired": one.expired,
        "created_at": _MOMENT,
        "expires_at": _MOMENT,
        "updated_at": _MOMENT,
    }
