"""What a story tells beside its answer: trends and test coverage; neither decides anything."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from ciwm.errors import CiwmError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.records import Run
    from ciwm.story.story import Story


def add_trends(story: Story) -> None:
    """What each series was before, and which waivers that closes.

    A store that cannot be read costs this and nothing else.
    """
    from ciwm.policy import Waivers  # noqa: PLC0415  each stage loads what it needs
    from ciwm.policy.closing import closings  # noqa: PLC0415
    from ciwm.policy.trend import trends  # noqa: PLC0415

    bump, run, verdict = story.bump, story.run, story.verdict
    if run is None or verdict is None or bump.history is None or story.stop.is_set():
        return
    before: Sequence[Run] = ()
    try:
        before = bump.history(run.head.environment.fingerprint)
    except CiwmError as error:
        story.progress(f"no trend: {error.message}")
    story.trends = trends(before, verdict.series)
    waivers = Waivers(bump.waivers, datetime.now(timezone.utc).date())
    story.closing = closings(waivers, verdict.series, before)


def add_coverage(story: Story) -> None:
    """What tests reach on both sides, where files of it are named."""
    from ciwm.story.coverage_of import coverage_of  # noqa: PLC0415

    if not story.stop.is_set():
        story.coverage = coverage_of(story.bump, story.builds)
