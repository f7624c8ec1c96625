"""One rank of the collective probe: `collective_rank.py BACKEND DEVICE OUT FIRST [PLUGIN...]`.

Every cell (primitive x dtype x reduce-op) is tried by all ranks, its numbers are checked, and rank
0 writes one JSON line before it and one after it. A cell that takes the process down is the last
one begun, and the probe is started again behind it. Stands alone: standard library and torch.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import importlib
import importlib.util
import json
import os
import sys
from typing import Any, Dict, Iterator, Optional, Tuple

TIMEOUT_S = 20.0


def _beside(name: str) -> Any:
    """A module of this folder, which is not on the path and must not be."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")
    spec = importlib.util.spec_from_file_location("_ciwm_" + name, path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["_ciwm_" + name] = module
    spec.loader.exec_module(module)
    return module


def _tried(trials: Any, ranks: Any, cell: Any) -> Tuple[str, str]:
    """What this rank saw: ok, wrong, or gap with the backend's words."""
    try:
        right = cell.trial()
        trials.wait(ranks)
    except Exception as error:  # noqa: BLE001  whatever a backend throws is a verdict
        return "gap", type(error).__name__ + ": " + " ".join(str(error).split())[:160]
    return ("ok", "") if right else ("wrong", "other numbers than by hand")


def _agreed(
    store: Any, number: int, ranks: Any, seen: Tuple[str, str]
) -> Optional[Tuple[str, str]]:
    """All ranks' answers joined on rank 0; the others wait for it. Nothing here is a collective."""
    store.set(f"ciwm/{number}/{ranks.rank}", json.dumps(seen))
    if ranks.rank != 0:
        store.wait([f"ciwm/{number}/next"], dt.timedelta(seconds=4 * TIMEOUT_S))
        return None
    answers = [json.loads(store.get(f"ciwm/{number}/{rank}")) for rank in range(ranks.size)]
    store.set(f"ciwm/{number}/next", "1")
    status = next(word for word in ("gap", "wrong", "ok") if word in [each[0] for each in answers])
    detail = next(words for word, words in answers if word == status)
    some = sum(answer[0] == "gap" for answer in answers)
    if status == "gap" and some < ranks.size:
        detail = f"on {some} of {ranks.size} ranks: {detail}"
    return status, detail


@contextlib.contextmanager
def _group(backend: str) -> Iterator[None]:
    from torch import distributed

    distributed.init_process_group(backend, timeout=dt.timedelta(seconds=TIMEOUT_S))
    try:
        yield
    finally:
        with contextlib.suppress(Exception):  # it may be what the last cell broke
            distributed.destroy_process_group()


def _own_device(device: str) -> str:
    """This rank's device, made current."""
    import torch

    if device == "cpu":
        torch.set_num_threads(1)
        return device
    index = int(os.environ["LOCAL_RANK"])
    torch.accelerator.set_device_index(index)
    return f"{device}:{index}"


def main(backend: str, device: str, out: str, first: int) -> None:
    """Try every cell from number `first` on."""
    from torch import distributed

    own = _own_device(device)
    with _group(backend):
        trials = _beside("collective_cells")
        ranks = trials.Ranks(own)
        store = distributed.distributed_c10d._get_default_store()  # noqa: SLF001  apart from what is tried
        every = trials.cells(ranks)
        for number, cell in enumerate(every[first:], first):
            if ranks.rank == 0:
                _write(out, {"begun": number, "of": len(every), **_named(cell)})
            answer = _agreed(store, number, ranks, _tried(trials, ranks, cell))
            if answer is not None:
                _write(out, {"number": number, "status": answer[0], "detail": answer[1]})


def _named(cell: Any) -> Dict[str, str]:
    return {"primitive": cell.primitive, "dtype": cell.dtype, "reduce_op": cell.reduce_op}


def _write(out: str, line: Dict[str, Any]) -> None:
    with open(out, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    sys.path[:] = sys.path[1:]  # this folder: torch must not find our modules by their plain names
    for plugin in sys.argv[5:]:
        importlib.import_module(plugin)
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
