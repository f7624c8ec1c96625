"""Issues, as far as one of ours is kept up to date."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.github.failures import reading

if TYPE_CHECKING:
    from typing import Any

    from ciwm.github.api import GitHub

LABEL = "ciwm"
_NEEDS = "issues: write"
_PIN = "mutation($issue: ID!) { pinIssue(input: {issueId: $issue}) { issue { number } } }"


@dataclass(frozen=True)
class Issue:
    """An issue; `node` is what GraphQL calls it."""

    number: int
    node: str
    author: str
    by_app: bool
    title: str
    body: str
    url: str


def labelled_issues(github: GitHub, repository: str) -> tuple[Issue, ...]:
    """The issues with our label, open or closed, oldest first; the newest hundred of them."""
    query = f"labels={LABEL}&state=all&per_page=100&sort=created&direction=desc"
    what = f"list the issues of {repository}"
    said = github.get(what, f"/repos/{repository}/issues?{query}", "issues: read")
    with reading(what):
        return tuple(_issue(one) for one in reversed(said) if "pull_request" not in one)


def create_issue(github: GitHub, repository: str, title: str, body: str) -> Issue:
    """A new issue with our label; UnreachableError where it is unknown whether it was made."""
    what = f"open an issue in {repository}"
    sent = {"title": title, "body": body, "labels": [LABEL]}
    said = github.send(what, "POST", f"/repos/{repository}/issues", sent, _NEEDS)
    with reading(what):
        return _issue(said)


def edit_issue(github: GitHub, repository: str, number: int, title: str, body: str) -> None:
    """Replace what an issue says."""
    what = f"edit issue #{number} of {repository}"
    path = f"/repos/{repository}/issues/{number}"
    github.send(what, "PATCH", path, {"title": title, "body": body}, _NEEDS)


def pin_issue(github: GitHub, issue: Issue) -> None:
    """Pin an issue above the others; GitHub takes three a repository."""
    github.query(f"pin issue #{issue.number}", _PIN, {"issue": issue.node})


def _issue(said: Any) -> Issue:
    user = said["user"] or {}
    return Issue(
        number=said["number"],
        node=said["node_id"],
        author=user.get("login", "ghost"),
        by_app=user.get("type") == "Bot",
        title=said["title"],
        body=said["body"] or "",
        url=said["html_url"],
    )
