"""What `ciwm map diff` does, and `ciwm map run --base`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ciwm.commands.map_site import place_of, write

if TYPE_CHECKING:
    from pathlib import Path

    from ciwm.config import Config
    from ciwm.records import WorkloadMap
    from ciwm.records.opmap_diff import MapDiff


def run(options: dict[str, Any]) -> int:
    """Show what changed from map A to map B; the exit code."""
    from ciwm.records import WorkloadMap, read_record  # noqa: PLC0415
    from ciwm.report.map_markdown import diff_section  # noqa: PLC0415
    from ciwm.report.map_text import show_diff  # noqa: PLC0415

    place = place_of(options["config_file"])
    diff = against(options["a"], read_record(options["b"], WorkloadMap), place.config)
    write(options["markdown"], diff_section(diff))
    if options["as_json"]:
        click.echo(diff.to_json(), nl=False)
    else:
        from rich.console import Console  # noqa: PLC0415

        show_diff(diff, Console())
    return exit_code(diff)


def against(base: Path, head: WorkloadMap, config: Config) -> MapDiff:
    """What changed from the map in a file; raises UsageError when it is no map."""
    from ciwm.opmap.diff import map_diff  # noqa: PLC0415
    from ciwm.records import WorkloadMap, read_record  # noqa: PLC0415

    earlier = read_record(base, WorkloadMap)
    return map_diff(earlier, head, config.gate.block_on, config.map.fallback_budget)


def exit_code(diff: MapDiff) -> int:
    """1 where something blocks, 5 where a part could not be compared."""
    from ciwm.errors import NO, OK, VOID  # noqa: PLC0415

    if diff.blocks:
        return NO
    return VOID if diff.void else OK
