"""What is sent to the nodes of a Ray cluster: the commits of a run, and what to do with them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ciwm.errors import EnvironmentFailure, GitError
from ciwm.git import Repository
from ciwm.launch.cache import cache_root
from ciwm.launch.flock import Flock
from ciwm.policy.conditions import void_reasons
from ciwm.records import Revision

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.bench.saved_request import SavedRequest
    from ciwm.bench.schedule import Turn
    from ciwm.gate_config import VoidConfig
    from ciwm.records import Launch, Side


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
    batches: dict[str, int]
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


@dataclass(frozen=True)
class ProfileErrand:
    """One profiled launch for a node, and how long it may take once its sides are built."""

    workload: str
    side: Side
    left_s: float
    built: tuple[Side, ...]


def packed(asked: SavedRequest) -> Parcel:
    """The parcel of a run; raises EnvironmentFailure where objects of its commits are missing."""
    repository = Repository.open(Path(asked.repository))
    shas = {asked.base.revision.sha, asked.head.revision.sha, asked.workloads_from.sha}
    try:
        wanted = "".join(f"{sha}\n" for sha in sorted(shas)).encode()
        pack = repository.run("pack-objects", "--revs", "--stdout", "-q", stdin=wanted).stdout
    except GitError as error:
        raise EnvironmentFailure(
            f"the commits cannot be sent to the nodes: {error.message}",
            "a partial clone lacks objects: git fetch --refetch --filter=blob:limit=1g",
        ) from error
    shallow = repository.common_directory / "shallow"
    return Parcel(
        repository=asked.repository,
        pack=pack,
        shallow=shallow.read_text() if shallow.is_file() else "",
        settings=asked.settings,
        only=asked.only,
        base=asked.base.revision.model_dump(),
        head=asked.head.revision.model_dump(),
        workloads_from=asked.workloads_from.model_dump(),
    )


def unpacked(parcel: Parcel) -> Repository:
    """The commits of a parcel in a repository of this node's cache, shared by its tasks."""
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
