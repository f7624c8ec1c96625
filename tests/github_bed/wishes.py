"""What people ask in comments needs of GitHub: permissions, reactions, runs that run again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.github_bed.answers import Answer, Refusal, answer

if TYPE_CHECKING:
    from tests.github_bed.contract import Operation
    from tests.github_bed.proxy import Proxy, Request
    from tests.github_bed.state import Token

_MOMENT = "2026-01-01T00:00:00Z"
_ROLES = {"admin": "admin", "write": "write", "read": "read", "none": "none"}


def permission(
    proxy: Proxy,
    operation: Operation,
    request: Request,  # noqa: ARG001  one shape for all holes
    token: Token | None,
) -> Answer:
    """What somebody may do: what the test said, else what emulate's collaborators may."""
    login = operation.parameters["username"]
    found = proxy.emulator.call("GET", f"/users/{login}")
    if not found.ok:
        raise Refusal(404, "Not Found")
    level = proxy.state.access.get((operation.repository, login), "read")
    user = proxy.json("GET", f"/users/{login}", token)
    known = {**user, "role_name": _ROLES[level], "type": user.get("type", "User")}
    return answer({"permission": level, "role_name": _ROLES[level], "user": known})


def add_reaction(
    proxy: Proxy,
    operation: Operation,
    request: Request,
    token: Token | None,
) -> Answer:
    """A reaction on a comment; the same of the same account is there once."""
    comment = int(operation.parameters["comment_id"])
    if not proxy.emulator.call(
        "GET", f"/repos/{operation.repository}/issues/comments/{comment}"
    ).ok:
        raise Refusal(404, "Not Found")
    assert token is not None
    made = (token.login, request.json["content"])
    reactions = proxy.state.reactions.setdefault(comment, [])
    status = 200 if made in reactions else 201
    if status == 201:
        reactions.append(made)
    number = len(reactions)
    user = proxy.json("GET", f"/users/{token.login}", token)
    said = {"id": number, "node_id": f"R_{number}", "user": user, "content": made[1]}
    return answer({**said, "created_at": _MOMENT}, status)


def list_runs(
    proxy: Proxy,
    operation: Operation,
    request: Request,
    token: Token | None,
) -> Answer:
    """The runs of a workflow file, newest first."""
    workflow = operation.parameters["workflow_id"]
    if workflow not in {run["workflow"] for run in proxy.state.listed_runs}:
        raise Refusal(404, "Not Found")
    sha = dict(part.split("=") for part in request.query.split("&")).get("head_sha")
    found = [
        _run(proxy, operation.repository, run, token)
        for run in reversed(proxy.state.listed_runs)
        if run["workflow"] == workflow and sha in (None, run["head_sha"])
    ]
    return answer({"total_count": len(found), "workflow_runs": found})


def rerun(
    proxy: Proxy,
    operation: Operation,
    request: Request,  # noqa: ARG001  one shape for all holes
    token: Token | None,  # noqa: ARG001
) -> Answer:
    """Runs a run again; one that is not over is refused in GitHub's words."""
    number = int(operation.parameters["run_id"])
    run = next((one for one in proxy.state.listed_runs if one["id"] == number), None)
    if run is None:
        raise Refusal(404, "Not Found")
    if run["status"] != "completed":
        raise Refusal(403, "This workflow is already running")
    if run.get("too_old"):
        raise Refusal(
            403, "Unable to re-run this workflow run because it was created over a month ago"
        )
    run["status"], run["conclusion"] = "queued", None
    proxy.state.reruns.append(number)
    return answer({}, 201)


def _run(proxy: Proxy, repository: str, run: dict[str, Any], token: Token | None) -> dict[str, Any]:
    here = proxy.json("GET", f"/repos/{repository}", token)
    theirs = proxy.json("GET", f"/repos/{run['head_repository']}", token)
    url = f"{proxy.url}/repos/{repository}/actions/runs/{run['id']}"
    person = {"name": "Ines", "email": "ines@example.org"}
    return {
        "id": run["id"],
        "node_id": f"WFR_{run['id']}",
        "name": "compare",
        "head_branch": run["head_branch"],
        "head_sha": run["head_sha"],
        "path": f".github/workflows/{run['workflow']}",
        "display_title": "a change",
        "run_number": 1,
        "event": run["event"],
        "status": run["status"],
        "conclusion": run["conclusion"],
        "workflow_id": 1,
        "url": url,
        "html_url": run["html_url"],
        "pull_requests": [],
        "created_at": _MOMENT,
        "updated_at": _MOMENT,
        **{f"{name}_url": f"{url}/{name}" for name in ("jobs", "logs", "cancel", "rerun")},
        "artifacts_url": f"{url}/artifacts",
        "check_suite_url": f"{proxy.url}/repos/{repository}/check-suites/1",
        "workflow_url": f"{proxy.url}/repos/{repository}/actions/workflows/1",
        "head_commit": {
            "id": run["head_sha"],
            "tree_id": run["head_sha"],
            "message": "a change",
            "timestamp": _MOMENT,
            "author": person,
            "committer": person,
        },
        "repository": here,
        "head_repository": theirs,
    }
