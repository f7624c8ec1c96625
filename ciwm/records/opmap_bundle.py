"""MapBundle: maps and manifests to share in one file, under a licence."""

from __future__ import annotations

from ciwm.records.base import RecordFile
from ciwm.records.manifest import Manifest
from ciwm.records.opmap import WorkloadMap


class MapBundle(RecordFile):
    """What somebody gives away: no paths and no logs of theirs are left in it."""

    licence: str
    maps: tuple[WorkloadMap, ...] = ()
    manifests: tuple[Manifest, ...] = ()
