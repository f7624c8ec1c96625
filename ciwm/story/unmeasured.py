"""The report of an event for which nothing is measured; it is posted like any other."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from ciwm import __version__
from ciwm.errors import OK
from ciwm.records.bump import BumpReport, Stage

if TYPE_CHECKING:
    from ciwm.errors import CiwmError


def could_not_begin(error: CiwmError, event_name: str = "", **known: Any) -> BumpReport:
    """The report of a bump whose revisions or configuration could not be had.

    It is posted like any other, so that a required check is never left pending.
    """
    stage = Stage(
        name="fetch", status="failed", duration_s=0, message=error.message, hint=error.hint
    )
    what = f" for this {event_name}" if event_name else ""
    return BumpReport(
        generated_at=datetime.now(timezone.utc),
        ciwm_version=__version__,
        stages=(stage,),
        conclusion="failure",
        headline=f"Nothing was compared{what}: {error.message}",
        exit_code=error.exit_code,
        **known,
    )


def nothing_to_compare(why: str, **known: Any) -> BumpReport:
    """The report of an event after which there is no commit to judge."""
    return BumpReport(
        generated_at=datetime.now(timezone.utc),
        ciwm_version=__version__,
        stages=(Stage(name="fetch", status="skipped", duration_s=0, message=why),),
        conclusion="neutral",
        headline=f"Nothing to compare: {why}",
        exit_code=OK,
        **known,
    )
