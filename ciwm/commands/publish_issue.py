"""`ciwm publish --issue`: one issue that tells what the next bump would bring."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ciwm.errors import GitHubError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ciwm.github import GitHub
    from ciwm.publish import Posted, Published
    from ciwm.publish.hostile import Handed
    from ciwm.records import BumpReport

KEY = "bump-preview"
ARTIFACT = "ciwm-bump-preview"
TITLE = "Upstream bump preview"
_CLOSE = "<sub>Kept up to date by ciwm; close it to be left alone.</sub>"


def post_issue(path: Path | None, repository: str | None) -> Published:
    """Make the one issue tell a report; its text comes from code of upstream and is not trusted.

    Raises UsageError for a report that is not ours and GitHubError when it cannot be fetched; an
    issue that cannot be kept is a problem of the result.
    """
    from ciwm.actions import Runner  # noqa: PLC0415
    from ciwm.github import connect_from  # noqa: PLC0415
    from ciwm.publish import Problem, Published  # noqa: PLC0415

    name = repository or os.environ.get("GITHUB_REPOSITORY")
    if not name:
        raise UsageError("which repository is the issue in?", "give --repository OWNER/NAME")
    runner, github = Runner(), connect_from(os.environ)
    if github is None:
        raise UsageError("an issue takes a token", "set CIWM_TOKEN or GITHUB_TOKEN")
    with github:
        report = _handed(github, name, path).report
        try:
            return Published(posted=(_kept(github, name, report, runner.warning),))
        except GitHubError as error:
            runner.warning(f"{error.message}; {error.hint}".removesuffix("; "), title="ciwm")
            problem = Problem(what="issue", message=error.message, hint=error.hint)
            return Published(problems=(problem,))


def _handed(github: GitHub, repository: str, path: Path | None) -> Handed:
    from ciwm.github import archive, artifacts  # noqa: PLC0415
    from ciwm.publish.hostile import handed_in, handed_in_archive  # noqa: PLC0415

    if path is not None:
        return handed_in(path)
    run = os.environ.get("GITHUB_RUN_ID", "")
    if not run.isdecimal():
        raise UsageError("there is no run whose artifact could be posted", "name REPORT")
    found = [one for one in artifacts(github, repository, int(run)) if one.name == ARTIFACT]
    if not found:
        raise UsageError(f"this run left no artifact named {ARTIFACT}", "see the log of its job")
    return handed_in_archive(archive(github, repository, found[0]))


def _kept(
    github: GitHub, repository: str, report: BumpReport, warn: Callable[[str], None]
) -> Posted:
    from ciwm.publish.issue import Standing, keep_issue  # noqa: PLC0415
    from ciwm.report.bump_markdown import comment_markdown  # noqa: PLC0415

    # whose word it is, the report cannot say itself
    ours = {"pull_request": None, "run_url": _run_url(), "trust": None}
    told = report.model_copy(update=ours)
    text = f"{comment_markdown(told)}\n{_CLOSE}\n"
    issue = Standing(repository, KEY, TITLE, text)
    return keep_issue(github, issue, warn)


def _run_url() -> str | None:
    from ciwm.actions import read_event  # noqa: PLC0415

    if not os.environ.get("GITHUB_EVENT_NAME"):
        return None
    return read_event(os.environ).run_url
