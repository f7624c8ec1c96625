"""`ciwm publish`: post a report that was written before."""

from __future__ import annotations

import os
import re
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.publish import Published, Target
    from ciwm.records import BumpReport

PATH = click.Path(path_type=Path)


@click.command()
@click.argument("report", required=False, type=PATH)
@click.option(
    "--from",
    "source",
    envvar="CIWM_FROM",
    type=PATH,
    help="In a workflow_run job: the unpacked artifact, or its zip.  [default: the run's own]",
)
@click.option(
    "--approval-environment",
    "environment",
    envvar="CIWM_APPROVAL_ENVIRONMENT",
    default="ciwm-fork",
    show_default=True,
    metavar="NAME",
    help="The environment whose reviewers approve a fork's run.",
)
@click.option(
    "--issue",
    "as_issue",
    envvar="CIWM_ISSUE",
    is_flag=True,
    help="Keep one issue up to date with the report of `ciwm bump-preview`.",
)
@click.option("--pull-request", type=click.IntRange(min=1), metavar="N", help="Comment on it.")
@click.option("--sha", metavar="SHA", help="Post the check on this commit (all 40 digits).")
@click.option(
    "--key",
    metavar="NAME",
    help="Which of several comments and checks on one change it is: a device, sync, bench.",
)
@click.option("--repository", metavar="OWNER/NAME", help="[default: $GITHUB_REPOSITORY]")
@click.option(
    "--require",
    envvar="CIWM_REQUIRE",
    is_flag=True,
    help="Fail (4) when something could not be posted.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was posted and nothing else.")
def command(require: bool, as_json: bool, **options: Any) -> int:  # noqa: FBT001  click names them
    """Post REPORT (a report.json): one comment, one check, the step summary.

    The comment is edited in place when there is one already; where checks are not permitted, a
    commit status is posted. The pull request and the commit are those of the report.
    The token is CIWM_TOKEN, else GITHUB_TOKEN; GITHUB_API_URL is honoured.

    In a workflow_run job (the trusted half of a fork-safe pair) the artifact of the run is fetched
    and treated as hostile: pull request and commit are those of the event and the API, the verdict
    is found anew from the samples by the policy of the base, and the result of a fork that nobody
    approved is a neutral check. Exit code 2: the artifact was refused.

    With --issue and without REPORT, the report is the artifact that another job of this run left.
    """
    if options.pop("as_issue"):
        from ciwm.commands.publish_issue import post_issue  # noqa: PLC0415

        published = post_issue(options["source"] or options["report"], options["repository"])
        return show([published], require=require, as_json=as_json)
    if os.environ.get("GITHUB_EVENT_NAME") == "workflow_run":
        from ciwm.commands.publish_received import post_received  # noqa: PLC0415

        return post_received(options, require=require, as_json=as_json)
    if options["source"] is not None:
        raise click.UsageError("--from is for a workflow_run job: name REPORT")
    if options["report"] is None:
        raise click.UsageError("Missing argument 'REPORT'.")
    from ciwm.records import BumpReport, read_record  # noqa: PLC0415

    record = read_record(options["report"], BumpReport)
    target = _target(record, options)
    published = _publish(record, target, options["report"])
    return show([published], require=require, as_json=as_json)


def show(published: Sequence[Published], *, require: bool, as_json: bool) -> int:
    """Print what was posted; with `require`, raise GitHubError for the first that was not."""
    problems = [problem for one in published for problem in one.problems]
    if require and problems:
        from ciwm.errors import GitHubError  # noqa: PLC0415

        raise GitHubError(problems[0].message, problems[0].hint)
    if as_json:
        for one in published:
            click.echo(one.model_dump_json(indent=2))
        return 0
    for done in (done for one in published for done in one.posted):
        removed = f", {done.removed} duplicates removed" if done.removed else ""
        click.echo(f"{done.what} {done.done}{removed}{': ' + done.url if done.url else ''}")
    return 0


def _publish(record: BumpReport, target: Target, path: Path) -> Published:
    from ciwm.actions import Runner  # noqa: PLC0415
    from ciwm.github import connect_from  # noqa: PLC0415
    from ciwm.publish import Texts, publish, still_current  # noqa: PLC0415
    from ciwm.report.bump_markdown import comment_markdown, summary_markdown  # noqa: PLC0415
    from ciwm.report.remarks import remarks_of  # noqa: PLC0415

    trusted = record.trust is None or record.trust.trusted
    remarks = remarks_of(record) if trusted else ()
    texts, runner = Texts(comment_markdown(record), summary_markdown(record), remarks), Runner()
    with connect_from(os.environ) or nullcontext() as github:
        wanted = still_current(github, target, runner)
        return publish(record, texts, wanted, github, runner=runner, saved=path)


def _target(record: BumpReport, stated: dict[str, Any]) -> Target:
    from ciwm.errors import UsageError  # noqa: PLC0415
    from ciwm.publish import KEY, Target  # noqa: PLC0415

    number = stated["pull_request"] or record.pull_request
    commit, key = stated["sha"] or record.check_sha, stated["key"] or KEY
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,50}", key):
        raise UsageError(f"not a name of a device: {key}", "--key takes letters, digits, . _ -")
    if commit is not None and not re.fullmatch(r"[0-9a-f]{40}([0-9a-f]{24})?", commit):
        raise UsageError(f"not a full commit id: {commit}", "--sha takes all 40 digits")
    if number is None and commit is None:
        raise UsageError(
            "the report names no pull request and no commit", "give --pull-request or --sha"
        )
    return Target(_repository(record, stated["repository"]), number, commit, key)


def _repository(record: BumpReport, stated: str | None) -> str:
    from ciwm.errors import UsageError  # noqa: PLC0415

    name = stated or os.environ.get("GITHUB_REPOSITORY") or record.repository
    if not re.fullmatch(r"[A-Za-z0-9-]+/[A-Za-z0-9._-]+", name):
        raise UsageError(f"not a repository on GitHub: {name}", "give --repository OWNER/NAME")
    return name
