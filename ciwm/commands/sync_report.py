"""`ciwm sync-report`: what staying in sync with upstream costs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from ciwm.commands.options import CONFIG, Seconds, refuse_both
from ciwm.commands.sync_judged import (
    check_agent_file,
    gate_exit_code,
    judged_report,
    write_agent_report,
)
from ciwm.commands.sync_pulls import PullsAsked, pulls_notes

if TYPE_CHECKING:
    from ciwm.config import Config
    from ciwm.config_sync import SyncConfig
    from ciwm.git import Repository
    from ciwm.records.sync import SyncReport


@click.command()
@click.argument("upstream", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the SyncReport record.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the section of the comment.")
@click.option(
    "--downstream", metavar="REV", default="HEAD", show_default=True, help="The fork's side."
)
@CONFIG
@click.option(
    "--pulls/--no-pulls",
    default=None,
    help="Our upstream pull requests and the incoming ones; by default when [upstream] github "
    "is set.",
)
@click.option("--offline", is_flag=True, help="Ask GitHub nothing; use what it told earlier.")
@click.option(
    "--fetch-missing",
    is_flag=True,
    help="Fetch file contents that a partial clone left out, from where it was cloned.",
)
@click.option(
    "--culprits",
    "culprits_s",
    metavar="SECONDS",
    type=Seconds(),
    help="Spend about this long on finding the upstream commits that bring the conflicts "
    "[default: sync.culprits_s, 0: do not look].",
)
@click.option(
    "--history/--no-history",
    default=None,
    help="Replay all past syncs, or tell none [default: those that earlier reports replayed, and "
    "sync.history_s, 0, seconds more].",
)
@click.option(
    "--states",
    is_flag=True,
    help="Tell of each carried commit whether it is upstream already, likely, dead or live "
    "[default: with --agent-report].",
)
@click.option(
    "--agent-report",
    "agent_file",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write what an adaptation bot needs: one Markdown file of at most 1,000,000 bytes.",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress and no warnings on stderr.")
def command(
    upstream: str | None,
    downstream: str,
    config_file: Path | None,
    culprits_s: float | None,
    agent_file: Path | None,
    *,
    history: bool | None,
    states: bool,
    as_json: bool,
    as_markdown: bool,
    pulls: bool | None,
    offline: bool,
    fetch_missing: bool,
    quiet: bool,
) -> int:
    """What a downstream carries, how far it is behind UPSTREAM, and what merging it would cost.

    Forks, plugins and patch queues; how histories that were rewritten or squashed are joined, and
    why, stands at the top.

    UPSTREAM is a branch, tag or commit that is already here (upstream/main, say); nothing is
    fetched. Without it: [upstream] remote and branch of ciwm.toml, else the main or master branch
    of the remote named upstream.

    Where the merge conflicts: which upstream commits bring the conflicts, and whose of our commits
    they hit. From past syncs (merges of upstream), made once more: what they took, and what the
    next ones can be expected to take. Both are kept in the cache, so that the next report pays
    only for what is new.

    Only reads: work tree, index, refs, configuration and object store stay as they are, but for
    what --fetch-missing adds to a partial clone.

    How our pull requests fare upstream is asked of GitHub, when [upstream] names its repository
    (github) and our authors, with the token in CIWM_TOKEN or GITHUB_TOKEN. What it told is kept,
    so that later only open and changed ones are read.

    Ends with 0 when the report is whole, or partial only because file contents are missing
    here (a partial clone); with 4 when there is no trial merge for another reason (git before
    2.38, say) or --pulls was asked for and they are not known, after printing what there is; with 1
    when a budget of [sync.budget] is overrun or a check of [sync.hygiene] fails, each named on
    stderr.

    \b
    Examples:
      git fetch upstream && ciwm sync-report
      ciwm sync-report upstream/main --downstream release/2.x
      ciwm sync-report v0.11.0 --json > sync.json
      ciwm sync-report --culprits 60 --history
      ciwm sync-report --agent-report sync-for-bot.md
    """  # noqa: D301  click looks for the character that \b is
    refuse_both(as_json=as_json, markdown=as_markdown)
    check_agent_file(agent_file)
    if not quiet:
        click.echo(f"sync-report: {downstream} against {upstream or 'upstream'} ...", err=True)
    from ciwm.proc import interrupted_by_signals  # noqa: PLC0415

    asked = PullsAsked(wanted=pulls, offline=offline)
    effort = _Effort(culprits_s, history, states or agent_file is not None, fetch_missing)
    with interrupted_by_signals():
        report = _measure(upstream, downstream, config_file, effort, asked)
    written = write_agent_report(report, agent_file)
    _print(report, as_json=as_json, as_markdown=as_markdown)
    if (as_json or as_markdown) and not quiet:
        for note in (*(report.notes if report.partial else ()), *pulls_notes(report)):
            click.echo(f"warning: {note}", err=True)
    return written or _exit_code(report) or asked.exit_code(report) or gate_exit_code(report)


class _Effort(NamedTuple):
    """What the command line says about the parts that can take long; None where it is silent."""

    culprits_s: float | None
    history: bool | None
    states: bool
    fetch_missing: bool

    def history_s(self, config: SyncConfig) -> float | None:
        """Seconds to replay past syncs for; None when there shall be nothing of them."""
        return {True: math.inf, False: None, None: config.wanted_history_s}[self.history]


def _measure(
    upstream: str | None,
    downstream: str,
    config_file: Path | None,
    effort: _Effort,
    asked: PullsAsked,
) -> SyncReport:
    from datetime import datetime, timezone  # noqa: PLC0415

    from ciwm.git import Repository  # noqa: PLC0415
    from ciwm.upstream.report import sync_report  # noqa: PLC0415

    repository = Repository.open(Path.cwd())
    config = _config(repository, config_file)
    culprits_s = effort.culprits_s
    notes = _fetched(repository, upstream, downstream, config) if effort.fetch_missing else ()
    report = sync_report(
        repository,
        upstream,
        downstream=downstream,
        config=config.upstream,
        now=datetime.now(timezone.utc),
        culprits_s=config.sync.culprits_s if culprits_s is None else culprits_s,
        history_s=effort.history_s(config.sync),
        states=effort.states,
    )
    if notes:
        report = report.model_copy(update={"notes": (*notes, *report.notes)})
    return judged_report(asked.added(report, repository, config.upstream), config.sync)


def _fetched(
    repository: Repository, upstream: str | None, downstream: str, config: Config
) -> tuple[str, ...]:
    """Fetch what a partial clone lacks; what could not be had, in sentences."""
    from ciwm.upstream.fetching import fetch_missing  # noqa: PLC0415

    notes = fetch_missing(repository, upstream, downstream=downstream, config=config.upstream)
    for note in notes:
        click.echo(f"warning: {note}", err=True)
    return notes


def _config(repository: Repository, config_file: Path | None) -> Config:
    from ciwm.config import Config, find_config, read_config  # noqa: PLC0415

    if config_file is not None:
        return read_config(config_file)
    # a bare repository has no files to be configured by
    return find_config(repository.root) if repository.root else Config()


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
