"""From operators seen to support and the kernel queue, with its strict runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ciwm.opmap.manifests import compared_with, native_ops
from ciwm.opmap.observe import observe, observe_all
from ciwm.opmap.queue import Needs, Step, entries, steps
from ciwm.opmap.seen import Fact, said
from ciwm.opmap.subjects import INTERPRETER
from ciwm.opmap.support import UNSERVED, WORST, kernel_supports, supports
from ciwm.records.opmap import Blocked, ClassCount, Composite, Proof

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ciwm.opmap.making import Making
    from ciwm.opmap.observe import Observed
    from ciwm.opmap.seen import SeenOps
    from ciwm.records.opmap import MapStage, OpSupport, QueueEntry
    from ciwm.records.opmap_fallback import WorkloadFallbacks


@dataclass(frozen=True)
class Coverage:
    """What the operators amount to."""

    composites: tuple[Composite, ...] = ()
    supports: tuple[OpSupport, ...] = ()
    kernel_supports: tuple[OpSupport, ...] = ()
    coverage: tuple[ClassCount, ...] = ()
    queue: tuple[QueueEntry, ...] = ()
    blocked: tuple[Blocked, ...] = ()


def covered(making: Making, fallbacks: Sequence[WorkloadFallbacks] = ()) -> Coverage:
    """Support on the target, where there is one, and the queue of kernels to write.

    Where `fallbacks` were profiled on a device, their share of time weighs in the queue.
    """
    manifest = making.request.manifest
    census, ghost = making.ops("census"), making.ops("ghost")
    seen = ghost if manifest is not None and ghost else census
    facts = _facts(making, seen)
    _compare_torch(making)
    found = supports(manifest, ghost, facts) if manifest is not None and ghost else ()
    queue: tuple[QueueEntry, ...] = ()
    if "queue" in making.request.stages:
        needs = replace(_needs(seen, facts, found), time_share_pct=_time_shares(fallbacks))
        queue = _queue(making, needs, found)
    return Coverage(
        composites=_composites(census or ghost),
        supports=found,
        kernel_supports=_kernels(making, found),
        coverage=tuple(_counts(ghost, found)),
        queue=queue,
        blocked=_blocked(making),
    )


def _facts(making: Making, seen: Mapping[str, SeenOps]) -> dict[str, Fact]:
    """What torch knows of the leaves; of Inductor only where the target has codegen to use."""
    facts = {op: fact for each in seen.values() for op, fact in each.facts.items()}
    manifest = making.request.manifest
    if manifest is None or not manifest.codegen:
        return facts
    table = manifest.table()
    lacking = sorted(op for op in facts if op not in table or table[op].kind != "kernel")
    if not lacking:
        return facts
    observed = observe("facts", INTERPRETER, making.request.site, {"ops": lacking})
    if observed.problem is not None:
        making.problems.append(observed.problem)
    for line in observed.lines:
        facts[line["op"]] = replace(facts[line["op"]], inductor=line["inductor"])
    return facts


def _kernels(making: Making, found: tuple[OpSupport, ...]) -> tuple[OpSupport, ...]:
    manifest, census = making.request.manifest, making.ops("census")
    if manifest is None or not found:
        return ()
    facts = {op: fact for each in census.values() for op, fact in each.facts.items()}
    return kernel_supports(manifest, census, found, facts)


def _compare_torch(making: Making) -> None:
    """A warning where the manifest is of another torch than the one that observed."""
    manifest = making.request.manifest
    ghosts = making.seen.get("ghost", {}).values()
    known = next(((each, line) for each in ghosts for line in said(each, "known")), None)
    if manifest is not None and known is not None:
        observed, line = known
        making.warnings += compared_with(manifest, observed.torch, line["ops"])


def _counts(ghost: Mapping[str, SeenOps], found: tuple[OpSupport, ...]) -> Iterator[ClassCount]:
    """Operators and calls by workload and class."""
    served = {one.op: one.support for one in found}
    for name, each in ghost.items():
        reached = each.of_kind("L", "N", "H")
        for support in WORST:
            ops = sorted(op for op in reached if served.get(op) == support)
            if ops:
                calls = sum(each.counts[op] for op in ops)
                yield ClassCount(workload=name, support=support, ops=tuple(ops), calls=calls)


def _time_shares(fallbacks: Sequence[WorkloadFallbacks]) -> dict[str, float]:
    """The largest share of any workload's step that an operator took on the CPU, in percent."""
    shares: dict[str, float] = {}
    for each in fallbacks:
        for op in each.ops:
            for name in op.overloads or (op.op,):
                shares[name] = max(op.time_share_pct, shares.get(name, 0.0))
    return shares


def _needs(
    seen: Mapping[str, SeenOps], facts: Mapping[str, Fact], found: tuple[OpSupport, ...]
) -> Needs:
    """What each workload lacks: all its leaves, or on a target those that it does not serve."""
    unserved = {one.op for one in found if one.support in UNSERVED}
    calls: dict[str, int] = {}
    for each in seen.values():
        for op, count in each.counts.items():
            calls[op] = calls.get(op, 0) + count
    return Needs(
        missing={
            name: frozenset(each.needed & unserved if found else each.needed)
            for name, each in seen.items()
        },
        calls=calls,
        facts=facts,
        time_share_pct={},
    )


def _queue(making: Making, needs: Needs, support: tuple[OpSupport, ...]) -> tuple[QueueEntry, ...]:
    found = steps(needs)
    compiled = {one.op for one in support if one.support == "compiled-reuse"}
    proofs = _proofs(making, needs, found, compiled) if making.request.prove else {}
    return entries(found, needs, proofs)


def _proofs(
    making: Making, needs: Needs, found: list[Step], compiled: set[str]
) -> dict[str, Proof]:
    """Strict runs of every workload of the queue: exactly its kernels, and one less."""
    manifest = making.request.manifest
    on_ghost = manifest is not None and bool(making.ops("ghost"))
    seen = making.ops("ghost") if on_ghost else making.ops("census")
    step_of = {name: step for step in found for name in step.unlocks}
    # all its leaves: those it lacks, and those that reach the ghost's fallback and yet are served;
    # but for what is served under torch.compile alone, which a strict run does without
    allowed = {name: sorted(seen[name].needed - compiled) for name in step_of}
    removed = {
        name: [op for op in step.kernels if op in needs.missing[name]]
        for name, step in step_of.items()
    }
    options = {
        "native": native_ops(manifest) if manifest is not None and on_ghost else [],
        "allowed": allowed,
        "removed": removed,
    }
    models = [one for one in making.subjects if one.id in step_of and one.entry == "model"]
    making.request.say(f"strict runs: {len(models)} workload{'' if len(models) == 1 else 's'}")
    site = making.request.site
    observed = observe_all("prove", models, site, making.with_device(options))
    proofs = {}
    for name, each in observed.items():
        if each.problem is not None:
            making.problems.append(each.problem)
        proof = _proof(name, each, len(allowed[name]))
        if proof is not None:
            proofs[name] = _compiled_apart(proof, sorted(seen[name].needed & compiled))
    return proofs


def _compiled_apart(proof: Proof, compiled: list[str]) -> Proof:
    """Why a strict run cannot pass, where a workload needs what is served only under compile."""
    if proof.passes or not compiled:
        return proof
    more = f" and {len(compiled) - 1} more" if len(compiled) > 1 else ""
    why = f"{compiled[0]}{more} served only under torch.compile"
    return proof.model_copy(update={"detail": why})


def _proof(name: str, observed: Observed, kernels: int) -> Proof | None:
    exact = said(observed, "exact")
    if not exact:
        return None
    without = said(observed, "without")
    return Proof(
        workload=name,
        kernels=kernels,
        passes=exact[0]["passes"],
        detail=exact[0]["detail"],
        fails_without=tuple(line["op"] for line in without if not line["passes"]),
        passes_without=tuple(line["op"] for line in without if line["passes"]),
    )


def _composites(seen: Mapping[str, SeenOps]) -> tuple[Composite, ...]:
    parts: dict[str, set[str]] = {}
    users: dict[str, set[str]] = {}
    for name, each in seen.items():
        for op, leaves in each.composites.items():
            if not op.startswith("ciwm_null::"):
                parts.setdefault(op, set()).update(leaves)
                users.setdefault(op, set()).add(name)
    return tuple(
        Composite(op=op, leaves=tuple(sorted(parts[op])), workloads=tuple(sorted(users[op])))
        for op in sorted(parts)
    )


def _blocked(making: Making) -> tuple[Blocked, ...]:
    """Workloads of which it is not known what they need, since they did not run."""

    def each() -> Iterator[Blocked]:
        stages: tuple[MapStage, ...] = ("census", "ghost")
        for stage in stages:
            for name, observed in making.seen.get(stage, {}).items():
                if observed.problem is not None:
                    why = f"{stage}: {observed.problem.detail}"
                    yield Blocked(workload=name, op="", reason=why)

    return tuple(each())
