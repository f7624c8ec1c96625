"""Known defects of emulate's answers, each repaired, so that the client sees what GitHub sends.

Anything else that GitHub's description does not allow is a violation and fails the test.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.github_bed.answers import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.github_bed.contract import Operation
    from tests.github_bed.proxy import Proxy, Request
    from tests.github_bed.state import Token

_MOMENT = "2026-01-01T00:00:00Z"
_APPS = {"github-actions[bot]": 15368, "ciwm[bot]": 424242}


def repaired(
    proxy: Proxy, operation: Operation, request: Request, answer: Answer, token: Token | None
) -> Answer:
    """An answer of emulate without its known defects."""
    if not answer.body or answer.status >= 400:
        return answer
    value = answer.json
    special = _SPECIAL.get(operation.name)
    if special is not None:
        special(proxy, operation, request, value, token)
    for part in _dictionaries(value):
        _owner(part)
        _bot(part)
        _tree_of_commit(part)
        _check_run(proxy, part)
    return Answer(answer.status, json.dumps(value).encode(), answer.headers)


def _dictionaries(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _dictionaries(part)


def _owner(part: dict[str, Any]) -> None:
    """An organization as owner lacks what GitHub sends of every account."""
    if part.get("type") != "Organization" or "login" not in part or "followers_url" in part:
        return
    url = part["url"].replace("/orgs/", "/users/")
    part.update(
        url=url,
        gravatar_id="",
        followers_url=f"{url}/followers",
        following_url=f"{url}/following{{/other_user}}",
        gists_url=f"{url}/gists{{/gist_id}}",
        starred_url=f"{url}/starred{{/owner}}{{/repo}}",
        subscriptions_url=f"{url}/subscriptions",
        organizations_url=f"{url}/orgs",
        received_events_url=f"{url}/received_events",
        site_admin=False,
    )


def _bot(part: dict[str, Any]) -> None:
    """The account of an app is of type Bot; emulate seeds users only."""
    if part.get("type") == "User" and str(part.get("login")).endswith("[bot]"):
        part["type"] = "Bot"


def _tree_of_commit(part: dict[str, Any]) -> None:
    """The tree in a commit of a pull request's list lacks its address."""
    tree = part.get("tree")
    if isinstance(tree, dict) and "url" not in tree and "url" in part:
        tree["url"] = part["url"].rpartition("/commits/")[0] + f"/trees/{tree['sha']}"


def _check_run(proxy: Proxy, part: dict[str, Any]) -> None:
    """A check run lacks its app and the address of its annotations, and forgets old ones."""
    if not {"check_suite", "output", "conclusion"} <= part.keys():
        return
    login = proxy.state.check_apps.get(part["id"], "ciwm[bot]")
    part["app"] = _app(login)
    part["output"]["annotations_url"] = f"{part['url']}/annotations"
    part["output"]["annotations_count"] = len(proxy.state.annotations.get(part["id"], ()))


def _app(login: str) -> dict[str, Any]:
    slug = login.removesuffix("[bot]")
    number = _APPS.get(login, 1)
    return {
        "id": number,
        "slug": slug,
        "node_id": f"A_{number}",
        "client_id": f"Iv1.{number}",
        "owner": {
            "id": 1,
            "node_id": "O_1",
            "login": "github",
            "avatar_url": "https://avatars.example/1",
            "gravatar_id": "",
            "url": "https://api.example/users/github",
            "html_url": "https://example/github",
            "repos_url": "https://api.example/users/github/repos",
            "events_url": "https://api.example/users/github/events",
            "type": "Organization",  # and the rest of it by `_owner`
        },
        "name": slug,
        "description": "",
        "external_url": "https://example/app",
        "html_url": f"https://example/apps/{slug}",
        "created_at": _MOMENT,
        "updated_at": _MOMENT,
        "permissions": {"checks": "write"},
        "events": [],
    }


def _keep_annotations(
    proxy: Proxy,
    operation: Operation,
    request: Request,
    value: dict[str, Any],
    token: Token | None,
) -> None:
    """GitHub adds the annotations of an edit to those there are; emulate replaces them."""
    number: int = value["id"]
    if operation.method == "POST" and token is not None:
        proxy.state.check_apps[number] = token.login
    given = (request.json.get("output") or {}).get("annotations") or []
    blob = f"{proxy.url}/{operation.repository}/blob/{value['head_sha']}"
    proxy.state.annotations.setdefault(number, []).extend(
        {
            "start_column": None,
            "end_column": None,
            "title": None,
            "raw_details": None,
            "blob_href": f"{blob}/{one['path']}",
            **one,
        }
        for one in given
    )


def _repository(
    proxy: Proxy,  # noqa: ARG001  one shape for all repairs
    operation: Operation,  # noqa: ARG001
    request: Request,  # noqa: ARG001
    value: dict[str, Any],
    token: Token | None,  # noqa: ARG001
) -> None:
    """A whole repository lacks two counts."""
    value.setdefault("network_count", value["forks_count"])
    value.setdefault("subscribers_count", 0)


def _branch(
    proxy: Proxy,
    operation: Operation,
    request: Request,
    value: dict[str, Any],
    token: Token | None,
) -> None:
    """A branch carries only the id of its commit, and no links."""
    url = f"{proxy.url}{request.path}"
    path = f"/repos/{operation.repository}/commits/{value['commit']['sha']}"
    value["commit"] = proxy.json("GET", path, token)
    value["_links"] = {"self": url, "html": url}
    value["protection"] = {"enabled": value["protected"]}
    value["protection_url"] = f"{url}/protection"


def _pull(
    proxy: Proxy,
    operation: Operation,  # noqa: ARG001  one shape for all repairs
    request: Request,  # noqa: ARG001
    value: dict[str, Any],
    token: Token | None,  # noqa: ARG001
) -> None:
    """A pull request's head stays where it was opened, whatever is pushed to its branch."""
    head = value["head"]
    if value["state"] != "open" or head["repo"] is None:
        return
    path = f"/repos/{head['repo']['full_name']}/branches/{head['ref']}"
    found = proxy.emulator.call("GET", path)
    if not found.ok:
        return
    old = head["sha"]
    head["sha"] = proxy.state.to_client(found.json()["commit"]["sha"].encode()).decode()
    value["statuses_url"] = value["statuses_url"].replace(old, head["sha"])
    value["_links"]["statuses"]["href"] = value["statuses_url"]


def _pulls(
    proxy: Proxy,
    operation: Operation,
    request: Request,
    value: list[dict[str, Any]],
    token: Token | None,
) -> None:
    for one in value:
        _pull(proxy, operation, request, one, token)


_SPECIAL: dict[str, Callable[[Proxy, Operation, Request, Any, Token | None], None]] = {
    "GET ": _repository,
    "GET /branches/{branch}": _branch,
    "GET /pulls": _pulls,
    "GET /pulls/{pull_number}": _pull,
    "POST /pulls": _pull,
    "PATCH /pulls/{pull_number}": _pull,
    "POST /check-runs": _keep_annotations,
    "PATCH /check-runs/{check_run_id}": _keep_annotations,
}
