"""Posting a report wherever it belongs; what cannot be posted is a warning and stays on disk."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.errors import EnvironmentFailure, GitHubError
from ciwm.github import Check
from ciwm.launch.files import make_folder, write_atomically
from ciwm.publish.check import NAME, fitted, post_check, titled
from ciwm.publish.published import Posted, Problem, Published
from ciwm.publish.sticky import stick

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ciwm.actions import Runner
    from ciwm.errors import CiwmError
    from ciwm.github import Annotation, GitHub
    from ciwm.publish.published import What
    from ciwm.records import BumpReport

KEY = "bump"
ANNOTATIONS_LIMIT = 150  # fifty a request; a publish takes at most eight


@dataclass(frozen=True)
class Target:
    """Where a report goes; `key` tells several reports on one pull request apart."""

    repository: str
    pull_request: int | None = None
    sha: str | None = None
    key: str = KEY


@dataclass(frozen=True)
class Texts:
    """The rendered report: the comment (within 65,000 bytes) and the step summary (1 MiB).

    Of the annotations the first 150 are shown.
    """

    comment: str
    summary: str
    annotations: tuple[Annotation, ...] = ()


def publish(
    report: BumpReport,
    texts: Texts,
    target: Target,
    github: GitHub | None,
    *,
    runner: Runner,
    saved: Path,
    refused: CiwmError | None = None,
) -> Published:
    """Post the comment, the check (or a status), the step summary and the outputs.

    Nothing here raises when GitHub refuses or is down: the report is at `saved` (written when it
    is not there), and a warning says why and with which command to post it later. `refused` is
    why there is no connection, other than a missing token. What cannot be kept is a warning too.
    """
    kept = _kept(report, saved, runner)
    _tell_job(report, texts, runner, kept)
    posted, problems = _post(report, texts, target, github, refused)
    command = _later(target, kept) if problems and kept else None
    for problem in problems:
        mend = f"; {problem.hint}" if problem.hint else ""
        runner.warning(f"{problem.message}{mend}", title="ciwm")
    if command:
        runner.warning(f"the report is kept; to post it later: {command}", title="ciwm")
    return Published(
        posted=tuple(posted),
        problems=tuple(problems),
        report=str(kept) if kept else None,
        command=command,
    )


def _kept(report: BumpReport, saved: Path, runner: Runner) -> Path | None:
    """The file of the report, absolute, so that it can be posted from elsewhere."""
    try:
        if not saved.exists():
            make_folder(saved.parent)
            write_atomically(saved, report.to_json())
    except (OSError, EnvironmentFailure) as error:
        runner.warning(f"the report is not kept: {error}", title="ciwm")
        return None
    return saved.resolve()


def _tell_job(report: BumpReport, texts: Texts, runner: Runner, saved: Path | None) -> None:
    runner.add_summary(texts.summary)
    runner.set_output("outcome", report.verdict.outcome if report.verdict else "")
    runner.set_output("conclusion", report.conclusion)
    runner.set_output("exit-code", str(report.exit_code))
    unconfirmed = report.verdict is not None and report.verdict.needs_confirmation
    runner.set_output("needs-confirmation", str(unconfirmed).lower())
    runner.set_output("report", str(saved or ""))


def _post(
    report: BumpReport,
    texts: Texts,
    target: Target,
    github: GitHub | None,
    refused: CiwmError | None,
) -> tuple[list[Posted], list[Problem]]:
    wanted: list[tuple[What, Callable[[GitHub], Posted]]] = []
    if target.sha is not None:
        check = _check(report, texts, target, target.sha)
        wanted.append(("check", lambda hub: post_check(hub, target.repository, check)))
    number = target.pull_request
    if number is not None:
        wanted.append(
            (
                "comment",
                lambda hub: stick(hub, target.repository, number, target.key, texts.comment),
            )
        )
    if github is None:
        return [], [_unconnected(what, refused) for what, _ in wanted[:1]]
    posted, problems = [], []
    for what, do in wanted:
        try:
            posted.append(do(github))
        except GitHubError as error:
            problems.append(Problem(what=what, message=error.message, hint=error.hint))
    return posted, problems


def _unconnected(what: What, refused: CiwmError | None) -> Problem:
    if refused is not None:
        message = f"nothing was posted: {refused.message}"
        return Problem(what=what, message=message, hint=refused.hint)
    return Problem(
        what=what,
        message="nothing was posted: there is no token",
        hint="set CIWM_TOKEN or GITHUB_TOKEN (the action's input `token` does)",
    )


def _check(report: BumpReport, texts: Texts, target: Target, sha: str) -> Check:
    return Check(
        name=NAME if target.key == KEY else f"{NAME} ({target.key})",
        sha=sha,
        external_id=f"ciwm:{target.key}",
        conclusion=report.conclusion,
        title=titled(report.headline),
        summary=fitted(texts.comment),
        details_url=report.run_url,
        annotations=texts.annotations[:ANNOTATIONS_LIMIT],
    )


def _later(target: Target, saved: Path) -> str:
    parts = ["ciwm", "publish", str(saved), "--repository", target.repository]
    if target.pull_request is not None:
        parts += ["--pull-request", str(target.pull_request)]
    if target.sha is not None:
        parts += ["--sha", target.sha]
    if target.key != KEY:
        parts += ["--key", target.key]
    return shlex.join(parts)
