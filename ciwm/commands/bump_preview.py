"""`ciwm bump-preview`: what merging the newest upstream today would bring."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ciwm.commands.options import Seconds, print_bump

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ciwm.records import BumpReport
    from ciwm.story.preview import Preview

FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command("bump-preview")
@click.option("--base", envvar="CIWM_BASE", default="HEAD", metavar="REV", show_default=True)
@click.option("--upstream", envvar="CIWM_UPSTREAM", metavar="REV", help="[default: configured]")
@click.option(
    "--fetch/--no-fetch",
    envvar="CIWM_FETCH",
    default=True,
    help="Fetch upstream into refs/ciwm/upstream.  [default: fetch]",
)
@click.option(
    "--culprits",
    "culprits_s",
    envvar="CIWM_CULPRITS_S",
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    type=Seconds(),
    help="For finding the upstream commits that bring the conflicts.",
)
@click.option("--seed", envvar="CIWM_SEED", type=click.IntRange(min=0), help="[default: random]")
@click.option("--out", envvar="CIWM_OUT", type=FOLDER, help="Folder for records and report.")
@click.option("--json", "as_json", is_flag=True, help="Print the BumpReport and nothing else.")
def command(*, as_json: bool, **options: Any) -> int:
    """Merge the newest upstream into BASE on trial; rebuild and benchmark the result.

    In a plugin the pin moves instead, to the newest commit that upstream's clone has, or where a
    tag or a version is pinned, to the newest tag; the report tells what that breaks.

    The merge is a commit of no branch (refs/ciwm/preview): index and work tree stay as they are.
    Where upstream does not merge, the report names the files and the upstream commits that bring
    the conflicts. Nothing is posted; in a step of a workflow the summary tells all of it, and
    `ciwm publish --issue` keeps one issue up to date.

    Exit codes: those of `ciwm ci`; 1 where upstream does not merge, too.
    """
    from ciwm.actions import Runner  # noqa: PLC0415
    from ciwm.proc import stop_on_signals  # noqa: PLC0415
    from ciwm.story.preview import Watched, preview  # noqa: PLC0415

    runner, asked = Runner(), _asked(options)

    @contextmanager
    def fold(title: str) -> Iterator[None]:
        with runner.group(title), runner.verbatim():
            yield

    with stop_on_signals() as stop:
        report = preview(asked, Watched(stop, _say, fold))
    _keep(report, asked.directory, runner)
    _show(report, asked.directory, as_json=as_json)
    return report.exit_code


def _asked(options: dict[str, Any]) -> Preview:
    from ciwm.actions import read_event  # noqa: PLC0415
    from ciwm.commands.ci import folder_for  # noqa: PLC0415
    from ciwm.git import Repository  # noqa: PLC0415
    from ciwm.story.preview import Preview  # noqa: PLC0415

    event = read_event(os.environ) if os.environ.get("GITHUB_EVENT_NAME") else None
    return Preview(
        repository=Repository.open(Path.cwd()),
        directory=folder_for(options.pop("out")),
        name=event.repository if event else None,
        run_url=event.run_url if event else None,
        in_actions=event is not None,
        **options,
    )


def _keep(report: BumpReport, directory: Path, runner: Any) -> None:
    """Write the report again, as it ends, and tell the step."""
    from ciwm.report.bump_markdown import summary_markdown  # noqa: PLC0415
    from ciwm.story.saving import save  # noqa: PLC0415

    unsaved = save(directory / "report.json", report.to_json())
    if unsaved:
        _say(f"warning: {unsaved}")
    runner.add_summary(summary_markdown(report))
    runner.set_output("conclusion", report.conclusion)
    runner.set_output("outcome", report.verdict.outcome if report.verdict else "")
    runner.set_output("exit-code", str(report.exit_code))
    runner.set_output("report", str(directory / "report.json"))
    runner.set_output("directory", str(directory))


def _show(report: BumpReport, directory: Path, *, as_json: bool) -> None:
    print_bump(report, as_json=as_json)
    if as_json:
        return
    _say(f"records: {directory}")


def _say(line: str) -> None:
    click.echo(line, err=True)
