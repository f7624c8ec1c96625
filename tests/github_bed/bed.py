"""What a test holds: one repository of the bed, and what can be done and seen in it."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from tests.github_bed.emulator import MAINTAINER, ORGANISATION
from tests.github_bed.state import READ_ONLY, READ_WRITE, Fault, FaultKind, Kind, Permission, Token
from tests.github_bed.workflow_runs import WorkflowRuns

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from pathlib import Path

    from tests.github_bed.proxy import Proxy
    from tests.github_bed.pulls import BedPull
    from tests.github_bed.state import Exchange

_NUMBERS = itertools.count(1)


@dataclass(frozen=True)
class Pull:
    """A pull request of the bed."""

    number: int
    branch: str
    head_sha: str
    base_sha: str
    head_repository: str


class GitHubBed:
    """A fresh repository on the bed's GitHub; `url` is what GITHUB_API_URL is set to."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        self.url = proxy.url
        name = f"fork-{next(_NUMBERS)}"
        self.repository = f"{ORGANISATION}/{name}"
        proxy.emulator.json(
            "POST", f"/orgs/{ORGANISATION}/repos", {"name": name, "auto_init": True}
        )
        self.runs = WorkflowRuns(self)
        self.token = self.make_token()
        self.read_only_token = self.make_token(permissions=READ_ONLY)

    @property
    def remote_url(self) -> str:
        """What `origin` of a checkout is set to, so that the runner knows the repository's name."""
        return f"https://github.com/{self.repository}.git"

    # what it can be told

    def make_token(
        self,
        *,
        kind: Kind = "job",
        login: str = "github-actions[bot]",
        permissions: dict[str, Permission] | None = None,
        viewer: str | None = None,
    ) -> str:
        """A new token; `permissions` default to write on all that ciwm may be granted."""
        number = next(_NUMBERS)
        value = {"job": "ghs", "app": "ghs", "pat": "ghp"}[kind] + f"_bed{number:033d}"
        scope = self.repository if kind == "job" else ""
        granted = permissions or READ_WRITE
        if granted.get("contents") == "write":  # emulate asks accounts for it, and not tokens
            path = f"/repos/{self.repository}/collaborators/{quote(login)}"
            self.proxy.emulator.json("PUT", path, {"permission": "push"})
        made = Token(value, login, kind, granted, viewer or login, scope)
        self.proxy.state.tokens[value] = made
        return value

    def expire(self, token: str) -> None:
        """From now on a token is refused with 401."""
        self.proxy.state.tokens.pop(token, None)

    def misbehave(
        self,
        kind: FaultKind,
        *,
        times: int = 1,
        method: str = "",
        path: str = "",
        seconds: float = 1,
        after: int = 0,
    ) -> None:
        """Plan a fault for the next `times` requests of a method whose path matches `path`.

        `after`: how many such requests go well before.
        `seconds`: the Retry-After, the time to the reset, or the length of the silence.
        """
        fault = Fault(kind, times, method, re.compile(path), seconds, after)
        with self.proxy.state.lock:
            self.proxy.state.faults.append(fault)

    def behave(self) -> None:
        """Forget all planned faults."""
        with self.proxy.state.lock:
            self.proxy.state.faults.clear()

    def make_up(self, pulls: Iterable[BedPull], *, clock: datetime | None = None) -> None:
        """Pull requests that GraphQL alone knows, in place of those before; by `clock` it is then.

        See tests/github_bed/pulls.py.
        """
        with self.proxy.state.lock:
            self.proxy.state.pulls[self.repository] = {pull.number: pull for pull in pulls}
            self.proxy.state.clock = clock

    # what can be done in it, as the maintainer and past the proxy

    def branch(self, name: str, sha: str | None = None, repository: str | None = None) -> str:
        """Make a branch from main, or move it on by one commit; its new sha.

        With `sha`, a commit of a real repository, the bed shows that instead of emulate's own.
        """
        repository = repository or self.repository
        call, path = self.proxy.emulator.json, f"/repos/{repository}"
        if not self.proxy.emulator.call("GET", f"{path}/branches/{name}").ok:
            tip = call("GET", f"{path}/branches/main")["commit"]["sha"]
            call("POST", f"{path}/git/refs", {"ref": f"refs/heads/{name}", "sha": tip})
        number = next(_NUMBERS)
        change = {"message": f"change {number}", "content": "eAo=", "branch": name}
        made = call("PUT", f"{path}/contents/file-{number}.txt", change)
        mine: str = made["commit"]["sha"]
        if sha is None:
            return mine
        with self.proxy.state.lock:
            self.proxy.state.shas[sha] = mine
        return sha

    def pull_request(
        self,
        branch: str = "feature",
        *,
        base: str = "main",
        head_sha: str | None = None,
        base_sha: str | None = None,
        from_fork: bool = False,
    ) -> Pull:
        """Open a pull request from a new branch, of this repository or of a contributor's fork."""
        if base_sha is not None:
            self.branch(base, base_sha)
        login = "contributor" if from_fork else MAINTAINER
        repository = self._fork(login) if from_fork else self.repository
        sha = self._head(branch, head_sha, repository)
        opened = {
            "title": f"Sync {branch}",
            "head": f"{login}:{branch}" if from_fork else branch,
            "base": base,
            "body": "",
        }
        path = f"/repos/{self.repository}"
        made = self.proxy.emulator.json("POST", f"{path}/pulls", opened)
        theirs = self._real(made["base"]["sha"])
        return Pull(made["number"], branch, sha, theirs, repository)

    def push(self, pull: Pull, sha: str | None = None) -> Pull:
        """Push one more commit to a pull request's branch."""
        new = self._head(pull.branch, sha, pull.head_repository)
        return Pull(pull.number, pull.branch, new, pull.base_sha, pull.head_repository)

    def _head(self, branch: str, sha: str | None, repository: str) -> str:
        """One more commit of a pull request's branch; a fork's is known to our repository too."""
        made = self.branch(branch, sha, repository)
        if repository == self.repository:
            return made
        theirs = self.proxy.state.shas.get(made, made)
        ours = self.branch(f"pull-head-of-{branch}")
        with self.proxy.state.lock:
            self.proxy.state.shas[made] = ours
            self.proxy.state.fork_shas[theirs] = made
        return made

    def comment(self, number: int, body: str, login: str = "mallory") -> int:
        """Somebody comments on a pull request; the comment's id."""
        path = f"/repos/{self.repository}/issues/{number}/comments"
        made: int = self.proxy.emulator.json("POST", path, {"body": body}, login)["id"]
        return made

    def _fork(self, login: str) -> str:
        path = f"/repos/{self.repository}/forks"
        made: str = self.proxy.emulator.json("POST", path, {}, login)["full_name"]
        # in emulate any maintainer's push needs a collaborator
        self.proxy.emulator.json(
            "PUT", f"/repos/{made}/collaborators/{MAINTAINER}", {"permission": "push"}, login
        )
        return made

    # what can be seen

    def comments(self, number: int) -> list[dict[str, Any]]:
        """All comments of a pull request, oldest first."""
        return self._all(f"/repos/{self.repository}/issues/{number}/comments")

    def checks(self, sha: str) -> list[dict[str, Any]]:
        """All check runs on a commit, oldest first; each with its `annotations`."""
        mine = self.proxy.state.to_upstream(sha.encode()).decode()
        path = f"/repos/{self.repository}/commits/{mine}/check-runs?filter=all"
        found = self._json("GET", path)["check_runs"]
        for run in found:
            run["annotations"] = self.proxy.state.annotations.get(run["id"], [])
        return sorted(found, key=lambda run: int(run["id"]))

    def statuses(self, sha: str) -> list[dict[str, Any]]:
        """All statuses of a commit, newest first."""
        return list(self.proxy.state.statuses.get((self.repository, sha), []))

    @property
    def violations(self) -> list[str]:
        """What GitHub's description forbids and was said all the same."""
        return self.proxy.state.violations

    @property
    def exchanges(self) -> list[Exchange]:
        """The requests of clients since the test began, in order."""
        return self.proxy.state.exchanges

    def environment(self, token: str | None = None) -> dict[str, str]:
        """The variables a job has on GitHub, as far as they concern its API."""
        return {
            "GITHUB_API_URL": self.url,
            "GITHUB_GRAPHQL_URL": f"{self.url}/graphql",
            "GITHUB_SERVER_URL": self.url,
            "GITHUB_REPOSITORY": self.repository,
            "GITHUB_TOKEN": self.token if token is None else token,
        }

    def pull_request_event(self, pull: Pull, action: str = "synchronize") -> dict[str, Any]:
        """The payload GitHub would send for a pull request, of the bed's own answers."""
        path = f"/repos/{self.repository}"
        said = self.proxy.json("GET", f"{path}/pulls/{pull.number}", None)
        return {
            "action": action,
            "number": pull.number,
            "pull_request": said,
            "repository": self.proxy.json("GET", path, None),
            "sender": said["user"],
        }

    def comment_event(self, number: int, body: str, login: str = MAINTAINER) -> dict[str, Any]:
        """Somebody comments on a pull request; the payload GitHub would send of it."""
        comment = self.comment(number, body, login)
        path = f"/repos/{self.repository}"
        said = self.proxy.json("GET", f"{path}/issues/comments/{comment}", None)
        pull = self.proxy.json("GET", f"{path}/pulls/{number}", None)
        return {
            "action": "created",
            "issue": {"number": number, "pull_request": {"url": pull["url"]}},
            "comment": {**said, "author_association": "OWNER"},
            "repository": self.proxy.json("GET", path, None),
            "sender": said["user"],
        }

    def may(self, login: str, access: Permission | Literal["admin"]) -> None:
        """What somebody may do in this repository; read, where nothing is said."""
        self.proxy.state.access[(self.repository, login)] = access

    def reactions(self, comment: int) -> list[str]:
        """The reactions on a comment."""
        return [content for _, content in self.proxy.state.reactions.get(comment, [])]

    def push_event(self, before: str, after: str, branch: str = "main") -> dict[str, Any]:
        """The payload of a push."""
        return {
            "ref": f"refs/heads/{branch}",
            "before": before,
            "after": after,
            "repository": self.proxy.json("GET", f"/repos/{self.repository}", None),
            "head_commit": {"id": after},
        }

    def write_event(self, event: dict[str, Any], folder: Path) -> Path:
        """Write a payload where GITHUB_EVENT_PATH can point."""
        path = folder / "event.json"
        path.write_text(json.dumps(event), encoding="utf-8")
        return path

    def _real(self, sha: str) -> str:
        return self.proxy.state.to_client(sha.encode()).decode()

    def _json(self, method: str, path: str) -> Any:
        said = self.proxy.emulator.json(method, path)
        return json.loads(self.proxy.state.to_client(json.dumps(said).encode()))

    def _all(self, path: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for number in itertools.count(1):
            more = self._json("GET", f"{path}?per_page=100&page={number}")
            found += more
            if len(more) < 100:
                break
        return found
