"""Conflict markers that a merge left in what is carried."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ciwm.errors import GitError
from ciwm.records.sync_gate import Marker
from ciwm.upstream.debt import net_changes
from ciwm.upstream.gaps import Trio, without_paths
from ciwm.upstream.line_diffs import net_diff
from ciwm.upstream.names import readable_path

if TYPE_CHECKING:
    from ciwm.git import Repository
    from ciwm.records.sync import SyncReport
    from ciwm.upstream.line_diffs import Diff
    from ciwm.upstream.measure import Measured

LISTED = 1_000
LENGTH = 80
# `=======` alone underlines headings; the other three stand for themselves
_MARKER = re.compile(rb"(?:<{7}|>{7}|\|{7})(?: .*)?\r?")


def carried_diff(repository: Repository, measured: Measured) -> Diff:
    """The lines of the net difference, without the files whose contents are not here."""
    pair, gaps = measured.pair, measured.contents.gaps
    trio = Trio(measured.merge_bases[0], pair.downstream, pair.upstream)
    if gaps.paths:
        trio = without_paths(repository, trio, gaps.paths)
    changes = net_changes(repository, trio.base, trio.ours)
    return net_diff(repository, trio.base, trio.ours, changes)


def with_markers(repository: Repository, measured: Measured, report: SyncReport) -> SyncReport:
    """The report with the markers in lines that the downstream added."""
    try:
        diff = carried_diff(repository, measured)
    except GitError as error:
        note = f"conflict markers could not be looked for: {error.message}"
        return report.model_copy(update={"notes": (*report.notes, note)})
    found = [
        Marker(
            path=readable_path(path),
            line=number,
            text=line[:LENGTH].decode("utf-8", "backslashreplace").rstrip(),
        )
        for path, lines in diff.items()
        for number, line in zip(lines.added_at, lines.added, strict=True)
        if _MARKER.fullmatch(line)
    ]
    return report.model_copy(update={"markers": tuple(found[:LISTED])})
