"""ciwm and its rivals on the same real launches: false blocks, power, launches used.

python -m tests.bench.rivals.compare POOL.json > table.md
"""

from __future__ import annotations

import csv
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from ciwm.bench.samples_csv import COLUMNS, read_samples
from ciwm.config import GateConfig
from ciwm.policy import Watch, decide
from ciwm.policy.blocks import blocks
from tests.bench.rivals.collect import ARMS, Pool, read_pool
from tests.bench.rivals.judges import RIVALS, Rival

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ciwm.records import Launch, Run

MOST = 12  # comparisons of one workload and arm, for tools that need few launches
BLOCK = 2
PAIRED = ("benchmatrix",)  # measures in pairs by itself, as ciwm does


@dataclass
class Tally:
    """What a tool said of one arm, over all comparisons."""

    slower: int = 0
    passed: int | None = None  # for tools that can say "not slower"
    comparisons: int = 0
    launches: list[float] = field(default_factory=list)

    def cell(self) -> str:
        """Share held to be slower, of how many."""
        return f"{self.slower / self.comparisons:.2f}" if self.comparisons else "–"


def ciwm_tallies(pool: Pool, config: GateConfig) -> dict[str, Tally]:
    """ciwm on windows of `max_launches`, all workloads in one run, stopped when it would stop."""
    found = {arm: Tally(passed=0) for arm in ARMS if arm != "base"}
    per_window = config.max_launches // BLOCK
    for arm, tally in found.items():
        for start in range(0, _rounds(pool) - per_window + 1, per_window):
            run = _stopped(_run(pool, arm, range(start, start + per_window), config), config)
            for series in decide(run, config).series:
                tally.comparisons += 1
                tally.slower += series.outcome == "regressed"
                tally.passed = (tally.passed or 0) + (series.outcome == "unchanged")
                tally.launches.append(series.launches.base)
    return found


def _run(pool: Pool, arm: str, rounds: range, config: GateConfig) -> Run:
    """Launches of base and an arm as the file of samples that `ciwm gate --samples` takes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "samples.csv")
        with path.open("w", newline="", encoding="utf-8") as sink:
            csv.writer(sink).writerows([COLUMNS, *_rows(pool, arm, rounds)])
        return read_samples(path, config)


def _rows(pool: Pool, arm: str, rounds: range) -> Iterator[tuple[object, ...]]:
    for workload, arms in pool.launches.items():
        for side, source in (("base", "base"), ("head", arm)):
            for number in rounds:
                for index in range(BLOCK):
                    launch = arms[source][BLOCK * number + index]
                    for iteration, value in enumerate(launch):
                        place = (number, index, iteration)
                        yield (workload, "s", "lower", side, *place, value)


def _stopped(run: Run, config: GateConfig) -> Run:
    """The run as far as ciwm bench would have taken it: a decided workload is launched no more."""
    watch = Watch(run.plan, config)
    kept: list[Launch] = []
    for block in blocks(run.launches):
        if not watch.decided(block[0].workload):
            watch.add(block)
            kept += block
    return run.model_copy(update={"launches": tuple(kept)})


def tallies(pool: Pool, rival: Rival) -> dict[str, Tally]:
    """A rival on as many windows as the launches suffice for; `later` is A/A, one after the other.

    Side by side is the rival's best case: most of them measure base and head on two occasions.
    """
    found = {arm: Tally() for arm in (*ARMS, "later") if arm != "base"}
    for arms in pool.launches.values():
        total = min(len(launches) for launches in arms.values())
        for number in range(min(MOST, total // rival.launches)):
            window = slice(number * rival.launches, (number + 1) * rival.launches)
            for arm, tally in found.items():
                head = arms["same" if arm == "later" else arm]
                at = window
                if arm == "later":
                    after = window.start + total // 2
                    if after + rival.launches > total or rival.name.startswith(PAIRED):
                        continue
                    at = slice(after, after + rival.launches)
                tally.slower += rival.judge(arms["base"][window], head[at])
                tally.comparisons += 1
    return found


def table(pool: Pool) -> str:
    """Everything as Markdown."""
    arms = [arm for arm in ARMS if arm != "base"]
    lines = [
        f"| tool | launches a side | A/A | A/A, later | {' | '.join(arms[1:])} | comparisons |",
        "|--|--|--|--|" + "--|" * len(arms),
    ]
    ours = ciwm_tallies(pool, GateConfig())
    launches = f"{fmean(ours['same'].launches):.1f} to {fmean(ours['+10 %'].launches):.1f}"
    cells = [ours["same"].cell(), "advice only", *(ours[arm].cell() for arm in arms[1:])]
    lines.append(f"| **ciwm** | {launches} | {' | '.join(cells)} | {ours['same'].comparisons} |")
    wrongly = [f"{arm}: {ours[arm].passed}/{ours[arm].comparisons}" for arm in arms]
    for rival in RIVALS:
        found = tallies(pool, rival)
        cells = [found[arm].cell() for arm in ("same", "later", *arms[1:])]
        counted = found["same"].comparisons
        lines.append(f"| {rival.name} | {rival.launches} | {' | '.join(cells)} | {counted} |")
    return "\n".join([*lines, "", f"ciwm said `unchanged` of {', '.join(wrongly)}."])


def _rounds(pool: Pool) -> int:
    return min(len(each) for arms in pool.launches.values() for each in arms.values()) // BLOCK


if __name__ == "__main__":
    sys.stdout.write(table(read_pool(Path(sys.argv[1]))) + "\n")
