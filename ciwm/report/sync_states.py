"""What became of carried commits: how many, and which of them look as if they could be dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from ciwm.report.detail import Detail, folded, more, shortened, table, words
from ciwm.report.escape import code
from ciwm.report.figures import plural
from ciwm.report.text_table import show_table

if TYPE_CHECKING:
    from rich.console import Console

    from ciwm.records.sync import Carried, CarriedCommit, SyncReport

TITLE = "Carried commits that a rebase may drop"
MEANING = (
    "live: still carried, or rewritten by a merge or a later commit; likely upstream: evidence, no "
    "proof; dead: taken back or overwritten, no line or word of it is left. Look before you drop: "
    "only `upstream` (the same patch) is proved."
)
SHOWN = 12
_NAMES = {"likely_upstreamed": "likely upstream", "dead": "dead", "upstreamed": "upstream"}


def state_facts(report: SyncReport) -> list[tuple[str, str]]:
    """How many commits are in each state; empty where that is not known."""
    states = report.carried.commits_by_state if report.carried else None
    if states is None:
        return []
    likely, dead, live = states.likely_upstreamed, states.dead, states.live
    told = f"{live:,} live, {likely:,} likely upstream by now, {dead:,} dead (nothing left of them)"
    return [("state of commits", told)]


def droppable(carried: Carried) -> list[CarriedCommit]:
    """Listed commits that upstream has or that left nothing, the most certain first."""
    order = ("likely_upstreamed", "dead")
    found = [commit for commit in carried.list if commit.state in order]
    found.sort(key=lambda commit: order.index(commit.state or ""))
    return [*carried.upstreamed, *found]


def droppable_number(carried: Carried) -> int:
    """How many there are, listed or not."""
    states = carried.commits_by_state
    return states.upstreamed + states.likely_upstreamed + states.dead if states else 0


def state_section(carried: Carried | None, detail: Detail) -> str:
    """Markdown, folded; empty when there is nothing to drop or no room for a list."""
    if carried is None or not (found := droppable(carried)) or not detail.items:
        return ""
    shown, number = found[: detail.items], droppable_number(carried)
    rows = [
        (
            code(commit.sha[:12]),
            _NAMES.get(commit.state or "", ""),
            words(commit.subject, 100),
            words(commit.evidence, 120),
        )
        for commit in shown
    ]
    return folded(
        f"{TITLE}: {number:,}",
        MEANING,
        table(("Commit", "State", "Subject", "Evidence"), rows),
        more(len(shown), number, "commits").strip(),
    )


def show_states(carried: Carried | None, console: Console) -> None:
    """Print the first of them; nothing when there is none."""
    if carried is None or not (found := droppable(carried)):
        return
    shown, number = found[:SHOWN], droppable_number(carried)
    rows = [
        (
            commit.sha[:12],
            _NAMES.get(commit.state or "", ""),
            f"{shortened(commit.subject, 120)}: {commit.evidence}",
        )
        for commit in shown
    ]
    show_table(TITLE, ("commit", "state", "subject and evidence"), rows, console)
    console.print(Text(MEANING.replace("`", ""), style="dim"))
    if number > len(shown):
        left = plural(number - len(shown), "more commit")
        console.print(Text(f"and {left} (--json has them)", style="dim"))
