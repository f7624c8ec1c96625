"""What one rank of a workload calls by itself: it runs as made, on a group that only answers.

The workload believes torchrun started it. The groups it makes are the one that is there: whatever
backend it asks for, nothing is sent, and one process counts what any number of ranks would call.
"""

from __future__ import annotations

import os
from typing import Any, Callable, List, Mapping, Tuple

from .collective_count import Counted, counting
from .strategies import UNTYPICAL, Ready, reduce_bucket
from .subject import build, has_model, parts, step


def run_own(job: Mapping[str, Any], world: int) -> Tuple[Counted, Ready]:
    """Count one step of the workload as the first of `world` ranks; raises what it raises."""
    from torch import distributed
    from torch.testing._internal.distributed.fake_pg import FakeStore

    _pose_as_first_of(world)
    distributed.init_process_group("fake", rank=0, world_size=world, store=FakeStore())
    distributed.init_process_group = _keep_the_group
    distributed.destroy_process_group = _keep_the_group
    wrapped = _teach_ddp()
    runs = _runs(job)
    for run in runs * (UNTYPICAL if wrapped else 0):
        run()
    counted = Counted()
    with counting(counted):
        for run in runs:
            run()
    return counted, Ready(None, "counted", "what the workload itself calls")


def _runs(job: Mapping[str, Any]) -> List[Callable[[], Any]]:
    if has_model(job):
        return [run for _, run in parts(build(job), job["phase"])]
    return [step(job)]


def _pose_as_first_of(world: int) -> None:
    """What torchrun sets; this is a forked child, and nobody else sees it."""
    size = str(world)
    os.environ.update({"WORLD_SIZE": size, "LOCAL_WORLD_SIZE": size, "GROUP_RANK": "0"})
    os.environ.update({"RANK": "0", "LOCAL_RANK": "0"})
    os.environ.update({"MASTER_ADDR": "localhost", "MASTER_PORT": "29500"})


def _keep_the_group(*_args: Any, **_kwargs: Any) -> None:
    """The group is there before the workload asks for one, and after it lets it go."""


def _teach_ddp() -> List[Any]:
    """Reduce by hand what DDP reduces: the future of a fake reduction has no value.

    Gives the list of what will have been wrapped.
    """
    from torch.nn.parallel import DistributedDataParallel

    wrapped: List[Any] = []
    made = DistributedDataParallel.__init__

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **kwargs)
        self.register_comm_hook(None, reduce_bucket)
        wrapped.append(self)

    DistributedDataParallel.__init__ = init
    return wrapped
