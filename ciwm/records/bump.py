"""BumpReport: one bump, one story; what the comment, the check and the exit code are made of."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime

from ciwm.records.base import Record, RecordFile
from ciwm.records.build import BuildRecord, Revision
from ciwm.records.closing import Closing
from ciwm.records.coverage import Coverage
from ciwm.records.environment import Environment, ShardEnvironment
from ciwm.records.opmap_diff import MapDiff
from ciwm.records.package import PackageRecord
from ciwm.records.sync import SyncReport
from ciwm.records.trend import Trend
from ciwm.records.trust import Trust
from ciwm.records.verdict import Verdict

StageName = Literal["fetch", "sync", "build", "package", "map", "bench", "gate", "store"]
StageStatus = Literal["done", "skipped", "failed", "interrupted"]
NOT_ASKED = "not asked for"  # the message of a stage left out on request
CheckConclusion = Literal["success", "failure", "neutral"]


class Stage(Record):
    """One stage of the story: what became of it, how long it took, and the mend if it failed."""

    name: StageName
    status: StageStatus
    duration_s: float
    message: str = ""
    hint: str = ""


class BumpReport(RecordFile):
    """The whole story of base -> head; `exit_code` is what `ciwm ci` ends with.

    `sync` is the sync cost at head (what is left after the bump), `sync_base` the one at base
    (what the bump pays for). `trust` is set by a trusted job that posts an untrusted one's report.
    `closing` are waivers of the base that should go. With `warnings` it is no success. Where the
    shards of a matrix found different coverage, `coverage` is None and `coverage_by_shard` has it;
    so it is with the `environment` of shards on different machines.
    """

    generated_at: AwareDatetime
    ciwm_version: str
    repository: str
    base: Revision | None = None
    head: Revision | None = None
    pull_request: int | None = None
    check_sha: str | None = None
    run_url: str | None = None
    stages: tuple[Stage, ...] = ()
    sync: SyncReport | None = None
    sync_base: SyncReport | None = None
    builds: tuple[BuildRecord, ...] = ()
    packages: tuple[PackageRecord, ...] = ()
    environment: Environment | None = None
    environment_by_shard: tuple[ShardEnvironment, ...] = ()
    run_file: str | None = None
    run_summary: str | None = None
    verdict: Verdict | None = None
    map_diff: MapDiff | None = None
    conclusion: CheckConclusion
    headline: str
    exit_code: int
    trust: Trust | None = None
    coverage: Coverage | None = None
    coverage_by_shard: tuple[Coverage, ...] = ()
    trends: tuple[Trend, ...] = ()
    closing: tuple[Closing, ...] = ()
    warnings: tuple[str, ...] = ()
