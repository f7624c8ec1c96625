"""`ciwm gate`: decide on a run, or on samples that another tool took."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ciwm.commands.options import CONFIG, refuse_both

if TYPE_CHECKING:
    from ciwm.bench.foreign import Reader
    from ciwm.config import Config, GateConfig, MetricConfig
    from ciwm.records import Run, Verdict

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
    multiple=True,
    help="With --head: compare files measured apart; gives advice only. Repeat it for several runs "
    "of the tool: each file is one launch. Runs, samples, or the results of another tool.",
)
@click.option("--head", metavar="FILE", multiple=True, help="See --base.")
@click.option(
    "--format",
    "form",
    metavar="NAME",
    help="The format of these files, instead of finding it out: one of docs/formats.md.",
)
@click.option(
    "--metric",
    "metrics",
    metavar="NAME=UNIT,lower|higher",
    multiple=True,
    help="Unit of a metric that the format has none of, and which direction is better; NAME alone "
    "reads one that is left out otherwise (p99_ttft). Globs are understood.",
)
@click.option("--ignore", metavar="NAME", multiple=True, help="Leave out a metric; a name or glob.")
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
@CONFIG
def command(
    run: Path | None,
    samples: Path | None,
    base: tuple[str, ...],
    head: tuple[str, ...],
    *,
    form: str | None,
    metrics: tuple[str, ...],
    ignore: tuple[str, ...],
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

    told = _Told(form, metrics, ignore)
    source = _Source(run, samples, base, head, told, trusted=trust_separate)
    if confirm is not None and run is None:
        raise click.UsageError("--confirm RUN2 is for a RUN")
    source.check()
    refuse_both(as_json=as_json, markdown=markdown)
    stated = {"on_inconclusive": on_inconclusive, "on_void": on_void}
    whole = _config(config_file)
    config = whole.gate.model_copy(
        update={name: value for name, value in stated.items() if value is not None}
    )
    second = None if confirm is None else _read(confirm, config)
    judged = source.read(config, whole)
    refuse_undetectable(judged.plan, config)
    waivers = Waivers(find_waivers(Path()), datetime.now(timezone.utc).date())
    verdict = decide(judged, config, second, waivers if waivers.list else None)
    _print(verdict, as_json=as_json, markdown=markdown)
    return exit_code(verdict, config)


def _config(file: Path | None) -> Config:
    from ciwm.config import find_config, read_config  # noqa: PLC0415

    return read_config(file) if file else find_config(Path())


@dataclass(frozen=True)
class _Told:
    """What the command line tells of files: their format, and metrics."""

    form: str | None
    metrics: tuple[str, ...]
    ignore: tuple[str, ...]

    @property
    def anything(self) -> bool:
        """Whether it tells anything."""
        return self.form is not None or bool(self.metrics or self.ignore)

    def reader(self, gate: GateConfig, config: Config) -> Reader:
        """How to read files: by the configuration, and by the command line before it."""
        from ciwm.bench.foreign import Reader, stated_in  # noqa: PLC0415

        metrics = dict(map(_metric, self.metrics))
        return Reader(gate, self.form, stated_in(config, metrics, self.ignore))


def _metric(text: str) -> tuple[str, MetricConfig | None]:
    """`NAME=UNIT,lower` as a metric; NAME alone takes unit and direction from its format."""
    from ciwm.config import MetricConfig  # noqa: PLC0415

    name, equals, rest = text.partition("=")
    unit, comma, better = rest.rpartition(",")
    if not equals and name:
        return name, None
    if not (name and comma) or better not in ("lower", "higher"):
        raise click.UsageError(
            f"--metric {text}: write NAME=UNIT,lower or NAME=UNIT,higher (items/s=items/s,higher)"
        )
    return name, MetricConfig.model_validate({"unit": unit, "better": better})


@dataclass(frozen=True)
class _Source:
    """Where the launches come from: a run, a file of samples, or files measured apart."""

    run: Path | None
    samples: Path | None
    base: tuple[str, ...]
    head: tuple[str, ...]
    told: _Told
    trusted: bool

    def check(self) -> None:
        """Raises UsageError unless exactly one source is named."""
        apart = bool(self.base or self.head)
        if [self.run is not None, self.samples is not None, apart].count(True) != 1:
            raise click.UsageError("name one of RUN, --samples FILE, and --base FILE --head FILE")
        if apart and not (self.base and self.head):
            raise click.UsageError("--base FILE and --head FILE go together")
        if self.trusted and not apart:
            raise click.UsageError("--trust-separate is for --base FILE --head FILE")
        if self.told.anything and not apart:
            raise click.UsageError(
                "--format, --metric and --ignore are for --base FILE --head FILE"
            )

    def _refuse_twice(self) -> None:
        """Each file is a launch of its own: the same one again would count as another."""
        from ciwm.bench.foreign import parted  # noqa: PLC0415

        seen: dict[tuple[Path, str], str] = {}
        for side, names in (("base", self.base), ("head", self.head)):
            for name in names:
                path, part = parted(name)
                if not path.exists():
                    continue  # the reader says so
                before = seen.get((path.resolve(), part))
                if before == side:
                    raise click.UsageError(f"{name} is named twice for {side}: it is one launch")
                if before:
                    raise click.UsageError(f"{name} is named for base and for head")
                seen[path.resolve(), part] = side

    def read(self, config: GateConfig, whole: Config) -> Run:
        """The run to decide on."""
        if self.base:
            from ciwm.bench.apart import joined  # noqa: PLC0415

            self._refuse_twice()
            reader = self.told.reader(config, whole)
            base = [reader.read(name, "base") for name in self.base]
            head = [reader.read(name, "head") for name in self.head]
            reader.refuse_unseen(name for name, _ in map(_metric, self.told.metrics))
            return joined(base, head, trusted=self.trusted)
        if self.samples is not None:
            from ciwm.bench.samples_csv import read_samples  # noqa: PLC0415

            return read_samples(self.samples, config, in_blocks=True)
        return _read(self.run or Path(), config)


def _read(path: Path, config: GateConfig) -> Run:
    """The run of a record, of a directory that holds one, or of a CSV file."""
    from ciwm.bench.run_file import read_run  # noqa: PLC0415
    from ciwm.bench.samples_csv import read_samples  # noqa: PLC0415
    from ciwm.errors import UsageError  # noqa: PLC0415

    if path.suffix.lower() == ".csv":
        return read_samples(path, config, in_blocks=True)
    try:
        return read_run(path)
    except UsageError as error:
        hint = "results of another tool are compared by --base FILE --head FILE"
        raise UsageError(error.message, error.hint or hint) from error


def _print(verdict: Verdict, *, as_json: bool, markdown: bool) -> None:
    if as_json:
        click.echo(verdict.to_json(), nl=False)
    elif markdown:
        from ciwm.report.verdict_markdown import verdict_section  # noqa: PLC0415

        click.echo(verdict_section(verdict), nl=False)
    else:
        from ciwm.commands.options import wide_console  # noqa: PLC0415
        from ciwm.report.verdict_text import show_verdict  # noqa: PLC0415

        show_verdict(verdict, wide_console())
