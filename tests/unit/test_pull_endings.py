"""What became of a pull request by its upstream's rule, and what its answer means."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from ciwm.config_pulls import MergeRule
from ciwm.github.pull_answer import first_response, pull_answer
from ciwm.records.sync_pulls import PullRequest
from ciwm.stats.survival import Observed
from ciwm.upstream.pulls.authors import authors, logins_of
from ciwm.upstream.pulls.endings import settled

START = datetime(2026, 1, 1, tzinfo=timezone.utc)


def at(day: float) -> datetime:
    return START + timedelta(days=day)


def pull(**changes: Any) -> PullRequest:
    fields: dict[str, Any] = {
        "number": 1,
        "title": "t",
        "url": "u",
        "author": "jane",
        "state": "open",
        "draft": False,
        "created_at": START,
        "updated_at": START,
        "ready_at": START,
    }
    return PullRequest(**{**fields, **changes})


NO_RULE = MergeRule()


def test_answered_before_it_was_ready_is_answered_at_once() -> None:
    early = settled(pull(ready_at=at(5), answered_at=at(2)), NO_RULE, {})
    assert early.response(at(9)) == Observed(0, "event")


def test_a_word_after_the_end_is_no_response_to_a_waiting_one() -> None:
    late = pull(state="closed", closed_at=at(3), answered_at=at(4))
    assert settled(late, NO_RULE, {}).response(at(9)) == Observed(3, "other")


def test_closed_and_merged_are_each_others_competing_ending() -> None:
    closed = settled(pull(state="closed", closed_at=at(3)), NO_RULE, {})
    assert closed.fate(at(9)) == Observed(3, "other")
    assert closed.fate(at(9), "closed") == Observed(3, "event")
    assert settled(pull(), NO_RULE, {}).fate(at(9)) == Observed(9, "waiting")


def test_one_merged_as_a_draft_was_ready_all_along() -> None:
    merged = pull(state="merged", draft=True, ready_at=None, merged_at=at(2), closed_at=at(2))
    assert settled(merged, NO_RULE, {}).fate(at(9)) == Observed(2, "event")
    assert settled(pull(draft=True, ready_at=None), NO_RULE, {}).fate(at(9)) is None


def test_a_landing_before_the_closing_gives_the_landings_date() -> None:
    closed = pull(state="closed", closed_at=at(3))
    found = settled(closed, MergeRule(trailer="Resolved:"), {1: at(2)})
    assert (found.state, found.ended_at) == ("merged", at(2))


def test_pytorchs_rule_is_known_and_can_be_replaced() -> None:
    from ciwm.config import UpstreamConfig  # noqa: PLC0415

    known = UpstreamConfig(github="PyTorch/pytorch").merge_rule
    assert (known.label, known.trailer) == ("Merged", "Pull Request resolved:")
    assert UpstreamConfig(github="vllm-project/vllm").merge_rule == NO_RULE
    other = UpstreamConfig(github="pytorch/pytorch", merged=MergeRule(label="landed"))
    assert other.merge_rule.label == "landed"


NODE: dict[str, Any] = {
    "number": 1,
    "title": "two\nlines \ud800" + "x" * 400,
    "url": "https://github.com/a/b/pull/1",
    "state": "CLOSED",
    "isDraft": False,
    "createdAt": "2026-01-01T00:00:00Z",
    "updatedAt": "2026-01-04T00:00:00Z",
    "closedAt": "2026-01-03T00:00:00Z",
    "mergedAt": None,
    "author": None,
    "labels": {"nodes": [{"name": "Merged"}, None]},
    "drafting": {"nodes": []},
    "talk": {"pageInfo": {"hasNextPage": False}, "nodes": [{}, None]},
    "closing": {"nodes": [{"actor": {"__typename": "Bot", "login": "lander"}}]},
}


def test_what_accounts_that_are_gone_leave_is_a_ghosts() -> None:
    found = pull_answer(NODE, ())
    assert found.pull.author == "ghost"
    assert (found.pull.closed_by, found.pull.labels) == ("lander[bot]", ("Merged",))
    found.pull.model_dump_json()
    assert len(found.pull.title) == 300
    assert found.pull.title.startswith("two lines ?xxx")
    assert found.read_on is None


def test_a_ghost_does_not_answer_a_ghost() -> None:
    said = {"nodes": [{"createdAt": "2026-01-02T00:00:00Z", "author": None}]}
    assert first_response(said, "ghost", ()) == (None, None)
    assert first_response(said, "jane", ()) == (at(1), None)


@pytest.mark.parametrize(
    ("login", "machine"),
    [
        ("facebook-github-bot", True),
        ("pytorchmergebot", True),
        ("k8s-ci-robot", True),
        ("mergify", False),
        ("abbot", False),
        ("talbot-j", False),
        ("bot", True),
    ],
)
def test_people_whose_names_end_like_a_bots_are_people(login: str, machine: bool) -> None:  # noqa: FBT001
    actor = {"__typename": "User", "login": login}
    said = {"nodes": [{"createdAt": "2026-01-02T00:00:00Z", "author": actor}]}
    assert (first_response(said, "jane", ()) == (None, None)) == machine


def test_a_review_counts_from_when_it_was_submitted() -> None:
    said = {
        "nodes": [
            {
                "createdAt": "2026-01-02T00:00:00Z",
                "submittedAt": "2026-01-03T00:00:00Z",
                "author": {"__typename": "User", "login": "bob"},
            }
        ]
    }
    assert first_response(said, "jane", ())[0] == at(2)


def test_authors_are_logins_mail_addresses_and_githubs_own_addresses() -> None:
    declared = ("@Jane", "@jane", "7+octo@users.noreply.github.com", "A@b.org", "a@b.org")
    found = authors(declared)
    assert (found.logins, found.mails) == (("jane", "octo"), ("a@b.org",))


def test_a_mail_address_is_the_login_that_opened_at_least_half() -> None:
    named = {"a@b.org": [1, 2, 3], "c@d.org": [4, 5, 6], "e@f.org": [7], "g@h.org": []}
    opened = {1: "ann", 2: "ann", 3: "bob", 4: "x", 5: "y", 6: "z", 7: "sync[bot]"}
    assert logins_of(named, opened) == {"a@b.org": "ann"}
