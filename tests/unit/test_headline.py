"""The one line, and what it leads to: each situation by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ciwm.report.bump_answer import answer, next_step
from ciwm.report.headline import headline
from tests import records_examples as examples

if TYPE_CHECKING:
    from ciwm.records.verdict import SeriesOutcome

DONE = examples.stages()
BUILT = (examples.build("base"), examples.build("head"))
BROKEN = (examples.build("base"), examples.failed_build())


def line(*outcomes: SeriesOutcome) -> str:
    return headline(DONE, BUILT, None, examples.verdict(*outcomes))


def test_one_regression_is_named_with_its_size() -> None:
    said = line("regressed", "unchanged", "unchanged")
    assert said == "1 of 3 benchmarks got slower (decode-8b[batch=1] step_time +12.4%)"


def test_of_several_regressions_the_worst_is_named_whichever_way_is_better() -> None:
    slower = examples.series_verdict("regressed", "mild", ratio=1.10)
    fewer = examples.series_verdict(
        "regressed", "serve", metric="throughput", unit="tokens/s", better="higher", ratio=0.8
    )
    said = headline(DONE, BUILT, None, examples.verdict(series=(slower, fewer)))
    assert said == "2 of 2 benchmarks got slower (worst: serve throughput −20.0%)"


def test_a_quantity_that_is_no_speed_gets_worse_and_not_slower() -> None:
    memory = examples.series_verdict("regressed", metric="peak_memory", unit="bytes", ratio=1.5)
    said = headline(DONE, BUILT, None, examples.verdict(series=(memory,)))
    assert "1 of 1 benchmark got worse (decode-8b[batch=1] peak_memory +50.0%)" in said


def test_every_kind_of_bad_news_is_counted_and_doubt_comes_last() -> None:
    said = line("void", "regressed", "missing", "failed", "inconclusive", "unchanged")
    assert said == (
        "Of 6 benchmarks, 1 failed to run, 1 went missing, "
        "1 got slower (decode-8b[batch=2] step_time +12.4%), 2 gave no clear answer"
    )


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [
        (("unchanged",), "No slowdown in 1 benchmark"),
        (
            ("unchanged", "improved", "waived", "new"),
            "No slowdown in 2 benchmarks (1 faster, 1 new), 1 slower and waived",
        ),
        (("new", "new"), "2 benchmarks measured for the first time"),
        (
            ("inconclusive", "unchanged"),
            "1 of 2 benchmarks gave no clear answer (decode-8b[batch=1] step_time)",
        ),
        (("missing", "unchanged"), "1 of 2 benchmarks went missing (decode-8b[batch=1] step_time)"),
    ],
)
def test_each_situation_in_its_words(outcomes: tuple[SeriesOutcome, ...], said: str) -> None:
    assert line(*outcomes) == said


def test_an_empty_verdict_is_not_a_pass() -> None:
    said = headline(DONE, BUILT, None, examples.verdict(series=()))
    assert said == "No benchmark was compared"


def test_without_a_verdict_it_says_that_nothing_ran() -> None:
    assert headline(DONE, BUILT, None, None) == "No benchmark ran"


@pytest.mark.parametrize(
    ("builds", "said"),
    [
        (BROKEN, "Head does not build"),
        ((examples.failed_build("base"), examples.build("head")), "Base does not build"),
        ((examples.failed_build("base"), examples.failed_build()), "Neither base nor head builds"),
        (
            (examples.build("base"), examples.build(status="timeout")),
            "Head ran out of time while building",
        ),
        ((examples.failed_build(),), "Revision refs/pull/412/merge does not build"),
    ],
)
def test_a_broken_build_is_told_instead_of_what_follows_from_it(builds: Any, said: str) -> None:
    assert headline(DONE, builds, None, examples.verdict("failed")) == said


def test_a_stage_that_stopped_is_told() -> None:
    stopped = examples.stages(bench="interrupted", store="failed")
    assert (
        headline(stopped, BUILT, None, None)
        == "The benchmark was interrupted, keeping the history failed"
    )


@pytest.mark.parametrize(
    ("sync", "said"),
    [
        (examples.sync(), "The next upstream sync: conflicts in 2 files"),
        (
            examples.sync(conflicts=examples.conflicts(1)),
            "The next upstream sync: conflicts in 1 file",
        ),
        (examples.clean_sync(), "The next upstream sync: no conflicts"),
        (examples.partial_sync(), "The next upstream sync: 212 commits, conflicts unknown"),
        (
            examples.sync(behind={"commits": 0, "first_parent": 0, "days": 0.0}, conflicts=None),
            "Up to date with upstream",
        ),
    ],
)
def test_the_sync_cost_is_a_sentence_of_its_own(sync: Any, said: str) -> None:
    told = headline(DONE, BUILT, sync, examples.verdict("unchanged"))
    assert told == f"No slowdown in 1 benchmark. {said}"


def test_a_name_of_any_length_leaves_the_line_short() -> None:
    row = examples.series_verdict("regressed", "x" * 1_000_000)
    assert len(headline(DONE, BUILT, examples.sync(), examples.verdict(series=(row,)))) < 250


@pytest.mark.parametrize(
    ("conclusion", "number", "start"),
    [
        ("failure", 412, "❌ Merge blocked: "),
        ("neutral", 412, "⚠️ Merge not blocked, but look: "),
        ("success", 412, "✅ Merge not blocked: "),
        ("failure", None, "❌ Failed: "),
        ("neutral", None, "⚠️ Passed with doubts: "),
        ("success", None, "✅ Passed: "),
    ],
)
def test_the_answer_says_whether_the_merge_is_blocked(
    conclusion: Any, number: int | None, start: str
) -> None:
    report = examples.bump(conclusion=conclusion, pull_request=number)
    assert answer(report) == start + report.headline


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"builds": BROKEN}, "mend the build"),
        (
            {"builds": (examples.failed_build("base"), examples.build("head"))},
            "mend the base branch first",
        ),
        ({"verdict": examples.verdict("failed", "regressed")}, "mend what fails to run"),
        ({"verdict": examples.verdict("regressed", "missing")}, "find what slowed it down"),
        ({"verdict": examples.verdict("missing")}, "bring the missing benchmark back"),
        ({"verdict": examples.verdict("void", "inconclusive")}, "on a quiet machine"),
        ({"verdict": examples.verdict("inconclusive")}, "allow more launches"),
        (
            {"verdict": None, "stages": examples.stages(fetch="failed")},
            "set [upstream] url to a mirror; then run this job again",
        ),
        (
            {"verdict": None, "stages": (examples.stage("bench", "interrupted"),)},
            "run this job again (bench did not finish)",
        ),
        ({"verdict": examples.verdict("unchanged")}, "needs its conflicts resolved by hand"),
        ({"verdict": examples.verdict("unchanged"), "sync": examples.partial_sync()}, "could not"),
        ({"verdict": None, "sync": None}, "declare a [[workload]] in ciwm.toml"),
        ({"verdict": examples.verdict("unchanged"), "sync": None}, "nothing to do."),
    ],
)
def test_the_next_step_mends_the_worst_first(changes: dict[str, Any], said: str) -> None:
    assert said in next_step(examples.bump(**changes))
