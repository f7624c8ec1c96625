"""`ciwm publish`: post a report that was written before."""

from __future__ import annotations

import os
import re
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ciwm.actions import Event
    from ciwm.publish import Published, Target
    from ciwm.records import BumpReport


@click.command()
@click.argument("report", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--pull-request", type=click.IntRange(min=1), metavar="N", help="Comment on it.")
@click.option("--sha", metavar="SHA", help="Post the check on this commit (all 40 digits).")
@click.option("--repository", metavar="OWNER/NAME", help="[default: $GITHUB_REPOSITORY]")
@click.option("--require", is_flag=True, help="Fail (4) when something could not be posted.")
@click.option("--json", "as_json", is_flag=True, help="Print what was posted and nothing else.")
def command(
    report: Path,
    pull_request: int | None,
    sha: str | None,
    repository: str | None,
    *,
    require: bool,
    as_json: bool,
) -> int:
    """Post REPORT (a report.json): one comment, one check, the step summary.

    The comment is edited in place when there is one already; where checks are not permitted, a
    commit status is posted. The pull request and the commit are those of the report, but in a
    workflow_run job (the trusted half of a fork-safe pair) those of the event.
    The token is CIWM_TOKEN, else GITHUB_TOKEN; GITHUB_API_URL is honoured.
    """
    from ciwm.records import BumpReport, read_record  # noqa: PLC0415

    record = read_record(report, BumpReport)
    target = _target(record, pull_request, sha, repository)
    published = _publish(record, target, report)
    if require and published.problems:
        from ciwm.errors import GitHubError  # noqa: PLC0415

        raise GitHubError(published.problems[0].message, published.problems[0].hint)
    if as_json:
        click.echo(published.model_dump_json(indent=2))
    else:
        for one in published.posted:
            removed = f", {one.removed} duplicates removed" if one.removed else ""
            click.echo(f"{one.what} {one.done}{removed}{': ' + one.url if one.url else ''}")
    return 0


def _publish(record: BumpReport, target: Target, path: Path) -> Published:
    from ciwm.actions import Runner  # noqa: PLC0415
    from ciwm.github import connect_from  # noqa: PLC0415
    from ciwm.publish import Texts, publish  # noqa: PLC0415
    from ciwm.report.bump_markdown import comment_markdown, summary_markdown  # noqa: PLC0415

    texts = Texts(comment_markdown(record), summary_markdown(record))
    with connect_from(os.environ) or nullcontext() as github:
        return publish(record, texts, target, github, runner=Runner(), saved=path)


def _target(
    record: BumpReport, pull_request: int | None, sha: str | None, repository: str | None
) -> Target:
    from ciwm.errors import UsageError  # noqa: PLC0415
    from ciwm.publish import Target  # noqa: PLC0415

    event = _trusted_event()
    if event is not None:
        theirs = event.pull_request.number if event.pull_request else None
        number, commit = pull_request or theirs, sha or event.after
    else:
        number, commit = pull_request or record.pull_request, sha or record.check_sha
    if commit is not None and not re.fullmatch(r"[0-9a-f]{40}([0-9a-f]{24})?", commit):
        raise UsageError(f"not a full commit id: {commit}", "--sha takes all 40 digits")
    if number is None and commit is None:
        raise UsageError(
            "the report names no pull request and no commit", "give --pull-request or --sha"
        )
    return Target(_repository(record, repository, event), number, commit)


def _trusted_event() -> Event | None:
    """The event of a workflow_run job, whose report comes from code nobody has approved."""
    from ciwm.actions import read_event  # noqa: PLC0415

    if os.environ.get("GITHUB_EVENT_NAME") != "workflow_run":
        return None
    return read_event(os.environ)


def _repository(record: BumpReport, stated: str | None, event: Event | None) -> str:
    from ciwm.errors import UsageError  # noqa: PLC0415

    here = event.repository if event else os.environ.get("GITHUB_REPOSITORY")
    name = stated or here or record.repository
    if not re.fullmatch(r"[A-Za-z0-9-]+/[A-Za-z0-9._-]+", name):
        raise UsageError(f"not a repository on GitHub: {name}", "give --repository OWNER/NAME")
    return name
