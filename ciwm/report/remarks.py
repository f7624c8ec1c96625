"""Remarks beside the change: the line of head's sources that does not compile."""

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

_LONGEST = 400
_HIGHEST = 10_000_000  # of line numbers


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
    inside = path.removeprefix(f"{directory.rstrip('/')}/")
    parts = PurePosixPath(inside).parts
    outside = inside.startswith("/") or ".." in parts or "site-packages" in parts
    plain = inside.isprintable() and len(inside) <= _LONGEST
    return str(PurePosixPath(inside)) if parts and plain and not outside else None
