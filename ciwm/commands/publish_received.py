"""`ciwm publish` in a workflow_run job: the trusted half of a fork-safe pair."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ciwm.errors import GitHubError, UsageError

if TYPE_CHECKING:
    from ciwm.actions import Event, Runner
    from ciwm.github import GitHub
    from ciwm.story.origin import Origin
    from ciwm.story.posting import Delivery

_STATED = ("pull_request", "sha", "repository", "key")


def post_received(options: dict[str, Any], *, require: bool, as_json: bool) -> int:
    """Judge and post what the run of the event left; raises what the first refusal was."""
    from ciwm.actions import Runner, read_event  # noqa: PLC0415
    from ciwm.commands.publish import show  # noqa: PLC0415
    from ciwm.github import connect_from  # noqa: PLC0415
    from ciwm.story.origin import Nothing, origin_of  # noqa: PLC0415

    _refuse_stated(options)
    event, runner = read_event(os.environ), Runner()
    github = connect_from(os.environ)
    if github is None:
        raise UsageError(
            "there is no token, and nothing can be learnt of the run without one",
            "set CIWM_TOKEN or GITHUB_TOKEN (the action's input `token` does)",
        )
    try:
        with github:
            origin = origin_of(github, event, options["environment"])
            if isinstance(origin, Nothing):
                runner.notice(f"nothing is posted: {origin.reason}", title="ciwm")
                return 0
            done = _deliver(github, event, origin, options["source"] or options["report"])
    except GitHubError:
        _tell_again(runner, event.repository)
        raise
    if not done:
        runner.notice("nothing is posted: the run has posted its check itself", title="ciwm")
    refusal = next((one.error for one in done if one.error is not None), None)
    if isinstance(refusal, GitHubError) or any(one.published.problems for one in done):
        _tell_again(runner, event.repository)
    shown = show([one.published for one in done], require=require, as_json=as_json)
    if refusal is not None:
        raise refusal
    return shown


def _tell_again(runner: Runner, repository: str) -> None:
    """Where GitHub did not do its part: the command that does it again; the artifact is kept."""
    run = os.environ.get("GITHUB_RUN_ID", "")
    if run.isdecimal():
        again = f"gh run rerun {run} --repo {repository}"
        runner.warning(f"to post it again from what the run left: {again}", title="ciwm")


def _refuse_stated(options: dict[str, Any]) -> None:
    """The event and the API say where a stranger's report goes, and nobody else."""
    stated = [name for name in _STATED if options[name] is not None]
    if stated:
        raise click.UsageError(
            f"--{stated[0].replace('_', '-')} is not taken in a workflow_run job: the event says it"
        )
    if options["source"] is not None and options["report"] is not None:
        raise click.UsageError("REPORT and --from exclude each other")


def _deliver(
    github: GitHub, event: Event, origin: Origin, path: Path | None
) -> tuple[Delivery, ...]:
    from ciwm.actions import Runner  # noqa: PLC0415
    from ciwm.story.posting import Poster  # noqa: PLC0415

    folder = Path(tempfile.mkdtemp(prefix="ciwm-received-", dir=os.environ.get("RUNNER_TEMP")))
    poster = Poster(github, origin, Runner(), folder)
    if path is not None:
        return poster.post_file(path)
    run = event.workflow_run
    return poster.post_run(run) if run is not None else ()
