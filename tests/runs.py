"""Runs written down in a test: blocks of launches in the order that the plan's seed gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from ciwm.records import (
    Arm,
    BuildRecord,
    Environment,
    Launch,
    Plan,
    Revision,
    Run,
    Samples,
    Series,
    Side,
    Telemetry,
)
from ciwm.stats.gate import block_order

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ciwm.records.run import ExitReason

START = datetime(2026, 5, 4, 9, 0, tzinfo=timezone.utc)
REVISIONS = {
    "base": Revision(ref="main", sha="a" * 40, tree="1" * 40),
    "head": Revision(ref="refs/pull/7/merge", sha="b" * 40, tree="2" * 40),
}
MACHINE = Environment(
    cpu_model="EPYC 9654",
    cpu_count=8,
    memory_bytes=64 << 30,
    architecture="x86_64",
    os="Debian 12",
    kernel="6.1",
)


def series(name: str = "decode/b1", **fields: Any) -> Series:
    """A series of a workload of its own; step_time in seconds, lower is better, 3 %."""
    return Series(
        **{
            "series": name,
            "metric": "step_time",
            "workload": name.partition("/")[0],
            "unit": "s",
            "better": "lower",
            "threshold_pct": 3.0,
            **fields,
        }
    )


def build(side: Side, *, ok: bool = True) -> BuildRecord:
    """A build that worked, or one that the compiler refused."""
    return BuildRecord(
        revision=REVISIONS[side],
        key="k" + side,
        status="built" if ok else "failed",
        duration_s=3.0,
        exit_code=0 if ok else 1,
        directory=f"/b/{side}",
        python=f"/b/{side}/bin/python",
        log=f"/b/{side}/log",
        log_tail=() if ok else ("ops.c:12: error: unknown type name 'half'",),
    )


@dataclass
class RunBuilder:
    """Collects blocks; `run()` is the record."""

    family: Sequence[Series] = field(default_factory=lambda: [series()])
    seed: int = 20
    plan: dict[str, Any] = field(default_factory=dict)
    arms: dict[Side, dict[str, Any]] = field(default_factory=lambda: {"base": {}, "head": {}})
    launches: list[Launch] = field(default_factory=list)

    def block(
        self,
        number: int,
        values: Mapping[str, Sequence[Any]],
        *,
        workload: str = "decode",
        attempt: int = 0,
        exits: Mapping[str, Sequence[ExitReason]] | None = None,
        telemetry: Mapping[str, Sequence[Telemetry | None]] | None = None,
    ) -> RunBuilder:
        """Two launches a side. A value is a number, a list of iterations, or {series: those}."""
        turn: dict[Side, int] = {"base": 0, "head": 0}
        for position, name in enumerate(block_order(self.seed, workload, number, attempt)):
            side: Side = "base" if name == "base" else "head"
            index = turn[side]
            turn[side] += 1
            ended = exits[side][index] if exits and side in exits else "ok"
            window = telemetry[side][index] if telemetry and side in telemetry else None
            self.launches.append(
                Launch(
                    number=len(self.launches),
                    workload=workload,
                    side=side,
                    block=number,
                    attempt=attempt,
                    position=position,
                    started_at=START + timedelta(seconds=len(self.launches)),
                    duration_s=1.0,
                    exit=ended,
                    detail="" if ended == "ok" else "it said: boom",
                    samples=self._samples(values[side][index], workload) if ended == "ok" else (),
                    telemetry=(window,) if window else (),
                )
            )
        return self

    def blocks(
        self, count: int, base: float, head: float, *, workload: str = "decode", start: int = 0
    ) -> RunBuilder:
        """That many blocks of launches a hair's breadth (0.01 %) around two values."""
        for number in range(start, start + count):
            hair = 1 + 0.0001 * (number % 3)
            self.block(
                number,
                {"base": [base, base * hair], "head": [head, head * hair]},
                workload=workload,
            )
        return self

    def run(self, *, complete: bool = True, stopped_because: str = "the plan is done") -> Run:
        """The record of what was collected."""
        workloads = tuple(dict.fromkeys(each.workload for each in self.family))
        plan = {
            "seed": self.seed,
            "max_launches": 16,
            "family": tuple(self.family),
            "family_size": len(self.family),
            "workloads": workloads,
            "workloads_from": REVISIONS["head"],
            **self.plan,
        }
        return Run(
            id="r1",
            started_at=START,
            plan=Plan(**plan),
            base=self._arm("base"),
            head=self._arm("head"),
            launches=tuple(self.launches),
            complete=complete,
            stopped_because=stopped_because,
        )

    def _arm(self, side: Side) -> Arm:
        known = {"revision": REVISIONS[side], "build": build(side), "environment": MACHINE}
        return Arm(**{**known, **self.arms[side]})

    def _samples(self, value: Any, workload: str) -> tuple[Samples, ...]:
        own = [each for each in self.family if each.workload == workload]
        by_series = value if isinstance(value, dict) else {each.series: value for each in own}
        metrics = {each.series: each.metric for each in own}
        return tuple(
            Samples(
                series=name,
                metric=metrics.get(name, "step_time"),
                values=tuple(found) if isinstance(found, list | tuple) else (found,),
            )
            for name, found in by_series.items()
            if found is not None
        )
