"""`ciwm respond`: do what a comment on a pull request, or a re-requested check, asks."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import click

from ciwm.errors import UsageError

if TYPE_CHECKING:
    from ciwm.actions import Event
    from ciwm.github import GitHub
    from ciwm.story.responding import Response


@click.command()
@click.option(
    "--workflow",
    envvar="CIWM_WORKFLOW",
    default="compare.yml",
    show_default=True,
    metavar="FILE",
    help="The workflow file whose runs measure.",
)
@click.option(
    "--open-pull-request",
    "pulls",
    envvar="CIWM_OPEN_PULL_REQUEST",
    is_flag=True,
    help="Open the pull request of a waiver too, not only its branch.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
def command(*, workflow: str, pulls: bool, as_json: bool) -> int:
    """Answer the event of an issue_comment or check_run job.

    \b
    /ciwm rerun                      measures the same commit again
    /ciwm waive SERIES REASON        proposes a waiver for review; also, before the reason,
                                     metric=NAME ceiling=8% expires=2027-01-31 issue=URL

    The first line of a comment on a pull request counts, from a person who may write to the
    repository, as GitHub says when it is asked. The comment gets a reaction, and a reply where
    there is something to say. The ceiling of a waiver is what the newest run saw and 1 % more.
    """  # noqa: D301  click's own sign for lines to be left alone
    from datetime import datetime, timezone  # noqa: PLC0415

    from ciwm.actions import Runner, read_event  # noqa: PLC0415
    from ciwm.github import connect_from  # noqa: PLC0415
    from ciwm.story.responding import Desk  # noqa: PLC0415

    event, github = read_event(os.environ), connect_from(os.environ)
    if github is None:
        raise UsageError("an answer takes a token", "set CIWM_TOKEN or GITHUB_TOKEN")
    with github:
        today = datetime.now(timezone.utc).date()
        response = Desk(github, event, workflow, today, pulls).respond()
        _answer(github, event, response)
    if response.failure is not None:
        raise response.failure
    Runner().notice(response.done, title="ciwm")
    if as_json:
        said = {"done": response.done, "reaction": response.reaction, "reply": response.reply}
        click.echo(json.dumps(said))
    return 0


def _answer(github: GitHub, event: Event, response: Response) -> None:
    """The reply before the reaction: who sees the reaction finds the reply."""
    from ciwm.github.people import react  # noqa: PLC0415
    from ciwm.publish.sticky import stick  # noqa: PLC0415

    comment = event.comment
    if comment is None:
        return
    if response.reply:
        key = f"reply-{comment.id}"  # the job run again edits its reply
        stick(github, event.repository, comment.number, key, response.reply)
    if response.reaction:
        react(github, event.repository, comment.id, response.reaction)
