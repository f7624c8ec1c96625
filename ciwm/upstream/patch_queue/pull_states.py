"""What became of the pull requests that patch headers name, asked of GitHub or its cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.github.pull_reader import PullReader
from ciwm.upstream.patch_queue.advice import asked_pulls, with_pull_states
from ciwm.upstream.pulls.cache import PullShelf
from ciwm.upstream.pulls.endings import settled
from ciwm.upstream.pulls.known import known_pulls

if TYPE_CHECKING:
    from ciwm.config import UpstreamConfig
    from ciwm.github import GitHub
    from ciwm.records.sync import SyncReport
    from ciwm.records.sync_patches import PullState


def with_known_states(
    report: SyncReport, config: UpstreamConfig, hub: GitHub | None, api_url: str, why: str
) -> SyncReport:
    """The report with advice that knows them; `hub` is None when GitHub is not to be asked.

    What stays unknown stays so in the advice, and a note says why.
    """
    numbers = asked_pulls(report)
    if not numbers or config.github is None:
        return report
    reader = PullReader(hub, config.github, config.bots) if hub else None
    known = known_pulls(PullShelf(api_url, config.github), reader, numbers, why)
    rule = config.merge_rule
    states: dict[int, PullState] = dict.fromkeys(known.absent, "absent")
    states |= {number: settled(pull, rule, {}).state for number, pull in known.pulls.items()}
    notes = report.notes
    if known.stale:
        notes += (f"pull requests that patches name may be out of date or unknown: {known.stale}",)
    return with_pull_states(report.model_copy(update={"notes": notes}), states)
