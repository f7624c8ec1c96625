"""The command group; the only place where errors become exit codes."""

from __future__ import annotations

import errno
import importlib
import json
import os
import sys
import traceback
from typing import TYPE_CHECKING, NoReturn

import click

from ciwm import __version__
from ciwm.errors import ENVIRONMENT, INTERRUPTED, USAGE, CiwmError
from ciwm.streams import guarded_streams, open_closed_streams
from ciwm.unforeseen import unforeseen

if TYPE_CHECKING:
    from collections.abc import Sequence

# verb -> (module, first line of its help); the module is imported only when the verb is used
COMMANDS = {
    "bench": "measure base and head side by side, interleaved",
    "build": "build a revision in a worktree of its own, cached",
    "bump-preview": "merge the newest upstream on trial, rebuild it and measure it against today's",
    "ci": "the whole story for one pull request or push (what the action runs)",
    "clean": "remove cached builds, worktrees and runs",
    "demo": "the whole story on an embedded example, offline, in under a minute",
    "map": "what the workloads run, what a device has of it, and what must be written",
    "gate": "decide on a run: regressed, unchanged, inconclusive, void",
    "merge": "join the runs of a workflow matrix, and judge them once",
    "pipeline": "success and duration of this repository's own workflows, by stage",
    "probe": "what this machine's cards can do at best, and whether one of them is sick",
    "publish": "post a report: comment, check run, step summary",
    "respond": "do what a comment on a pull request asks: /ciwm rerun, /ciwm waive",
    "schema": "print the JSON Schema of the records",
    "waive": "accept a regression for a while: a ceiling, a reason, an issue, a last day",
    "sync-report": "what staying in sync with upstream costs",
}


class LazyGroup(click.Group):
    """Imports a command's module when it is asked for, so that --help starts at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """All verbs."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        """The command of a verb."""
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"ciwm.commands.{name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The list of verbs, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Unknown verbs get the nearest known one as a hint."""
        import difflib  # noqa: PLC0415

        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            close = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean {close[0]}?" if close else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 yes; 1 the answer is no; 2 usage or configuration; 3 inconclusive "
    "(when asked to fail); 4 the environment failed; 5 void; 70 a bug of ours; 130 interrupted.",
)
@click.version_option(__version__, prog_name="ciwm")
@click.option("-C", "directory", metavar="DIR", default=".", help="Run as if started in DIR.")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
def group(directory: str, *, debug: bool) -> None:  # noqa: ARG001  main() reads debug itself
    """What an upstream sync costs, whether the workloads still run, and whether they got slower."""
    try:
        os.chdir(directory)
        os.getcwd()  # noqa: PTH109  a folder that was deleted can be changed to
    except OSError as error:
        raise click.UsageError(f"-C {directory}: {error.strerror}") from error


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code; never raises."""
    as_json, debug = "--json" in arguments, "--debug" in arguments
    with guarded_streams(as_json=as_json) as output:
        code = _run(arguments, as_json=as_json, debug=debug)
        if output is None:
            return code
        output.flush()
        if output.failure is None:
            return code
        words = output.failure.strerror or output.failure
        full = output.failure.errno in (errno.ENOSPC, errno.EDQUOT)
        hint = f"{'make room where it goes, or ' if full else ''}give another place"
        return _fail(
            f"cannot write standard output: {words}", hint, ENVIRONMENT, as_json=False, debug=debug
        )


def _run(arguments: Sequence[str], *, as_json: bool, debug: bool) -> int:
    try:
        result = group.main(list(arguments), prog_name="ciwm", standalone_mode=False)
    except CiwmError as error:
        return _fail(error.message, error.hint, error.exit_code, as_json=as_json, debug=debug)
    except click.ClickException as error:
        where = (
            error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "ciwm"
        )
        return _fail(
            error.format_message(), f"see: {where} --help", USAGE, as_json=as_json, debug=debug
        )
    except (click.Abort, KeyboardInterrupt):
        return _fail("interrupted", "", INTERRUPTED, as_json=as_json, debug=debug)
    except Exception as error:  # noqa: BLE001  the last line of defence
        found = unforeseen(error)
        return _fail(found.message, found.hint, found.exit_code, as_json=as_json, debug=debug)
    return result if isinstance(result, int) else 0


def _fail(message: str, hint: str, code: int, *, as_json: bool, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    if as_json:
        print(json.dumps({"error": {"message": message, "hint": hint, "exit_code": code}}))
    print(f"error: {message}", file=sys.stderr)
    if hint:
        print(f"hint: {hint}", file=sys.stderr)
    return code


def main() -> NoReturn:
    """The console script."""
    open_closed_streams()
    sys.exit(run(sys.argv[1:]))
