"""Strategies counted on a fake group, by hand; the probe of gloo by real ranks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.opmap.communication import communication, probe_of, strategies_of
from ciwm.opmap.observe import Observed, observe
from ciwm.opmap.pattern import pattern
from ciwm.opmap.subjects import INTERPRETER
from ciwm.worker.opmap import probe
from ciwm.worker.problem import Problem
from tests.integration.on_device.models import BLOCKS, EXPERTS
from tests.toy_backend.site import cpu_site, lines, subject

if TYPE_CHECKING:
    from collections.abc import Callable

    from ciwm.records.opmap_communication import StrategyNeeds

# BLOCKS has 2 x (16 x 32 + 32 x 16) + 16 x 8 parameters of 4 bytes; its input is 4 x 16 of 4 bytes
BLOCK_BYTES = (16 * 32 + 32 * 16) * 4
HEAD_BYTES = 16 * 8 * 4
INPUT_BYTES = 4 * 16 * 4


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Observed:
    folder = tmp_path_factory.mktemp("needs")
    made = subject(folder, BLOCKS, "train")
    return observe("communication", made, cpu_site(folder), {"worlds": [8]})


@pytest.fixture(scope="module")
def strategies(counted: Observed) -> dict[str, StrategyNeeds]:
    assert counted.problem is None, counted.problem
    return {one.strategy: one for one in strategies_of("w", counted)}


def needs(one: StrategyNeeds) -> dict[tuple[str, str], tuple[int, int]]:
    return {(each.primitive, each.reduce_op): (each.calls, each.bytes) for each in one.needs}


def test_ddp_reduces_every_gradient_once(strategies: dict[str, StrategyNeeds]) -> None:
    assert strategies["ddp"].status == "counted"
    assert needs(strategies["ddp"]) == {("all_reduce", "sum"): (1, 2 * BLOCK_BYTES + HEAD_BYTES)}


def test_fsdp2_gathers_each_block_twice_and_scatters_each_gradient_once(
    strategies: dict[str, StrategyNeeds],
) -> None:
    found = needs(strategies["fsdp2"])
    # forward: both blocks and the rest; backward: both blocks again, the rest was kept
    assert found["all_gather", ""] == (5, 4 * BLOCK_BYTES + HEAD_BYTES)
    (scatter,) = [each for key, each in found.items() if key[0] == "reduce_scatter"]
    assert scatter == (3, 2 * BLOCK_BYTES + HEAD_BYTES)


def test_tensor_parallelism_reduces_once_a_block_and_pass(
    strategies: dict[str, StrategyNeeds],
) -> None:
    assert strategies["tp"].status == "counted"
    # two blocks forward; backward one, because nobody wants the gradient of the first one's input
    assert needs(strategies["tp"]) == {("all_reduce", "sum"): (3, 3 * INPUT_BYTES)}


def test_the_last_of_two_pipeline_stages_receives_activations_and_sends_gradients(
    strategies: dict[str, StrategyNeeds],
) -> None:
    assert strategies["pp"].status == "estimated"
    assert strategies["pp"].detail.startswith("the last stage of 2")
    assert needs(strategies["pp"]) == {
        ("recv", ""): (1, INPUT_BYTES),
        ("send", ""): (1, INPUT_BYTES),
    }


def test_a_middle_stage_receives_and_sends_both(tmp_path: Path) -> None:
    made = subject(
        tmp_path, BLOCKS.replace("[Block(), Block()]", "[Block(), Block(), Block()]"), "train"
    )
    options = {"worlds": [4], "strategies": ["pp"]}
    observed = observe("communication", made, cpu_site(tmp_path), options)
    (found,) = strategies_of("w", observed)
    assert found.detail.startswith("a middle stage of 3")
    assert needs(found) == {
        ("recv", ""): (2, 2 * INPUT_BYTES),
        ("send", ""): (2, 2 * INPUT_BYTES),
    }


def test_a_strategy_without_anything_to_do_says_so(strategies: dict[str, StrategyNeeds]) -> None:
    assert strategies["ep"].status == "not applicable"
    assert strategies["ep"].detail == "no mixture of experts in it"


def test_a_token_is_sent_to_each_of_its_experts_and_experts_are_no_stages_of_a_pipeline(
    tmp_path: Path,
) -> None:
    made = subject(tmp_path, EXPERTS, "prefill")
    seen = observe("communication", made, cpu_site(tmp_path), {"worlds": [4]})
    found = {one.strategy: one for one in strategies_of("w", seen)}
    # there and back: 8 tokens to two experts, each of 16 numbers of 4 bytes
    assert needs(found["ep"]) == {("all_to_all", ""): (2, 2 * 8 * 2 * 16 * 4)}
    assert "each token to 2 experts" in found["ep"].detail
    assert found["pp"].status == "not applicable"


def test_groups_are_as_large_as_the_world(strategies: dict[str, StrategyNeeds]) -> None:
    assert {each.group for one in strategies.values() for each in one.needs} == {8}


RANKS = """
import os
import torch
import torch.distributed as dist

class Step:
    def __init__(self):
        assert (os.environ["RANK"], os.environ["WORLD_SIZE"]) == ("0", "4")
        dist.init_process_group("nccl")
        self.model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8, bias=False))

    def step(self):
        self.model(torch.randn(2, 8)).sum().backward()
        dist.all_reduce(torch.ones(1), op=dist.ReduceOp.MAX)
        dist.barrier()

    def teardown(self):
        dist.destroy_process_group()
"""


def test_a_workload_of_several_ranks_is_seen_as_it_is(tmp_path: Path) -> None:
    made = replace(subject(tmp_path, RANKS, "train", "Step.step"), entry="step", devices=4)
    observed = observe("communication", made, cpu_site(tmp_path))
    assert observed.problem is None, observed.problem
    (own,) = strategies_of(made.id, observed)
    assert (own.strategy, own.world, own.status) == ("own", 4, "counted")
    # by hand: 8 x 8 gradients of 4 bytes; the maximum of one number
    assert needs(own) == {
        ("all_reduce", "sum"): (1, 256),
        ("all_reduce", "max"): (1, 4),
        ("barrier", ""): (1, 0),
    }
    found = pattern(made, [own])
    assert found.classes == ("all-reduce", "one to many")
    assert (found.smallest_bytes, found.largest_bytes) == (4, 256)


def test_a_declared_strategy_is_counted_in_the_ranks_of_its_workload(tmp_path: Path) -> None:
    made = replace(subject(tmp_path, BLOCKS, "train"), devices=4, parallel=("fsdp2",))
    options = {"worlds": [8], "strategies": ["fsdp2"]}
    observed = observe("communication", made, cpu_site(tmp_path), options)
    strategies = strategies_of(made.id, observed)
    assert {(one.strategy, one.world) for one in strategies} == {
        ("fsdp2", 4),
        ("fsdp2", 8),
        ("own", 4),
    }
    found = pattern(made, strategies)
    assert found.classes == ("all-gather + reduce-scatter",)
    assert (found.calls, found.bytes) == (8, 6 * BLOCK_BYTES + 2 * HEAD_BYTES)
    assert (found.smallest_bytes, found.largest_bytes) == (HEAD_BYTES, BLOCK_BYTES)
    undeclared = pattern(replace(made, parallel=()), strategies)
    assert undeclared.status == "undetermined"


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> Observed:
    site = cpu_site(tmp_path_factory.mktemp("probe"))
    return observe("probe", INTERPRETER, site, {"device": "cpu"})


def test_gloo_is_probed_cell_by_cell_with_its_numbers_checked(probed: Observed) -> None:
    cells = {
        (line["primitive"], line["dtype"], line["reduce_op"]): line
        for line in lines(probed, "cell")
    }
    assert len(cells) > 100
    for dtype in ("float32", "bfloat16", "int64"):
        assert cells["all_reduce", dtype, "sum"]["status"] == "ok"
        assert cells["all_gather", dtype, ""]["status"] == "ok"
    # gloo has no float8 reduction, and an average of whole numbers has no place
    assert cells["all_reduce", "float8_e4m3fn", "sum"]["status"] == "gap"
    assert cells["all_reduce", "int64", "avg"]["status"] == "gap"
    assert "complex" in cells["all_reduce", "complex64", "max"]["detail"]


def test_the_gaps_are_those_that_a_strategy_needs(
    probed: Observed, strategies: dict[str, StrategyNeeds]
) -> None:
    found = communication(probe_of(probed), list(strategies.values()))
    assert found is not None
    assert found.probe is not None
    assert any(cell.status == "gap" for cell in found.probe.cells)
    assert found.gaps == ()  # float32 is all that this model needs


def died(starts: list[int]) -> Callable[[Any, int], str]:
    """What torchrun leaves of three cells: 1 begun and not ended at the first start."""

    def start(asked: Any, first: int) -> str:
        starts.append(first)
        text = ""
        for number in range(first, 3):
            named = f'"of": 3, "primitive": "p{number}", "dtype": "float32", "reduce_op": ""'
            text += f'{{"begun": {number}, {named}}}\n'
            if number == 1:
                break
            text += f'{{"number": {number}, "status": "ok", "detail": ""}}\n'
        with Path(asked.out).open("a", encoding="utf-8") as out:
            out.write(text)
        return "ended with status -11"

    return start


def test_the_probe_goes_on_behind_a_cell_that_takes_the_ranks_down(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    starts: list[int] = []
    monkeypatch.setattr(probe, "_torchrun", died(starts))
    told: list[dict[str, Any]] = []
    out = tmp_path / "cells"
    out.touch()
    probe._try_all(probe._Probe("gloo", "cpu", 2, str(out), float("inf")), told.append)
    assert starts == [0, 2]
    assert [(line["primitive"], line["status"]) for line in told] == [
        ("p0", "ok"),
        ("p1", "crash"),
        ("p2", "ok"),
    ]


def test_a_probe_that_runs_out_of_time_says_how_far_it_came(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(probe, "_torchrun", died([]))
    told: list[dict[str, Any]] = []
    out = tmp_path / "cells"
    out.touch()
    with pytest.raises(Problem, match="in its time 2 of 3 collectives were tried") as problem:
        probe._try_all(probe._Probe("gloo", "cpu", 2, str(out), 0.0), told.append)
    assert problem.value.reason == "timeout"
    assert [line["status"] for line in told] == ["ok", "crash"]


# what a plugin could bring: a broadcast of int32 that never comes back
STICKY = """
import time
from torch import distributed
real = distributed.broadcast

def broadcast(tensor, src, *rest, **more):
    if str(tensor.dtype) == "torch.int32":
        time.sleep(3600)
    return real(tensor, src, *rest, **more)

distributed.broadcast = broadcast
"""


def test_the_probe_goes_on_behind_a_cell_that_hangs_and_its_ranks_know_the_plugins(
    tmp_path: Path,
) -> None:
    (tmp_path / "sticky.py").write_text(STICKY)
    site = replace(cpu_site(tmp_path), python_path=(tmp_path,))
    options = {"device": "cpu", "imports": ["sticky"], "stall_s": 5}
    cells = lines(observe("probe", INTERPRETER, site, options), "cell")
    crashed = [line for line in cells if line["status"] == "crash"]
    assert [(line["primitive"], line["dtype"]) for line in crashed] == [("broadcast", "int32")]
    assert crashed[0]["detail"] == "hung: no answer in 5 s"
    assert cells[-1]["primitive"] == "barrier"


FUNCTIONAL = """
import torch
import torch.distributed as dist

class Step:
    def step(self):
        ops, group = torch.ops._c10d_functional, dist.group.WORLD.group_name
        x = torch.ones(4, 2)
        ops.isend(x, 1, 0, group)
        ops.batch_p2p_ops(["isend", "irecv"], [1, 1], [0, 0], [x, x.half()], group)
        ops.reduce_scatter_tensor_out(x, "sum", 2, group, out=x[:2].clone())
        torch.ops._dtensor.shard_dim_alltoall(x, 0, 1, group)
"""


def test_collectives_by_their_other_names_are_counted(tmp_path: Path) -> None:
    made = replace(subject(tmp_path, FUNCTIONAL, "train", "Step.step"), entry="step", devices=2)
    (own,) = strategies_of(made.id, observe("communication", made, cpu_site(tmp_path)))
    found = {(each.primitive, each.dtype): (each.calls, each.bytes) for each in own.needs}
    assert own.status == "counted", own.detail
    assert found == {
        ("send", "float32"): (2, 64),
        ("recv", "float16"): (1, 16),
        ("reduce_scatter", "float32"): (1, 32),
        ("all_to_all", "float32"): (1, 32),
    }


# eight layers of 4 MiB
LARGE = """
import torch
from torch import nn

def build():
    layers = [nn.Linear(1024, 1024, bias=False) for _ in range(8)]
    return {"model": nn.Sequential(*layers), "inputs": (torch.randn(2, 1024),)}

class Step:
    def __init__(self):
        self.model = nn.parallel.DistributedDataParallel(build()["model"])

    def step(self):
        self.model(torch.randn(2, 1024)).sum().backward()
"""


@pytest.mark.parametrize("called", ["build", "Step.step"])
def test_ddp_is_counted_as_it_goes_on_and_not_as_it_begins(tmp_path: Path, called: str) -> None:
    """Buckets as DDP documents them: of the first gradients from 1 MiB on, then from 25 MiB on."""
    entry: Any = "model" if called == "build" else "step"
    made = replace(subject(tmp_path, LARGE, "train", called), entry=entry, devices=4)
    options = {"worlds": [4], "strategies": ["ddp"]}
    observed = observe("communication", made, cpu_site(tmp_path), options)
    wanted = "ddp" if called == "build" else "own"
    (found,) = [one for one in strategies_of("w", observed) if one.strategy == wanted]
    (need,) = found.needs
    layer = 4 << 20
    assert (need.calls, need.bytes) == (2, 8 * layer)
    assert (need.smallest_bytes, need.largest_bytes) == (layer, 7 * layer)
