"""`ciwm sync-report`: what staying in sync with upstream costs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ciwm.config import UpstreamConfig
    from ciwm.git import Repository
    from ciwm.records.sync import SyncReport


@click.command()
@click.argument("upstream", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the SyncReport record.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the section of the comment.")
@click.option(
    "--downstream", metavar="REV", default="HEAD", show_default=True, help="The fork's side."
)
@click.option(
    "--config",
    "config_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Read this file instead of the checkout's ciwm.toml or pyproject.toml.",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress and no warnings on stderr.")
def command(
    upstream: str | None,
    downstream: str,
    config_file: Path | None,
    *,
    as_json: bool,
    as_markdown: bool,
    quiet: bool,
) -> int:
    r"""What a fork carries, how far it is behind UPSTREAM, and what merging it would cost.

    UPSTREAM is a branch, tag or commit that is already here (upstream/main, say); nothing is
    fetched. Without it: [upstream] remote and branch of ciwm.toml, else the main or master branch
    of the remote named upstream.

    Only reads: work tree, index, refs, configuration and object store stay as they are.

    Ends with 0 when the report is whole, or partial only because file contents are missing
    here (a partial clone); with 4 when there is no trial merge for another reason (git before
    2.38, say), after printing what there is.

    \b
    Examples:
      git fetch upstream && ciwm sync-report
      ciwm sync-report upstream/main --downstream release/2.x
      ciwm sync-report v0.11.0 --json > sync.json
    """
    if as_json and as_markdown:
        raise click.UsageError("--json and --markdown exclude each other")
    if not quiet:
        click.echo(f"sync-report: {downstream} against {upstream or 'upstream'} ...", err=True)
    report = _measure(upstream, downstream, config_file)
    _print(report, as_json=as_json, as_markdown=as_markdown)
    if report.partial and (as_json or as_markdown) and not quiet:
        for note in report.notes:
            click.echo(f"warning: {note}", err=True)
    return _exit_code(report)


def _measure(upstream: str | None, downstream: str, config_file: Path | None) -> SyncReport:
    from datetime import datetime, timezone  # noqa: PLC0415

    from ciwm.git import Repository  # noqa: PLC0415
    from ciwm.upstream.report import sync_report  # noqa: PLC0415

    repository = Repository.open(Path.cwd())
    return sync_report(
        repository,
        upstream,
        downstream=downstream,
        config=_config(repository, config_file),
        now=datetime.now(timezone.utc),
    )


def _config(repository: Repository, config_file: Path | None) -> UpstreamConfig:
    from ciwm.config import Config, find_config, read_config  # noqa: PLC0415

    if config_file is not None:
        return read_config(config_file).upstream
    # a bare repository has no files to be configured by
    return find_config(repository.root).upstream if repository.root else Config().upstream


def _print(report: SyncReport, *, as_json: bool, as_markdown: bool) -> None:
    if as_json:
        click.echo(report.to_json(), nl=False)
    elif as_markdown:
        from ciwm.report.sync_markdown import sync_section  # noqa: PLC0415

        click.echo(sync_section(report), nl=False)
    else:
        from rich.console import Console  # noqa: PLC0415

        from ciwm.report.sync_text import show_sync  # noqa: PLC0415

        show_sync(report, Console(highlight=False))


def _exit_code(report: SyncReport) -> int:
    from ciwm.errors import ENVIRONMENT, OK  # noqa: PLC0415

    wanted = report.shape.style == "fork"  # there is nothing to merge into a plugin
    no_merge = wanted and report.conflicts is None and not report.missing_objects
    return ENVIRONMENT if no_merge else OK
