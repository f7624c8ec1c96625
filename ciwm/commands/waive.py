"""`ciwm waive`: accept a regression for a while, in a file that is reviewed like code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from ciwm.records import SeriesVerdict, Verdict
    from ciwm.waivers import Waiver

PATH = click.Path(path_type=Path)


@click.command()
@click.argument("series", required=False)
@click.option("--reason", metavar="TEXT", help="Why it is worth it.")
@click.option("--issue", metavar="URL", help="Where it is followed up.")
@click.option("--metric", metavar="NAME", help="A glob for the metric.  [default: all of them]")
@click.option("--ceiling", metavar="8%", help="How far it may go, in percent.")
@click.option("--ceiling-abs", type=float, metavar="X", help="How far, in the metric's unit.")
@click.option(
    "--from",
    "report",
    type=PATH,
    metavar="REPORT",
    help="Take ceilings, or with --tidy what recovered, from a report.json or verdict.json.",
)
@click.option("--author", metavar="WHO", help="Who accepts it.  [default: git's user.name]")
@click.option("--expires", metavar="DAY", help="The last day, as 2027-01-31.  [default: 60 days]")
@click.option("--tidy", is_flag=True, help="Remove waivers that expired or, by --from, recovered.")
@click.option("--json", "as_json", is_flag=True, help="Print the waivers written, or removed.")
def command(series: str | None, *, tidy: bool, as_json: bool, **options: Any) -> int:
    """Write a waiver for SERIES into ciwm-waivers.toml: commit it, and have it reviewed.

    SERIES is a series as a report names it, a workload, or a glob. The waiver counts once the base
    branch has it: a pull request cannot waive its own regression. Beyond the ceiling and after the
    day the regression blocks again. Everything else in the file stays as it is.

    \b
    ciwm waive decode-8b --ceiling 8% --reason 'checks for NaN' --issue '#12'
    ciwm waive --tidy --from report.json
    """  # noqa: D301  click's own sign for lines to be left alone
    from datetime import datetime, timezone  # noqa: PLC0415

    today = datetime.now(timezone.utc).date()
    if tidy == (series is not None):
        raise click.UsageError("name a SERIES, or ask for --tidy")
    path = _top() / _file_name()
    text = _text(path)
    if tidy:
        found, changed = _tidied(text, options["report"], today)
    else:
        found, changed = _added(text, series or "", options, today)
    if changed != text:
        from ciwm.launch.files import write_atomically  # noqa: PLC0415

        write_atomically(path, changed)
    _print(found, removed=tidy, as_json=as_json)
    return 0


def _text(path: Path) -> str:
    """The file's text, empty where there is none; raises ConfigError for what is no text."""
    from ciwm.waivers import parse_waivers  # noqa: PLC0415

    data = path.read_bytes() if path.is_file() else b""
    parse_waivers(data, path.name)
    return data.decode("utf-8")


def _top() -> Path:
    """Where the file belongs: the top of the repository, or this folder where there is none."""
    from ciwm.errors import GitError  # noqa: PLC0415
    from ciwm.git import Repository  # noqa: PLC0415

    try:
        return Path(Repository.open(Path()).text("rev-parse", "--show-toplevel"))
    except GitError:
        return Path()


def _file_name() -> str:
    from ciwm.waivers import FILE_NAME  # noqa: PLC0415

    return FILE_NAME


def _added(
    text: str, series: str, options: dict[str, Any], today: date
) -> tuple[Sequence[Waiver], str]:
    from datetime import timedelta  # noqa: PLC0415

    from ciwm.waivers import DAYS, waiver_of, with_waivers  # noqa: PLC0415

    report, expires = options.pop("report"), options.pop("expires")
    if report is not None and (options["ceiling"] or options["ceiling_abs"]):
        raise click.UsageError("--from takes the ceiling from the report: leave the other out")
    _refuse_incomplete(options, ceiling_known=report is not None)
    known = {
        **options,
        "series": series,
        "author": options["author"] or _user_name(),
        "expires": expires or today + timedelta(days=DAYS),
    }
    cases: Sequence[dict[str, Any]] = [{}]
    if report is not None:
        cases = _seen(_verdict(report), series, options["metric"])
    new = [waiver_of(**{**known, **case}) for case in cases]
    if any(waiver.expires < today for waiver in new):
        raise click.UsageError(f"--expires {new[0].expires} is over: it would not count")
    _warn_unknown(series)
    return new, with_waivers(text, new, _file_name(), today)


def _refuse_incomplete(options: dict[str, Any], *, ceiling_known: bool) -> None:
    lacking = [f"--{name}" for name in ("reason", "issue") if not options[name]]
    if not ceiling_known and options["ceiling"] is None and options["ceiling_abs"] is None:
        lacking.append("--ceiling (or --ceiling-abs, or --from a report)")
    if lacking:
        raise click.UsageError(f"a waiver needs {', '.join(lacking)} as well")


def _seen(verdict: Verdict, series: str, metric: str | None) -> list[dict[str, Any]]:
    """Series, metric and ceiling of each regression that a report has of a series."""
    from ciwm.errors import UsageError  # noqa: PLC0415
    from ciwm.policy.new_waivers import cases_of  # noqa: PLC0415

    found = cases_of(verdict.series, series, metric)
    if not found:
        slower = {row.series for row in verdict.series if row.outcome == "regressed"}
        names = ", ".join(sorted(slower)[:5]) or "nothing"
        raise UsageError(f"the report has no regression of {series}", f"regressed: {names}")
    return found


def _tidied(text: str, report: Path | None, today: date) -> tuple[Sequence[Waiver], str]:
    from ciwm.policy.new_waivers import recovered  # noqa: PLC0415
    from ciwm.waivers import parse_waivers, without_waivers  # noqa: PLC0415

    known = parse_waivers(text.encode(), _file_name())
    rows: Sequence[SeriesVerdict] = _verdict(report).series if report is not None else ()
    healed = recovered(known, rows)
    gone = [waiver for waiver in known if waiver.expires < today or waiver in healed]
    return gone, without_waivers(text, gone, _file_name()) if gone else text


def _verdict(path: Path) -> Verdict:
    from ciwm.errors import UsageError  # noqa: PLC0415
    from ciwm.records import BumpReport, Verdict, read_record  # noqa: PLC0415

    file = path / "report.json" if path.is_dir() else path
    if file.name == "verdict.json":
        return read_record(file, Verdict)
    found = read_record(file, BumpReport).verdict
    if found is None:
        raise UsageError(f"{file} holds no verdict: nothing was measured")
    return found


def _user_name() -> str | None:
    from ciwm.errors import GitError  # noqa: PLC0415
    from ciwm.git import Repository  # noqa: PLC0415

    try:
        return Repository.open(Path()).run("config", "user.name", check=False).text.strip() or None
    except GitError:
        return None


def _warn_unknown(series: str) -> None:
    """Say where a name matches nothing that is declared here: it may be a slip of the pen."""
    from ciwm.config import find_config  # noqa: PLC0415
    from ciwm.gate_config import matches  # noqa: PLC0415
    from ciwm.launch.series import family  # noqa: PLC0415

    config = find_config(_top())
    ids = {workload.id for workload in config.workload}
    names = ids | {one.series for one in family(config.workload, config.gate)}
    if names and not any(matches(name, series) for name in names):
        click.echo(f"warning: no workload here is named {series}", err=True)


def _print(found: Sequence[Waiver], *, removed: bool, as_json: bool) -> None:
    from ciwm.waivers import as_toml  # noqa: PLC0415

    if as_json:
        click.echo("[" + ",\n".join(one.model_dump_json(exclude_none=True) for one in found) + "]")
        return
    if removed and not found:
        click.echo("every waiver is in force, and of none is it known that it recovered")
        return
    done = "removed from" if removed else "added to"
    click.echo(f"{done} {_file_name()}:\n")
    click.echo("\n".join(as_toml(one) for one in found), nl=False)
    click.echo("\nCommit it by a change of its own: it counts once the base branch has it.")
