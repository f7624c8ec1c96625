"""What the sync costs at one side of a bump."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ciwm.records.build import Revision
    from ciwm.records.sync import SyncReport
    from ciwm.records.sync_pulls import Pulls
    from ciwm.story.bump import Bump


def sync_cost(
    bump: Bump,
    upstream: str,
    downstream: Revision,
    culprits_s: float = 0,
    *,
    history_s: float | None = None,
    pulls: bool | Pulls = False,
) -> SyncReport:
    """The sync report of one side of a bump, judged by the policy of the base.

    With `pulls`, GitHub is asked how ours fare upstream; or they are known from the other side.
    """
    from ciwm.policy.sync_gate import judged  # noqa: PLC0415
    from ciwm.upstream.classes import path_classifier  # noqa: PLC0415
    from ciwm.upstream.report import sync_report  # noqa: PLC0415

    report = sync_report(
        bump.repository,
        upstream,
        downstream=downstream.sha,
        config=bump.config.upstream,
        now=datetime.now(timezone.utc),
        culprits_s=culprits_s,
        history_s=history_s,
    )
    if pulls:
        from ciwm.story.sync_pulls import with_pulls, with_same_pulls  # noqa: PLC0415

        where = report, bump.repository, bump.config.upstream
        report = with_pulls(*where) if pulls is True else with_same_pulls(*where, pulls)
    shown = report.upstream.model_copy(update={"ref": bump.upstream_name})
    ours = report.downstream.model_copy(update={"ref": downstream.ref})
    named = report.model_copy(update={"upstream": shown, "downstream": ours})
    policy = bump.base_config.sync
    path_class = path_classifier({"ignored": policy.hygiene.ignore})
    return judged(named, policy, lambda path: path_class(path) == "ignored")
