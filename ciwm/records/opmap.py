"""WorkloadMap: which kernels workloads need, what a device has of them, what must be written."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ciwm.records.amounts import Amount, Count, Distance, Number
from ciwm.records.base import Record, RecordFile
from ciwm.records.opmap_communication import Communication, CommunicationPattern
from ciwm.records.opmap_compile import WorkloadCompile
from ciwm.records.opmap_correctness import Correctness
from ciwm.records.opmap_fallback import WorkloadFallbacks
from ciwm.records.opmap_provenance import Provenance
from ciwm.records.run import ExitReason

MapStage = Literal[
    "intensity", "census", "ghost", "queue", "fallback", "correctness", "communication", "compile"
]
MAP_STAGES: tuple[MapStage, ...] = (
    "intensity",
    "census",
    "ghost",
    "queue",
    "fallback",
    "correctness",
    "communication",
    "compile",
)
SupportClass = Literal[
    "hard-missing",  # throws even with a fallback to the CPU
    "fallback",  # computed on the CPU
    "fallback-broken",  # sent to the CPU, where it fails or answers wrongly
    "native",  # a kernel of the device
    "composite-reuse",  # made of other operators, all of them native
    "compiled-reuse",  # only under torch.compile
    "must-write",  # nothing serves it
]
EvidenceLevel = Literal["registered", "traced", "executed", "verified"]
Part = Literal["forward", "backward", "optimizer", "generate", "step"]


class MapProblem(Record):
    """What could not be observed: the stage, the workload (empty: all), and why, on one line."""

    stage: str
    workload: str
    reason: ExitReason
    detail: str
    log: str = ""


class ByteBounds(Record):
    """Bytes moved: at least (each input and output once), at most (every operator by itself)."""

    low: Amount
    high: Amount


class Intensity(Record):
    """FLOPs of one step and bytes it moves; FLOP per byte lies between the two bounds.

    `uncounted` are operators without a formula that are known to compute: the FLOPs are a lower
    bound where there are any.
    """

    flops: Amount
    bytes: ByteBounds
    flop_per_byte_low: Amount
    flop_per_byte_high: Amount
    uncounted: tuple[str, ...] = ()
    bound: Literal["compute-bound", "memory-bound", "undetermined"]
    reason: str


class Memory(Record):
    """Memory of one step by kind, in bytes; None where it does not apply or is not known."""

    params_bytes: Amount
    grads_bytes: Amount | None = None
    optimizer_bytes: Amount | None = None
    activations_bytes: Amount | None = None
    kv_bytes_per_token: Amount | None = None
    needed_bytes: Amount
    fits: Literal["resident", "fits-with-KV", "needs-sharding", "offload", "unknown"] = "unknown"
    reason: str = ""


class MappedWorkload(Record):
    """One workload at one point of its parameters.

    `id` is its name in the map, `workload` the declared one. `entry` says whether a model was
    observed or a bare step, of which less can be told.
    """

    id: str
    workload: str
    phase: str | None = None
    entry: Literal["model", "step"]
    params: dict[str, str | int | float | bool] = {}
    devices: Number = 1
    intensity: Intensity | None = None
    memory: Memory | None = None
    communication: CommunicationPattern | None = None
    max_abs_diff: Distance | None = None
    notes: tuple[str, ...] = ()


class TensorSpec(Record):
    """The tensors of one call: shape, strides and dtype of each, as text; and how often."""

    tensors: tuple[str, ...]
    count: Count


class OpUse(Record):
    """A leaf kernel that a workload needs: what reaches the device after all decomposition.

    `structural` are the few that every backend starts with: allocation, copies, views.
    `modules` are those that call it most, `specs` its most frequent calls of `spec_count`, `dtypes`
    what all of them compute in (floating ones where a call has any).
    """

    workload: str
    op: str
    part: Part
    count: Count
    structural: bool = False
    modules: tuple[str, ...] = ()
    specs: tuple[TensorSpec, ...] = ()
    spec_count: Count = 0
    dtypes: tuple[str, ...] = ()


class Composite(Record):
    """An operator that workloads call and the dispatcher takes apart, and the leaves it ends in."""

    op: str
    leaves: tuple[str, ...]
    workloads: tuple[str, ...]


class OpSupport(Record):
    """What serves an operator on the target, by the first rule that matched, and the evidence."""

    op: str
    target: str
    support: SupportClass
    level: EvidenceLevel
    evidence: str
    row: str = ""
    registered_at: str = ""
    calls: Count = 0
    workloads: tuple[str, ...] = ()
    has_decomposition: bool = False
    has_meta: bool = False


class ClassCount(Record):
    """Of one workload on the target: operators of one class, and their calls."""

    workload: str
    support: SupportClass
    ops: tuple[str, ...]
    calls: Count


class QueuedKernel(Record):
    """A kernel to write: how often it is called, its share of time where that was profiled."""

    op: str
    calls: Count
    time_share_pct: Amount | None = None
    has_decomposition: bool = False
    has_meta: bool = False


class Proof(Record):
    """A strict run of one workload: with exactly the kernels so far, and with each one removed."""

    workload: str
    kernels: Count
    passes: bool
    detail: str = ""
    fails_without: tuple[str, ...] = ()
    passes_without: tuple[str, ...] = ()


class QueueEntry(Record):
    """One step of the queue: these kernels unlock these workloads, given all steps before."""

    order: Number
    kernels: tuple[QueuedKernel, ...]
    unlocks: tuple[str, ...]
    total_kernels: Count
    proofs: tuple[Proof, ...] = ()


class Blocked(Record):
    """A workload that no kernel alone unlocks: what stands in the way."""

    workload: str
    op: str
    reason: str


class WorkloadMap(RecordFile):
    """Everything one `ciwm map run` observed; parts that were not asked for are None or empty.

    `supports` are of what the target's own run reached; `kernel_supports` of the other kernels in
    `ops`, by their rows in its manifest and what it reached under the same name.
    """

    provenance: Provenance
    stages: tuple[MapStage, ...] = ()
    workloads: tuple[MappedWorkload, ...] = ()
    ops: tuple[OpUse, ...] = ()
    composites: tuple[Composite, ...] = ()
    supports: tuple[OpSupport, ...] = ()
    kernel_supports: tuple[OpSupport, ...] = ()
    coverage: tuple[ClassCount, ...] = ()
    queue: tuple[QueueEntry, ...] = ()
    blocked: tuple[Blocked, ...] = ()
    fallbacks: tuple[WorkloadFallbacks, ...] = ()
    correctness: Correctness | None = None
    communication: Communication | None = None
    compile_paths: tuple[WorkloadCompile, ...] = ()
    suggestions: tuple[str, ...] = ()
    problems: tuple[MapProblem, ...] = ()
    warnings: tuple[str, ...] = Field(default=())
