"""The one line, and what it leads to: each situation by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ciwm.records.sync_gate import SyncGate
from ciwm.report.asides import not_blocking
from ciwm.report.bump_answer import answer, next_steps
from ciwm.report.bump_sync import sync_part
from ciwm.report.detail import FULL
from ciwm.report.headline import headline, rows_of
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


def test_every_kind_of_what_blocks_is_counted_and_doubt_is_left_to_the_next_line() -> None:
    said = line("void", "regressed", "missing", "failed", "inconclusive", "unchanged")
    assert said == (
        "3 of 6 benchmarks failed to run (1), went missing (1) "
        "or got slower (1: decode-8b[batch=2] step_time +12.4%)"
    )
    report = examples.bump(verdict=examples.verdict("void", "regressed", "inconclusive"), sync=None)
    assert not_blocking(report) == "2 benchmarks gave no clear answer"


def test_a_benchmark_is_named_whose_number_is_the_least() -> None:
    rows = [examples.series_verdict("failed", f"w[batch={size}]") for size in (16, 2, 128)]
    assert [row.series for row in rows_of(examples.verdict(series=tuple(rows)), "failed")] == [
        "w[batch=2]",
        "w[batch=16]",
        "w[batch=128]",
    ]


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
    assert headline(stopped, BUILT, None, None) == "The benchmark was interrupted"


def test_results_that_could_not_be_kept_do_not_block() -> None:
    report = examples.bump(stages=examples.stages(store="failed"), sync=None)
    assert "saving" not in report.headline
    assert not_blocking(report) == "saving results to the branch ciwm-data failed"
    assert next_steps(report)[-1] == (
        "to have results kept (does not block): let the workflow's token push to ciwm-data."
    )


@pytest.mark.parametrize(
    ("sync", "said"),
    [
        (examples.sync(), "merging upstream today would conflict in 2 files"),
        (
            examples.sync(conflicts=examples.conflicts(1)),
            "merging upstream today would conflict in 1 file",
        ),
        (examples.clean_sync(), ""),
        (
            examples.partial_sync(),
            "whether merging upstream today (212 commits) would conflict is not known",
        ),
    ],
)
def test_conflicts_to_come_are_a_forecast_beside_the_answer(sync: Any, said: str) -> None:
    report = examples.bump(sync=sync, verdict=examples.verdict("unchanged"), conclusion="success")
    assert report.headline == "No slowdown in 1 benchmark"
    assert not_blocking(report) == said


def test_a_forecast_says_what_it_was_before() -> None:
    base = examples.sync(conflicts=examples.conflicts(5))
    report = examples.bump(sync_base=base, verdict=examples.verdict("unchanged"))
    assert not_blocking(report) == (
        "merging upstream today would conflict in 2 files (before this change: 5)"
    )


MERGED = {"commits": 0, "first_parent": 0, "days": 0.0}


def test_conflicts_that_this_change_resolved_are_to_be_reviewed() -> None:
    sync = examples.sync(behind=MERGED, conflicts=examples.conflicts(0))
    report = examples.bump(
        sync=sync, sync_base=examples.sync(), verdict=examples.verdict("unchanged")
    )
    assert report.headline.endswith(
        "Brings in 212 upstream commits, with conflicts in 2 files resolved"
    )
    assert not_blocking(report) == ""
    (step,) = next_steps(report)
    assert "2 files had conflicts with upstream; resolved in this change, please review" in step


def test_the_lists_of_a_sync_say_which_side_they_are_of() -> None:
    merged = examples.sync(behind=MERGED, conflicts=examples.conflicts(0))
    ahead = examples.sync(conflicts=examples.conflicts(5))
    assert "The lists below are of base (before)." in sync_part(merged, ahead, FULL)
    assert "The lists below are of head (after)." in sync_part(examples.sync(), ahead, FULL)
    assert "The lists below" not in sync_part(examples.sync(), None, FULL)


def test_up_to_date_is_said() -> None:
    sync = examples.sync(behind=MERGED, conflicts=None)
    told = headline(DONE, BUILT, sync, examples.verdict("unchanged"))
    assert told == "No slowdown in 1 benchmark. Up to date with upstream"


@pytest.mark.parametrize(
    ("message", "why"),
    [("not asked for", "not asked for"), ("no workload is declared", "none is configured")],
)
def test_where_nothing_ran_the_mark_is_neither_good_nor_bad(message: str, why: str) -> None:
    bench = examples.stage("bench", "skipped", message=message)
    report = examples.bump(stages=(bench,), verdict=None, conclusion="success", exit_code=0)
    assert answer(report) == (
        f"\N{INFORMATION SOURCE}\ufe0f Merge not blocked: No benchmark ran ({why})"
    )


def test_a_sync_that_failed_for_its_budget_says_so() -> None:
    sync = examples.sync(gate=SyncGate(ok=False, over=("carried files: 73, at most 50",)))
    told = headline(examples.stages(sync="failed"), BUILT, sync, examples.verdict("unchanged"))
    assert told == "The cost of syncing is over its budget; no slowdown in 1 benchmark"


def test_there_is_a_next_step_for_every_kind_that_blocks_and_for_what_is_unclear() -> None:
    found = next_steps(
        examples.bump(verdict=examples.verdict("failed", "missing", "regressed", "void"))
    )
    starts = ("mend what fails", "bring the missing", "find what slowed", "for a clear answer")
    assert [step.startswith(start) for step, start in zip(found, starts, strict=True)] == [True] * 4
    assert "or accept it for a while" in found[2]


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
        ({"verdict": examples.verdict("void", "inconclusive")}, "cool and otherwise idle"),
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
    assert any(said in step for step in next_steps(examples.bump(**changes))[:2])
