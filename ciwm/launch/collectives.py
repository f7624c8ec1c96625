"""The built-in collectives: the elements of each size, and their series as the plan has them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ciwm.config_ranks import ITEM_BYTES
from ciwm.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ciwm.config import Scalar, WorkloadConfig

COLLECTIVE = Path(__file__).resolve().parent.parent / "worker" / "collective.py"
SHARED = ("all_gather", "reduce_scatter", "all_to_all")  # each rank has an equal share


def parameters(workload: WorkloadConfig, case: Mapping[str, Scalar]) -> dict[str, Any]:
    """What the workload's object is made with; of a collective its elements, not its bytes."""
    collective = workload.collective
    if collective is None:
        return dict(case)
    return {
        "op": case["op"],
        "elements": elements(workload, case),
        "dtype": case["dtype"],
        "backend": collective.backend or "",
        "imports": list(collective.imports),
    }


def elements(workload: WorkloadConfig, case: Mapping[str, Scalar]) -> int:
    """How many elements fit in the bytes of a case, in equal shares where ranks have shares."""
    count = int(case["bytes"]) // ITEM_BYTES[str(case["dtype"])]
    return count - count % workload.ranks if case["op"] in SHARED else count


def size_bytes(workload: WorkloadConfig, case: Mapping[str, Scalar]) -> int:
    """What a case moves, as nccl-tests counts it."""
    return elements(workload, case) * ITEM_BYTES[str(case["dtype"])]


def check_sizes(workload: WorkloadConfig) -> None:
    """Raise ConfigError for a size that is too small for one element a rank."""
    if workload.collective is None:
        return
    for op in workload.collective.operations:
        for dtype in workload.collective.dtypes:
            least = min(workload.collective.sizes)
            if elements(workload, {"op": op, "bytes": least, "dtype": dtype}) == 0:
                need = ITEM_BYTES[dtype] * (workload.ranks if op in SHARED else 1)
                raise ConfigError(
                    f"workload {workload.id}: collective.sizes: {least} bytes are no {op} of "
                    f"{dtype} between {workload.ranks} ranks",
                    f"it takes {need} bytes at least",
                )
