"""Frozen models of every file ciwm writes."""

from ciwm.records.base import Record, RecordFile, parse_record, read_record
from ciwm.records.build import BuildRecord, Revision
from ciwm.records.bump import BumpReport, Stage
from ciwm.records.calibration import Calibration, SeriesCalibration, WayOut
from ciwm.records.environment import Accelerator, Difference, Environment
from ciwm.records.factorial import Attribution, FactorialRun
from ciwm.records.run import SIDES, Arm, Launch, Plan, Run, Samples, Series, Side
from ciwm.records.sync import SyncReport
from ciwm.records.telemetry import HostTelemetry, Telemetry
from ciwm.records.trust import Trust
from ciwm.records.verdict import (
    SEVERITY,
    Confirmation,
    LaunchCount,
    SeriesVerdict,
    TailVerdict,
    Verdict,
    Waived,
)

FILES: tuple[type[RecordFile], ...] = (
    Environment,
    BuildRecord,
    Run,
    SyncReport,
    Verdict,
    BumpReport,
    Calibration,
    FactorialRun,
    Attribution,
)

__all__ = [
    "FILES",
    "SEVERITY",
    "SIDES",
    "Accelerator",
    "Arm",
    "Attribution",
    "BuildRecord",
    "BumpReport",
    "Calibration",
    "Confirmation",
    "Difference",
    "Environment",
    "FactorialRun",
    "HostTelemetry",
    "Launch",
    "LaunchCount",
    "Plan",
    "Record",
    "RecordFile",
    "Revision",
    "Run",
    "Samples",
    "Series",
    "SeriesCalibration",
    "SeriesVerdict",
    "Side",
    "Stage",
    "SyncReport",
    "TailVerdict",
    "Telemetry",
    "Trust",
    "Verdict",
    "Waived",
    "WayOut",
    "parse_record",
    "read_record",
]
