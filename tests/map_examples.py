"""Maps, manifests and diffs for tests: small, and each consistent in itself."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from ciwm.records import Manifest, MapDiff, WorkloadMap
from ciwm.records.opmap import (
    ByteBounds,
    ClassCount,
    Composite,
    Intensity,
    MappedWorkload,
    MapProblem,
    Memory,
    OpSupport,
    OpUse,
    Proof,
    QueuedKernel,
    QueueEntry,
    TensorSpec,
)
from ciwm.records.opmap_diff import MapChange, MapTotals
from ciwm.records.opmap_provenance import Provenance

if TYPE_CHECKING:
    from ciwm.records.opmap import SupportClass

WHEN = datetime(2026, 9, 14, 6, 30, tzinfo=timezone.utc)
REFUSED = "RuntimeError: no CUDA device (data.py:12 in load)"


def provenance(**changes: Any) -> Provenance:
    """Seen with torch 2.13, predicted for a device called npu."""
    fields: dict[str, Any] = {
        "generated_at": WHEN,
        "ciwm_version": "0.1.0",
        "torch": "2.13.0+cpu",
        "torch_build": "git cf30153c4c13",
        "interpreter": "CPython 3.11.7",
        "repository": "acme/torch-npu",
        "revision": "e2" * 20,
        "target": "npu",
        "capture": "null device (library)",
        "limits": ("seen at the declared shapes",),
        "licence": "CC0-1.0",
    }
    return Provenance(**{**fields, **changes})


def use(op: str, workload: str = "decode", count: int = 4, **changes: Any) -> OpUse:
    """A leaf kernel that a workload calls."""
    fields: dict[str, Any] = {
        "workload": workload,
        "op": op,
        "part": "forward",
        "count": count,
        "modules": ("model.layers.0.mlp",),
        "specs": (TensorSpec(tensors=("Float[2,16,64]", "Float[64]"), count=count),),
        "spec_count": 1,
    }
    return OpUse(**{**fields, **changes})


def support(op: str, kind: SupportClass = "native", **changes: Any) -> OpSupport:
    """What serves an operator on npu."""
    fields: dict[str, Any] = {
        "op": op,
        "target": "npu",
        "support": kind,
        "level": "traced",
        "evidence": "a kernel registered in RegisterNPU.cpp, reached by the workload",
        "row": "kernel",
        "registered_at": "RegisterNPU.cpp",
        "calls": 4,
        "workloads": ("decode",),
        "has_meta": True,
    }
    return OpSupport(**{**fields, **changes})


def intensity(**changes: Any) -> Intensity:
    """A memory-bound step."""
    fields: dict[str, Any] = {
        "flops": 14.29e9,
        "bytes": ByteBounds(low=14.29e9, high=28.6e9),
        "flop_per_byte_low": 0.4997,
        "flop_per_byte_high": 1.0,
        "bound": "memory-bound",
        "reason": "at most 1.0 FLOP/byte; the ridge of npu is 206.0 FLOP/byte (data sheet)",
    }
    return Intensity(**{**fields, **changes})


def mapped(name: str = "decode", **changes: Any) -> MappedWorkload:
    """A workload that was observed with a model."""
    fields: dict[str, Any] = {
        "id": name,
        "workload": name,
        "phase": "decode",
        "entry": "model",
        "params": {"batch": 1},
        "intensity": intensity(),
        "memory": Memory(
            params_bytes=13e9, kv_bytes_per_token=524288.0, needed_bytes=14e9, fits="fits-with-KV"
        ),
        "max_abs_diff": 1.2e-7,
    }
    return MappedWorkload(**{**fields, **changes})


def workload_map(**changes: Any) -> WorkloadMap:
    """A decode workload with one operator on the CPU, and a training one that did not run."""
    fields: dict[str, Any] = {
        "provenance": provenance(),
        "stages": ("intensity", "census", "ghost", "queue"),
        "workloads": (mapped(), mapped("train", phase="train", intensity=None, memory=None)),
        "ops": (
            use("aten::mm.out", count=9),
            use("aten::cumsum.out"),
            use("aten::view", structural=True, specs=(), spec_count=0),
        ),
        "composites": (
            Composite(op="aten::linear", leaves=("aten::mm.out",), workloads=("decode",)),
        ),
        "supports": (
            support("aten::mm.out", calls=9),
            support("aten::cumsum.out", "fallback", row="backend fallback", registered_at=""),
            support("aten::linear", "composite-reuse", calls=0, row="math kernel"),
        ),
        "coverage": (
            ClassCount(workload="decode", support="fallback", ops=("aten::cumsum.out",), calls=4),
            ClassCount(workload="decode", support="native", ops=("aten::mm.out",), calls=9),
        ),
        "queue": (
            QueueEntry(
                order=1,
                kernels=(QueuedKernel(op="aten::cumsum.out", calls=4, has_meta=True),),
                unlocks=("decode",),
                total_kernels=1,
                proofs=(
                    Proof(
                        workload="decode",
                        kernels=1,
                        passes=True,
                        fails_without=("aten::cumsum.out",),
                    ),
                ),
            ),
        ),
        "problems": (
            MapProblem(stage="census", workload="train", reason="failed", detail=REFUSED),
        ),
    }
    return WorkloadMap(**{**fields, **changes})


def manifest(**changes: Any) -> Manifest:
    """A device with one kernel, one fallback that looks like a kernel, one row for each kind."""
    fields: dict[str, Any] = {
        "name": "npu",
        "key": "PrivateUse1",
        "provenance": provenance(target=None, capture="dispatcher table"),
        "rows": {
            "kernel": {"RegisterNPU.cpp": ("mm.out",), "NPUFallback.cpp": ("erfinv.out",)},
            "backend fallback": {"": ("cumsum.out",)},
            "math kernel": {"RegisterCompositeImplicitAutograd_0.cpp": ("linear",)},
            "missing": {"": ("histc", "npu_ops::swiglu")},
        },
        "fallback_files": ("NPUFallback.cpp",),
    }
    return Manifest(**{**fields, **changes})


def map_change(**changes: Any) -> MapChange:
    """An operator that fell back to the CPU."""
    fields: dict[str, Any] = {
        "kind": "fallback new",
        "subject": "aten::cumsum.out",
        "workloads": ("decode",),
        "base": "native",
        "head": "fallback",
        "sentence": "aten::cumsum.out, 31 % of step time",
        "lost": True,
        "blocks": True,
    }
    return MapChange(**{**fields, **changes})


def map_diff(*changes: MapChange, **fields: Any) -> MapDiff:
    """A bump by which one operator fell back to the CPU and another is no longer needed."""
    told = changes or (
        map_change(),
        map_change(
            kind="kernel no longer needed",
            subject="aten::tril.out",
            base="",
            head="",
            sentence="aten::tril.out is no longer needed by decode",
            lost=False,
            blocks=False,
        ),
    )
    blocks = [change for change in told if change.blocks]
    totals: dict[str, Any] = {
        "workloads": 2,
        "observed": 1,
        "kernels": 2,
        "calls": 13,
        "to_write": 1,
    }
    totals |= {"structural": 1, "composites": {"composite-reuse": 1}}
    known: dict[str, Any] = {
        "base": provenance(revision="b8" * 20),
        "head": provenance(),
        "base_totals": MapTotals(**totals, problems=1, classes={"native": 3}),
        "head_totals": MapTotals(**totals, problems=1, classes={"native": 2, "fallback": 1}),
        "changes": told,
        "blocks": bool(blocks),
        "reason": blocks[0].sentence if blocks else "",
        "since": "upstream abc1234",
    }
    return MapDiff(**{**known, **fields})
