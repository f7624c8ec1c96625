"""What to do with each patch, from what is known of it: pure, so that PR states can come later."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ciwm.records.sync import SyncReport
    from ciwm.records.sync_patches import Advice, PullState, QueuedPatch

    States = Mapping[int, PullState]


def advised(patch: QueuedPatch, states: States) -> QueuedPatch:
    """The patch with advice and its reason; `states` are of pull requests asked for."""
    advice, reason = _advice(patch, states)
    return patch.model_copy(update={"advice": advice, "reason": reason})


def _advice(patch: QueuedPatch, states: States) -> tuple[Advice, str]:
    if patch.fits == "upstream":
        by = f" as {patch.upstream_commit[:12]}" if patch.upstream_commit else ""
        return "delete", f"upstream has it{by}: delete this patch"
    if patch.landed:
        merged = f"PR #{patch.landed[0]} is merged, and the target has it"
        return "delete", _compare_first(patch, merged)
    if patch.upstream_commit is not None:
        return "delete", _compare_first(patch, patch.evidence)
    told = _by_pulls(patch, states)
    if patch.claims.refused and (told is None or told[0] == "unknown"):
        told = "yours", f"yours for ever ({patch.claims.refused})"
    advice, reason = told or ("keep", "")
    if patch.fits != "fails":
        return advice, reason
    return "mend", f"mend it; {reason}" if reason else "mend it"


def _compare_first(patch: QueuedPatch, because: str) -> str:
    how = "does not apply any more" if patch.fits == "fails" else "still applies"
    return f"{because}: delete this patch (upstream's differs, as it {how}: compare first)"


def _by_pulls(patch: QueuedPatch, states: States) -> tuple[Advice, str] | None:
    """Merged before open before closed: one that may still land is worth waiting for."""
    pulls = patch.claims.pulls
    if not pulls:
        return None
    by_state = {states[number]: number for number in reversed(pulls) if number in states}
    if "merged" in by_state:
        number = by_state["merged"]
        return (
            "wait",
            f"PR #{number} is merged, but not seen in the target: it goes at a later bump",
        )
    if "open" in by_state:
        return "wait", f"PR #{by_state['open']} is open"
    if "closed" in by_state and len(by_state) == 1 and all(number in states for number in pulls):
        return "yours", f"PR #{by_state['closed']} was closed: yours for ever"
    named = ", ".join(f"#{number}" for number in pulls if number not in states)
    return "unknown", f"state of PR {named} unknown: needs a token"


def with_pull_states(report: SyncReport, states: States) -> SyncReport:
    """The report with advice that knows these pull requests' states."""
    if report.patches is None:
        return report
    patches = tuple(advised(patch, states) for patch in report.patches.patches)
    queue = report.patches.model_copy(update={"patches": patches})
    return report.model_copy(update={"patches": queue})


def asked_pulls(report: SyncReport) -> tuple[int, ...]:
    """The pull requests whose states would make the advice better."""
    if report.patches is None:
        return ()
    unsure = (p for p in report.patches.patches if p.fits != "upstream" and not p.landed)
    return tuple(dict.fromkeys(number for patch in unsure for number in patch.claims.pulls))
