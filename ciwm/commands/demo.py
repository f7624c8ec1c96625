"""`ciwm demo`: the whole story on the embedded example."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    import threading

    from ciwm.records import BumpReport
    from ciwm.story.bump import Bump

_LOG_WIDTH = 160  # nobody folds the lines of a log
NEEDED = {"git": "apt-get install git", "cc": "apt-get install gcc libc6-dev"}


@click.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the repositories and the report [default: a new temporary one].",
)
@click.option("--json", "as_json", is_flag=True, help="Print the BumpReport and nothing else.")
def command(out: Path | None, *, as_json: bool) -> int:
    """Tell the whole story on an embedded example: no network, no GPU, no torch.

    Makes a small framework (a C kernel and a Python front), its upstream and a fork of it as real
    git repositories; one sync conflicts in a file, and its result is really slower. Then: sync
    cost, two builds, an interleaved benchmark, a verdict and the comment. Ends with 0 when the
    demo worked; the exit code that `ciwm ci` would have ended with is shown.
    """
    from ciwm.proc import stop_on_signals  # noqa: PLC0415

    _check_tools()
    directory = _fresh(out)
    os.environ["CIWM_CACHE_DIR"] = str(directory / "cache")
    bump = _bump(directory)
    with stop_on_signals() as stop:
        report = _told(bump, stop)
    if as_json:
        click.echo(report.to_json(), nl=False)
    else:
        _show(report, directory)
    return 0 if report.verdict is not None else report.exit_code


def _check_tools() -> None:
    from ciwm.errors import BuildError  # noqa: PLC0415

    for tool, mend in NEEDED.items():
        if shutil.which(tool) is None:
            raise BuildError(f"the demo needs {tool}, which is not on PATH", mend)


def _fresh(out: Path | None) -> Path:
    from ciwm.errors import UsageError  # noqa: PLC0415

    if out is None:
        return Path(tempfile.mkdtemp(prefix="ciwm-demo-"))
    if out.exists() and any(out.iterdir()):
        raise UsageError(f"{out} is not empty", "give --out a new folder")
    out.mkdir(parents=True, exist_ok=True)
    return out.resolve()


def _bump(directory: Path) -> Bump:
    from ciwm.config import find_config  # noqa: PLC0415
    from ciwm.demo.repositories import BASE, HEAD, make_example  # noqa: PLC0415
    from ciwm.story.bump import Bump  # noqa: PLC0415

    fork = make_example(directory).fork
    config = find_config(fork.path)
    return Bump(
        repository=fork,
        base=fork.revision(BASE),
        head=fork.revision(HEAD),
        config=config,
        base_config=config,
        upstream="upstream/main",
        upstream_name="upstream/main",
        directory=directory / "report",
        seed=1,
        name="example/tiny-fork",
        pull_request=1,
    )


def _told(bump: Bump, stop: threading.Event) -> BumpReport:
    from ciwm.report.bump_markdown import comment_markdown  # noqa: PLC0415
    from ciwm.story.story import Story  # noqa: PLC0415
    from ciwm.story.telling import tell  # noqa: PLC0415

    report = tell(Story(bump, stop, _progress))
    (bump.directory / "comment.md").write_text(comment_markdown(report), encoding="utf-8")
    return report


def _progress(line: str) -> None:
    click.echo(line, err=True)


def _show(report: BumpReport, directory: Path) -> None:
    from rich.console import Console  # noqa: PLC0415

    from ciwm.report.bump_text import show_bump  # noqa: PLC0415

    console = Console()
    show_bump(report, console if console.is_terminal else Console(width=_LOG_WIDTH))
    fork, records = directory / "fork", directory / "report"
    for line in (
        "",
        "This was an example, and nothing was posted. Upstream's #5 was made to slow sum_squares",
        "down (tiny/kernel.c); the sync brings it in, and the gate is meant to find it.",
        *_doubts(report),
        f"exit code of `ciwm ci` on this: {report.exit_code}",
        f"the comment: {records / 'comment.md'}",
        f"the records: {records}",
        f"the fork:    {fork}",
        f"try:         ciwm -C {fork} sync-report upstream/main",
    ):
        click.echo(line, err=True)


def _doubts(report: BumpReport) -> tuple[str, ...]:
    if report.verdict is None or report.verdict.outcome not in ("inconclusive", "void"):
        return ()
    return (
        "It could not be found this time: this machine is too busy to measure on.",
        "Run the demo again when it is quiet.",
    )
