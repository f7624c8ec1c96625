"""What emulate does not have, answered here: commit statuses, files of a PR, annotations, limits.

Also the checks GitHub makes and emulate does not: known commits, lengths, who owns a check run.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode

from tests.github_bed import wishes, workflow_runs
from tests.github_bed.answers import Answer, Refusal, answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.github_bed.contract import Operation
    from tests.github_bed.proxy import Proxy, Request
    from tests.github_bed.state import Token

COMMENT_LIMIT = 65_536
OUTPUT_LIMIT = 65_535
ANNOTATIONS_LIMIT = 50
DESCRIPTION_LIMIT = 140


# what a pull request and its issue have in common
_SHARED = (
    *("id", "node_id", "number", "title", "user", "labels", "state", "locked", "assignee"),
    *("assignees", "milestone", "comments", "created_at", "updated_at", "closed_at", "body"),
    *("author_association", "html_url"),
)


def fill(
    proxy: Proxy, operation: Operation, request: Request, token: Token | None
) -> Answer | None:
    """The whole answer where emulate has none; None where it can be asked."""
    hole = _HOLES.get(operation.name)
    return hole(proxy, operation, request, token) if hole else None


def now() -> str:
    """This moment as GitHub writes it."""
    return dt.datetime.now(dt.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def page(request: Request, url: str, found: list[Any]) -> tuple[list[Any], dict[str, str]]:
    """The asked page of a list, and the Link header GitHub sends with it."""
    query = {name: values[-1] for name, values in parse_qs(request.query).items()}
    size = min(int(query.get("per_page", 30)), 100)
    number = int(query.get("page", 1))
    last = max(1, -(-len(found) // size))
    links = []
    if number < last:
        links += [("next", number + 1), ("last", last)]
    if number > 1:
        links += [("prev", number - 1), ("first", 1)]
    header = ", ".join(
        f'<{url}{request.path}?{urlencode({**query, "page": str(to)})}>; rel="{name}"'
        for name, to in links
    )
    chosen = found[(number - 1) * size : number * size]
    return chosen, ({"link": header} if header else {})


def known_commit(proxy: Proxy, repository: str, sha: str) -> bool:
    """Whether the repository has that commit."""
    mine = proxy.state.to_upstream(sha.encode()).decode()
    return proxy.emulator.call("GET", f"/repos/{repository}/git/commits/{mine}").ok


def _create_status(
    proxy: Proxy, operation: Operation, request: Request, token: Token | None
) -> Answer:
    sha, repository = operation.parameters["sha"], operation.repository
    if not known_commit(proxy, repository, sha):
        raise Refusal(422, f"No commit found for SHA: {sha}")
    given = request.json
    if len(given.get("description") or "") > DESCRIPTION_LIMIT:
        raise _unprocessable("Status", "description", "is too long (maximum is 140 characters)")
    number = next(proxy.state.numbers)
    said = {
        "url": f"{proxy.url}/repos/{repository}/statuses/{sha}",
        "avatar_url": f"{proxy.url}/avatars/{number}",
        "id": number,
        "node_id": f"SC_{number}",
        "state": given["state"],
        "description": given.get("description"),
        "target_url": given.get("target_url"),
        "context": given.get("context", "default"),
        "created_at": now(),
        "updated_at": now(),
    }
    proxy.state.statuses.setdefault((repository, sha), []).insert(0, said)
    return answer({**said, "creator": _user(proxy, token)}, 201)


def _list_statuses(
    proxy: Proxy, operation: Operation, request: Request, token: Token | None
) -> Answer:
    key = (operation.repository, _sha(proxy, operation))
    found, links = page(request, proxy.url, proxy.state.statuses.get(key, []))
    return answer([{**one, "creator": _user(proxy, token)} for one in found], headers=links)


def _combined_status(
    proxy: Proxy, operation: Operation, request: Request, token: Token | None
) -> Answer:
    sha, repository = _sha(proxy, operation), operation.repository
    latest: dict[str, dict[str, Any]] = {}
    for one in proxy.state.statuses.get((repository, sha), []):
        latest.setdefault(one["context"], {**one, "required": False})
    states = {one["state"] for one in latest.values()}
    whole = "success" if states == {"success"} else "pending"
    if states & {"failure", "error"}:
        whole = "failure"
    found, links = page(request, proxy.url, list(latest.values()))
    url = f"{proxy.url}/repos/{repository}/commits/{sha}"
    said = {
        "state": whole,
        "sha": sha,
        "total_count": len(latest),
        "statuses": found,
        "repository": proxy.json("GET", f"/repos/{repository}", token),
        "commit_url": url,
        "url": f"{url}/status",
    }
    return answer(said, headers=links)


def _pull_files(
    proxy: Proxy, operation: Operation, request: Request, token: Token | None
) -> Answer:
    pull = f"/repos/{operation.repository}/pulls/{operation.parameters['pull_number']}"
    said = proxy.json("GET", pull, token)
    span = f"{said['base']['sha']}...{said['head']['sha']}"
    compared = proxy.json("GET", f"/repos/{operation.repository}/compare/{span}", token)
    found, links = page(request, proxy.url, compared["files"])
    return answer(found, headers=links)


def _issue(
    proxy: Proxy, operation: Operation, request: Request, token: Token | None
) -> Answer | None:
    if proxy.forward(request, token).status != 404:
        return None
    repository = f"/repos/{operation.repository}"
    pull = proxy.json("GET", f"{repository}/pulls/{operation.parameters['issue_number']}", token)
    url = f"{proxy.url}{repository}/issues/{pull['number']}"
    links = {name: pull[name] for name in ("html_url", "diff_url", "patch_url", "merged_at")}
    return answer(
        {
            **{name: pull[name] for name in _SHARED},
            "url": url,
            "repository_url": f"{proxy.url}{repository}",
            "labels_url": f"{url}/labels{{/name}}",
            "comments_url": f"{url}/comments",
            "events_url": f"{url}/events",
            "pull_request": {**links, "url": f"{proxy.url}{repository}/pulls/{pull['number']}"},
        }
    )


def _annotations(
    proxy: Proxy,
    operation: Operation,
    request: Request,
    token: Token | None,  # noqa: ARG001  one shape for all holes
) -> Answer:
    number = int(operation.parameters["check_run_id"])
    found, links = page(request, proxy.url, proxy.state.annotations.get(number, []))
    return answer(found, headers=links)


def _check_runs(
    proxy: Proxy, operation: Operation, request: Request, token: Token | None
) -> Answer:
    """Emulate has no pages here, and drops a check run when another app made one of its name."""
    path = f"/repos/{operation.repository}/commits/{operation.parameters['ref']}/check-runs"
    query = {name: values[-1] for name, values in parse_qs(request.query).items()}
    name = f"&check_name={query['check_name']}" if "check_name" in query else ""
    found = proxy.json("GET", path, token, query=f"filter=all{name}")["check_runs"]
    if query.get("filter", "latest") == "latest":
        latest = {(run["name"], run["app"]["id"]): run for run in sorted(found, key=_number)}
        found = sorted(latest.values(), key=_number, reverse=True)
    chosen, links = page(request, proxy.url, found)
    return answer({"total_count": len(found), "check_runs": chosen}, headers=links)


def _number(run: dict[str, Any]) -> int:
    number: int = run["id"]
    return number


def _create_check_run(
    proxy: Proxy,
    operation: Operation,
    request: Request,
    token: Token | None,  # noqa: ARG001  one shape for all holes
) -> None:
    sha = request.json.get("head_sha", "")
    if not known_commit(proxy, operation.repository, sha):
        raise Refusal(422, f"No commit found for SHA: {sha}")
    _check_output(request)


def _edit_check_run(
    proxy: Proxy, operation: Operation, request: Request, token: Token | None
) -> None:
    number = int(operation.parameters["check_run_id"])
    owner = proxy.state.check_apps.get(number)
    if owner is not None and token is not None and owner != token.login:
        raise Refusal(
            403,
            "Invalid app_id `1` - check run can only be modified by the GitHub App that "
            "created it.",
        )
    _check_output(request)


def _check_output(request: Request) -> None:
    output = request.json.get("output") or {}
    for name in ("summary", "text"):
        length = len((output.get(name) or "").encode())
        if length > OUTPUT_LIMIT:
            raise Refusal(
                422,
                f"Invalid request.\n\nOnly {OUTPUT_LIMIT} characters are allowed; "
                f"{length} were supplied.",
            )
    annotations = output.get("annotations") or []
    if len(annotations) > ANNOTATIONS_LIMIT:
        raise Refusal(
            422,
            f"Invalid request.\n\nNo more than {ANNOTATIONS_LIMIT} items are allowed; "
            f"{len(annotations)} were supplied.",
        )


def _check_comment(
    proxy: Proxy,  # noqa: ARG001  one shape for all holes
    operation: Operation,  # noqa: ARG001
    request: Request,
    token: Token | None,  # noqa: ARG001
) -> None:
    body = request.json.get("body", "")
    if not body.strip():
        raise _unprocessable("IssueComment", "body", "Body can't be blank")
    if len(body) > COMMENT_LIMIT:
        raise _unprocessable(
            "IssueComment", "data", f"Body is too long (maximum is {COMMENT_LIMIT} characters)"
        )


def _unprocessable(resource: str, where: str, message: str) -> Refusal:
    said = {"resource": resource, "code": "unprocessable", "field": where, "message": message}
    return Refusal(422, "Validation Failed", errors=[said])


def _sha(proxy: Proxy, operation: Operation) -> str:
    """The commit a `{ref}` of the path means."""
    ref = operation.parameters["ref"]
    found = proxy.emulator.call("GET", f"/repos/{operation.repository}/branches/{ref}")
    if not found.ok:
        return ref
    return proxy.state.to_client(found.json()["commit"]["sha"].encode()).decode()


def _user(proxy: Proxy, token: Token | None) -> Any:
    assert token is not None
    return proxy.json("GET", f"/users/{token.login}", token)


_HOLES: dict[str, Callable[[Proxy, Operation, Request, Token | None], Answer | None]] = {
    "POST /statuses/{sha}": _create_status,
    "GET /commits/{ref}/statuses": _list_statuses,
    "GET /commits/{ref}/status": _combined_status,
    "GET /pulls/{pull_number}/files": _pull_files,
    "GET /issues/{issue_number}": _issue,
    "GET /check-runs/{check_run_id}/annotations": _annotations,
    "GET /commits/{ref}/check-runs": _check_runs,
    "POST /check-runs": _create_check_run,
    "PATCH /check-runs/{check_run_id}": _edit_check_run,
    "POST /issues/{issue_number}/comments": _check_comment,
    "PATCH /issues/comments/{comment_id}": _check_comment,
    "GET /actions/runs/{run_id}/artifacts": workflow_runs.list_artifacts,
    "GET /actions/artifacts/{artifact_id}/{archive_format}": workflow_runs.fetch_artifact,
    "GET /actions/runs/{run_id}/approvals": workflow_runs.list_reviews,
    "GET /actions/workflows/{workflow_id}/runs": wishes.list_runs,
    "POST /actions/runs/{run_id}/rerun": wishes.rerun,
    "GET /collaborators/{username}/permission": wishes.permission,
    "POST /issues/comments/{comment_id}/reactions": wishes.add_reaction,
}
