"""`ciwm build`: one revision, built where its next user finds it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ciwm.commands.options import CONFIG

if TYPE_CHECKING:
    from ciwm.records import BuildRecord


@click.command()
@click.argument("rev")
@click.option("--fresh", is_flag=True, help="Build anew, even when the cache has it.")
@click.option("--json", "as_json", is_flag=True, help="Print the BuildRecord and nothing else.")
@CONFIG
def command(rev: str, config_file: Path | None, *, fresh: bool, as_json: bool) -> int:
    """Build revision REV by the recipe in ciwm.toml, in a worktree of its own.

    A build is made once for one tree, recipe, interpreter and set of compilers, and shared by all
    later commands.
    The log is shown live on stderr. Ends with 4 when the build failed, 130 when interrupted.
    """
    from ciwm.config import find_config, read_config  # noqa: PLC0415
    from ciwm.git import Repository  # noqa: PLC0415
    from ciwm.launch.builds import build, release_builds  # noqa: PLC0415
    from ciwm.proc import stop_on_signals  # noqa: PLC0415

    repository = Repository.open(Path.cwd())
    config = (
        read_config(config_file) if config_file else find_config(repository.root or repository.path)
    )
    try:
        with stop_on_signals() as stop:
            record = build(
                repository,
                repository.revision(rev),
                config.build,
                on_line=lambda line: click.echo(line, err=True),
                stop=stop,
                fresh=fresh,
            )
    finally:
        release_builds()
    if as_json:
        click.echo(record.to_json(), nl=False)
    else:
        _show(record)
    return _exit_code(record)


def _show(record: BuildRecord) -> None:
    ref, sha = record.revision.ref, record.revision.sha[:12]
    if record.ok:
        click.echo(f"{record.status}: {ref} ({sha}), the build took {record.duration_s:.1f} s")
        click.echo(f"folder: {record.directory}")
        click.echo(f"python: {record.python}")
        click.echo(f"log:    {record.log}")
        return
    from ciwm.error_line import error_line  # noqa: PLC0415

    code = "" if record.exit_code is None else f", exit code {record.exit_code}"
    click.echo(f"{record.status}: {ref} ({sha}) after {record.duration_s:.1f} s{code}", err=True)
    for line in record.log_tail[-10:]:
        click.echo(f"  | {line}", err=True)
    if record.status == "failed":
        click.echo(f"why: {error_line(record.log_tail)}", err=True)
    click.echo(f"log: {record.log}", err=True)


def _exit_code(record: BuildRecord) -> int:
    from ciwm.errors import ENVIRONMENT, INTERRUPTED, OK  # noqa: PLC0415

    if record.status == "interrupted":
        return INTERRUPTED
    return OK if record.ok else ENVIRONMENT
