"""What runs on a node of a Ray cluster: it builds both sides once, and runs blocks of launches.

These functions are called by Ray, in a process of its own on the node, where ciwm is installed.
What they hand back is plain data, so that a failure here is a line there.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ciwm
from ciwm.bench.block import BlockRunner
from ciwm.bench.engine import Finished, Task
from ciwm.bench.host import measured_host
from ciwm.bench.plan import selected
from ciwm.config import Config
from ciwm.devices import describe_host
from ciwm.errors import BuildError, CiwmError, DeviceError
from ciwm.git import Repository
from ciwm.launch.builds import build, release_builds
from ciwm.launch.cache import cache_root
from ciwm.launch.flock import Flock
from ciwm.launch.worker_job import Site
from ciwm.launch.workloads import WorkloadSource
from ciwm.policy.conditions import void_reasons
from ciwm.records import SIDES, Revision

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ciwm.bench.schedule import Turn
    from ciwm.gate_config import VoidConfig
    from ciwm.records import BuildRecord, Launch, Side

KEPT_BYTES = 4 * 2**20  # of each file of a launch: the end of a long log says why it failed
SEEN_BY_RAY = "CUDA_VISIBLE_DEVICES"


@dataclass(frozen=True)
class Parcel:
    """What every node needs of a run: the commits with their history, what to build and to run."""

    repository: str
    pack: bytes
    shallow: str
    settings: dict[str, Any]
    only: tuple[str, ...]
    base: dict[str, Any]
    head: dict[str, Any]
    workloads_from: dict[str, Any]

    def revision(self, what: str) -> Revision:
        """The revision of a side, or that of the workloads' files."""
        return Revision.model_validate(getattr(self, what))


@dataclass(frozen=True)
class Errand:
    """One block for a node: its place in the plan, what is known, and how long it may take."""

    turn: Turn
    first: int
    left_s: float
    built: tuple[Side, ...]
    outcomes: frozenset[tuple[str, Side]]
    rules: VoidConfig

    def is_built(self, side: Side) -> bool:
        """Whether a side has a build that can be launched."""
        return side in self.built

    def has_outcome(self, workload: str, side: Side) -> bool:
        """Whether some launch already showed whether a side runs."""
        return (workload, side) in self.outcomes

    def void_reasons(self, block: Sequence[Launch]) -> tuple[str, ...]:
        """For each launch what made it void, so that its whole block will not count."""
        return void_reasons(block, self.rules)


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
    try:
        yield from _run_block(parcel, errand)
    except CiwmError as error:
        kind = "card" if isinstance(error, DeviceError) else "node"
        yield {"kind": "error", "what": kind, "message": error.message, "hint": error.hint}
    finally:
        release_builds()


def _run_block(parcel: Parcel, errand: Errand) -> Iterator[dict[str, Any]]:
    config = Config.model_validate(parcel.settings)
    repository = _repository(parcel)
    began = time.monotonic()
    builds = _builds(parcel, repository, config, errand.built)
    yield {"kind": "ready", "took_s": time.monotonic() - began}
    workloads = {one.id: one for one in selected(config, parcel.only)}
    with tempfile.TemporaryDirectory(prefix="ciwm-block-") as folder:
        site = _site(Path(folder), parcel, repository, builds)
        source = WorkloadSource(repository, parcel.revision("workloads_from"))
        for side in errand.built:
            source.materialise(source.files(workloads[errand.turn.workload]), site.sources[side])
        lock = Flock(Path(folder) / ".lock")
        lock.take(timeout_s=0)
        host = measured_host(config, builds[errand.built[-1]].python, _unheard)
        runner = BlockRunner(
            site=site,
            workloads=workloads,
            host=host,
            lock=lock,
            bench=config.bench,
            stop=threading.Event(),
            say=_unheard,
        )
        block = Finished(Task(errand.turn, errand.first, time.monotonic() + errand.left_s))
        cards = host.accelerators[: workloads[errand.turn.workload].devices]
        for launch in runner.run(block, errand, cards):
            files = _files(site.directory / Path(launch.log).parent)
            yield {"kind": "launch", "launch": launch.model_dump_json(), "files": files}
        lock.release()
    yield {"kind": "over", "waited_s": block.waited_s}


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
    folder: Path, parcel: Parcel, repository: Repository, builds: Mapping[Side, BuildRecord]
) -> Site:
    config = Config.model_validate(parcel.settings)
    return Site(
        directory=folder / "run",
        checkout=repository.path,
        builds=builds,
        sources={side: folder / "workloads" / side for side in SIDES},
        python_path=config.build.python_path,
    )


def _repository(parcel: Parcel) -> Repository:
    """The commits of the parcel in a repository of this node's cache, shared by its blocks."""
    name = hashlib.sha256(parcel.repository.encode()).hexdigest()[:20]
    path = cache_root() / "ray" / f"{name}.git"
    path.parent.mkdir(exist_ok=True)
    lock = Flock(path.with_suffix(".lock"))
    lock.take()
    try:
        path.mkdir(exist_ok=True)
        repository = Repository(path)
        repository.run("init", "-q", "--bare")
        shas = {parcel.revision(what).sha for what in ("base", "head", "workloads_from")}
        if any(not _has(repository, sha) for sha in shas):
            (path / "shallow").write_text(parcel.shallow)
            repository.run("index-pack", "--stdin", stdin=parcel.pack)
            for sha in shas:
                repository.run("update-ref", f"refs/ciwm/{sha}", sha)
        return repository
    finally:
        lock.release()


def _has(repository: Repository, sha: str) -> bool:
    return (
        repository.run("rev-parse", "-q", "--verify", f"refs/ciwm/{sha}", check=False).status == 0
    )


def _files(folder: Path) -> dict[str, bytes]:
    """The files of a launch, the end of those that are too long."""
    found = {}
    for path in sorted(folder.iterdir()):
        if path.is_file():
            with path.open("rb") as file:
                file.seek(max(path.stat().st_size - KEPT_BYTES, 0))
                found[path.name] = file.read()
    return found
