"""The evidence level `verified`: kernels whose results were right on the device itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ciwm.opmap.support import stem
from ciwm.records.opmap_correctness import FAILED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ciwm.opmap.coverage import Coverage
    from ciwm.opmap.seen import SeenOps
    from ciwm.records.manifest import Manifest
    from ciwm.records.opmap import OpSupport
    from ciwm.records.opmap_correctness import Correctness, Sweep

RIGHT = ("strict", "drift")
SERVED = ("native", "fallback", "composite-reuse")  # others are not what the sweep ran
PRIVATE = "PrivateUse1"  # a key that any plugin takes: only the name tells whose it is
NAMED = 3  # checks in one sentence


def is_of(sweep: Sweep, manifest: Manifest, torch: str) -> bool:
    """Whether a sweep ran on the device, and under the torch release, that a manifest is of."""
    if sweep.key != manifest.key or _release(torch) != _release(manifest.provenance.torch):
        return False
    return manifest.key != PRIVATE or manifest.name == sweep.device.split(":")[0]


def _release(torch: str) -> str:
    return torch.split("+", maxsplit=1)[0]


@dataclass(frozen=True)
class _Evidence:
    """What was checked, and in which dtypes workloads call each operator."""

    sweep: Sweep
    dtypes: Mapping[str, frozenset[str]]
    wrong: Mapping[str, str]  # kernel -> what replaying a workload's own calls said

    def of(self, one: OpSupport) -> OpSupport:
        """The support of a leaf, with what the checks say of it."""
        if one.support not in SERVED:
            return one
        kernel = stem(one.op)
        failed = self.wrong.get(kernel, "") or self._failed(kernel)
        if failed:
            told = f"{one.evidence}; not right on {self.sweep.device}: {failed}"
            return one.model_copy(update={"evidence": told})
        dtypes = self.dtypes.get(one.op, frozenset())
        if not dtypes or not all(self._right(kernel, dtype) for dtype in dtypes):
            return one
        checks = self.sweep.kernels[kernel]
        more = ", …" if len(checks) > NAMED else ""
        told = f"right on {self.sweep.device} in {', '.join(sorted(dtypes))}"
        told = f"{one.evidence}; {told} ({', '.join(checks[:NAMED])}{more})"
        return one.model_copy(update={"level": "verified", "evidence": told})

    def _right(self, kernel: str, dtype: str) -> bool:
        """Whether there are verdicts of a kernel in one dtype, and all of them are good."""
        found = self._verdicts(kernel, (dtype,))
        return bool(found) and all(verdict in RIGHT for verdict in found.values())

    def _failed(self, kernel: str) -> str:
        found = self._verdicts(kernel, self.sweep.dtypes)
        return next((f"{name} is {said}" for name, said in found.items() if said in FAILED), "")

    def _verdicts(self, kernel: str, dtypes: Sequence[str]) -> dict[str, str]:
        named = (
            f"{operator} {dtype} {direction}"
            for check in self.sweep.kernels.get(kernel, ())
            for operator, _, direction in (check.rpartition(" "),)
            for dtype in dtypes
        )
        verdicts = self.sweep.verdicts
        return {name: verdicts[name] for name in named if name in verdicts}


def with_verified(
    coverage: Coverage,
    correctness: Correctness | None,
    manifest: Manifest | None,
    torch: str,
    seen: Sequence[SeenOps],
) -> Coverage:
    """The same supports, those verified whose every check on the manifest's own device was right.

    `seen` is what the workloads called, on the target and in the census.
    """
    sweep = correctness.sweep if correctness is not None else None
    if correctness is None or sweep is None or manifest is None:
        return coverage
    if not is_of(sweep, manifest, torch):
        return coverage
    evidence = _Evidence(sweep, _dtypes(seen), _wrong(correctness))
    leaves = [evidence.of(one) if one.calls else one for one in coverage.supports]
    known = {one.op: one for one in leaves if one.calls}
    parts = _parts(seen)
    return replace(
        coverage,
        supports=tuple(one if one.calls else _composite(one, parts, known) for one in leaves),
        kernel_supports=tuple(evidence.of(one) for one in coverage.kernel_supports),
    )


def _parts(seen: Sequence[SeenOps]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for each in seen:
        for op, leaves in each.composites.items():
            found[op] = found.get(op, frozenset()) | frozenset(leaves)
    return found


def _composite(
    one: OpSupport, parts: Mapping[str, frozenset[str]], leaves: Mapping[str, OpSupport]
) -> OpSupport:
    """A composite is right when all that it ends in is."""
    below = [leaves[op].level for op in parts.get(one.op, ()) if op in leaves]
    if one.support not in SERVED or not below or set(below) != {"verified"}:
        return one
    told = f"{one.evidence}, all of them right"
    return one.model_copy(update={"level": "verified", "evidence": told})


def _dtypes(seen: Sequence[SeenOps]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for each in seen:
        for use in each.uses:
            found[use.op] = found.get(use.op, frozenset()) | frozenset(use.dtypes)
    return found


def _wrong(correctness: Correctness) -> dict[str, str]:
    """Kernels whose replayed calls failed: `aten.gelu_backward.default` is a call of one."""
    return {
        stem(
            "::".join(check.operator.split(".")[:2])
        ): f"a call of {one.workload} is {check.verdict}"
        for one in correctness.workloads
        for check in one.checks
        if check.verdict in FAILED
    }
