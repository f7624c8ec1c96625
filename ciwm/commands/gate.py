"""`ciwm gate`: decide on a run, or on samples that another tool took."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ciwm.config import GateConfig
    from ciwm.records import Run, Verdict

_LOG_WIDTH = 120
DOUBT = click.Choice(["warn", "fail"])


@click.command(
    epilog="Outcomes: regressed, failed and missing fail (exit 1); void and inconclusive warn "
    "unless told to fail (5 and 3); new, unchanged and improved pass."
)
@click.argument("run", required=False, type=click.Path(path_type=Path))
@click.option(
    "--samples",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Judge a CSV file instead: series,unit,better,side,block,launch,iteration,value.",
)
@click.option(
    "--base",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="With --head: compare two runs or CSV files measured apart; gives advice only.",
)
@click.option("--head", metavar="FILE", type=click.Path(path_type=Path), help="See --base.")
@click.option(
    "--confirm",
    metavar="RUN2",
    type=click.Path(path_type=Path),
    help="A second run of the same revisions, from a fresh job: its evidence multiplies RUN's.",
)
@click.option(
    "--trust-separate",
    is_flag=True,
    help="Decide on files measured apart as if they had been measured together.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
@click.option("--markdown", is_flag=True, help="Print the verdict as Markdown.")
@click.option("--on-inconclusive", type=DOUBT, help="Exit 3 when undecided; default from config.")
@click.option("--on-void", type=DOUBT, help="Exit 5 when void; default from config.")
@click.option(
    "--config",
    "config_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Read [gate] from FILE instead of this directory's ciwm.toml.",
)
def command(
    run: Path | None,
    samples: Path | None,
    base: Path | None,
    head: Path | None,
    *,
    confirm: Path | None,
    trust_separate: bool,
    as_json: bool,
    markdown: bool,
    on_inconclusive: str | None,
    on_void: str | None,
    config_file: Path | None,
) -> int:
    """Decide on RUN, a run.json or the directory that holds it: whether head got slower.

    Files measured apart are compared too, but give advice and never a regression: what changed
    between the two occasions cannot be told from the change itself. Regressions that this
    directory's ciwm-waivers.toml accepts, up to a ceiling and until a day, do not block.
    """
    from datetime import datetime, timezone  # noqa: PLC0415

    from ciwm.policy import Waivers, decide, exit_code  # noqa: PLC0415
    from ciwm.policy.first_guess import refuse_undetectable  # noqa: PLC0415
    from ciwm.waivers import find_waivers  # noqa: PLC0415

    source = _Source(run, samples, base, head, trusted=trust_separate)
    if confirm is not None and run is None:
        raise click.UsageError("--confirm RUN2 is for a RUN")
    source.check()
    if as_json and markdown:
        raise click.UsageError("--json and --markdown exclude each other")
    stated = {"on_inconclusive": on_inconclusive, "on_void": on_void}
    config = _gate_config(config_file).model_copy(
        update={name: value for name, value in stated.items() if value is not None}
    )
    second = None if confirm is None else _read(confirm, config, in_blocks=True)
    judged = source.read(config)
    refuse_undetectable(judged.plan, config)
    waivers = Waivers(find_waivers(Path()), datetime.now(timezone.utc).date())
    verdict = decide(judged, config, second, waivers if waivers.list else None)
    _print(verdict, as_json=as_json, markdown=markdown)
    return exit_code(verdict, config)


def _gate_config(file: Path | None) -> GateConfig:
    from ciwm.config import find_config, read_config  # noqa: PLC0415

    return (read_config(file) if file else find_config(Path())).gate


@dataclass(frozen=True)
class _Source:
    """Where the launches come from: a run, a file of samples, or two files measured apart."""

    run: Path | None
    samples: Path | None
    base: Path | None
    head: Path | None
    trusted: bool

    def check(self) -> None:
        """Raises UsageError unless exactly one source is named."""
        apart = self.base is not None or self.head is not None
        if [self.run is not None, self.samples is not None, apart].count(True) != 1:
            raise click.UsageError("name one of RUN, --samples FILE, and --base FILE --head FILE")
        if apart and (self.base is None or self.head is None):
            raise click.UsageError("--base FILE and --head FILE go together")
        if self.trusted and not apart:
            raise click.UsageError("--trust-separate is for --base FILE --head FILE")

    def read(self, config: GateConfig) -> Run:
        """The run to decide on."""
        if self.base is not None and self.head is not None:
            from ciwm.bench.apart import joined  # noqa: PLC0415

            sides = [_read(path, config, in_blocks=False) for path in (self.base, self.head)]
            return joined(sides[0], sides[1], trusted=self.trusted)
        if self.samples is not None:
            return _read_samples(self.samples, config, in_blocks=True)
        return _read(self.run or Path(), config, in_blocks=True)


def _read(path: Path, config: GateConfig, *, in_blocks: bool) -> Run:
    """The run of a record, of a directory that holds one, or of a CSV file."""
    from ciwm.bench.run_file import read_run  # noqa: PLC0415

    if path.suffix.lower() == ".csv":
        return _read_samples(path, config, in_blocks=in_blocks)
    return read_run(path)


def _read_samples(path: Path, config: GateConfig, *, in_blocks: bool) -> Run:
    from ciwm.bench.samples_csv import read_samples  # noqa: PLC0415

    return read_samples(path, config, in_blocks=in_blocks)


def _print(verdict: Verdict, *, as_json: bool, markdown: bool) -> None:
    if as_json:
        click.echo(verdict.to_json(), nl=False)
    elif markdown:
        from ciwm.report.verdict_markdown import verdict_section  # noqa: PLC0415

        click.echo(verdict_section(verdict), nl=False)
    else:
        from rich.console import Console  # noqa: PLC0415

        from ciwm.report.verdict_text import show_verdict  # noqa: PLC0415

        console = Console()
        show_verdict(verdict, console if console.is_terminal else Console(width=_LOG_WIDTH))
