"""The pull request part of `ciwm sync-report`: whether it is asked for, and what that means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.errors import ENVIRONMENT, OK

if TYPE_CHECKING:
    from ciwm.config import UpstreamConfig
    from ciwm.git import Repository
    from ciwm.records.sync import SyncReport


@dataclass(frozen=True)
class PullsAsked:
    """Whether the section is wanted (None: when configured), and whether GitHub may be asked."""

    wanted: bool | None
    offline: bool

    def added(
        self, report: SyncReport, repository: Repository, config: UpstreamConfig
    ) -> SyncReport:
        """The report with the section, where it is wanted."""
        if not (config.github if self.wanted is None else self.wanted):
            return report
        from ciwm.story.sync_pulls import with_pulls  # noqa: PLC0415

        return with_pulls(report, repository, config, offline=self.offline)

    def exit_code(self, report: SyncReport) -> int:
        """4 when the section was asked for by name and our pull requests are not known."""
        known = report.pulls is not None and report.pulls.read_at is not None
        return ENVIRONMENT if self.wanted and not known else OK


def pulls_notes(report: SyncReport) -> tuple[str, ...]:
    """What the section says about itself."""
    return report.pulls.notes if report.pulls else ()
