"""What is known of a bump so far, and how each of its stages ended."""

from __future__ import annotations

import time
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ciwm.errors import BugError, CiwmError
from ciwm.records.bump import Stage, StageName, StageStatus

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from ciwm.records.build import BuildRecord
    from ciwm.records.closing import Closing
    from ciwm.records.coverage import Coverage
    from ciwm.records.opmap_diff import MapDiff
    from ciwm.records.package import PackageRecord
    from ciwm.records.run import Run
    from ciwm.records.sync import SyncReport
    from ciwm.records.trend import Trend
    from ciwm.records.verdict import Verdict
    from ciwm.story.bump import Bump


def _unfolded(_title: str) -> AbstractContextManager[None]:
    return nullcontext()


@dataclass
class Story:
    """What is known so far."""

    bump: Bump
    stop: threading.Event
    progress: Callable[[str], None]
    fold: Callable[[str], AbstractContextManager[None]] = _unfolded
    stages: list[Stage] = field(default_factory=list)
    sync: SyncReport | None = None
    sync_base: SyncReport | None = None
    builds: tuple[BuildRecord, ...] = ()
    packages: tuple[PackageRecord, ...] = ()
    run: Run | None = None
    verdict: Verdict | None = None
    coverage: Coverage | None = None
    trends: tuple[Trend, ...] = ()
    map_diff: MapDiff | None = None
    closing: tuple[Closing, ...] = ()
    bug: bool = False  # whether a stage ended in what nobody foresaw
    unsaved: str = ""  # why a record is not on disk

    @contextmanager
    def stage(self, name: StageName) -> Iterator[None]:
        """Run a stage and write down how it ended; a known failure does not leave it."""
        started = time.monotonic()
        try:
            with self.fold(name):
                yield
        except CiwmError as error:
            status: StageStatus = "interrupted" if self.stop.is_set() else "failed"
            self._ended(name, status, started, error.message, error.hint)
            self.progress(
                f"{name} {'was interrupted' if self.stop.is_set() else 'failed'}: {error.message}"
            )
        else:
            cut = _cut_short(self, name) if self.stop.is_set() else ""
            self._ended(name, "interrupted" if cut else "done", started, cut)

    def broke(self, name: StageName, error: CiwmError) -> None:
        """Write down that a stage ended in what nobody foresaw: the rest is told all the same."""
        self.bug = self.bug or isinstance(error, BugError)
        self._ended(name, "failed", time.monotonic(), error.message, error.hint)
        self.progress(f"{name} failed: {error.message}")

    def skip(self, name: StageName, why: str) -> None:
        """Write down that a stage was not needed, and why."""
        self.stages.append(Stage(name=name, status="skipped", duration_s=0, message=why))

    def _ended(
        self,
        name: StageName,
        status: StageStatus,
        started: float,
        message: str = "",
        hint: str = "",
    ) -> None:
        duration_s = round(time.monotonic() - started, 3)
        self.stages.append(
            Stage(name=name, status=status, duration_s=duration_s, message=message, hint=hint)
        )


def _cut_short(story: Story, name: StageName) -> str:
    """What a cancelled job left undone of a stage, in words; empty where the stage is whole."""
    if name == "bench" and story.run is not None and not story.run.complete:
        return story.run.stopped_because or "the job was cancelled while it measured"
    if name == "build" and (len(story.builds) < 2 or story.builds[-1].status == "interrupted"):  # noqa: PLR2004
        return "the job was cancelled while it built"
    return ""
