"""What `ciwm map import` does."""

from __future__ import annotations

from typing import Any

import click


def run(options: dict[str, Any]) -> int:
    """Unpack a bundle; 1 where a record differs from ours and nobody said which to keep."""
    from ciwm.errors import NO, OK  # noqa: PLC0415
    from ciwm.opmap.sharing import kept_licences, unpack  # noqa: PLC0415
    from ciwm.records import read_record  # noqa: PLC0415
    from ciwm.records.opmap_bundle import MapBundle  # noqa: PLC0415

    bundle = read_record(options["bundle"], MapBundle)
    taken = unpack(bundle, options["into"], options["prefer"])
    for one in taken:
        click.echo(f"{one.state}: {one.name}" + (f" ({one.detail})" if one.detail else ""))
    click.echo(f"licence: {bundle.licence}", err=True)
    for line in kept_licences(bundle):
        click.echo(line, err=True)
    conflicts = [one for one in taken if one.state == "conflict"]
    if conflicts:
        click.echo(
            f"error: {len(conflicts)} of {len(taken)} differ from ours, which were kept", err=True
        )
        click.echo("hint: --prefer ours, or --prefer theirs", err=True)
    return NO if conflicts else OK
