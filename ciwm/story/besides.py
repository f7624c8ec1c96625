"""What a story tells beside its answer: trends and test coverage; neither decides anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.errors import CiwmError

if TYPE_CHECKING:
    from ciwm.story.telling import Story


def add_trends(story: Story) -> None:
    """What each series was before; a store that cannot be read costs this and nothing else."""
    from ciwm.policy.trend import trends  # noqa: PLC0415  each stage loads what it needs

    run, verdict = story.run, story.verdict
    if run is None or verdict is None or story.bump.history is None or story.stop.is_set():
        return
    try:
        before = story.bump.history(run.head.environment.fingerprint)
        story.trends = trends(before, verdict.series)
    except CiwmError as error:
        story.progress(f"no trend: {error.message}")


def add_coverage(story: Story) -> None:
    """What tests reach on both sides, where files of it are named."""
    from ciwm.story.coverage_of import coverage_of  # noqa: PLC0415

    if not story.stop.is_set():
        story.coverage = coverage_of(story.bump, story.builds)
