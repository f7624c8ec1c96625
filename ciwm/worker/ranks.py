"""The ranks of one launch: they warm up equally long, and begin each timed step together.

They meet at the store that torchrun keeps for them, not in a process group: the workload makes its
own groups when and as it likes.
"""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from typing import Any, Dict

from .problem import Problem

PREFIX = "ciwm"


class Alone:
    """The only process of a launch."""

    rank = 0

    def any(self, wanted: bool) -> bool:  # noqa: FBT001  said once, by name
        """Whether any rank wants it."""
        return wanted

    def first(self, value: int) -> int:
        """What the first rank says."""
        return value

    def meet(self) -> None:
        """Return when all ranks are here."""


class Together:
    """One rank among several; every rank makes the same calls in the same order."""

    def __init__(self, store: Any, rank: int, size: int) -> None:
        self.rank = rank
        self._store = store
        self._size = size
        self._round = 0

    def any(self, wanted: bool) -> bool:  # noqa: FBT001  said once, by name
        """Whether any rank wants it; returns when all have said."""
        self._store.add(f"wanted{self._round + 1}", int(wanted))
        self.meet()
        return bool(self._store.add(f"wanted{self._round}", 0))

    def first(self, value: int) -> int:
        """What the first rank says; returns when all are here."""
        if self.rank == 0:
            self._store.set(f"said{self._round + 1}", str(value))
        self.meet()
        return int(self._store.get(f"said{self._round}"))

    def meet(self) -> None:
        """Return when all ranks are here."""
        self._round += 1
        here = f"here{self._round}"
        if self._store.add(here, 1) == self._size:
            self._store.set(f"all{self._round}", "")
            self._forget(self._round - 2)
        self._store.wait([f"all{self._round}"])

    def _forget(self, done: int) -> None:
        """All ranks have left the round before the last one, so its keys are of no more use."""
        for name in ("here", "all", "wanted", "said"):
            self._store.delete_key(f"{name}{done}")


def rank_of(job: Dict[str, Any]) -> int:
    """This process's number among the ranks of the launch; 0 when it is alone."""
    return int(os.environ.get("RANK", "0")) if job.get("ranks", 1) > 1 else 0


def journal_of(path: str, rank: int) -> str:
    """Where a rank writes: the first to the path itself, another to `journal.RANK.jsonl`."""
    stem, end = os.path.splitext(path)
    return path if rank == 0 else f"{stem}.{rank}{end}"


def join(job: Dict[str, Any]) -> Any:
    """The ranks of this launch, met at torchrun's store; raises Problem when they are others."""
    size = job.get("ranks", 1)
    if size == 1:
        return Alone()
    started = os.environ.get("WORLD_SIZE", "no")
    if started != str(size):
        raise Problem("invalid", f"torchrun started {started} ranks, where {size} were planned")
    import torch.distributed as dist  # noqa: TID251  only a job of several ranks needs it

    if not dist.is_available():
        raise Problem("invalid", f"the torch of {sys.executable} is built without distributed")
    store, rank, _ = next(dist.rendezvous("env://"))
    store.set_timeout(timedelta(days=30))  # the launch has a time limit of its own
    return Together(dist.PrefixStore(PREFIX, store), rank, size)
