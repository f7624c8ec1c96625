"""What serves each operator on a target: the first rule that matches decides, with its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.opmap.seen import HARD, Fact
from ciwm.records.opmap import OpSupport

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ciwm.opmap.seen import SeenOps
    from ciwm.records.manifest import Manifest, ManifestRow
    from ciwm.records.opmap import EvidenceLevel, SupportClass

# worst first: a composite is as good as its worst leaf
WORST: tuple[SupportClass, ...] = (
    "hard-missing",
    "fallback-broken",
    "must-write",
    "fallback",
    "compiled-reuse",
    "composite-reuse",
    "native",
)
UNSERVED: tuple[SupportClass, ...] = ("hard-missing", "fallback-broken", "must-write", "fallback")
# what devices register for convolutions; which one runs is decided by the type of the device
_CONVOLUTIONS = {
    "aten::convolution_overrideable": (
        "aten::cudnn_convolution",
        "aten::miopen_convolution",
        "aten::_mps_convolution",
        "aten::_slow_conv2d_forward",
    ),
    "aten::convolution_backward_overrideable": (
        "aten::_cudnn_convolution_backward",
        "aten::mps_convolution_backward",
        "aten::convolution_backward_overrideable",
        "aten::_slow_conv2d_backward.output_mask",
    ),
}


@dataclass(frozen=True)
class Case:
    """One operator as the ghost of a target saw it."""

    op: str
    row: ManifestRow | None
    throws: bool
    broken: str
    fact: Fact


def supports(
    manifest: Manifest, seen: Mapping[str, SeenOps], facts: Mapping[str, Fact]
) -> tuple[OpSupport, ...]:
    """The support of every operator that the subjects reach, leaves first, then composites."""
    table = manifest.table()
    leaves: dict[str, OpSupport] = {}
    for op in sorted({op for each in seen.values() for op in each.of_kind("L", "N", "H")}):
        using = [name for name, each in seen.items() if op in each.of_kind("L", "N", "H")]
        case = Case(
            op=op,
            row=table.get(op),
            throws=any(HARD in each.kinds.get(op, ()) for each in seen.values()),
            broken=next((each.broken[op] for each in seen.values() if op in each.broken), ""),
            fact=facts.get(op, Fact()),
        )
        found, level, evidence = _decide(case, manifest, table)
        leaves[op] = OpSupport(
            op=op,
            target=manifest.name,
            support=found,
            level=level,
            evidence=evidence,
            row=case.row.kind if case.row else "",
            registered_at=case.row.registered_at if case.row else "",
            calls=sum(each.counts.get(op, 0) for each in seen.values()),
            workloads=tuple(sorted(using)),
            has_decomposition=case.fact.decomposition,
            has_meta=case.fact.meta,
        )
    return (*leaves.values(), *_composites(manifest, seen, leaves))


Decision = tuple["SupportClass", "EvidenceLevel", str]


def _decide(case: Case, manifest: Manifest, table: Mapping[str, ManifestRow]) -> Decision:
    """The class of a leaf: rules in order, the first that matches."""
    kind = case.row.kind if case.row else "missing"
    file = case.row.registered_at if case.row else ""
    is_fallback = kind == "backend fallback" or (
        kind == "kernel" and file in manifest.fallback_files
    )
    if case.throws and (kind != "kernel" or is_fallback):
        return _throwing(case, table)
    if is_fallback:
        place = f"its row is a fallback to the CPU ({file or 'for the whole backend'})"
        if case.broken:
            return "fallback-broken", "executed", f"{place}, and the CPU refuses: {case.broken}"
        return "fallback", "traced", place
    if kind == "kernel":
        return "native", "traced", f"a kernel registered in {file}, reached by the workload"
    if manifest.codegen and case.fact.inductor in ("lowering", "decomposition"):
        how = f"Inductor has a {case.fact.inductor}, and the target has codegen"
        return "compiled-reuse", "registered", f"only under torch.compile: {how}"
    unknown = "the manifest does not know it" if case.row is None else f"its row is {kind}"
    return "must-write", "traced", f"reached by the workload, and {unknown}"


def _throwing(case: Case, table: Mapping[str, ManifestRow]) -> Decision:
    """An operator for which no fallback helps: native by another name, or missing for good."""
    why = case.broken or "it throws unless the device brings a kernel"
    missing: Decision = ("hard-missing", "executed", f"no fallback helps: {why}")
    return _by_another_name(case.op, table) or missing


def _by_another_name(op: str, table: Mapping[str, ManifestRow]) -> Decision | None:
    """A convolution that the target has a kernel for, called otherwise."""
    for other in _CONVOLUTIONS.get(op, ()):
        row = table.get(other)
        if row is not None and row.kind == "kernel":
            told = f"the target has {other} ({row.registered_at}); which one runs is its choice"
            return "native", "registered", told
    return None


def kernel_supports(
    manifest: Manifest,
    census: Mapping[str, SeenOps],
    found: tuple[OpSupport, ...],
    facts: Mapping[str, Fact],
) -> tuple[OpSupport, ...]:
    """The support of the census's kernels that the target's own run reached by no such name.

    A young backend is asked for `mm.out` where one with more kernels is asked for `mm`: its own
    row decides where it is a kernel, else what the target reached under the same name.
    """
    table, known = manifest.table(), {one.op for one in found}
    reached: dict[str, list[OpSupport]] = {}
    for one in found:
        reached.setdefault(stem(one.op), []).append(one)
    users: dict[str, list[str]] = {}
    for name, each in census.items():
        for op in each.kinds.keys() - known - _not_asked(manifest):
            users.setdefault(op, []).append(name)
    return tuple(
        _by_name(
            Case(op, table.get(op), throws=False, broken="", fact=facts.get(op, Fact())),
            manifest,
            reached.get(stem(op), []),
        ).model_copy(update={"workloads": tuple(sorted(users[op]))})
        for op in sorted(users)
    )


def _not_asked(manifest: Manifest) -> frozenset[str]:
    """Torch itself copies to and from the devices that it is built with."""
    return frozenset({"aten::_copy_from"} if manifest.key in ("CUDA", "HIP", "XPU") else ())


def _by_name(case: Case, manifest: Manifest, reached: list[OpSupport]) -> OpSupport:
    table = manifest.table()
    elsewhere = _by_another_name(case.op, table)
    found, level, evidence = elsewhere or _by_row(case, manifest, table, reached)
    return OpSupport(
        op=case.op,
        target=manifest.name,
        support=found,
        level=level,
        evidence=evidence,
        row=case.row.kind if case.row else "",
        registered_at=_file(case),
        has_decomposition=case.fact.decomposition,
        has_meta=case.fact.meta,
    )


def _by_row(
    case: Case, manifest: Manifest, table: Mapping[str, ManifestRow], reached: list[OpSupport]
) -> Decision:
    """Its own row where that is a kernel, else what was reached under its name, else its row."""
    found, _, evidence = _decide(case, manifest, table)
    if found == "native":
        return found, "registered", f"a kernel registered in {_file(case)}"
    if reached:
        worst = min(reached, key=lambda one: WORST.index(one.support))
        told = f"the target is asked for {worst.op} in its place: {worst.evidence}"
        return worst.support, worst.level, told
    return found, "registered", evidence.removeprefix("reached by the workload, and ")


def _file(case: Case) -> str:
    return case.row.registered_at if case.row else ""


def stem(op: str) -> str:
    """`aten::add` of `aten::add.out`, `aten::add_.Tensor` and `aten::add.Tensor`."""
    return op.partition(".")[0].rstrip("_")


def _composites(
    manifest: Manifest, seen: Mapping[str, SeenOps], leaves: Mapping[str, OpSupport]
) -> Iterator[OpSupport]:
    """Operators that the dispatcher took apart: reused where every leaf is native."""
    parts: dict[str, set[str]] = {}
    users: dict[str, set[str]] = {}
    for name, each in seen.items():
        for op, below in each.composites.items():
            parts.setdefault(op, set()).update(one for one in below if one in leaves)
            users.setdefault(op, set()).add(name)
    for op in sorted(parts):
        if op in leaves or not parts[op] or op.startswith("ciwm_null::"):
            continue
        worst = min((leaves[one] for one in parts[op]), key=lambda one: WORST.index(one.support))
        reused = worst.support == "native"
        through = ", ".join(sorted(parts[op])[:4]) + (", …" if len(parts[op]) > 4 else "")  # noqa: PLR2004
        yield OpSupport(
            op=op,
            target=manifest.name,
            support="composite-reuse" if reused else worst.support,
            level="traced",
            evidence=f"ends in {through}" + ("" if reused else f"; worst is {worst.op}"),
            workloads=tuple(sorted(users[op])),
        )
