"""What runs on a node of a Ray cluster: both sides are built once; blocks, and profiled launches.

These functions are called by Ray, in a process of its own on the node, where ciwm is installed.
What they hand back is plain data, so that a failure here is a line there.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ciwm
from ciwm.bench.block import BlockRunner
from ciwm.bench.communication import LocalProfiler
from ciwm.bench.engine import Finished, Task
from ciwm.bench.host import measured_host
from ciwm.bench.plan import selected
from ciwm.bench.ray_parcel import unpacked
from ciwm.config import Config
from ciwm.devices import describe_host
from ciwm.errors import BuildError, CiwmError, DeviceError
from ciwm.launch.builds import build, release_builds
from ciwm.launch.communication import profile_order
from ciwm.launch.flock import Flock
from ciwm.launch.worker_job import Site
from ciwm.launch.workloads import WorkloadSource
from ciwm.records import SIDES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ciwm.bench.ray_parcel import Errand, Parcel, ProfileErrand
    from ciwm.git import Repository
    from ciwm.records import BuildRecord, Side

KEPT_BYTES = 4 * 2**20  # of each file of a launch: the end of a long log says why it failed
SEEN_BY_RAY = "CUDA_VISIBLE_DEVICES"


def census() -> dict[str, Any]:
    """The node as a machine, with all its cards, and the version of ciwm it has."""
    os.environ.pop(SEEN_BY_RAY, None)  # this task asks for no card, and so would see none
    try:
        return {"version": ciwm.__version__, "environment": describe_host().model_dump_json()}
    except CiwmError as error:
        return {"version": ciwm.__version__, "error": error.message}


def run_block(parcel: Parcel, errand: Errand) -> Iterator[dict[str, Any]]:
    """One block: `ready` once both sides are built, each launch with its files, then `over`.

    Or an `error`, with what it means for the node.
    """
    yield from _told(_block(parcel, errand))


def run_profile(parcel: Parcel, errand: ProfileErrand) -> Iterator[dict[str, Any]]:
    """One profiled launch: `begun`, `ready` once it is built, then its `profiles` with its files.

    Or an `error`, with what it means for the node.
    """
    yield from _told(_profile(parcel, errand))


def _told(work: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What the work says, and what kept it from being done."""
    try:
        yield from work
    except CiwmError as error:
        kind = "card" if isinstance(error, DeviceError) else "node"
        yield {"kind": "error", "what": kind, "message": error.message, "hint": error.hint}
    finally:
        release_builds()


def _block(parcel: Parcel, errand: Errand) -> Iterator[dict[str, Any]]:
    with _ready(parcel, errand.turn.workload, errand.built) as (runner, took_s):
        yield {"kind": "ready", "took_s": took_s}
        runner.site.keep_batches(errand.batches)
        block = Finished(Task(errand.turn, errand.first, time.monotonic() + errand.left_s))
        cards = runner.host.accelerators[: runner.workloads[errand.turn.workload].devices]
        for launch in runner.run(block, errand, cards):
            files = _files(runner.site.directory / Path(launch.log).parent)
            yield {"kind": "launch", "launch": launch.model_dump_json(), "files": files}
    yield {"kind": "over", "waited_s": block.waited_s}


def _profile(parcel: Parcel, errand: ProfileErrand) -> Iterator[dict[str, Any]]:
    yield {"kind": "begun"}
    with _ready(parcel, errand.workload, errand.built) as (at, took_s):
        yield {"kind": "ready", "took_s": took_s}
        order = profile_order(at.workloads[errand.workload], errand.side)
        here = LocalProfiler(at.site, at.host, at.lock, at.stop, at.say)
        done = here.profile(order, time.monotonic() + errand.left_s)
        said = [one.model_dump_json() for one in done.found]
        files = _files(at.site.directory / order.folder)
        yield {"kind": "profiles", "profiles": said, "files": files}


@contextlib.contextmanager
def _ready(parcel: Parcel, name: str, built: Sequence[Side]) -> Iterator[tuple[BlockRunner, float]]:
    """Both sides built, a workload's files beside them, a folder for launches; what builds took."""
    config = Config.model_validate(parcel.settings)
    repository = unpacked(parcel)
    began = time.monotonic()
    builds = _builds(parcel, repository, config, built)
    took_s = time.monotonic() - began
    workloads = {one.id: one for one in selected(config, parcel.only)}
    with tempfile.TemporaryDirectory(prefix="ciwm-block-") as folder:
        site = _site(Path(folder), config, repository, builds)
        source = WorkloadSource(repository, parcel.revision("workloads_from"))
        for side in built:
            source.materialise(source.files(workloads[name]), site.sources[side])
        lock = Flock(Path(folder) / ".lock")
        lock.take(timeout_s=0)
        runner = BlockRunner(
            site=site,
            workloads=workloads,
            host=measured_host(config, builds[built[-1]].python, _unheard),
            lock=lock,
            bench=config.bench,
            stop=threading.Event(),
            say=_unheard,
        )
        try:
            yield runner, took_s
        finally:
            lock.release()


def _unheard(_line: str) -> None:
    """What a block says on its way is told by the controller, from what comes back."""


def _builds(
    parcel: Parcel, repository: Repository, config: Config, built: Sequence[Side]
) -> dict[Side, BuildRecord]:
    """This node's builds; made by the first block that comes here, and found by the next ones."""
    made: dict[Side, BuildRecord] = {}
    for side in built:
        record = build(repository, parcel.revision(side), config.build)
        if not record.ok:
            raise BuildError(f"{side} does not build there ({record.status})", record.log_tail[-1])
        made[side] = record
    only = next(iter(made.values()))
    return {side: made.get(side, only) for side in SIDES}


def _site(
    folder: Path, config: Config, repository: Repository, builds: Mapping[Side, BuildRecord]
) -> Site:
    return Site(
        directory=folder / "run",
        checkout=repository.path,
        builds=builds,
        sources={side: folder / "workloads" / side for side in SIDES},
        python_path=config.build.python_path,
    )


def _files(folder: Path) -> dict[str, bytes]:
    """The files of a launch that was begun, the end of those that are too long."""
    found = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_file():
            with path.open("rb") as file:
                file.seek(max(path.stat().st_size - KEPT_BYTES, 0))
                found[path.name] = file.read()
    return found
