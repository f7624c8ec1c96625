"""What looks odd about a run that is decided all the same: it may hide what nobody measures."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from ciwm.policy.words import named, plain
from ciwm.records import SIDES
from ciwm.stats.gate import Gate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ciwm.policy.watch import Watch
    from ciwm.records import Run

HANGS = 3  # times as long as any launch that ended
LONGER_S, LONGER = 1.0, 1.25  # a launch is longer from so many seconds and so many times on


def oddities(run: Run, watch: Watch) -> Iterator[str]:
    """One line each, plain words."""
    trees = [run.arm(side).revision.tree for side in SIDES]
    if trees[0] == trees[1] != "" and run.plan.purpose == "compare":
        yield f"base and head are the same tree ({trees[0][:12]}): noise was compared with noise"
    for name, tally in watch.tallies.items():
        again = len(tally.redrawn)
        if again:
            blocks = "1 block was" if again == 1 else f"{again} blocks were"
            yield f"{name}: {blocks} interrupted, and left out"
    yield from _hangs(run)
    yield from _wholes(watch)
    yield from _constants(watch)


def _hangs(run: Run) -> Iterator[str]:
    """Launches that the budget's end, or a stop, cut off long after others of theirs had ended."""
    for name in run.plan.workloads:
        own = [one for one in run.launches if one.workload == name]
        longest = max((one.duration_s for one in own if one.exit == "ok"), default=0.0)
        for one in own:
            long = one.duration_s > max(HANGS * longest, longest + LONGER_S)
            if longest and long and one.exit == "interrupted":
                yield (
                    f"{name}: a launch of {one.side} was stopped after {one.duration_s:.3g} s, and "
                    f"none that ended took more than {longest:.3g} s: does it hang? A timeout_s "
                    "below the budget would tell"
                )


def _wholes(watch: Watch) -> Iterator[str]:
    """Launches that take longer as a whole where their iterations do not."""
    for name, tally in watch.tallies.items():
        base, head = tally.took_s["base"], tally.took_s["head"]
        if len(base) < Gate.min_launches or any(t.verdict == "regress" for t in watch.of(name)):
            continue
        before, after = median(base), median(head)
        longer = after - before >= LONGER_S and after >= LONGER * before
        if longer and min(head) > max(base):
            yield (
                f"warning only: each {name} launch of head took longer as a whole than each of "
                f"base ({after:.3g} s instead of {before:.3g} s), and its iterations do not "
                "account for it: imports, set-up or warm-up do, or a clock that head reads"
            )


def _constants(watch: Watch) -> Iterator[str]:
    """Times that never vary: no clock gave them."""
    for trial in watch.trials:
        values = {value for side in trial.values.values() for value in side}
        if not trial.gate.exact and trial.launches >= Gate.min_launches and len(values) == 1:
            yield (
                f"{named(trial.series)}: every launch of both sides gave {values.pop():g} "
                f"{plain(trial.series.unit)}: no clock does; is it measured at all?"
            )
