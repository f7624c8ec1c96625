"""Measuring base and head side by side: a run is begun in a new folder, or continued in its own."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from ciwm.bench.cards import cards_for
from ciwm.bench.comparison import Comparison, Under
from ciwm.bench.link_peak import with_link_peaks
from ciwm.bench.places import place_for
from ciwm.bench.plan import BenchRequest, make_plan, selected
from ciwm.bench.run_directory import RUN, held, refuse_used
from ciwm.bench.saved_request import SavedRequest, refuse_changes, saved, with_budget
from ciwm.errors import UsageError
from ciwm.launch.files import refuse_unlistable
from ciwm.launch.workloads import WorkloadSource
from ciwm.records import Run, read_record

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from pathlib import Path

    from ciwm.config import Config

__all__ = ["BenchRequest", "measure", "resume"]


def measure(
    request: BenchRequest, *, stop: threading.Event, on_progress: Callable[[str], None]
) -> Run:
    """Measure both builds into `request.directory` and return the Run, also written as run.json.

    Setting `stop` ends the running launch and returns what there is. Raises UsageError when the
    folder holds a run already or the workloads cannot be run, EnvironmentFailure when the disk is
    full.
    """
    refuse_unlistable(request.directory.absolute(), "the folder of the run")
    now = datetime.now(timezone.utc)
    plan, files = make_plan(request)
    refuse_used(request.directory)
    with (
        place_for(request.config, request.head, on_progress, request.only) as place,
        held(request.directory) as directory,
    ):
        for workload in selected(request.config, request.only):
            cards_for(workload, place.host)
        if request.config.bench.probe and request.head.ok:
            place.refuse_sick(request.head, stop, on_progress)
        plan = with_link_peaks(plan, place.host)
        asked = saved(request, _run_id(request, now), now, place.host)
        bench = Comparison(directory, asked, plan, Under(place, stop, on_progress))
        if request.head.ok:
            source = WorkloadSource(request.repository, request.workloads_from)
            for side in bench.built:
                source.materialise(files, bench.site.sources[side])
        directory.begin(asked, plan)
        if request.head.ok:
            return bench.run()
        return bench.ended(bench.so_far.unbuilt, complete=False)


def resume(
    path: Path,
    *,
    stop: threading.Event,
    on_progress: Callable[[str], None],
    config: Config | None = None,
    budget_s: float | None = None,
) -> Run:
    """Continue an interrupted run in its folder and return the whole Run.

    The interrupted block is drawn anew. `budget_s` replaces the budget, of which the launches so
    far are spent. Raises LaunchError while somebody works in the folder,
    UsageError when the workloads or the recipe of `config` are not those of the run,
    EnvironmentFailure when a build is gone, IncomparableError on another host.
    """
    if not path.is_dir():
        raise UsageError(f"there is no run in {path}")
    with held(path) as directory:
        asked, plan = directory.request(SavedRequest), directory.plan()
        with place_for(asked.config, asked.head, on_progress, asked.only) as place:
            refuse_changes(asked, asked.builds.items(), config, place.host)
            if budget_s is not None:
                asked = with_budget(asked, budget_s)
            bench = Comparison(directory, asked, plan, Under(place, stop, on_progress))
            if (path / RUN).is_file() and (run := read_record(path / RUN, Run)).complete:
                on_progress(f"{path}: this run is complete")
                return run
            bench.restore(directory.launches())
            return bench.run()


def _run_id(request: BenchRequest, now: datetime) -> str:
    shas = f"{request.base.revision.sha[:8]}-{request.head.revision.sha[:8]}"
    return f"{now:%Y%m%dT%H%M%SZ}-{shas}"
