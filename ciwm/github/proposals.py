"""One changed file on a branch of its own, for somebody to review and merge."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ciwm.errors import GitHubError
from ciwm.github.failures import NotFoundError, reading

if TYPE_CHECKING:
    from ciwm.github.api import GitHub

_CONTENTS = "contents: write"


@dataclass(frozen=True)
class PullTips:
    """A pull request as it is now."""

    number: int
    state: str
    head_sha: str
    base_ref: str


@dataclass(frozen=True)
class FileThere:
    """A file of a branch; `blob` is None and the text empty where the branch has none."""

    text: str
    blob: str | None


@dataclass(frozen=True)
class Change:
    """A file's new text, on a branch that starts at another."""

    repository: str
    base: str
    branch: str
    path: str
    text: str
    message: str


def pull_tips(github: GitHub, repository: str, number: int) -> PullTips:
    """The head and the base branch of a pull request."""
    what = f"read pull request #{number}"
    said = github.get(what, f"/repos/{repository}/pulls/{number}", "pull-requests: read")
    with reading(what):
        return PullTips(number, said["state"], said["head"]["sha"], said["base"]["ref"])


def file_there(github: GitHub, repository: str, path: str, branch: str) -> FileThere:
    """A file of a branch as text; raises GitHubError where it is none."""
    what = f"read {path} of {branch}"
    try:
        place = f"/repos/{repository}/contents/{quote(path)}?ref={quote(branch, safe='')}"
        said = github.get(what, place, "contents: read")
    except NotFoundError:
        return FileThere("", None)
    with reading(what):
        if isinstance(said, list) or said["type"] != "file" or said.get("encoding") != "base64":
            raise GitHubError(f"cannot {what}: it is no text file")
        try:
            return FileThere(base64.b64decode(said["content"]).decode("utf-8"), said["sha"])
        except (UnicodeDecodeError, binascii.Error) as error:
            raise GitHubError(f"cannot {what}: it is not UTF-8") from error


def put_on_branch(github: GitHub, change: Change) -> None:
    """Commit a change on its branch, which is made where it is not there yet.

    A branch that holds the change already is left as it is, so that to ask again does no harm.
    """
    path, repository = f"/repos/{change.repository}", change.repository
    _make_branch(github, change)
    there = file_there(github, repository, change.path, change.branch)
    if there.text == change.text:
        return
    sent: dict[str, Any] = {
        "message": change.message,
        "content": base64.b64encode(change.text.encode()).decode(),
        "branch": change.branch,
        **({"sha": there.blob} if there.blob else {}),
    }
    what = f"commit {change.path} on {change.branch}"
    github.send(what, "PUT", f"{path}/contents/{quote(change.path)}", sent, _CONTENTS)


def open_pull(github: GitHub, change: Change, title: str, body: str) -> str:
    """Open a pull request for a branch; its address. One that is open already is that."""
    path = f"/repos/{change.repository}/pulls"
    what = f"open a pull request from {change.branch}"
    owner = change.repository.partition("/")[0]
    known = github.get(what, f"{path}?head={quote(f'{owner}:{change.branch}', safe='')}&state=open")
    with reading(what):
        if known:
            return str(known[0]["html_url"])
    sent = {"title": title, "body": body, "head": change.branch, "base": change.base}
    said = github.send(what, "POST", path, sent, "pull-requests: write")
    with reading(what):
        return str(said["html_url"])


def _make_branch(github: GitHub, change: Change) -> None:
    path, what = f"/repos/{change.repository}/git", f"make the branch {change.branch}"
    try:
        github.get(what, f"{path}/ref/heads/{quote(change.branch)}", "contents: read")
    except NotFoundError:
        base = github.get(what, f"{path}/ref/heads/{quote(change.base)}", "contents: read")
        with reading(what):
            sent = {"ref": f"refs/heads/{change.branch}", "sha": base["object"]["sha"]}
        github.send(what, "POST", f"{path}/refs", sent, _CONTENTS)
