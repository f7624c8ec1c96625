"""Manifests: dumped where a backend imports, read back, and held against another torch."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from ciwm import __version__
from ciwm.errors import LaunchError, UsageError
from ciwm.opmap.observe import observe
from ciwm.opmap.subjects import INTERPRETER
from ciwm.records import read_record
from ciwm.records.manifest import Manifest
from ciwm.records.opmap_provenance import Provenance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.opmap.observe import Site

SHIPPED = Path(__file__).with_name("manifests")
NAMED = 5  # operators that a warning lists


def read_manifest(target: str) -> Manifest:
    """The manifest in a file, or a shipped one by its name (cuda); raises UsageError."""
    shipped = {path.stem: path for path in sorted(SHIPPED.glob("*.json"))}
    path = shipped.get(target, Path(target))
    if not path.exists():
        raise UsageError(
            f"there is no manifest {target}",
            f"shipped are: {', '.join(shipped)}; `ciwm map manifest` dumps one where a backend "
            "imports",
        )
    return read_record(path, Manifest)


def dump(site: Site, key: str, *, name: str, imports: Sequence[str], licence: str) -> Manifest:
    """The manifest of a dispatch key in the site's interpreter; raises LaunchError."""
    seen = observe("manifest", INTERPRETER, site, {"key": key, "imports": list(imports)})
    if seen.problem is not None or not seen.lines:
        why = seen.problem.detail if seen.problem else "the worker said nothing"
        hint = f"its words are in {seen.problem.log}" if seen.problem else ""
        raise LaunchError(f"no manifest of {key}: {why}", hint)
    line = seen.lines[0]
    files = {file for group in line["rows"].values() for file in group}
    return Manifest(
        name=name or key.lower(),
        key=key,
        provenance=Provenance(
            generated_at=datetime.now(timezone.utc),
            ciwm_version=__version__,
            torch=seen.torch,
            torch_build=seen.torch_build,
            interpreter=seen.interpreter,
            capture="dispatcher table",
            licence=licence,
        ),
        rows={
            kind: {file: tuple(ops) for file, ops in group.items()}
            for kind, group in line["rows"].items()
        },
        fallback_files=tuple(sorted(file for file in files if is_fallback_file(file))),
        codegen=line["codegen"],
    )


def is_fallback_file(file: str) -> bool:
    """Whether kernels registered in a file are fallbacks to the CPU: XPUFallback.cpp and its like.

    Backends register such per operator; the dispatcher calls them kernels, and only the file tells.
    """
    return "fallback" in file.lower()


def native_ops(manifest: Manifest) -> list[str]:
    """The operators that a target has a kernel of its own for."""
    return sorted(
        op
        for op, row in manifest.table().items()
        if row.kind == "kernel" and row.registered_at not in manifest.fallback_files
    )


def compared_with(manifest: Manifest, torch: str, known: Sequence[str]) -> list[str]:
    """Warnings where a manifest is of another torch: what either side does not know."""
    theirs, ours = set(manifest.table()), set(known)
    if manifest.provenance.torch.split("+")[0] == torch.split("+", maxsplit=1)[0]:
        return []
    warning = (
        f"the manifest {manifest.name} is of torch {manifest.provenance.torch}, this is {torch}"
    )
    unknown = _listed(theirs - ours, "operators that this torch does not know")
    absent = _listed(ours - theirs, "operators that the manifest does not know")
    return [f"{warning}: {unknown}; {absent}"]


def _listed(ops: set[str], what: str) -> str:
    some = sorted(ops)
    more = f" and {len(some) - NAMED} more" if len(some) > NAMED else ""
    return f"{len(some)} {what}" + (f" ({', '.join(some[:NAMED])}{more})" if some else "")


def compact(manifest: Manifest) -> str:
    """A manifest as JSON with a line for each registering file: small, and readable in a diff."""
    data = manifest.model_dump(mode="json")
    rows = data.pop("rows")
    head = json.dumps(data, indent=1).removesuffix("\n}")
    kinds = []
    for kind, files in sorted(rows.items()):
        lines = [f"{json.dumps(file)}:{_list(ops)}" for file, ops in sorted(files.items())]
        kinds.append(f"{json.dumps(kind)}:{{\n" + ",\n".join(lines) + "}")
    return head + ',\n "rows": {' + ",\n".join(kinds) + "}\n}\n"


def _list(ops: list[str]) -> str:
    return json.dumps(sorted(ops), separators=(",", ":"))
