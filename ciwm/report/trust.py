"""Whose word a report is: shown above everything that an untrusted job measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.report.detail import name, words

if TYPE_CHECKING:
    from ciwm.records import BumpReport, Trust


def trust_part(report: BumpReport) -> str:
    """That a fork's code reports unapproved, and that a claim was not confirmed; else empty."""
    trust = report.trust
    if trust is None:
        return ""
    refused = report.conclusion == "failure"
    parts = [_untrusted(trust, refused=refused) if not trust.trusted else "", _contradicted(trust)]
    return "\n\n".join(part for part in parts if part)


def trust_fact(report: BumpReport) -> str:
    """By whose policy a trusted job judged the samples; empty where none did."""
    trust = report.trust
    if trust is None or trust.policy is None:
        return ""
    approved = f", approved by {words(trust.approved_by, 60)}" if trust.approved_by else ""
    return (
        f"Measured by the code of {name(trust.repository or '?')}{approved}; judged again by a "
        f"trusted job from the samples, by the policy of {name(trust.policy)}."
    )


def _untrusted(trust: Trust, *, refused: bool) -> str:
    if refused:
        return (
            f"> ⚠️ **Untrusted code** of {name(trust.repository or '?')} was to be measured: nobody "
            "with write access approved this run, and nothing that it reported is shown."
        )
    return (
        f"> ⚠️ **Reported by untrusted code** of {name(trust.repository or '?')}: nobody with "
        "write access approved this run, and samples can be made up. The check is neutral."
    )


def _contradicted(trust: Trust) -> str:
    if trust.said is None or trust.found is None:
        return ""
    return (
        f"> ⚠️ The report said **{words(trust.said, 20)}**; judged again from its samples by the "
        f"policy of {name(trust.policy or 'the base')} it is **{words(trust.found, 20)}**."
    )
