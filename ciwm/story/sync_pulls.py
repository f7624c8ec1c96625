"""The pull request part of a sync report: ours upstream, incoming ones, those that patches name."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import TYPE_CHECKING

from ciwm.errors import GitError, UsageError

if TYPE_CHECKING:
    from ciwm.config import UpstreamConfig
    from ciwm.git import Repository
    from ciwm.github import GitHub
    from ciwm.records.sync import SyncReport
    from ciwm.records.sync_pulls import Pulls


def with_pulls(
    report: SyncReport, repository: Repository, config: UpstreamConfig, *, offline: bool = False
) -> SyncReport:
    """The report with the section, by the token of the environment; never a failure.

    Without a token, or `offline`, it is from the cache, and says so.
    """
    from ciwm.records.sync_pulls import Pulls  # noqa: PLC0415

    hub, why = _connected(offline=offline)
    with hub or nullcontext():
        try:
            own = repository.from_top().without_fetching()
            pulls = _section(report, own, config, hub, why)
        except (GitError, UsageError) as error:  # what was measured before stays
            pulls = Pulls(notes=(f"pull requests could not be looked at: {error.message}",))
        told = report.model_copy(update={"pulls": pulls})
        if report.patches is None:
            return told
        from ciwm.upstream.patch_queue.pull_states import with_known_states  # noqa: PLC0415

        return with_known_states(told, config, hub, _api_url(hub), why)


def with_same_pulls(
    report: SyncReport, repository: Repository, config: UpstreamConfig, ours: Pulls
) -> SyncReport:
    """The report with how ours fare as another one has it, and its own incoming ones.

    GitHub is not asked.
    """
    own = with_pulls(report, repository, config, offline=True).pulls
    if own is None:
        return report
    coming = {"incoming": own.incoming, "incoming_count": own.incoming_count}
    return report.model_copy(update={"pulls": ours.model_copy(update=coming)})


def _section(
    report: SyncReport, own: Repository, config: UpstreamConfig, hub: GitHub | None, why: str
) -> Pulls:
    from ciwm.upstream.pulls.incoming import merge_of  # noqa: PLC0415
    from ciwm.upstream.pulls.section import PullsQuestion, pulls_section  # noqa: PLC0415

    return pulls_section(
        PullsQuestion(
            repository=_upstreams_own(report, own, config),
            merge=merge_of(report),
            config=config,
            hub=hub,
            api_url=_api_url(hub),
            now=report.generated_at,
            why=why,
        )
    )


def _connected(*, offline: bool) -> tuple[GitHub | None, str]:
    """The connection, or why there is none."""
    from ciwm.github.api import connect_from  # noqa: PLC0415

    if offline:
        return None, "GitHub was not to be asked (--offline)"
    try:
        hub = connect_from(os.environ)
    except UsageError as error:
        return None, error.message
    return hub, "" if hub else "there is no token (set CIWM_TOKEN or GITHUB_TOKEN)"


def _upstreams_own(report: SyncReport, own: Repository, config: UpstreamConfig) -> Repository:
    """The repository that upstream's commits are in; a plugin's upstream may be a mere folder."""
    if report.shape.style == "fork":
        return own
    if report.shape.style == "plugin":
        from ciwm.upstream.sources import find_source  # noqa: PLC0415

        return find_source(own, config, own.root or own.common_directory).repository or own
    from ciwm.upstream.patch_queue.ground import upstream_clone  # noqa: PLC0415

    return upstream_clone(own, config)


def _api_url(hub: GitHub | None) -> str:
    """The address whose answers the cache holds."""
    from ciwm.github.api import API_URL  # noqa: PLC0415

    return hub.api_url if hub else os.environ.get("GITHUB_API_URL") or API_URL
