"""`ciwm map`: what runs, on what, and what must be written."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import click

from ciwm.commands.options import CONFIG

FILE = click.Path(dir_okay=False, path_type=Path)
JSON = click.option("--json", "as_json", is_flag=True, help="Print the record and nothing else.")
PYTHON = click.option(
    "--python", help="The interpreter with the framework.  [default: [build] python]"
)
STAGES = "intensity, census, ghost, queue, fallback, correctness, communication, compile"


@click.group()
def command() -> None:
    """Map the workloads: operators, collectives and compile paths; what is native, what is lacking.

    A workload is mapped by the model it names: [[workload]] model = "file.py:build", or
    [[map.workload]] for one that is not timed. See docs/map.md.
    """


@command.command("run")
@click.argument("rev", required=False)
@click.option("--only", metavar="STAGES", help=f"Of: {STAGES}.  [default: [map] only]")
@click.option("--workload", "workloads", multiple=True, help="Only this one (repeatable).")
@click.option(
    "--target", help="A manifest to predict for: a file, or cuda.  [default: [map] target]"
)
@click.option(
    "--base", type=FILE, help="An earlier map: tell what changed, and end with 1 if lost."
)
@click.option("--suggest", is_flag=True, help="Propose workloads that the map lacks.")
@click.option("--out", type=FILE, help="Write the map here.")
@click.option("--csv", "csv_file", type=FILE, help="Write its operators here, a line each.")
@click.option("--markdown", type=FILE, help="Write the section for a pull request here.")
@PYTHON
@CONFIG
@JSON
def run_command(**options: Any) -> int:
    """Observe the workloads of the work tree, or of the build of REV, and write their map.

    Nothing is timed, and no device is needed: with --target, a device is predicted from its
    manifest. What cannot be observed is named, and the rest goes on.

    Ends with 4 when nothing could be observed; with --base, as map diff.
    """
    return int(_verb("run")(options))


@command.command("manifest")
@click.option("--key", default="CUDA", show_default=True, help="The dispatch key of the backend.")
@click.option("--name", default="", help="What the target is called.  [default: the key]")
@click.option("--import", "imports", multiple=True, help="A plugin to import first (torch_npu).")
@click.option("--licence", default="", help="A licence note.  [default: [map] licence]")
@click.option("--out", type=FILE, help="Write the manifest here.  [default: standard output]")
@PYTHON
@CONFIG
def manifest_command(**options: Any) -> int:
    """Dump which kernels a backend has, where it imports; no device is needed.

    The manifest that is shipped for CUDA comes from the public wheel, and is renewed so:

    \b
      python3 -m venv cu && cu/bin/pip install torch==2.14.1
      ciwm map manifest --python cu/bin/python --key CUDA --out ciwm/opmap/manifests/cuda.json
    """  # noqa: D301  click's mark for lines that are to be kept
    return int(_verb("manifest")(options))


@command.command("diff")
@click.argument("a", type=FILE)
@click.argument("b", type=FILE)
@click.option("--markdown", type=FILE, help="Write the section for a pull request here.")
@CONFIG
@JSON
def diff_command(**options: Any) -> int:
    """Tell what changed from map A to map B.

    Ends with 1 where coverage was lost and [gate] block_on has coverage; else with 5 (void) where
    the two were made for different targets: classes and the kernels to write are then of the
    targets, not of a change, and are not compared.
    """
    return int(_verb("diff")(options))


@command.command("export")
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option("--out", type=FILE, required=True, help="The bundle to write.")
@click.option("--licence", required=True, help="Under what others may use it (CC0-1.0, say).")
def export_command(**options: Any) -> int:
    """Put maps and manifests into one file to share: no paths, no logs, with a licence note."""
    return int(_verb("export")(options))


@command.command("import")
@click.argument("bundle", type=FILE)
@click.option("--into", type=click.Path(file_okay=False, path_type=Path), required=True)
@click.option(
    "--prefer", type=click.Choice(["ours", "theirs"]), help="Which to keep in a conflict."
)
def import_command(**options: Any) -> int:
    """Unpack a bundle into a folder; what is there and differs is named, not overwritten."""
    return int(_verb("import")(options))


def _verb(name: str) -> Any:
    """The function behind a subcommand, loaded when it is used."""
    return importlib.import_module(f"ciwm.commands.map_{name}").run
