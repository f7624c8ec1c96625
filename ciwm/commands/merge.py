"""`ciwm merge`: the partial runs of a workflow matrix, joined and judged once."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.config import Config
    from ciwm.records import BuildRecord, BumpReport, Run, Verdict
    from ciwm.story.shards import ShardFiles

_LOG_WIDTH = 120
_LABELLED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,50})=(.+)", re.DOTALL)


@click.command()
@click.argument("runs", nargs=-1, metavar="[LABEL=]RUN...")
@click.option(
    "--from",
    "folder",
    envvar="CIWM_FROM",
    type=click.Path(path_type=Path),
    help="A folder with one folder for each shard, as the artifacts of a matrix are downloaded.",
)
@click.option(
    "--shards",
    envvar="CIWM_SHARDS",
    metavar="LABEL,...",
    help="The labels that must be there.  [default: those the runs were told of]",
)
@click.option(
    "--out",
    envvar="CIWM_OUT",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the merged records.  [default: a new one]",
)
@click.option(
    "--config",
    "config_file",
    envvar="CIWM_CONFIG",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Judge by [gate] of FILE instead of this directory's ciwm.toml.",
)
@click.option(
    "--confirms",
    envvar="CIWM_CONFIRMS",
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="A merged run of the same revisions from earlier jobs, whose regressions these confirm.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the merged run and nothing else.")
def command(
    runs: tuple[str, ...],
    folder: Path | None,
    shards: str | None,
    out: Path | None,
    config_file: Path | None,
    *,
    confirms: Path | None,
    as_json: bool,
) -> int:
    """Join the runs of a matrix into one, and judge it once.

    A RUN is a run.json, or the folder of `ciwm bench` or `ciwm ci`. Shards with a label (a device
    each: `--shard LABEL` when they were measured, or LABEL=RUN here) keep series of one name apart
    as `series@LABEL`; without labels they measured different workloads. Where the shards were told
    of each other (`--shards`), each was measured for the whole family.

    Writes run/run.json, and where the shards left reports report.json, into the folder of --out.
    A shard that is missing, or whose run is lost, is named and ends it with 4, after the others
    were merged: its series are missing. One without a report where others have one is warned of.
    Else it ends as `ciwm ci` does: 1 regressed, missing or failed, or a loss in the workload map
    of a shard, or a shard whose image of head is lost; 3 and 5 doubt, when the configuration says
    so.
    """
    from ciwm.bench.merging import merged  # noqa: PLC0415
    from ciwm.bench.run_file import read_run  # noqa: PLC0415
    from ciwm.commands.ci import folder_for  # noqa: PLC0415
    from ciwm.config import find_config, read_config  # noqa: PLC0415
    from ciwm.story.shards import refuse_unlike  # noqa: PLC0415

    files = _with_absent(_files(runs, folder), shards)
    config = read_config(config_file) if config_file else find_config(Path())
    first = None if confirms is None else read_run(confirms)
    directory = folder_for(out)
    told = any(one.report is not None for one in files)
    measured = any(one.part.run is not None for one in files)
    run = merged([one.part for one in files]) if measured or not told else None
    refuse_unlike(files)
    report, code = _judged(files, run, config, first)
    _save(directory, run, report)
    for line in _named(files):
        click.echo(f"error: {line}", err=True)
    click.echo(f"records: {directory}", err=True)
    if as_json and run is not None:
        click.echo(run.to_json(), nl=False)
    _tell(report, directory)
    return 4 if _named(files) else code


def _with_absent(files: Sequence[ShardFiles], shards: str | None) -> list[ShardFiles]:
    """The shards that left something, and those of the matrix that did not."""
    from ciwm.bench.merging import with_absent  # noqa: PLC0415
    from ciwm.bench.place import names_of  # noqa: PLC0415
    from ciwm.story.shards import ShardFiles  # noqa: PLC0415

    every = with_absent([one.part for one in files], names_of(shards))
    return [*files, *(ShardFiles(part) for part in every[len(files) :])]


def _named(files: Sequence[ShardFiles]) -> list[str]:
    """What is missing, a line each."""
    from ciwm.story.shards import missing_stages  # noqa: PLC0415

    return [stage.message for stage in missing_stages(files)]


def _files(runs: Sequence[str], folder: Path | None) -> list[ShardFiles]:
    """What the shards left; raises EnvironmentFailure where there is nothing."""
    from ciwm.errors import EnvironmentFailure  # noqa: PLC0415
    from ciwm.story.shards import shard_files  # noqa: PLC0415

    if bool(runs) == (folder is not None):
        raise click.UsageError("name runs, or the folder of all of them by --from")
    if folder is None:
        return [_file(text) for text in runs]
    if not folder.is_dir():
        raise EnvironmentFailure(
            f"there is no folder {folder}", "no job of the matrix left an artifact"
        )
    found = sorted(path for path in folder.iterdir() if path.is_dir())
    if not found:
        raise EnvironmentFailure(
            f"{folder} holds no shard", "no job of the matrix left an artifact"
        )
    return [shard_files(path) for path in found]


def _file(text: str) -> ShardFiles:
    from ciwm.story.shards import shard_files  # noqa: PLC0415

    labelled = None if Path(text).exists() else _LABELLED.fullmatch(text)
    if labelled is None:
        return shard_files(Path(text))
    return shard_files(Path(labelled[2]), labelled[1])


def _judged(
    files: Sequence[ShardFiles], run: Run | None, config: Config, first: Run | None
) -> tuple[BumpReport | None, int]:
    """The report of all jobs, where they left any, and the exit code.

    Where there is a report, it tells why there is no verdict; else that is raised.
    """
    from ciwm.errors import CiwmError  # noqa: PLC0415
    from ciwm.policy import exit_code  # noqa: PLC0415
    from ciwm.story.merged import merged_report  # noqa: PLC0415

    verdict, failed = None, None
    try:
        verdict = _verdict(files, run, config, first)
    except CiwmError as error:
        if all(one.report is None for one in files):
            raise
        failed = error
    report = merged_report(files, run, verdict, config, failed)
    if report is not None:
        return report, report.exit_code
    return None, exit_code(verdict, config.gate) if verdict is not None else 0


def _verdict(
    files: Sequence[ShardFiles], run: Run | None, config: Config, first: Run | None
) -> Verdict | None:
    """The verdict on the whole, which is shown on stderr; on builds alone where there is no run."""
    from datetime import datetime, timezone  # noqa: PLC0415

    from rich.console import Console  # noqa: PLC0415

    from ciwm.policy import Waivers, decide, of_all_builds  # noqa: PLC0415
    from ciwm.report.verdict_text import show_verdict  # noqa: PLC0415
    from ciwm.story.shards import refuse_unconfirmed  # noqa: PLC0415
    from ciwm.waivers import find_waivers  # noqa: PLC0415

    waivers = Waivers(find_waivers(Path()), datetime.now(timezone.utc).date())
    known = waivers if waivers.list else None
    if run is None:
        verdict = of_all_builds(_built(files), config.gate, known)
    else:
        if first is None:
            refuse_unconfirmed(files)
        judged, second = (run, None) if first is None else (first, run)
        verdict = decide(judged, config.gate, second, known)
    if verdict is not None:
        show_verdict(verdict, Console(stderr=True, width=_LOG_WIDTH))
    return verdict


def _built(files: Sequence[ShardFiles]) -> list[tuple[str, Sequence[BuildRecord]]]:
    """The builds of base and head of each shard that has both."""
    return [
        (one.part.label, one.report.builds)
        for one in files
        if one.report is not None and len(one.report.builds) == 2  # noqa: PLR2004
    ]


def _save(directory: Path, run: Run | None, report: BumpReport | None) -> None:
    from ciwm.launch.files import make_folder, write_atomically  # noqa: PLC0415

    if run is not None:
        make_folder(directory / "run")
        write_atomically(directory / "run" / "run.json", run.to_json())
    if report is not None:
        write_atomically(directory / "report.json", report.to_json())


def _tell(report: BumpReport | None, directory: Path) -> None:
    """In a job of GitHub Actions: the summary, and the outputs of the step."""
    if report is None or not os.environ.get("GITHUB_ACTIONS"):
        return
    from ciwm.actions import Runner  # noqa: PLC0415
    from ciwm.publish import Target, Texts, publish  # noqa: PLC0415
    from ciwm.report.bump_markdown import comment_markdown, summary_markdown  # noqa: PLC0415

    runner = Runner()
    runner.set_output("directory", str(directory))
    texts = Texts(comment_markdown(report), summary_markdown(report), ())
    saved = directory / "report.json"
    publish(report, texts, Target(report.repository), None, runner=runner, saved=saved)
