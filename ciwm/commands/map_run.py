"""What `ciwm map run` does."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ciwm.commands.map_site import (
    built_site,
    place_of,
    refuse_unwritable,
    revision_of,
    say,
    work_tree_site,
    write,
)

if TYPE_CHECKING:
    import threading

    from ciwm.commands.map_site import Place
    from ciwm.opmap.making import MapRequest
    from ciwm.records import WorkloadMap
    from ciwm.records.opmap import MapStage


def run(options: dict[str, Any]) -> int:
    """Make the map, write what was asked for, and show it; the exit code."""
    from ciwm.launch.builds import release_builds  # noqa: PLC0415
    from ciwm.opmap.mapping import make_map  # noqa: PLC0415
    from ciwm.proc import stop_on_signals  # noqa: PLC0415

    place = place_of(options["config_file"])
    _refuse_early(options)
    directory = Path(tempfile.mkdtemp(prefix="ciwm-map-"))
    try:
        with stop_on_signals() as stop:
            found = make_map(_request(place, options, directory, stop))
            interrupted = stop.is_set()
    finally:
        release_builds()
    if found.problems:
        say(f"logs: {directory}")
    else:
        shutil.rmtree(directory, ignore_errors=True)
    _write(found, options)
    return _told(found, options, place, interrupted=interrupted)


def _refuse_early(options: dict[str, Any]) -> None:
    """What would lose the map when it is made already: files that cannot be read or written."""
    from ciwm.records import WorkloadMap, read_record  # noqa: PLC0415

    if options["base"] is not None:
        read_record(options["base"], WorkloadMap)
    for name in ("out", "csv_file", "markdown"):
        if options[name] is not None:
            refuse_unwritable(options[name])


def _request(
    place: Place, options: dict[str, Any], directory: Path, stop: threading.Event
) -> MapRequest:
    from ciwm.opmap.making import MapRequest  # noqa: PLC0415
    from ciwm.opmap.manifests import read_manifest  # noqa: PLC0415

    target = options["target"] or place.config.map.target
    manifest = read_manifest(target) if target else None
    stages = _stages(options["only"], place)
    if not options["rev"]:  # a revision may be older than some of its workloads
        _refuse_missing(place, options, stages)
    if options["rev"]:
        site = built_site(place, options["rev"], directory, stop)
    else:
        site = work_tree_site(place, options["python"], directory, stop)
    return MapRequest(
        config=place.config,
        site=site,
        stages=stages,
        only=tuple(options["workloads"]),
        manifest=manifest,
        suggest=options["suggest"],
        repository=place.name,
        revision=revision_of(place, options["rev"]),
        say=say,
    )


def _refuse_missing(place: Place, options: dict[str, Any], stages: tuple[MapStage, ...]) -> None:
    from ciwm.opmap.entries import refuse_missing  # noqa: PLC0415
    from ciwm.opmap.mapping import INTERPRETER_STAGES  # noqa: PLC0415
    from ciwm.opmap.subjects import subjects  # noqa: PLC0415

    if not INTERPRETER_STAGES.issuperset(stages):
        refuse_missing(subjects(place.config, tuple(options["workloads"]))[0], place.root)


def _stages(stated: str | None, place: Place) -> tuple[MapStage, ...]:
    from ciwm.records.opmap import MAP_STAGES  # noqa: PLC0415

    names = stated.split(",") if stated is not None else list(place.config.map.only)
    names = [name.strip() for name in names if name.strip()]
    unknown = [name for name in names if name not in MAP_STAGES]
    if unknown or not names:
        what = f"no stage {unknown[0]!r}" if unknown else "no stage at all"
        raise click.UsageError(f"--only: {what}; there are: {', '.join(MAP_STAGES)}")
    return tuple(stage for stage in MAP_STAGES if stage in names)


def _write(found: WorkloadMap, options: dict[str, Any]) -> None:
    from ciwm.report.map_csv import map_csv  # noqa: PLC0415

    write(options["out"], found.to_json())
    if options["csv_file"] is not None:
        write(options["csv_file"], map_csv(found))


def _told(found: WorkloadMap, options: dict[str, Any], place: Place, *, interrupted: bool) -> int:
    from ciwm.commands.map_diff import against, exit_code  # noqa: PLC0415
    from ciwm.errors import ENVIRONMENT, INTERRUPTED  # noqa: PLC0415
    from ciwm.opmap.totals import totals  # noqa: PLC0415
    from ciwm.report.map_text import show_map  # noqa: PLC0415

    diff = against(options["base"], found, place.config) if options["base"] else None
    if options["as_json"]:
        click.echo(found.to_json(), nl=False)
    else:
        from rich.console import Console  # noqa: PLC0415

        show_map(found, totals(found), Console(), diff)
    if options["markdown"] is not None:
        from ciwm.report.map_markdown import map_section  # noqa: PLC0415

        write(options["markdown"], map_section(found, totals(found), diff))
    if interrupted:
        return INTERRUPTED
    if not _saw_something(found):
        say("error: nothing could be observed")
        return ENVIRONMENT
    return exit_code(diff) if diff is not None else 0


def _saw_something(found: WorkloadMap) -> bool:
    """Whether a workload was observed, or the device itself swept or probed."""
    from ciwm.opmap.totals import totals  # noqa: PLC0415

    swept = found.correctness is not None and found.correctness.sweep is not None
    probed = found.communication is not None and found.communication.probe is not None
    return totals(found).observed > 0 or swept or probed
