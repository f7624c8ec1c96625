"""Blocks side by side on a host with several cards: each on cards of its own, one launch on each.

The cards are made up, as this machine has none; the launches are real.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.bench import measure as measuring
from ciwm.bench import places
from ciwm.bench.engine import Finished, Queue, Task
from ciwm.bench.local_engine import places as places_on
from ciwm.bench.measure import resume
from ciwm.bench.schedule import Schedule, Turn
from ciwm.config import BenchConfig, GateConfig
from ciwm.devices import describe_host
from ciwm.launch.locks import card_lock
from ciwm.policy import decide
from ciwm.records import Accelerator, Plan
from tests.fork import exits, workload
from tests.runs import REVISIONS, series

if TYPE_CHECKING:
    from pathlib import Path

    from ciwm.bench.measure import BenchRequest
    from ciwm.records import Launch, Run
    from tests.fork import Fork

SEEN = {"cards": {"unit": "count", "better": "higher"}}
ALONE = """
import os, pathlib, time
places = pathlib.Path(os.environ["PLACES"])
cards = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")

def setup(**params):
    for card in cards:
        (places / card).mkdir()  # fails where another launch is on this card
    return params

def step(state):
    other, me = state.get("waits_for"), state.get("name")
    if other:
        (places / f"{me}.here").touch()
        for _ in range(3000):
            if (places / f"{other}.here").exists():
                break
            time.sleep(0.01)
        else:
            raise RuntimeError(f"{other} never ran beside {me}")
    return {"cards": len(cards)}

def teardown(state):
    for card in cards:
        (places / card).rmdir()
"""


def card(index: int) -> Accelerator:
    return Accelerator(index=index, vendor="nvidia", name="A10", uuid=f"GPU-{index}")


@pytest.fixture
def three_cards(fork: Fork, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fork:
    host = describe_host().model_copy(update={"accelerators": tuple(map(card, range(3)))})
    monkeypatch.setattr(places, "measured_host", lambda *_: host)
    (tmp_path / "places").mkdir()
    monkeypatch.setenv("PLACES", str(tmp_path / "places"))
    fork.commit({"bench/steps.py": ALONE})
    return fork


def asked(fork: Fork, *workloads: Any, at_once: int | None = None, **gate: Any) -> BenchRequest:
    head = fork.repository.revision("HEAD")
    request = fork.request(head, head, *workloads, gate=gate)
    bench = BenchConfig(blocks_at_once=at_once)
    config = request.config.model_copy(update={"bench": bench})
    return measuring.BenchRequest(**{**vars(request), "config": config})


def by_block(run: Run) -> dict[tuple[str, int, int], list[Launch]]:
    found: dict[tuple[str, int, int], list[Launch]] = {}
    for one in run.launches:
        found.setdefault((one.workload, one.block, one.attempt), []).append(one)
    return found


def test_workloads_run_side_by_side_each_block_on_one_card(three_cards: Fork) -> None:
    waits = {"a": {"name": "a", "waits_for": "b"}, "b": {"name": "b", "waits_for": "a"}}
    each = [workload(name, metrics=SEEN, params=params) for name, params in waits.items()]

    run = three_cards.measure(asked(three_cards, *each))

    assert exits(run, "base") == exits(run, "head") == ["ok"] * 8
    for block in by_block(run).values():
        assert len(block) == 4
        assert len({one.cards for one in block}) == 1
        assert [one.position for one in block] == [0, 1, 2, 3]
    assert len({one.cards for one in run.launches}) > 1
    assert [one.number for one in run.launches] == list(range(1, 17))


def test_a_workload_gets_as_many_cards_as_it_needs_and_sees_no_others(three_cards: Fork) -> None:
    pair = workload(
        "pair", command="{python} bench/run.py {out}", devices=2, metrics=SEEN, files=["bench/*"]
    )
    three_cards.commit(
        {
            "bench/run.py": "import json, sys, steps\n"
            "state = steps.setup()\n"
            "json.dump(steps.step(state), open(sys.argv[1], 'w'))\n"
            "steps.teardown(state)\n"
        }
    )

    run = three_cards.measure(asked(three_cards, pair, workload("lone", metrics=SEEN)))

    assert {one.exit for one in run.launches} == {"ok"}
    seen = {one.workload: one.samples[0].values[0] for one in run.launches}
    assert seen == {"pair": 2, "lone": 1}
    assert {len(one.cards) for one in run.launches if one.workload == "pair"} == {2}


def test_blocks_at_once_holds_them_to_fewer(three_cards: Fork) -> None:
    each = [workload(name, metrics=SEEN) for name in "ab"]

    run = three_cards.measure(asked(three_cards, *each, at_once=1))

    assert {one.cards for one in run.launches} == {(0,)}
    ends = [one.started_at.timestamp() + one.duration_s for one in run.launches]
    starts = [one.started_at.timestamp() for one in run.launches]
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))


def test_blocks_of_one_workload_are_judged_in_the_order_they_were_begun(three_cards: Fork) -> None:
    request = asked(three_cards, workload(metrics=SEEN), max_launches=8)

    run = three_cards.measure(request)

    begun = list(by_block(run))
    assert begun == sorted(begun)
    assert len({one.cards for one in run.launches}) > 1
    assert run.complete
    assert decide(run, request.config.gate).series[0].launches.base == len(begun) * 2


def test_a_run_stopped_on_several_cards_is_gone_on_with(three_cards: Fork) -> None:
    stop = threading.Event()
    stop_after = {"number": 3}

    def say(line: str) -> None:
        three_cards.said.append(line)
        stop_after["number"] -= 1
        if not stop_after["number"]:
            stop.set()

    request = asked(three_cards, *[workload(name, metrics=SEEN) for name in "ab"])
    stopped = measuring.measure(request, stop=stop, on_progress=say)
    host_stays = resume(
        request.directory, stop=threading.Event(), on_progress=three_cards.said.append
    )

    assert not stopped.complete
    assert host_stays.complete
    counted = [block for block in by_block(host_stays).values() if len(block) == 4]
    assert len([one for one in counted if {x.exit for x in one} == {"ok"}]) == 4
    numbers = [one.number for one in host_stays.launches]
    assert numbers == sorted(set(numbers))


def test_a_card_that_others_hold_keeps_nobody_from_the_free_ones(three_cards: Fork) -> None:
    stop, said = threading.Event(), three_cards.said

    def say(line: str) -> None:
        said.append(line)
        waits = any("waiting for nvidia-GPU-0" in one for one in said)
        if waits and sum(" block " in one for one in said) >= 4:
            stop.set()

    request = asked(three_cards, *[workload(name, metrics=SEEN) for name in "ab"], at_once=2)
    with card_lock("nvidia-GPU-0", timeout_s=0, on_wait=said.append):
        run = measuring.measure(request, stop=stop, on_progress=say)

    assert not run.complete
    assert {one.cards for one in run.launches} == {(1,)}


@pytest.mark.parametrize(
    ("cards", "launcher", "limit", "expected"),
    [
        ([card(0), card(1), card(2)], "", None, 3),
        ([card(0), card(1), card(2)], "", 2, 2),
        ([card(0), card(1)], "", 9, 2),
        ([card(0)], "", None, 1),
        ([], "", None, 1),
        ([card(0), card(1)], "srun -n1", None, 1),  # whose card is another node's
        ([card(0), card(0).model_copy(update={"uuid": "MIG-1"})], "", None, 1),
        ([card(n).model_copy(update={"vendor": "mps"}) for n in (0, 1)], "", None, 1),
    ],
)
def test_blocks_run_side_by_side_only_where_each_is_kept_to_its_own_card(
    cards: list[Accelerator], launcher: str, limit: int | None, expected: int
) -> None:
    host = describe_host().model_copy(update={"accelerators": tuple(cards)})

    assert places_on(host, [workload(launcher=launcher)], limit) == expected


def task(name: str, block: int, first: int) -> Task:
    return Task(Turn(name, block, 0, ("base", "head")), first, 0.0)


def test_a_block_waits_for_an_earlier_one_of_its_workload_only() -> None:
    queue = Queue()
    first, second, other = task("w", 0, 1), task("w", 1, 5), task("v", 0, 9)
    for one in (first, second, other):
        queue.begun(one)

    assert queue.over(Finished(second)) == []
    assert [one.task for one in queue.over(Finished(other))] == [other]
    assert [one.task for one in queue.over(Finished(first))] == [first, second]
    assert queue.waiting == []


def test_a_block_under_way_is_not_begun_twice_and_counts_against_the_launches() -> None:
    plan = Plan(
        seed=1,
        max_launches=4,
        family=(series("w"),),
        family_size=1,
        workloads=("w",),
        workloads_from=REVISIONS["head"],
    )
    schedule = Schedule(plan, GateConfig(max_launches=4))
    turns = []
    while turn := schedule.next_turn(100.0):
        schedule.begin(turn)
        turns.append(turn)

    assert [turn.block for turn in turns] == [0, 1]
    assert schedule.undecided == ("w",)
    schedule.give_up(turns[0])
    assert schedule.next_turn(100.0) == turns[0]
