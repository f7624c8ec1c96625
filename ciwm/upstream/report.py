"""The sync report, by the style of the downstream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.errors import UsageError
from ciwm.records.sync import Downstream, Upstream
from ciwm.upstream.classes import path_classifier
from ciwm.upstream.dates import committed_at
from ciwm.upstream.fork import Effort, Told, fork_report
from ciwm.upstream.names import readable_text
from ciwm.upstream.pair import UNRELATED_HINT, find_pair
from ciwm.upstream.quiet import quiet
from ciwm.upstream.setting import repository_name
from ciwm.upstream.shape import find_ground

if TYPE_CHECKING:
    from datetime import datetime

    from ciwm.config import UpstreamConfig
    from ciwm.git import Repository
    from ciwm.records.sync import SyncReport
    from ciwm.upstream.pair import Pair
    from ciwm.upstream.shape import Ground

_KINDS = {"fork": "fork", "plugin": "plugin", "patches": "patch queue"}


def sync_report(
    repository: Repository,
    upstream: str | None,
    *,
    downstream: str = "HEAD",
    config: UpstreamConfig,
    now: datetime,
    culprits_s: float = 0,
    history_s: float | None = None,
    states: bool = True,
) -> SyncReport:
    """What `downstream` carries and what merging `upstream` would cost.

    With `culprits_s`, about that many seconds more go into finding the upstream commits that bring
    the conflicts; with `history_s`, even 0, past syncs are told, and about that many seconds go
    into replaying those that no earlier report has. Without `states`, carried commits are only
    listed: whether each is likely upstream, dead or live costs as much as all the rest.

    Reads only: no ref, index, work tree, configuration or object store changes, and nothing is
    fetched. Raises UsageError for revisions that cannot be compared, GitError for a shallow clone
    or a history that cannot be read; missing file contents make the report partial instead.
    """
    offline = quiet(repository.from_top().without_fetching())
    if config.style in ("plugin", "patches") or config.patches is not None or config.lanes:
        report = _pinned_report(
            offline,
            upstream,
            downstream=downstream,
            config=config,
            now=now,
            culprits_s=culprits_s,
        )
        if report is not None:
            return report
    path_class = path_classifier(config.classes)
    pair = find_pair(offline, upstream, downstream, config)
    ground = find_ground(offline, pair, config)
    if ground.style != "fork":
        raise _only_forks(ground)
    upstream_revision, downstream_revision = _revisions(offline, pair)
    told = Told(repository_name(offline), upstream_revision, downstream_revision, now, path_class)
    return fork_report(offline, ground, told, Effort(culprits_s, history_s, config.url, states))


def _pinned_report(
    offline: Repository,
    upstream: str | None,
    *,
    downstream: str,
    config: UpstreamConfig,
    now: datetime,
    culprits_s: float,
) -> SyncReport | None:
    """The report of a patch queue or plugin, whose modules a fork need not wait for."""
    from ciwm.upstream.patch_queue.ground import is_patch_queue  # noqa: PLC0415
    from ciwm.upstream.patch_queue.report import patches_report  # noqa: PLC0415
    from ciwm.upstream.plugin import is_plugin, plugin_report  # noqa: PLC0415

    if is_patch_queue(config):
        return patches_report(
            offline,
            upstream,
            downstream=downstream,
            config=config,
            now=now,
            culprits_s=culprits_s,
        )
    if is_plugin(config):
        return plugin_report(offline, upstream, downstream=downstream, config=config, now=now)
    return None


def _only_forks(ground: Ground) -> UsageError:
    because = "; ".join(readable_text(line) for line in ground.evidence)
    return UsageError(
        f"{ground.pair.downstream_ref} is a {_KINDS[ground.style]} ({because}): "
        "[upstream] does not say how to report on it",
        UNRELATED_HINT,
    )


def _revisions(repository: Repository, pair: Pair) -> tuple[Upstream, Downstream]:
    dates = committed_at(repository, (pair.upstream, pair.downstream))
    upstream, downstream = pair.upstream, pair.downstream
    return (
        Upstream(ref=readable_text(pair.upstream_ref), sha=upstream, committed_at=dates[upstream]),
        Downstream(
            ref=readable_text(pair.downstream_ref), sha=downstream, committed_at=dates[downstream]
        ),
    )
