"""Remarks beside the change: a line that does not compile, uses of upstream that will break."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from ciwm.error_line import error_line, error_place
from ciwm.github import Annotation
from ciwm.report.bump_parts import sided_builds
from ciwm.report.detail import clipped
from ciwm.report.escape import visible

if TYPE_CHECKING:
    from ciwm.records import BuildRecord, BumpReport
    from ciwm.records.sync_drift import Finding

_LONGEST = 400
_DRIFTS = 50
_HIGHEST = 10_000_000  # of line numbers


def remarks_of(report: BumpReport) -> tuple[Annotation, ...]:
    """Everything that is remarked on lines of the change."""
    return (*build_remarks(report), *drift_remarks(report))


def drift_remarks(report: BumpReport) -> tuple[Annotation, ...]:
    """Uses of upstream's API that came with head and that the next pin breaks.

    Those that base has too are told in the comment; beside the change they would be noise.
    """
    head, base = report.sync, report.sync_base
    if head is None or base is None:
        return ()
    known = {_use(finding) for finding in base.drift}
    new = [one for one in head.drift if one.severity == "hard" and _use(one) not in known]
    found = [remark for one in new[:_DRIFTS] if (remark := _drift_remark(one))]
    return tuple(found)


def _use(finding: Finding) -> tuple[str, str, str]:
    """A finding without its line, which any change above it moves."""
    return finding.kind, finding.symbol, finding.use.rpartition(":")[0]


def _drift_remark(finding: Finding) -> Annotation | None:
    path, _, line = finding.use.rpartition(":")
    inside = _inside(path, "") if line.isdecimal() and 0 < int(line) <= _HIGHEST else None
    if inside is None:
        return None
    told = ": ".join(part for part in (finding.symbol, finding.detail or finding.kind) if part)
    mend = f"\n{finding.mend}" if finding.mend else ""
    return Annotation(
        path=inside,
        start_line=int(line),
        end_line=int(line),
        level="warning",
        message=clipped(visible(f"{told}{mend}", keep="\n"), _LONGEST),
        title="the next upstream pin breaks this",
    )


def build_remarks(report: BumpReport) -> tuple[Annotation, ...]:
    """The first error of a head that does not build, where its log names a file of ours."""
    failed = [build for side, build in sided_builds(report) if side == "head" and not build.ok]
    return tuple(remark for build in failed if (remark := _remark(build)))


def _remark(build: BuildRecord) -> Annotation | None:
    place = error_place(build.log_tail)
    if place is None or not 0 < place.line <= _HIGHEST:
        return None
    path = _inside(place.path, build.directory)
    if path is None:
        return None
    return Annotation(
        path=path,
        start_line=place.line,
        end_line=place.line,
        level="failure",
        message=clipped(visible(error_line(build.log_tail)), _LONGEST),
        title="head does not build",
    )


def _inside(path: str, directory: str) -> str | None:
    """The path in the repository; None for a file of the system or of a dependency."""
    inside = path.removeprefix(f"{directory.rstrip('/')}/") if directory else path
    parts = PurePosixPath(inside).parts
    outside = inside.startswith("/") or ".." in parts or "site-packages" in parts
    plain = inside.isprintable() and len(inside) <= _LONGEST
    return str(PurePosixPath(inside)) if parts and plain and not outside else None
