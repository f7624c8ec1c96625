"""`ciwm pipeline`: how the repository's own workflows fare, from GitHub."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ciwm.records.pipeline import PipelineFigures

MOST = 1000


@click.command()
@click.option(
    "--repository",
    envvar="GITHUB_REPOSITORY",
    metavar="OWNER/NAME",
    required=True,
    help="Whose workflows [default: the job's, GITHUB_REPOSITORY].",
)
@click.option("--branch", metavar="NAME", help="Only runs of this branch.")
@click.option(
    "--runs", default=50, show_default=True, type=click.IntRange(1, MOST), help="The last so many."
)
@click.option("--json", "as_json", is_flag=True, help="Print the record and nothing else.")
def command(repository: str, branch: str | None, runs: int, *, as_json: bool) -> int:
    """Show how often each workflow of the repository succeeds, how long it takes, where it fails.

    Also for its build, test and package jobs: success, P50 and P90 over the last runs. Stages are
    told by the names of jobs and steps. Cancelled and skipped runs are left out and counted;
    durations are those of runs and jobs that succeeded. Takes a token in CIWM_TOKEN or GITHUB_TOKEN
    that may read actions, and one request a run (another for each hundred jobs more).
    """
    import os  # noqa: PLC0415
    import re  # noqa: PLC0415

    from ciwm.commands.progress import progress  # noqa: PLC0415
    from ciwm.errors import OK, UsageError  # noqa: PLC0415
    from ciwm.github import connect_from  # noqa: PLC0415
    from ciwm.github.jobs import recent_runs  # noqa: PLC0415
    from ciwm.story.pipeline import pipeline_figures  # noqa: PLC0415

    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
        raise UsageError(f"not a repository: {repository!r}", "--repository OWNER/NAME")
    github = connect_from(os.environ)
    if github is None:
        raise UsageError("there is no token", "set CIWM_TOKEN, or GITHUB_TOKEN")
    with github, progress() as shown:
        found = recent_runs(github, repository, runs, branch, shown.chatter)
    figures = pipeline_figures(repository, branch, runs, found)
    if as_json:
        click.echo(figures.to_json(), nl=False)
    else:
        _show(figures)
    return OK


def _show(figures: PipelineFigures) -> None:
    from tabulate import tabulate  # noqa: PLC0415

    from ciwm.report.escape import visible  # noqa: PLC0415
    from ciwm.report.figures import duration  # noqa: PLC0415

    def took(seconds: float | None) -> str:
        return "-" if seconds is None else duration(seconds)

    rows = []
    for one in figures.workflows:
        share = "-" if one.success_pct is None else f"{one.success_pct:.0f} %"
        left = f" (+{one.left_out})" if one.left_out else ""
        name = visible(one.workflow)
        rows.append((name, f"{one.runs}{left}", share, took(one.p50_s), took(one.p90_s)))
        rows += [
            (f"  {s.stage}", str(s.jobs), f"{s.success_pct:.0f} %", took(s.p50_s), took(s.p90_s))
            for s in one.stages
        ]
    headers = ("workflow, stage", "runs, jobs", "success", "P50", "P90")
    click.echo(tabulate(rows, headers=headers, tablefmt="simple", disable_numparse=True))
    for one in figures.workflows:
        if one.failures:
            places = ", ".join(f"{count} in {stage}" for stage, count in one.failures.items())
            click.echo(f"{visible(one.workflow)}: {one.failed} failed: {places}")
    if figures.found < figures.asked:
        click.echo(f"GitHub has {figures.found} runs of the {figures.asked} asked for")
