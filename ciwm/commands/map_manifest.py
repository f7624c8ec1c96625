"""What `ciwm map manifest` does."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import click

from ciwm.commands.map_site import place_of, say, work_tree_site, write


def run(options: dict[str, Any]) -> int:
    """Dump the manifest of a backend, and write or print it."""
    from ciwm.opmap.manifests import compact, dump  # noqa: PLC0415
    from ciwm.proc import stop_on_signals  # noqa: PLC0415

    place = place_of(options["config_file"])
    directory = Path(tempfile.mkdtemp(prefix="ciwm-map-"))
    with stop_on_signals() as stop:
        manifest = dump(
            work_tree_site(place, options["python"], directory, stop),
            options["key"],
            name=options["name"],
            imports=options["imports"],
            licence=options["licence"] or place.config.map.licence,
        )
    shutil.rmtree(directory, ignore_errors=True)
    text = compact(manifest)
    write(options["out"], text)
    if options["out"] is None:
        click.echo(text, nl=False)
    counts = {kind: sum(map(len, files.values())) for kind, files in manifest.rows.items()}
    say(f"{manifest.key} of torch {manifest.provenance.torch}: {_listed(counts)}")
    if manifest.fallback_files:
        say(f"kernels that are fallbacks to the CPU: {', '.join(manifest.fallback_files)}")
    return 0


def _listed(counts: dict[Any, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
