"""GitHub's GraphQL: the official schema, executed for the little our clients ask."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from graphql import build_schema, graphql_sync

from tests.github_bed import npm, pulls
from tests.github_bed.answers import Answer, Refusal, answer

if TYPE_CHECKING:
    from graphql import GraphQLError, GraphQLResolveInfo

    from tests.github_bed.proxy import Proxy, Request
    from tests.github_bed.state import Token


class Graph:
    """The schema (1 s to build, so once a session) and the resolvers."""

    def __init__(self) -> None:
        text = npm.data_file(npm.GRAPHQL_SCHEMA).read_text(encoding="utf-8")
        self.schema = build_schema(text, assume_valid=True, no_location=True)

    def answer(self, proxy: Proxy, request: Request, token: Token | None) -> Answer:
        """Run a query; what the schema refuses is a violation and GitHub's 200 with errors."""
        if token is None:
            raise Refusal(401, "This endpoint requires you to be authenticated.")
        if request.method != "POST" or not isinstance(request.json, dict):
            proxy.state.violation(f"{request.method} /graphql is not a query")
            raise Refusal(400, "Problems parsing JSON")
        given = request.json
        with proxy.state.lock:
            result = graphql_sync(
                self.schema,
                given.get("query", ""),
                root_value=_Root(proxy, token),
                variable_values=given.get("variables"),
            )
        for error in result.errors or ():
            if not isinstance(error.original_error, (_NotFoundError, pulls.BrokenPart)):
                proxy.state.violation(f"GraphQL: {error.message}")
        said = [_error(error) for error in result.errors or ()]
        return answer({"data": result.data, **({"errors": said} if said else {})})


class _NotFoundError(Exception):
    pass


def _error(error: GraphQLError) -> dict[str, Any]:
    kind = {"type": "NOT_FOUND"} if isinstance(error.original_error, _NotFoundError) else {}
    return {**kind, **error.formatted}


class _Root:
    """The query root: who asks, and repositories by name."""

    def __init__(self, proxy: Proxy, token: Token) -> None:
        self.proxy = proxy
        self.token = token

    def viewer(self, _info: object) -> dict[str, Any]:
        """Whose token it is; for a job's own token too, which `GET /user` refuses."""
        return {"__typename": "User", "login": self.token.viewer, "id": f"U_{self.token.viewer}"}

    def rateLimit(self, info: GraphQLResolveInfo[Any], **_: object) -> dict[str, Any]:  # noqa: N802
        """What the query costs."""
        return pulls.Cost(info).of_query()

    def search(
        self,
        _info: object,
        query: str,
        type: str,  # noqa: A002  the schema's name
        first: int | None = None,
        after: str | None = None,
    ) -> dict[str, Any]:
        """The pull requests that a test made up."""
        assert type == "ISSUE"
        made = self.proxy.state.pulls
        return pulls.search(query, lambda name: made.get(name, {}).values(), first, after)

    def pinIssue(self, _info: object, input: dict[str, Any]) -> dict[str, Any]:  # noqa: A002, N802
        """Pins an issue, of which a repository has three at most."""
        pinned = self.proxy.state.pinned
        if len(pinned) >= 3:
            raise pulls.BrokenPart("Maximum of 3 pinned issues reached")
        pinned.append(input["issueId"])
        return {"issue": {"__typename": "Issue", "id": input["issueId"], "number": 1}}

    def repository(self, _info: object, owner: str, name: str, **_: object) -> dict[str, Any]:
        """A repository and its pull requests."""
        path = f"/repos/{owner}/{name}"
        found = self.proxy.emulator.call("GET", path)
        if found.status_code == 404:
            raise _NotFoundError(
                f"Could not resolve to a Repository with the name '{owner}/{name}'."
            )
        said = found.json()
        made_up = self.proxy.state.pulls.get(f"{owner}/{name}", {}).values()
        born = min((pulls.told(pull.created) for pull in made_up), default=said["created_at"])
        return {
            "__typename": "Repository",
            "id": said["node_id"],
            "name": said["name"],
            "nameWithOwner": said["full_name"],
            "createdAt": min(born, said["created_at"]),
            "pullRequest": lambda _info, number: self._pull_request(path, number),
            "pullRequests": lambda _info, **asked: self._pull_requests(path, **asked),
            "object": lambda _info, oid: self._commit(oid),
        }

    def _pull_requests(
        self,
        path: str,
        *,
        headRefName: str,  # noqa: N803  GitHub's name
        states: list[str],
        first: int,
        after: str | None = None,
    ) -> dict[str, Any]:
        """Open pull requests from branches of a name, by pages."""
        assert states == ["OPEN"]
        listed: list[int] = []
        for number in itertools.count(1):
            query = f"?state=open&per_page=100&page={number}"
            more = self.proxy.emulator.json("GET", f"{path}/pulls{query}")
            listed += [one["number"] for one in more if one["head"]["ref"] == headRefName]
            if len(more) < 100:
                break
        begin = int(after or 0)
        chosen = sorted(listed)[begin : begin + first]
        end = begin + len(chosen)
        return {
            "__typename": "PullRequestConnection",
            "totalCount": len(listed),
            "pageInfo": {"hasNextPage": end < len(listed), "endCursor": str(end)},
            "nodes": [self._pull_request(path, number) for number in chosen],
        }

    def _commit(self, sha: str) -> dict[str, Any] | None:
        """A commit with the files the test gave it."""
        files = self.proxy.state.files
        if sha not in files:
            return None
        parents = [self._commit(one) for one in files[sha].get("parents", "").split()]
        return {
            "__typename": "Commit",
            "oid": sha,
            "file": lambda _info, path: _tree_entry(files[sha], path),
            "parents": lambda _info, **_: {"nodes": parents},
        }

    def _pull_request(self, path: str, number: int) -> dict[str, Any]:
        repository = path.removeprefix("/repos/")
        made = self.proxy.state.pulls.get(repository, {}).get(number)
        if made is not None:
            return pulls.node(made, repository)
        found = self.proxy.emulator.call("GET", f"{path}/pulls/{number}")
        if found.status_code == 404:
            raise _NotFoundError(f"Could not resolve to a PullRequest with the number of {number}.")
        said = found.json()
        real = self.proxy.state.to_client
        head = self.proxy.emulator.json(
            "GET", f"/repos/{said['head']['repo']['full_name']}/branches/{said['head']['ref']}"
        )
        return {
            "__typename": "PullRequest",
            "id": said["node_id"],
            "number": number,
            "title": said["title"],
            "state": "MERGED" if said["merged"] else said["state"].upper(),
            "headRefOid": real(head["commit"]["sha"].encode()).decode(),
            "baseRefOid": real(said["base"]["sha"].encode()).decode(),
            "headRefName": said["head"]["ref"],
            "baseRefName": said["base"]["ref"],
            "baseRef": {"__typename": "Ref", "target": self._base(path, number, said)},
            "headRepository": {
                "__typename": "Repository",
                "nameWithOwner": said["head"]["repo"]["full_name"],
            },
            "isCrossRepository": said["head"]["repo"]["full_name"]
            != said["base"]["repo"]["full_name"],
        }

    def _base(self, path: str, number: int, said: dict[str, Any]) -> dict[str, Any]:
        state = self.proxy.state
        real = state.to_client(said["base"]["sha"].encode()).decode()
        sha = state.base_tips.get((path.removeprefix("/repos/"), number), real)
        state.files.setdefault(sha, {})
        found = self._commit(sha)
        assert found is not None
        return found


def _tree_entry(files: dict[str, str], path: str) -> dict[str, Any] | None:
    if path not in files:
        return None
    blob = {"__typename": "Blob", "text": files[path], "isTruncated": False, "isBinary": False}
    return {"__typename": "TreeEntry", "path": path, "object": blob}
