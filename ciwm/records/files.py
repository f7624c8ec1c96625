"""The records that stand alone in a file, each with a schema version."""

from __future__ import annotations

from ciwm.records.base import RecordFile
from ciwm.records.build import BuildRecord
from ciwm.records.bump import BumpReport
from ciwm.records.calibration import Calibration
from ciwm.records.environment import Environment
from ciwm.records.factorial import Attribution, FactorialRun
from ciwm.records.manifest import Manifest
from ciwm.records.opmap import WorkloadMap
from ciwm.records.opmap_diff import MapDiff
from ciwm.records.pipeline import PipelineFigures
from ciwm.records.probe import Probes
from ciwm.records.run import Run
from ciwm.records.sync import SyncReport
from ciwm.records.verdict import Verdict

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
    WorkloadMap,
    Manifest,
    MapDiff,
    Probes,
    PipelineFigures,
)
