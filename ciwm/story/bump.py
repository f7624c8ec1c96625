"""What a story is about: two revisions, their configurations, and where the records go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ciwm.bench.place import NO_MATRIX, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ciwm.config import Config
    from ciwm.git import Repository
    from ciwm.records.build import Revision
    from ciwm.records.run import Run
    from ciwm.waivers import Waiver

Part = Literal["sync", "bench", "map"]


@dataclass(frozen=True)
class Bump:
    """What is compared, by which configuration, and where the records go.

    `base_config` builds the base and holds the gate's policy; `config` builds the head and
    declares the workloads: a pull request may not loosen its own gate. `keep` puts the run into
    the store and says where; None where the job is not trusted to. `waivers` are base's too.
    `only` one part may be asked for: what upstream costs, the builds and their benchmark, or
    the builds and their workload map.
    `history` gives the kept runs of a machine (its fingerprint) on the way to base.
    Coverage files that are named here take the place of those that [coverage] names.
    `first` is the run of an earlier job, which this one's is to confirm. `place` is this job's in a
    matrix whose runs are merged. With `warnings` the check is neutral at best.
    """

    repository: Repository
    base: Revision
    head: Revision
    config: Config
    base_config: Config
    upstream: str | None
    upstream_name: str
    directory: Path
    seed: int
    name: str
    pull_request: int | None = None
    check_sha: str | None = None
    run_url: str | None = None
    keep: Callable[[Run], str] | None = None
    waivers: tuple[Waiver, ...] = ()
    no_upstream: str = ""
    only: Part | None = None
    history: Callable[[str], Sequence[Run]] | None = None
    coverage_base: tuple[Path, ...] = ()
    coverage_head: tuple[Path, ...] = ()
    first: Run | None = None
    place: Place = NO_MATRIX
    warnings: tuple[str, ...] = ()
