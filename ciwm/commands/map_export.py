"""What `ciwm map export` does."""

from __future__ import annotations

from typing import Any

import click

from ciwm.commands.map_site import say, write


def run(options: dict[str, Any]) -> int:
    """Write a bundle of maps and manifests."""
    from ciwm.opmap.sharing import bundled, kept_licences  # noqa: PLC0415

    if options["out"].resolve() in {path.resolve() for path in options["files"]}:
        raise click.UsageError(f"--out: {options['out']} is one of the files to export")
    bundle = bundled(options["files"], options["licence"])
    write(options["out"], bundle.to_json())
    for line in kept_licences(bundle):
        say(line)
    say(
        f"{options['out']}: {len(bundle.maps)} maps, {len(bundle.manifests)} manifests, "
        f"licence {bundle.licence}"
    )
    return 0
