"""Measuring four builds: two changes, each with and without the other, interleaved in blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.bench.combinations import Combinations, copy_of
from ciwm.bench.factorial_request import saved_factorial
from ciwm.bench.host import measured_host
from ciwm.bench.plan import selected
from ciwm.bench.run_directory import FACTORIAL, held, refuse_used
from ciwm.bench.saved_request import SavedFactorial, refuse_changes, with_budget
from ciwm.errors import BuildError
from ciwm.launch.files import refuse_unlistable
from ciwm.launch.series import family
from ciwm.launch.workloads import WorkloadSource
from ciwm.records import read_record
from ciwm.records.factorial import FactorialRun
from ciwm.stats.factorial import CELLS

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from pathlib import Path

    from ciwm.bench.factorial_request import FactorialRequest
    from ciwm.config import Config


def measure_factorial(
    request: FactorialRequest, *, stop: threading.Event, on_progress: Callable[[str], None]
) -> FactorialRun:
    """Measure the four builds and return the run, written as factorial.json after every block.

    Raises BuildError when one did not build, UsageError when the folder is used already.
    """
    refuse_unlistable(request.directory.absolute(), "the folder of the run")
    for cell in CELLS:
        build = request.builds[cell]
        if not build.ok:
            raise BuildError(f"{build.revision.ref} did not build ({build.status})", build.log)
    refuse_used(request.directory)
    workloads = selected(request.config, request.only)
    family(workloads, request.config.gate)
    source = WorkloadSource(request.repository, request.workloads_from)
    files = tuple(path for one in workloads for path in source.files(one))
    with held(request.directory) as directory:
        for cell in CELLS:
            source.materialise(files, copy_of(directory, cell))
        host = measured_host(request.config, request.builds["both"].python, on_progress)
        asked = saved_factorial(request, host)
        measuring = Combinations(directory, asked, stop, on_progress)
        measuring.wrote(measuring.record)
        directory.begin(asked)
        return measuring.run()


def resume_factorial(
    path: Path,
    *,
    stop: threading.Event,
    on_progress: Callable[[str], None],
    config: Config | None = None,
    budget_s: float | None = None,
) -> FactorialRun:
    """Continue an interrupted run of four builds; raises what `measure.resume` does.

    Blocks that were interrupted are drawn anew; `budget_s` replaces the budget, of which the
    launches so far are spent.
    """
    with held(path) as directory:
        asked = directory.request(SavedFactorial)
        host = measured_host(asked.config, asked.builds["both"].python, on_progress)
        refuse_changes(asked, asked.builds.items(), config, host)
        if budget_s is not None:
            asked = with_budget(asked, budget_s)
        if (done := read_record(path / FACTORIAL, FactorialRun)).complete:
            on_progress(f"{path}: this run is complete")
            return done
        measuring = Combinations(directory, asked, stop, on_progress)
        measuring.restore(directory.launches())
        return measuring.run()
