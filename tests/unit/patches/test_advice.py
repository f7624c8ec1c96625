"""What to do with a patch, from how it fits and what became of its pull requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ciwm.records.sync_patches import PatchClaims, QueuedPatch
from ciwm.upstream.patch_queue.advice import advised

if TYPE_CHECKING:
    from ciwm.records.sync_patches import PullState


def patch(fits: str = "applies", **fields: Any) -> QueuedPatch:
    return QueuedPatch.model_validate({"name": "p", "subject": "s", "fits": fits, **fields})


def told(found: QueuedPatch, **states: PullState) -> tuple[str, str]:
    """Advice and reason; `p7="open"` is the state of pull request 7."""
    by_number = {int(name[1:]): state for name, state in states.items()}
    done = advised(found, by_number)
    return done.advice, done.reason


SEVEN = PatchClaims(pulls=(7,))


def test_a_patch_that_upstream_has_can_go() -> None:
    assert told(patch("upstream", upstream_commit="a" * 40)) == (
        "delete",
        "upstream has it as aaaaaaaaaaaa: delete this patch",
    )
    assert told(patch("upstream"))[1] == "upstream has it: delete this patch"


def test_a_merged_pull_request_that_the_target_has_asks_for_a_comparison_first() -> None:
    advice, reason = told(patch("applies", claims=SEVEN, landed=(7,)))
    assert advice == "delete"
    assert reason.startswith("PR #7 is merged, and the target has it: delete this patch")
    assert "still applies: compare first" in reason
    assert "does not apply any more" in told(patch("fails", claims=SEVEN, landed=(7,)))[1]


def test_a_header_whose_commit_the_target_has_is_believed_with_a_comparison() -> None:
    found = patch(upstream_commit="b" * 40, evidence="its header says so")
    assert told(found)[0] == "delete"
    assert told(found)[1].startswith("its header says so: delete this patch")


@pytest.mark.parametrize(
    ("state", "advice", "words"),
    [
        ("merged", "wait", "PR #7 is merged, but not seen in the target: it goes at a later bump"),
        ("open", "wait", "PR #7 is open"),
        ("closed", "yours", "PR #7 was closed: yours for ever"),
    ],
)
def test_the_state_of_its_pull_request_decides(state: PullState, advice: str, words: str) -> None:
    assert told(patch(claims=SEVEN), p7=state) == (advice, words)


def test_without_a_token_the_state_is_unknown_and_says_what_it_needs() -> None:
    assert told(patch(claims=SEVEN)) == ("unknown", "state of PR #7 unknown: needs a token")


def test_one_of_several_that_may_still_land_is_worth_waiting_for() -> None:
    claims = PatchClaims(pulls=(7, 8, 9))
    assert told(patch(claims=claims), p7="closed", p8="open", p9="closed")[1] == "PR #8 is open"
    assert told(patch(claims=claims), p7="closed", p8="open", p9="merged")[0] == "wait"
    assert told(patch(claims=claims), p7="closed", p9="closed")[0] == "unknown"


def test_what_the_header_refuses_is_ours_unless_a_pull_request_knows_better() -> None:
    claims = PatchClaims(pulls=(7,), refused="Forwarded: not-needed")
    assert told(patch(claims=claims)) == ("yours", "yours for ever (Forwarded: not-needed)")
    assert told(patch(claims=claims), p7="open")[1] == "PR #7 is open"


def test_a_patch_that_stays_and_fails_has_to_be_mended() -> None:
    assert told(patch("fails")) == ("mend", "mend it")
    assert told(patch("fails", claims=SEVEN), p7="closed") == (
        "mend",
        "mend it; PR #7 was closed: yours for ever",
    )


def test_a_patch_of_which_nothing_is_known_is_kept() -> None:
    assert told(patch()) == ("keep", "")
