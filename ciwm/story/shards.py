"""What the jobs of a workflow matrix left: runs and reports, what is missing, what differs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ciwm.bench.merging import LABEL_THEM, Part
from ciwm.errors import CiwmError, EnvironmentFailure, UsageError
from ciwm.records import SIDES, BumpReport, Run, read_record
from ciwm.records.bump import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ciwm.records import Revision, Side

PREFIX = "shard-"  # of an artifact, and of the folder it is unpacked to
_RUNS = ("run.json", "run/run.json")  # in the folders of `ciwm bench` and of `ciwm ci`


@dataclass(frozen=True)
class ShardFiles:
    """What one job of the matrix left: its run, its report, or why there is none."""

    part: Part
    report: BumpReport | None = None

    @property
    def named(self) -> str:
        """The shard, in a sentence."""
        return f"shard {self.part.label}" if self.part.label else "a shard without a label"


def shard_files(path: Path, label: str | None = None) -> ShardFiles:
    """The files of a shard at a path: a run record, or the folder of a bench or of a CI job.

    Its label is the one given, else that of its run, else by its folder's name (`shard-LABEL`).
    What cannot be read makes it a missing one; raises EnvironmentFailure where it has no label.
    """
    by_folder = path.name.removeprefix(PREFIX) if path.name.startswith(PREFIX) else None
    name = label if label is not None else by_folder
    try:
        run, report = _read(path)
    except CiwmError as error:
        if name is None:
            raise EnvironmentFailure(f"a shard is missing: {error.message}", LABEL_THEM) from error
        return ShardFiles(Part(name, None, error.message))
    if run is not None:
        name = run.plan.shard if label is None else label
        if not (run.plan.family or run.plan.gone):
            return ShardFiles(Part(name, None, "its run planned no series"), report)
        return ShardFiles(Part(name, run), report)
    return ShardFiles(Part(name or "", None, _why_no_run(report)), report)


def _why_no_run(report: BumpReport | None) -> str:
    if report is not None and report.run_file is not None:
        return f"its job measured, and {report.run_file} is not with its report"
    stages = report.stages if report is not None else ()
    why = next((stage.message for stage in stages if stage.status == "failed"), "")
    return why or "its job measured nothing"


def _read(path: Path) -> tuple[Run | None, BumpReport | None]:
    if not path.exists():
        raise UsageError(f"there is no {path}")
    if not path.is_dir():
        return read_record(path, Run), None
    file = next((path / name for name in _RUNS if (path / name).is_file()), None)
    told = path / "report.json"
    report = read_record(told, BumpReport) if told.is_file() else None
    if file is None and report is None:
        raise UsageError(f"{path} holds neither run.json nor report.json")
    return read_record(file, Run) if file is not None else None, report


def refuse_unconfirmed(shards: Sequence[ShardFiles]) -> None:
    """Raise UsageError where a job confirmed an earlier run: alone, its own proves less."""
    for shard in shards:
        run, verdict = shard.part.run, shard.report.verdict if shard.report is not None else None
        if run is not None and verdict is not None and verdict.run != run.id:
            raise UsageError(
                f"{shard.named} confirms the run {verdict.run} of an earlier job, which is "
                "not given",
                "name the merged run of the earlier jobs: ciwm merge --confirms RUN",
            )


def missing_stages(shards: Sequence[ShardFiles]) -> Iterator[Stage]:
    """A shard without a run, where any job measured; or without so much as a report."""
    some_run = any(map(_measured, shards))
    for shard in shards:
        if shard.part.run is None and (some_run or shard.report is None):
            message = f"{shard.named} is missing: {shard.part.missing}"
            yield Stage(name="bench", status="failed", duration_s=0, message=message)


def _measured(shard: ShardFiles) -> bool:
    """Whether its job measured, be what it measured here or lost."""
    told = shard.report is not None and shard.report.run_file is not None
    return shard.part.run is not None or told


def unreported(shards: Sequence[ShardFiles]) -> Iterator[str]:
    """The shards with a run alone, a line each: the job of one may have died after measuring."""
    for shard in shards:
        if shard.part.run is not None and shard.report is None:
            yield f"{shard.named} left a run and no report: how its other stages ended is unknown"


def refuse_unlike(shards: Sequence[ShardFiles]) -> None:
    """Raise UsageError where what the jobs left is not all of the same revisions."""
    known: dict[str, str] = {}
    for shard in shards:
        for side, revision in _revisions(shard):
            first = known.setdefault(side, revision.sha)
            if first != revision.sha:
                raise UsageError(
                    f"{side} is {first[:12]} in one shard and {revision.sha[:12]} in {shard.named}",
                    "shards of one matrix measure the same revisions",
                )


def _revisions(shard: ShardFiles) -> Iterator[tuple[Side, Revision]]:
    """Base and head by the report of a job, and by its run."""
    report, run = shard.report, shard.part.run
    for side in SIDES:
        told = getattr(report, side, None)
        if told is not None:
            yield side, told
        if run is not None:
            yield side, run.arm(side).revision


def environments(run: Run) -> dict[str, Any]:
    """The fields of a report for the machine that a run was on, or those of its shards."""
    machines = run.machines()
    if len(machines) > 1:
        return {"environment_by_shard": machines}
    return {"environment": machines[0].environment}
