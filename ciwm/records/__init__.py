"""Frozen models of every file ciwm writes."""

from ciwm.records.base import Record, RecordFile, parse_record, read_record
from ciwm.records.build import BuildRecord, Revision
from ciwm.records.bump import BumpReport, Stage
from ciwm.records.environment import Accelerator, Difference, Environment
from ciwm.records.run import SIDES, Arm, Launch, Plan, Run, Samples, Series, Side, Telemetry
from ciwm.records.sync import SyncReport
from ciwm.records.trust import Trust
from ciwm.records.verdict import SEVERITY, LaunchCount, SeriesVerdict, Verdict

FILES: tuple[type[RecordFile], ...] = (
    Environment,
    BuildRecord,
    Run,
    SyncReport,
    Verdict,
    BumpReport,
)

__all__ = [
    "FILES",
    "SEVERITY",
    "SIDES",
    "Accelerator",
    "Arm",
    "BuildRecord",
    "BumpReport",
    "Difference",
    "Environment",
    "Launch",
    "LaunchCount",
    "Plan",
    "Record",
    "RecordFile",
    "Revision",
    "Run",
    "Samples",
    "Series",
    "SeriesVerdict",
    "Side",
    "Stage",
    "SyncReport",
    "Telemetry",
    "Trust",
    "Verdict",
    "parse_record",
    "read_record",
]
