"""Frozen models of every file ciwm writes.

Each name is loaded when it is first asked for: a model costs a millisecond to make, and a command
that prints one record need not make the fifty others.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ciwm.records.base import Record, RecordFile, parse_record, read_part, read_record
    from ciwm.records.build import BuildRecord, Revision
    from ciwm.records.bump import BumpReport, Stage
    from ciwm.records.calibration import Calibration, SeriesCalibration, WayOut
    from ciwm.records.environment import Accelerator, Difference, Environment
    from ciwm.records.factorial import Attribution, FactorialRun
    from ciwm.records.files import FILES
    from ciwm.records.manifest import Manifest
    from ciwm.records.opmap import WorkloadMap
    from ciwm.records.opmap_diff import MapDiff
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

_MODULES = {
    "base": ("Record", "RecordFile", "parse_record", "read_part", "read_record"),
    "build": ("BuildRecord", "Revision"),
    "bump": ("BumpReport", "Stage"),
    "calibration": ("Calibration", "SeriesCalibration", "WayOut"),
    "environment": ("Accelerator", "Difference", "Environment"),
    "factorial": ("Attribution", "FactorialRun"),
    "files": ("FILES",),
    "manifest": ("Manifest",),
    "opmap": ("WorkloadMap",),
    "opmap_diff": ("MapDiff",),
    "run": ("SIDES", "Arm", "Launch", "Plan", "Run", "Samples", "Series", "Side"),
    "sync": ("SyncReport",),
    "telemetry": ("HostTelemetry", "Telemetry"),
    "trust": ("Trust",),
    "verdict": (
        "SEVERITY",
        "Confirmation",
        "LaunchCount",
        "SeriesVerdict",
        "TailVerdict",
        "Verdict",
        "Waived",
    ),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

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
    "Manifest",
    "MapDiff",
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
    "WorkloadMap",
    "parse_record",
    "read_part",
    "read_record",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
