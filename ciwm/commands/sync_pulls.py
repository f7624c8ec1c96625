"""The pull request part of `ciwm sync-report`: whether it is asked for, and of whom."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.errors import ENVIRONMENT, OK, GitError, UsageError

if TYPE_CHECKING:
    from ciwm.config import UpstreamConfig
    from ciwm.git import Repository
    from ciwm.github import GitHub
    from ciwm.records.sync import SyncReport
    from ciwm.records.sync_pulls import Pulls


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
        from ciwm.records.sync_pulls import Pulls  # noqa: PLC0415

        try:
            pulls = self._section(report, repository.from_top().without_fetching(), config)
        except GitError as error:  # what was measured before stays
            pulls = Pulls(notes=(f"pull requests could not be looked at: {error.message}",))
        return report.model_copy(update={"pulls": pulls})

    def _section(self, report: SyncReport, own: Repository, config: UpstreamConfig) -> Pulls:
        from ciwm.github.api import API_URL  # noqa: PLC0415
        from ciwm.upstream.patch_queue.ground import upstream_clone  # noqa: PLC0415
        from ciwm.upstream.pulls.incoming import merge_of  # noqa: PLC0415
        from ciwm.upstream.pulls.section import PullsQuestion, pulls_section  # noqa: PLC0415

        hub, why = self._connected()
        question = PullsQuestion(
            repository=own if report.shape.style == "fork" else upstream_clone(own, config),
            merge=merge_of(report),
            config=config,
            hub=hub,
            api_url=hub.api_url if hub else os.environ.get("GITHUB_API_URL") or API_URL,
            now=report.generated_at,
            why=why,
        )
        with hub or nullcontext():
            return pulls_section(question)

    def exit_code(self, report: SyncReport) -> int:
        """4 when the section was asked for by name and our pull requests are not known."""
        known = report.pulls is not None and report.pulls.read_at is not None
        return ENVIRONMENT if self.wanted and not known else OK

    def _connected(self) -> tuple[GitHub | None, str]:
        """The connection, or why there is none."""
        from ciwm.github.api import connect_from  # noqa: PLC0415

        if self.offline:
            return None, "GitHub was not to be asked (--offline)"
        try:
            hub = connect_from(os.environ)
        except UsageError as error:
            return None, error.message
        return hub, "" if hub else "there is no token (set CIWM_TOKEN or GITHUB_TOKEN)"


def pulls_notes(report: SyncReport) -> tuple[str, ...]:
    """What the section says about itself."""
    return report.pulls.notes if report.pulls else ()
