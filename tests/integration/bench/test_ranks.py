"""Workloads of several ranks: started by torchrun, timed by the slowest, over before long."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
import time
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.launch.worker_job import Order, command, environment
from ciwm.launch.worker_process import Limits
from tests.fork import workload
from tests.integration.bench.ranks_bed import Bed

if TYPE_CHECKING:
    from ciwm.config import WorkloadConfig
    from ciwm.records import Samples

UNEVEN = """
import os, time
import torch, torch.distributed as dist

def setup(**params):
    dist.init_process_group("gloo")
    return dict(params, rank=dist.get_rank(), steps=[0])

def step(state):
    state["steps"][0] += 1
    time.sleep(0.004 * (1 + state["rank"]))
    total = torch.ones(8)
    dist.all_reduce(total)
    misbehave(state)
    return {"tokens": 10.0 * (1 + state["rank"]), "world": total[0].item()}

def misbehave(state):
    how = state.get("how")
    late = 100 if how == "hang" else 3  # samples are written down every fifth of a second
    if state["rank"] != 1 or state["steps"][0] < late:
        return
    if how == "raise":
        raise ValueError("rank one is unwell")
    if how == "segv":
        os.kill(os.getpid(), 11)
    if how == "hang":
        time.sleep(3600)

def teardown(state):
    dist.destroy_process_group()
"""


@pytest.fixture
def bed(tmp_path: Path) -> Bed:
    made = Bed(tmp_path)
    (made.sources / "w.py").write_text(UNEVEN)
    return made


def two_ranks(**fields: Any) -> WorkloadConfig:
    return workload("w", python="w.py:step", devices=2, **fields)


def values(samples: tuple[Samples, ...], metric: str) -> tuple[float, ...]:
    (found,) = [one.values for one in samples if one.metric == metric]
    return found


def test_ranks_keep_their_samples_and_the_launch_has_those_of_the_slowest(bed: Bed) -> None:
    tokens = {"unit": "tokens", "better": "higher"}
    launch = bed.launch(
        two_ranks(
            metrics={
                "step_time": {"unit": "ms", "better": "lower"},
                "load_imbalance": {"unit": "%", "better": "lower", "threshold_abs": 1},
                "tokens": {**tokens, "over_ranks": "sum"},
                "world": tokens,
            }
        )
    )

    assert launch.exit == "ok", launch.detail
    assert [one.rank for one in launch.ranks] == [0, 1]
    times = [values(one.samples, "step_time") for one in launch.ranks]
    assert [len(one) for one in times] == [5, 5]
    slowest = tuple(max(pair) for pair in zip(*times, strict=True))
    assert values(launch.samples, "step_time") == slowest
    assert min(slowest) >= 8  # of rank 1, in ms
    imbalance = [(max(pair) / fmean(pair) - 1) * 100 for pair in zip(*times, strict=True)]
    assert values(launch.samples, "load_imbalance") == pytest.approx(imbalance)
    assert values(launch.samples, "tokens") == (30.0,) * 5
    assert values(launch.samples, "world") == (2.0,) * 5
    journals = sorted(path.name for path in bed.site.directory.rglob("journal*"))
    assert journals == ["journal.1.jsonl", "journal.jsonl"]


@pytest.mark.parametrize(
    ("how", "ended", "words"),
    [
        ("raise", "failed", "rank 1: ValueError: rank one is unwell (w.py:"),
        ("segv", "signal", "rank 1: SIGSEGV in misbehave, w.py:"),
    ],
)
def test_a_rank_that_dies_ends_the_launch_and_is_named(
    bed: Bed, how: str, ended: str, words: str
) -> None:
    launch = bed.launch(two_ranks(params={"how": how}, iterations=100_000))

    assert launch.exit == ended
    assert launch.detail.startswith(words)
    assert launch.duration_s < 100  # of the 120 s it had: not the time limit ended it
    log = (bed.site.directory / launch.log).read_text()
    assert how != "raise" or "Traceback (most recent call last)" in log
    assert not launch.samples or launch.samples[0].values


def test_a_stopped_launch_leaves_no_rank_behind_and_keeps_what_each_measured(bed: Bed) -> None:
    stop = threading.Event()
    threading.Thread(target=_stop_once_both_measured, args=(bed, stop), daemon=True).start()

    launch = bed.launch(
        two_ranks(params={"how": "hang"}, iterations=100_000),
        Limits(left_s=120, stop=stop),
    )

    assert launch.exit == "interrupted"
    assert len(_pids(bed)) == 2
    assert not any(Path(f"/proc/{pid}").exists() for pid in _pids(bed))
    assert all(values(one.samples, "step_time") for one in launch.ranks)


def _stop_once_both_measured(bed: Bed, stop: threading.Event) -> None:
    while sum('"samples"' in path.read_text() for path in _journals(bed)) < 2:
        time.sleep(0.05)
    stop.set()


def _journals(bed: Bed) -> list[Path]:
    return list(bed.site.directory.rglob("journal*"))


def _pids(bed: Bed) -> list[int]:
    return [json.loads(path.read_text().splitlines()[0])["pid"] for path in _journals(bed)]


@pytest.mark.heavy
def test_two_nodes_meet_by_the_rendezvous_that_is_passed_on(bed: Bed) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        endpoint = f"127.0.0.1:{free.getsockname()[1]}"
    flags = ["--nnodes=2", "--rdzv-backend=c10d", f"--rdzv-endpoint={endpoint}"]
    one = two_ranks(torchrun=[*flags, "--local-addr=127.0.0.1"]).model_copy(update={"devices": 1})
    other_node = threading.Thread(target=_start_other_node, args=(bed, one))
    other_node.start()

    launch = bed.launch(one)
    other_node.join(timeout=60)

    assert launch.exit == "ok", launch.detail
    assert [len(values(rank.samples, "step_time")) for rank in launch.ranks] == [5, 5]


def _start_other_node(bed: Bed, one: WorkloadConfig) -> None:
    """What a site's launcher does: the same command on the second node, on the same files."""
    order = Order(number=1, workload=one, side="head", block=0, attempt=0, position=0)
    folder = bed.site.directory / order.folder
    while not (folder / "log.txt").exists():
        time.sleep(0.05)
    subprocess.run(
        command(order, bed.site, folder),
        cwd=bed.sources,
        env=environment(order, bed.site),
        check=True,
        timeout=120,
    )
