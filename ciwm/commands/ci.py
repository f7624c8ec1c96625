"""`ciwm ci`: the whole story of one pull request or push; what the action runs."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ciwm.errors import INTERRUPTED, CiwmError, ConfigError

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

    from ciwm.actions import Event, Runner
    from ciwm.github import GitHub
    from ciwm.records import BumpReport
    from ciwm.story.job import Asked

DOUBT = click.Choice(["warn", "fail"])
FOLDER = click.Path(file_okay=False, path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.option("--base", envvar="CIWM_BASE", metavar="REV", help="[default: by the event]")
@click.option("--head", envvar="CIWM_HEAD", metavar="REV", help="[default: by the event]")
@click.option("--upstream", envvar="CIWM_UPSTREAM", metavar="REV", help="[default: configured]")
@click.option(
    "--config",
    envvar="CIWM_CONFIG",
    type=FILE,
    help="Read this file: in the repository, each side's own; elsewhere, as it is for both.",
)
@click.option(
    "--fetch/--no-fetch",
    envvar="CIWM_FETCH",
    default=True,
    help="Fetch base, history and upstream into refs/ciwm/*.  [default: fetch]",
)
@click.option("--on-inconclusive", envvar="CIWM_ON_INCONCLUSIVE", type=DOUBT, help="fail: exit 3.")
@click.option("--on-void", envvar="CIWM_ON_VOID", type=DOUBT, help="fail: exit 5.")
@click.option(
    "--only",
    envvar="CIWM_ONLY",
    type=click.Choice(["sync", "bench", "map"]),
    help="What upstream costs, builds and benchmark, or builds and workload map; in a comment and "
    "a check of its own.",
)
@click.option(
    "--publish/--no-publish",
    envvar="CIWM_PUBLISH",
    default=True,
    help="Post comment and check; without, the records are for a trusted job to post.",
)
@click.option(
    "--require", envvar="CIWM_REQUIRE", is_flag=True, help="Exit 4 when the result is not posted."
)
@click.option(
    "--coverage-base",
    envvar="CIWM_COVERAGE_BASE",
    type=FILE,
    multiple=True,
    help="Test coverage of base; may be repeated.  [default: as [coverage] files says]",
)
@click.option("--coverage-head", envvar="CIWM_COVERAGE_HEAD", type=FILE, multiple=True)
@click.option(
    "--confirms",
    envvar="CIWM_CONFIRMS",
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="A run of the same revisions from an earlier job: this job's run confirms what it found.",
)
@click.option(
    "--shard",
    envvar="CIWM_SHARD",
    metavar="LABEL",
    help="This job's label in a matrix over devices, whose runs `ciwm merge` joins.",
)
@click.option(
    "--shards", envvar="CIWM_SHARDS", metavar="LABEL,...", help="The labels of all its jobs."
)
@click.option("--seed", envvar="CIWM_SEED", type=click.IntRange(min=0), help="[default: random]")
@click.option("--out", envvar="CIWM_OUT", type=FOLDER, help="Folder for records and report.")
@click.option("--json", "as_json", is_flag=True, help="Print the BumpReport and nothing else.")
def command(require: bool, as_json: bool, **options: Any) -> int:  # noqa: FBT001  click names them
    """Compare base and head: sync cost, builds, benchmark, verdict, comment, check, exit code.

    In a GitHub Actions job the event says what is compared: a pull request's tested merge with
    its first parent, a push with the previous tip. Elsewhere name --base and --head. Nothing is
    posted without a token (CIWM_TOKEN, else GITHUB_TOKEN) and an event.

    Upstream is what [upstream] names, else the remote named upstream; --fetch gets it in both
    places, into refs/ciwm/upstream alone.

    The policy is the base revision's. Exit codes: 0 pass; 1 a regression, a missing or failed
    workload, a head that does not build; 3 and 5 doubt, when asked to fail; 4 a stage could not be
    carried out; 130 cancelled, with everything measured so far kept.
    """
    from ciwm.actions import Runner, read_event  # noqa: PLC0415
    from ciwm.proc import stop_on_signals  # noqa: PLC0415

    publish, runner = options.pop("publish"), Runner()
    event = read_event(os.environ) if os.environ.get("GITHUB_EVENT_NAME") else None
    asked = _asked(options)
    with stop_on_signals() as stop:
        report = _told(asked, event, runner, stop)
        posted = _publish(report, event, asked, runner, post=publish)
    _show(report, asked.directory, as_json=as_json)
    return 4 if require and not posted and report.exit_code == 0 else report.exit_code


def _asked(options: dict[str, Any]) -> Asked:
    from ciwm.bench.place import place_of  # noqa: PLC0415
    from ciwm.story.job import Asked  # noqa: PLC0415

    doubts = {name: options.pop(name) for name in ("on_inconclusive", "on_void")}
    policy = {name: value for name, value in doubts.items() if value is not None}
    place = place_of(options.pop("shard"), options.pop("shards"))
    directory = folder_for(options.pop("out"))
    return Asked(policy=policy, directory=directory, place=place, **options)


def folder_for(stated: Path | None) -> Path:
    """The folder of the records, which is there and empty; raises when it cannot be."""
    from ciwm.launch.files import cannot_write  # noqa: PLC0415

    place = stated or Path(os.environ.get("RUNNER_TEMP") or tempfile.gettempdir())
    try:
        if stated is None:
            return Path(tempfile.mkdtemp(prefix="ciwm-", dir=place))
        if stated.exists() and any(stated.iterdir()):
            raise click.UsageError(f"--out {stated} is not empty: records are never overwritten")
        stated.mkdir(parents=True, exist_ok=True)
        return stated.resolve()
    except OSError as error:
        raise cannot_write(place, error) from error


def _told(asked: Asked, event: Event | None, runner: Runner, stop: threading.Event) -> BumpReport:
    from ciwm.git import Repository  # noqa: PLC0415
    from ciwm.story.job import Job, bump_of  # noqa: PLC0415
    from ciwm.story.story import Story  # noqa: PLC0415
    from ciwm.story.telling import tell  # noqa: PLC0415
    from ciwm.unforeseen import unforeseen  # noqa: PLC0415

    if event is not None and _is_deletion(event, asked):
        return _nothing(event)
    try:
        job = Job(Repository.open(Path.cwd()), event, asked, _token(), _say)
        bump = bump_of(job)
    except CiwmError as error:
        if event is None and not isinstance(error, ConfigError):
            raise
        return _not_begun(error, event, asked)
    except Exception as error:
        if event is None:
            raise
        return _not_begun(unforeseen(error), event, asked)  # the check has to end

    @contextmanager
    def fold(title: str) -> Iterator[None]:
        with runner.group(title), runner.verbatim():
            yield

    return tell(Story(bump, stop, _say, fold))


def _is_deletion(event: Event, asked: Asked) -> bool:
    """Whether a branch or tag was deleted, and nothing else was asked for."""
    from ciwm.actions import NO_COMMIT  # noqa: PLC0415

    return event.name == "push" and event.after == NO_COMMIT and not (asked.base and asked.head)


def _nothing(event: Event) -> BumpReport:
    from ciwm.story.unmeasured import nothing_to_compare  # noqa: PLC0415

    why = f"{event.ref or 'the branch'} was deleted"
    return nothing_to_compare(why, repository=event.repository, run_url=event.run_url)


def _not_begun(error: CiwmError, event: Event | None, asked: Asked) -> BumpReport:
    from ciwm.story.saving import save  # noqa: PLC0415
    from ciwm.story.unmeasured import could_not_begin  # noqa: PLC0415

    if event is None:
        report = could_not_begin(error, repository=Path.cwd().name)
    else:
        pull = event.pull_request
        report = could_not_begin(
            error,
            event.name.replace("_", " "),
            repository=event.repository,
            pull_request=pull.number if pull else None,
            check_sha=pull.head_sha if pull else event.after,
            run_url=event.run_url,
        )
    unsaved = save(asked.directory / "report.json", report.to_json())
    if unsaved:
        _say(f"warning: {unsaved}")
    return report


def _publish(
    report: BumpReport, event: Event | None, asked: Asked, runner: Runner, *, post: bool
) -> bool:
    """Post the report where the event wants it; whether nothing was left unposted."""
    from ciwm.github import connect_from  # noqa: PLC0415
    from ciwm.publish import KEY, Target, Texts, publish, still_current  # noqa: PLC0415
    from ciwm.report.bump_markdown import comment_markdown, summary_markdown  # noqa: PLC0415
    from ciwm.report.remarks import remarks_of  # noqa: PLC0415
    from ciwm.story.saving import save  # noqa: PLC0415

    remarks, directory = remarks_of(report), asked.directory
    texts = Texts(comment_markdown(report), summary_markdown(report), remarks)
    unsaved = save(directory / "comment.md", texts.comment)
    if unsaved:
        _say(f"warning: {unsaved}")
    if event is None:
        return True
    runner.set_output("directory", str(directory))
    target = Target(event.repository)
    if post:
        key = asked.only or KEY
        target = Target(event.repository, report.pull_request, report.check_sha, key)
    connection, refused = None, None
    try:
        connection = connect_from(os.environ)
    except CiwmError as error:
        refused = error  # a token or address that cannot be: what was measured is told all the same
    saved = directory / "report.json"
    with connection or nullcontext() as github:
        target = still_current(github, target, runner)
        published = publish(
            report, texts, target, github, runner=runner, saved=saved, refused=refused
        )
        if github is not None and post:
            _close_waivers(github, report, event, runner)
    if not any(one.what == "check" for one in published.posted):
        for one in remarks:  # the check carries them where it could be posted
            show = runner.error if one.level == "failure" else runner.warning
            show(one.message, title=one.title, file=one.path, line=one.start_line)
    return not published.problems


def _close_waivers(github: GitHub, report: BumpReport, event: Event, runner: Runner) -> None:
    """After a push to the default branch: a pull request that takes out waivers that are over."""
    pushed = (event.ref or "").removeprefix("refs/heads/")
    if event.name != "push" or not report.closing or pushed != event.default_branch:
        return
    from ciwm.story.tidying import proposed_closing  # noqa: PLC0415

    try:
        link = proposed_closing(github, event.repository, pushed, report.closing, event.run_url)
    except CiwmError as error:
        runner.warning(f"waivers that are over stay: {error.message}", title="ciwm")
        return
    if link:
        runner.notice(f"waivers that are over: {link}", title="ciwm")


def _show(report: BumpReport, directory: Path, *, as_json: bool) -> None:
    from ciwm.commands.options import print_bump  # noqa: PLC0415

    print_bump(report, as_json=as_json)
    if as_json:
        return
    _say(f"records: {directory} (report.json, comment.md)")
    if report.exit_code == INTERRUPTED and report.run_file is not None:
        _say(f"to go on: ciwm bench --resume {directory / 'run'}")


def _token() -> str | None:
    return os.environ.get("CIWM_TOKEN") or os.environ.get("GITHUB_TOKEN") or None


def _say(line: str) -> None:
    click.echo(line, err=True)
