"""GitHub's bad days: each ends in a right section or one clear line, and never shows the token."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from ciwm.git import Repository
from tests.integration.sync.pulls_scene import NOW, Question, many, merge_of, merged, waiting

if TYPE_CHECKING:
    from pathlib import Path

    from ciwm.records.sync_pulls import Pulls
    from tests.github_bed.bed import GitHubBed
    from tests.github_bed.state import FaultKind
    from tests.integration.sync.git_scene import Ciwm, Scene

COUNT = 250
OPEN = sum(pull.state == "OPEN" for pull in many(COUNT))


@pytest.fixture
def ask(fork: Scene, github: GitHubBed) -> Question:
    github.make_up(many(COUNT), clock=NOW)
    return Question(github, Repository.open(fork.path), merge_of(fork))


def right(pulls: Pulls) -> bool:
    return pulls.open == OPEN and not pulls.notes


def only_line(pulls: Pulls, token: str) -> str:
    """The one line that says why nothing is known; the rest of the section is there."""
    assert (pulls.open, pulls.merged_within, pulls.read_at) == (None, None, None)
    assert pulls.incoming_count == 2
    (note,) = pulls.notes
    assert "\n" not in note
    assert token not in pulls.model_dump_json()
    return note


@pytest.mark.parametrize("kind", ["too_many_requests", "secondary_limit", "graphql_limit"])
def test_a_short_limit_in_the_middle_is_waited_for(ask: Question, kind: FaultKind) -> None:
    ask.bed.misbehave(kind, path="/graphql", seconds=1)
    assert right(ask())


@pytest.mark.parametrize(
    "kind", ["too_many_requests", "secondary_limit", "primary_limit", "graphql_limit"]
)
def test_a_long_limit_is_one_line_with_the_time_it_ends(ask: Question, kind: FaultKind) -> None:
    ask.bed.misbehave(kind, times=50, path="/graphql", seconds=3000)
    line = only_line(ask(), ask.bed.token)
    assert "rate limit is used up until" in line
    assert ask.requests == 1


def test_a_bad_gateway_on_one_page_is_asked_again(ask: Question) -> None:
    ask.bed.misbehave("bad_gateway", path="/graphql", after=2)
    assert right(ask())


def test_a_page_github_cannot_make_is_asked_for_in_smaller_ones(ask: Question) -> None:
    # two tries of one page fail: it is asked for by fifty
    ask.bed.misbehave("bad_gateway", times=2, path="/graphql", after=2)
    assert right(ask())
    sizes = [
        json.loads(one.body).get("variables", {}).get("first") for one in ask.bed.exchanges[1:]
    ]
    assert sizes == [100, 100, 100, 50, 50, 50]


def test_a_gateway_that_stays_bad_is_one_line(ask: Question) -> None:
    ask.bed.misbehave("bad_gateway", times=99, path="/graphql", after=2)
    line = only_line(ask(), ask.bed.token)
    assert "cannot list the pull requests of jane: GitHub answered 502, several times" in line


@pytest.mark.parametrize("kind", ["silence", "hang_up"])
def test_no_answer_is_one_line(ask: Question, kind: FaultKind) -> None:
    ask.bed.misbehave(kind, times=99, path="/graphql", seconds=3)
    assert "cannot read pull requests of" in only_line(ask(), ask.bed.token)


def test_a_token_that_expires_half_way_is_one_line_and_its_mend(ask: Question) -> None:
    ask.bed.misbehave("bad_credentials", times=99, path="/graphql", after=2)
    line = only_line(ask(), ask.bed.token)
    assert "401 Bad credentials" in line
    assert "set CIWM_TOKEN to a valid one" in line


def test_a_token_that_is_none_is_one_line(ask: Question) -> None:
    token = "ghs_this_one_was_revoked_long_ago_000000"
    assert "401 Bad credentials" in only_line(ask(token=token), token)


def test_a_repository_that_is_not_there_is_one_line_with_its_mend(ask: Question) -> None:
    line = only_line(ask(github="acme/nothing"), ask.bed.token)
    assert "there is no such repository" in line
    assert "[upstream] github" in line


def test_a_failure_falls_back_on_what_was_kept_and_says_its_age_and_why(ask: Question) -> None:
    ask()
    ask.bed.misbehave("bad_gateway", times=99, path="/graphql")
    found = ask(now=NOW + timedelta(days=3))
    assert found.open == OPEN
    assert found.from_cache
    (note,) = found.notes
    assert note.startswith("our pull requests are from the cache (3.0 days old, of 2026-09-14")
    assert "502" in note


def test_half_a_team_is_not_shown_as_the_whole(ask: Question) -> None:
    ask.bed.make_up([merged(1, "jane"), merged(2, "joe")], clock=NOW)
    ask.bed.misbehave("bad_gateway", times=99, path="/graphql", after=2)
    only_line(ask(authors=("@jane", "@joe")), ask.bed.token)
    ask.bed.behave()
    assert ask(authors=("@jane", "@joe")).merged == 2


def test_what_github_does_not_tell_is_left_out_and_counted(ask: Question) -> None:
    ask.bed.make_up([merged(1), replace(merged(2), broken=True), waiting(3)], clock=NOW)
    found = ask()
    assert (found.open, found.merged) == (1, 1)
    assert found.notes == (
        "GitHub counts 3 pull requests of @jane and told 2: the others are left out",
    )
    again = ask()
    assert again.notes == found.notes, "it is told each time, not only the first"


def test_the_command_shows_the_token_nowhere(
    ask: Question, fork: Scene, ciwm: Ciwm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, word in ask.bed.environment().items():
        monkeypatch.setenv(name, word)
    config = tmp_path / "c.toml"
    config.write_text(f'[upstream]\ngithub = "{ask.bed.repository}"\nauthors = ["@jane"]\n')
    ask.bed.misbehave("primary_limit", times=99, path="/graphql", seconds=3000)
    ended = ciwm(fork.path, "--config", str(config), "--json")
    assert ended.code == 0, "everything but this section works"
    assert "rate limit is used up" in ended.err
    ask.bed.behave()
    shown = [ended, ciwm(fork.path, "--config", str(config))]
    kept = "".join(path.read_text() for path in (tmp_path / "cache").rglob("*") if path.is_file())
    assert shown[1].code == 0
    assert ask.bed.token not in kept + "".join(one.out + one.err for one in shown)
