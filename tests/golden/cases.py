"""The situations a comment has to read well in, each as a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests import records_examples as examples
from tests.map_examples import map_diff

if TYPE_CHECKING:
    from collections.abc import Callable

    from ciwm.records import BumpReport
    from ciwm.records.verdict import SeriesOutcome

_EVERYTHING_WRONG: tuple[SeriesOutcome, ...] = (
    "failed",
    "missing",
    "regressed",
    "void",
    "inconclusive",
)


def _unchanged(number: int) -> tuple[SeriesOutcome, ...]:
    one: tuple[SeriesOutcome] = ("unchanged",)
    return one * number


def all_green() -> BumpReport:
    """A sync that merged upstream: conflicts were there before, none after."""
    return examples.bump(
        sync=examples.sync(
            behind={"commits": 0, "first_parent": 0, "days": 0.0}, conflicts=examples.conflicts(0)
        ),
        sync_base=examples.sync(),
        verdict=examples.verdict(*_unchanged(11), "improved"),
        conclusion="success",
        exit_code=0,
    )


def one_regression() -> BumpReport:
    """Twelve benchmarks, one of them slower; upstream conflicts, and tests miss some lines."""
    return examples.bump(
        verdict=examples.verdict("regressed", *_unchanged(10), "improved"),
        sync_base=examples.sync(),
        coverage=examples.coverage(),
        trends=(examples.trend(), examples.trend("decode-8b[batch=2]")),
    )


def forty_wrong() -> BumpReport:
    """Forty benchmarks with everything wrong, thirty conflicts, a store that refused."""
    return examples.bump(
        verdict=examples.verdict(
            *(_EVERYTHING_WRONG[index % 5] for index in range(40)),
            problems=examples.PROBLEMS,
        ),
        sync=examples.sync(conflicts=examples.conflicts(30)),
        sync_base=examples.sync(conflicts=examples.conflicts(30)),
        stages=examples.stages(store="failed"),
        coverage=examples.coverage(base=None, problems=("coverage of base: no file matches",)),
        trends=tuple(examples.trend(examples.series_name(index)) for index in range(40)),
    )


def sync_only() -> BumpReport:
    """No workload is declared: only the sync cost is known."""
    return examples.bump(
        stages=examples.stages(bench="skipped"),
        builds=(examples.build("base"), examples.build("head")),
        environment=None,
        run_file=None,
        run_summary=None,
        verdict=None,
        conclusion="success",
        exit_code=0,
    )


def head_does_not_build() -> BumpReport:
    """The compiler refused head."""
    return examples.bump(
        builds=(examples.build("base"), examples.failed_build()),
        verdict=examples.verdict("failed", "failed"),
    )


def base_does_not_build() -> BumpReport:
    """Base is broken, head repairs it: nothing to compare with."""
    return examples.bump(
        builds=(examples.failed_build("base"), examples.build("head")),
        verdict=examples.verdict("new", "new"),
        conclusion="neutral",
        exit_code=0,
    )


def bench_interrupted() -> BumpReport:
    """The job was cancelled while it measured."""
    stages = [
        one
        for one in examples.stages(bench="interrupted")
        if one.name in ("fetch", "sync", "build", "bench")
    ]
    return examples.bump(
        stages=tuple(stages), verdict=None, run_summary="interrupted by SIGTERM", exit_code=130
    )


def first_run() -> BumpReport:
    """Head brings the first benchmarks; base has none."""
    return examples.bump(
        sync=examples.clean_sync(),
        verdict=examples.verdict("new", "new", "new"),
        conclusion="success",
        exit_code=0,
    )


def undecided() -> BumpReport:
    """Noise hid the answer, and one comparison was void."""
    return examples.bump(
        verdict=examples.verdict("void", "inconclusive", *_unchanged(4)),
        conclusion="neutral",
        exit_code=0,
    )


def partial_clone() -> BumpReport:
    """The trial merge lacked objects; no pull request, so nothing to merge."""
    return examples.bump(
        sync=examples.partial_sync(),
        verdict=examples.verdict("unchanged"),
        pull_request=None,
        conclusion="success",
        exit_code=0,
    )


def a_new_fallback() -> BumpReport:
    """Nothing got slower, and one operator fell back to the CPU."""
    return examples.bump(
        verdict=examples.verdict(*_unchanged(3)),
        map_diff=map_diff(),
        conclusion="failure",
        exit_code=1,
    )


CASES: dict[str, Callable[[], BumpReport]] = {
    build.__name__.replace("_", " "): build
    for build in (
        all_green,
        one_regression,
        forty_wrong,
        sync_only,
        head_does_not_build,
        base_does_not_build,
        bench_interrupted,
        first_run,
        undecided,
        partial_clone,
        a_new_fallback,
    )
}
