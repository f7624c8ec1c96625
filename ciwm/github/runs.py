"""What GitHub itself says of a workflow run: whose commit it tested, who approved it, what it left.

Nothing here is taken from a file that the run wrote.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ciwm.errors import GitHubError
from ciwm.github.failures import reading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ciwm.github.api import GitHub

ARTIFACT_LIMIT_BYTES = 32 << 20  # of an archive
_PULLS_A_PAGE = 100
_PAGES = 20


@dataclass(frozen=True)
class Tip:
    """A commit, and the text of each asked file of it; None where it has no such file."""

    sha: str
    files: Mapping[str, str | None]


@dataclass(frozen=True)
class OpenPull:
    """An open pull request, and its base branch as it is now."""

    number: int
    head_sha: str
    head_repository: str | None
    base_ref: str
    base: Tip | None


@dataclass(frozen=True)
class Artifact:
    """Files that a run left, as one archive."""

    id: int
    name: str
    size_bytes: int
    expired: bool
    made_at: datetime


@dataclass(frozen=True)
class Approval:
    """What a reviewer of deployments said of a run, about which environments."""

    state: str
    environments: tuple[str, ...]
    reviewer: str


def open_pulls(
    github: GitHub, repository: str, branch: str, files: Sequence[str]
) -> tuple[OpenPull, ...]:
    """The open pull requests from branches of that name, of any repository."""
    query = _pulls_query(files)
    owner, name = repository.split("/", 1)
    known = {"owner": owner, "name": name, "branch": branch}
    found: list[OpenPull] = []
    after: str | None = None
    for _ in range(_PAGES):
        what = f"find the pull requests from {branch}"
        data = _whole(github, what, query, {**known, "after": after})
        with reading(what):
            page = _repository(data, repository)["pullRequests"]
            found += [_pull(node, files) for node in page["nodes"]]
            after = page["pageInfo"]["endCursor"] if page["pageInfo"]["hasNextPage"] else None
        if after is None:
            break
    return tuple(found)


def first_parent(github: GitHub, repository: str, sha: str, files: Sequence[str]) -> Tip:
    """The first parent of a commit, or the commit itself where it has none."""
    owner, name = repository.split("/", 1)
    query = (
        "query($owner: String!, $name: String!, $sha: GitObjectID!) { viewer { login } "
        "repository(owner: $owner, name: $name) { object(oid: $sha) { ... on Commit { "
        f"{_tip_fields(files)} parents(first: 1) {{ nodes {{ {_tip_fields(files)} }} }} }} }} }} }}"
    )
    what = f"read commit {sha[:12]}"
    data = _whole(github, what, query, {"owner": owner, "name": name, "sha": sha})
    with reading(what):
        commit = _repository(data, repository)["object"]
        if not commit:
            raise GitHubError(f"{repository} has no commit {sha[:12]}")
        parents = commit["parents"]["nodes"]
        return _tip(parents[0] if parents else commit, files)


def artifacts(github: GitHub, repository: str, run: int) -> tuple[Artifact, ...]:
    """The artifacts of a run, by name; of two attempts of a run the newest of each name."""
    path = f"/repos/{repository}/actions/runs/{run}/artifacts?per_page=100"
    what = f"list the artifacts of run {run}"
    said = github.get(what, path, "actions: read")
    newest: dict[str, Artifact] = {}
    with reading(what):
        for one in sorted(said["artifacts"], key=lambda one: int(one["id"])):
            at = datetime.fromisoformat(one["created_at"].replace("Z", "+00:00"))
            newest[one["name"]] = Artifact(
                one["id"], one["name"], one["size_in_bytes"], one["expired"], at
            )
    return tuple(newest[name] for name in sorted(newest))


def archive(github: GitHub, repository: str, artifact: Artifact) -> bytes:
    """The zip archive of an artifact; raises GitHubError for a large or expired one."""
    what = f"fetch the artifact {artifact.id}"
    if artifact.expired:
        raise GitHubError(f"cannot {what}: it has expired", "run the first workflow again")
    if artifact.size_bytes > ARTIFACT_LIMIT_BYTES:
        raise GitHubError(f"cannot {what}: it is larger than {ARTIFACT_LIMIT_BYTES >> 20} MiB")
    path = f"/repos/{repository}/actions/artifacts/{artifact.id}/zip"
    return github.download(what, path, ARTIFACT_LIMIT_BYTES)


def approvals(github: GitHub, repository: str, run: int) -> tuple[Approval, ...]:
    """Who approved or rejected a run's deployments; empty where no environment asks for it."""
    path = f"/repos/{repository}/actions/runs/{run}/approvals"
    what = f"read the approvals of run {run}"
    said = github.get(what, path, "actions: read")
    with reading(what):
        return tuple(
            Approval(
                state=one["state"],
                environments=tuple(each.get("name", "") for each in one["environments"]),
                reviewer=(one["user"] or {}).get("login", "ghost"),
            )
            for one in said
        )


def _whole(github: GitHub, what: str, query: str, variables: dict[str, Any]) -> dict[str, Any]:
    """The data of a query of which GitHub left nothing out: a file unread is not an absent one."""
    answer = github.query(what, query, variables)
    if answer.gave_up:
        raise GitHubError(f"cannot {what}: GitHub answered a part of it only", "try again later")
    return answer.data


def _pulls_query(files: Sequence[str]) -> str:
    return (
        "query($owner: String!, $name: String!, $branch: String!, $after: String) { "
        "viewer { login } repository(owner: $owner, name: $name) { "
        f"pullRequests(headRefName: $branch, states: [OPEN], first: {_PULLS_A_PAGE}, "
        "after: $after) { pageInfo { hasNextPage endCursor } nodes { number headRefOid "
        "headRepository { nameWithOwner } baseRefName baseRef { target { ... on Commit { "
        f"{_tip_fields(files)} }} }} }} }} }} }} }}"
    )


def _tip_fields(files: Sequence[str]) -> str:
    asked = (
        f'file{number}: file(path: "{path}") {{ object {{ ... on Blob {{ text isTruncated }} }} }}'
        for number, path in enumerate(files)
    )
    return f"oid {' '.join(asked)}"


def _repository(data: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] | None = data.get("repository")
    if found is None:
        raise GitHubError(f"there is no repository {name}, or the token cannot see it")
    return found


def _pull(node: dict[str, Any], files: Sequence[str]) -> OpenPull:
    target = (node["baseRef"] or {}).get("target")
    return OpenPull(
        number=node["number"],
        head_sha=node["headRefOid"],
        head_repository=(node["headRepository"] or {}).get("nameWithOwner"),
        base_ref=node["baseRefName"],
        base=_tip(target, files) if target else None,
    )


def _tip(commit: dict[str, Any], files: Sequence[str]) -> Tip:
    texts = {
        path: _text(commit[f"file{number}"], path, commit["oid"])
        for number, path in enumerate(files)
    }
    return Tip(commit["oid"], texts)


def _text(entry: dict[str, Any] | None, path: str, sha: str) -> str | None:
    """A file's text; a file that cannot be shown whole is an error, never an absent one."""
    if entry is None:
        return None
    blob = entry["object"] or {}
    if blob.get("text") is None or blob.get("isTruncated"):
        raise GitHubError(f"{path} of {sha[:12]} cannot be read as text by the API")
    text: str = blob["text"]
    return text
