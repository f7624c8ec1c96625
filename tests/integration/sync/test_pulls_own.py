"""How our pull requests fare: read from the bed's GitHub, and from the cache after that."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from ciwm.git import Repository
from ciwm.github import connect
from ciwm.github.pull_reader import PullReader
from ciwm.github.pull_slice import Slice
from ciwm.upstream.pulls.cache import PullShelf
from ciwm.upstream.pulls.known import known_pulls
from tests.github_bed.pulls import BedPull, Event
from tests.integration.sync.pulls_scene import (
    NOW,
    QUICK,
    Question,
    closed,
    day,
    many,
    merge_of,
    merged,
    waiting,
)

if TYPE_CHECKING:
    from pathlib import Path

    from ciwm.records.sync_pulls import Pulls, Share
    from tests.github_bed.bed import GitHubBed
    from tests.integration.sync.git_scene import Ciwm, Scene


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("CIWM_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def ask(fork: Scene, github: GitHubBed, cache: Path) -> Question:
    assert not cache.exists()
    return Question(github, Repository.open(fork.path), merge_of(fork))


def counts(pulls: Pulls) -> tuple[int | None, ...]:
    return pulls.open, pulls.merged, pulls.closed


def value(share: Share | None) -> float | None:
    assert share is not None
    return share.value


def test_counts_and_shares_are_those_worked_out_by_hand(ask: Question) -> None:
    ask.bed.make_up(
        [
            merged(1, made=100, after=5),
            merged(2, made=100, after=20),
            closed(3, made=100, after=8),
            waiting(4, made=12),
        ],
        clock=NOW,
    )
    found = ask()
    assert counts(found) == (1, 2, 1)
    assert found.merged_within is not None
    # day 5: 1 of 4 merged; day 8: 1 of 3 closed; day 12: the open one leaves; day 20: the last one
    assert value(found.merged_within.d7) == pytest.approx(1 / 4)
    assert value(found.merged_within.d30) == pytest.approx(1 / 4 + (3 / 4) * (2 / 3))
    assert found.closed_within is not None
    assert value(found.closed_within.d30) == pytest.approx((3 / 4) * (1 / 3))
    assert (found.merged_within.d7.n, found.merged_within.d7.at_risk) == (4, 3)
    assert found.median_days_to_merge == pytest.approx(20)
    # both merged ones were answered after a day, the others never
    assert found.answered_within is not None
    assert value(found.answered_within.d7) == pytest.approx(1 / 2)
    assert [one.number for one in found.waiting] == [4]
    assert found.waiting[0].waiting_days == pytest.approx(12)
    assert found.read_at == NOW


def test_a_thousand_are_read_in_at_most_twelve_requests(ask: Question) -> None:
    made = list(many(1000))
    ask.bed.make_up(made, clock=NOW)
    found = ask()
    states = [pull.state for pull in made]
    assert counts(found) == tuple(states.count(name) for name in ("OPEN", "MERGED", "CLOSED"))
    assert found.requests == ask.requests <= 12
    assert found.points <= 50  # of the 1,000 an hour that a job's token has
    assert found.notes == ()


def test_beyond_a_thousand_the_slices_are_halved_and_none_is_lost_or_doubled(
    ask: Question,
) -> None:
    ask.bed.make_up(many(2500), clock=NOW)
    with connect(ask.bed.token, ask.bed.url, patience=QUICK) as hub:
        reader = PullReader(hub, ask.bed.repository)
        reader.facts()
        found = reader.of_author("jane", Slice("created"))
    assert sorted(found.pulls) == list(range(1, 2501))
    assert (found.expected, found.unread) == (2500, 0)
    assert reader.requests <= 40


def test_thousands_of_one_second_are_counted_and_said_to_be_unlisted(ask: Question) -> None:
    same = [replace(waiting(number), created=day(30)) for number in range(1, 1051)]
    ask.bed.make_up(same, clock=NOW)
    found = ask()
    assert found.open == 1000
    assert "counts 1,050 pull requests of @jane and told 1,000" in " ".join(found.notes)


def test_only_what_changed_is_read_the_next_time(ask: Question, cache: Path) -> None:
    pulls = {pull.number: pull for pull in many(1000)}
    ask.bed.make_up(pulls.values(), clock=NOW)
    first = ask()
    later = NOW + timedelta(days=2)
    pulls[999] = replace(merged(999), ended=NOW + timedelta(days=1))
    pulls[1001] = BedPull(1001, "jane", NOW + timedelta(hours=30))
    ask.bed.make_up(pulls.values(), clock=later)
    before = ask.requests
    second = ask(now=later)
    assert ask.requests - before == second.requests == 2
    fresh = sum(pull.state == "OPEN" for pull in pulls.values())
    assert second.open == fresh
    assert second.merged == sum(pull.state == "MERGED" for pull in pulls.values())
    assert second.read_at == later
    assert first.read_at == NOW
    assert ask.bed.token not in "".join(path.read_text() for path in cache.rglob("*.json"))


def test_where_the_count_is_not_githubs_all_are_read_again(ask: Question) -> None:
    ask.bed.make_up([merged(1), merged(2), waiting(3)], clock=NOW)
    ask()
    ask.bed.make_up([merged(1), waiting(3)], clock=NOW)  # one was moved to another repository
    found = ask()
    assert counts(found) == (1, 1, 0)
    assert found.requests == 3


def test_a_damaged_cache_is_named_and_read_anew(ask: Question, cache: Path) -> None:
    ask.bed.make_up([merged(1)], clock=NOW)
    ask()
    (kept,) = cache.rglob("of-jane.json")
    kept.write_text('{"schema_version": 1, "pulls": [')
    found = ask()
    assert found.merged == 1
    assert any("of no use" in note and "of-jane.json" in note for note in found.notes)
    kept.write_text(json.dumps({"schema_version": 99}))
    assert "newer ciwm" in " ".join(ask().notes)


def test_a_cache_that_cannot_be_written_is_a_note(ask: Question, cache: Path) -> None:
    cache.mkdir()
    (cache / "pulls").write_text("a file where a folder should be")
    ask.bed.make_up([merged(1)], clock=NOW)
    found = ask()
    assert found.merged == 1
    assert "not kept" in " ".join(found.notes)
    (cache / "pulls").unlink()
    cache.rmdir()
    cache.write_text("no folder at all")
    found = ask()
    assert found.merged == 1
    assert "cannot make the cache folder" in " ".join(found.notes)


def test_offline_the_cache_speaks_and_says_its_age(ask: Question) -> None:
    ask.bed.make_up([merged(1), waiting(2)], clock=NOW)
    ask()
    before = ask.requests
    found = ask(offline=True, now=NOW + timedelta(days=9))
    assert ask.requests == before
    assert counts(found) == (1, 1, 0)
    assert (found.from_cache, found.requests) == (True, 0)
    assert "from the cache (9.0 days old, of 2026-09-14 12:00 UTC): offline" in found.notes[0]
    # nobody knows how the open one fared since
    assert found.waiting[0].waiting_days == pytest.approx(12)


def test_offline_without_a_cache_everything_else_is_there(ask: Question) -> None:
    found = ask(offline=True)
    assert counts(found) == (None, None, None)
    assert "none are kept" in found.notes[0]
    assert found.incoming_count == 2


def test_logins_are_read_whatever_their_case_and_each_once(ask: Question) -> None:
    ask.bed.make_up([merged(1, "Jane-Doe"), merged(2, "deploy[bot]")], clock=NOW)
    found = ask(authors=("@jane-doe", "@JANE-DOE", "@deploy[bot]"))
    assert counts(found) == (0, 2, 0)
    assert len(found.authors) == 2


def test_an_author_without_pull_requests_is_told(ask: Question) -> None:
    ask.bed.make_up([merged(1)], clock=NOW)
    found = ask(authors=("@jane", "@jnae"))
    assert found.merged == 1
    assert found.notes == ("@jnae has no pull requests there that this token may see",)


def test_a_mail_address_is_turned_into_a_login_by_the_commits_it_made(
    ask: Question, fork: Scene
) -> None:
    fork.git("checkout", "-q", "main")
    for number in (7, 8):
        author = {"GIT_AUTHOR_NAME": "Jane", "GIT_AUTHOR_EMAIL": "Jane@Example.org"}
        fork.write("n.txt", f"{number}\n")
        fork.git("add", "-A")
        fork.commit_index(f"Change (#{number})", **author)
    ask.merge = ask.merge._replace(upstream=fork.git("rev-parse", "main"))
    ask.bed.make_up([merged(7, "jd"), merged(8, "jd"), waiting(9, "jd")], clock=NOW)
    noreply = "123+octo@users.noreply.github.com"
    found = ask(authors=("jane@example.org", "nobody@example.org", noreply))
    assert found.authors == ("octo", "jd")
    assert counts(found) == (1, 2, 0)
    assert any("no login was found for nobody@example.org" in note for note in found.notes)
    again = ask(authors=("jane@example.org",), offline=True)
    assert counts(again) == (1, 2, 0)


def test_a_closed_one_counts_as_merged_where_upstreams_rule_says_so(
    ask: Question, fork: Scene
) -> None:
    fork.git("checkout", "-q", "main")
    landing = f"Land\n\nPull Request resolved: https://github.com/{ask.bed.repository}/pull/3\n"
    fork.clock = int(day(90).timestamp())
    fork.commit(f"{landing}Approved by: x", x__txt="x\n")
    fork.commit("Pull Request resolved: https://github.com/other/place/pull/4", x__txt="y\n")
    ask.merge = ask.merge._replace(upstream=fork.git("rev-parse", "main"))
    bot = Event("closed", day(92), "landbot")
    ask.bed.make_up(
        [
            replace(closed(1), labels=("ciflow", "merged")),
            replace(closed(2), timeline=(bot,)),
            closed(3, made=100, after=8),
            closed(4),
            replace(waiting(5), labels=("Merged",)),  # reopened after a revert
        ],
        clock=NOW,
    )
    assert counts(ask()) == (1, 0, 4)
    assert counts(ask(merged={"label": "Merged"})) == (1, 1, 3)
    assert counts(ask(merged={"closed_by": "@LandBot"})) == (1, 1, 3)
    by_commit = ask(merged={"trailer": "Pull Request resolved:"})
    assert counts(by_commit) == (1, 1, 3)
    rule = {"label": "Merged", "closed_by": "landbot", "trailer": "Pull Request resolved:"}
    assert counts(ask(merged=rule)) == (1, 3, 1)


def test_the_clock_starts_when_a_draft_was_first_ready(ask: Question) -> None:
    ready, back = Event("ready", day(40), "jane"), Event("draft", day(39), "jane")
    ask.bed.make_up(
        [
            replace(merged(1, made=100, after=70), timeline=(ready,)),  # ready at 40, merged at 30
            replace(merged(2, made=50, after=4), timeline=(back,)),  # began ready
            BedPull(3, "jane", day(60), draft=True),
            replace(closed(4), draft=True),
        ],
        clock=NOW,
    )
    found = ask()
    assert counts(found) == (1, 2, 1)
    assert found.drafts == 2
    assert found.merged_within is not None
    assert found.merged_within.d7.n == 2
    assert value(found.merged_within.d7) == pytest.approx(1 / 2)
    assert value(found.merged_within.d30) == pytest.approx(1)
    assert found.waiting[0].waiting_days is None


def test_bots_and_the_author_give_no_response_and_a_ghost_does(ask: Question) -> None:
    def talk(number: int, *names: str | None) -> BedPull:
        said = (Event("comment", day(20 - hour), name) for hour, name in enumerate(names))
        return replace(waiting(number, made=20), timeline=tuple(said))

    ask.bed.make_up(
        [
            talk(1, "ci[bot]", "Jane", "facebook-github-bot", "codecov-commenter"),
            talk(2, "stamp-machine"),
            talk(3, "ci[bot]", None),
            talk(4),
        ],
        clock=NOW,
    )
    answered = {one.number: one.answered for one in ask(bots=("@Stamp-Machine",)).waiting}
    assert answered == {1: False, 2: False, 3: True, 4: False}
    answered = {one.number: one.answered for one in ask(bots=()).waiting}
    assert not answered[2], "what was read stays as it was read until it changes"


def test_a_response_below_many_comments_of_bots_is_found(ask: Question) -> None:
    noise = [Event("comment", day(20 - hour / 24), "ci[bot]") for hour in range(130)]
    answer = Event("review", day(5), "reviewer")
    ask.bed.make_up(
        [
            replace(waiting(1, made=20), timeline=(*noise, answer)),
            replace(waiting(2, made=20), timeline=tuple(noise)),
        ],
        clock=NOW,
    )
    found = ask()
    assert {one.number: one.answered for one in found.waiting} == {1: True, 2: False}
    assert found.median_days_to_response == pytest.approx(15)
    assert found.requests == 4  # facts, a page, and 100 comments more, twice


def test_only_the_last_days_count_where_so_configured(ask: Question) -> None:
    ask.bed.make_up([merged(1, made=400), merged(2, made=20), waiting(3)], clock=NOW)
    found = ask(pulls_days=90)
    assert counts(found) == (1, 1, 0)
    assert found.since == NOW - timedelta(days=90)


def test_pull_requests_are_read_by_number_and_absent_ones_left_out(ask: Question) -> None:
    pulls = [merged(number, "anyone") for number in range(1, 250)]
    ask.bed.make_up([*pulls, replace(waiting(250), author=None)], clock=NOW)
    with connect(ask.bed.token, ask.bed.url, patience=QUICK) as hub:
        reader = PullReader(hub, ask.bed.repository)
        found = reader.numbered(range(1, 261))
    assert sorted(found) == list(range(1, 251))
    assert found[250].author == "ghost"
    assert reader.requests == 3


def test_numbers_kept_as_merged_are_not_asked_for_again(ask: Question) -> None:
    ask.bed.make_up([merged(1, "a"), closed(2, "b"), waiting(3, "c")], clock=NOW)
    shelf = PullShelf(ask.bed.url, ask.bed.repository)
    with connect(ask.bed.token, ask.bed.url, patience=QUICK) as hub:
        reader = PullReader(hub, ask.bed.repository)
        first = known_pulls(shelf, reader, [1, 2, 3, 4])
        assert {n: pull.state for n, pull in first.pulls.items()} == {
            1: "merged",
            2: "closed",
            3: "open",
        }
        assert first.absent == {4}
        assert first.read_at == NOW
        assert known_pulls(shelf, reader, [1]).pulls == {1: first.pulls[1]}
        assert reader.requests == 1
        ask.bed.make_up([merged(1, "a"), merged(3, "c")], clock=NOW)
        again = known_pulls(shelf, reader, [1, 2, 3])
        assert again.pulls[3].state == "merged"
        assert again.absent == {2}
        ask.bed.misbehave("bad_credentials", path="/graphql")
        failed = known_pulls(shelf, reader, [1, 3, 9])
        assert set(failed.pulls) == {1, 3}
        assert "401" in failed.stale
    offline = known_pulls(shelf, None, [1, 9], "offline")
    assert (set(offline.pulls), offline.stale, offline.read_at) == ({1}, "offline", NOW)


def test_a_clock_that_is_wrong_here_changes_no_figure_and_is_told(ask: Question) -> None:
    ask.bed.make_up([merged(1), waiting(2, made=12)], clock=NOW)
    right = ask()
    wrong = ask(now=NOW - timedelta(days=2))
    assert wrong.waiting == right.waiting
    assert wrong.merged_within == right.merged_within
    assert "2.0 days behind GitHub's" in " ".join(wrong.notes)


def test_one_made_after_githubs_own_clock_waits_no_time(ask: Question) -> None:
    ask.bed.make_up([replace(waiting(1), created=NOW + timedelta(minutes=3))], clock=NOW)
    assert [one.waiting_days for one in ask().waiting] == [0]


def test_the_command_writes_the_section_into_every_output(
    ask: Question, ciwm: Ciwm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    github, path = ask.bed, ask.repository.path
    github.make_up([merged(1), waiting(2)], clock=NOW)
    for name, word in github.environment().items():
        monkeypatch.setenv(name, word)
    config = tmp_path / "c.toml"
    config.write_text(f'[upstream]\ngithub = "{github.repository}"\nauthors = ["@jane"]\n')
    options = ("--config", str(config))
    found = ciwm(path, "--json", *options).report["pulls"]
    assert (found["open"], found["merged"], found["closed"], found["requests"]) == (1, 1, 0, 2)
    assert found["merged_within"]["d7"]["n"] == 2
    text = ciwm(path, *options)
    assert "1 open, 1 merged, 0 closed unmerged" in text.out
    assert "1 open, 1 merged, 0 closed unmerged" in ciwm(path, "--markdown", *options).out
    before = len(github.exchanges)
    monkeypatch.delenv("GITHUB_TOKEN")
    assert "there is no token (set CIWM_TOKEN or GITHUB_TOKEN)" in " ".join(
        ciwm(path, "--json", *options).report["pulls"]["notes"]
    )
    assert ciwm(path, "--json", "--no-pulls", *options).report["pulls"] is None
    assert ciwm(path, "--pulls", "--offline", *options).code == 0
    assert len(github.exchanges) == before


def test_asked_for_by_name_and_not_known_ends_with_four_after_the_report(
    fork: Scene, ciwm: Ciwm, cache: Path
) -> None:
    assert not cache.exists()
    ended = ciwm(fork.path, "--pulls", "--json")
    assert ended.code == 4
    found = json.loads(ended.out)["pulls"]
    assert found["notes"] == [
        "how our pull requests fare is not known: [upstream] github is not set"
    ]
    assert found["incoming_count"] == 2
    assert "warning: how our pull requests fare" in ended.err
    assert ciwm(fork.path, "--json").report["pulls"] is None


def test_a_token_that_cannot_be_one_costs_the_section_alone(
    fork: Scene, ciwm: Ciwm, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not cache.exists()
    monkeypatch.setenv("CIWM_TOKEN", "two words")
    config = tmp_path / "c.toml"
    config.write_text('[upstream]\ngithub = "a/b"\nauthors = ["@jane"]\n')
    report = ciwm(fork.path, "--json", "--config", str(config)).report
    assert "characters that no token has" in report["pulls"]["notes"][0]
    assert report["behind"]["commits"] == 3
