"""Maps and manifests given to others, and taken from them without losing one's own."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ciwm.errors import UsageError
from ciwm.launch.files import make_folder, write_atomically
from ciwm.records import Manifest, WorkloadMap, read_record
from ciwm.records.opmap_bundle import MapBundle

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

Prefer = Literal["ours", "theirs"] | None
_NAME = re.compile(r"[^A-Za-z0-9._+-]+")
_PART = 60  # characters of a part of a file's name: all of them fit into one that can be written
# a path from the root, as errors name files; an address, a ratio and a relative path are none
_PATH = re.compile(r"(?<![\w/.:)])/(?:[\w.+@~-]+/)+(?P<last>[\w.+@~-]*)")


@dataclass(frozen=True)
class Taken:
    """What became of one record of a bundle."""

    name: str
    state: Literal["new", "same", "conflict", "replaced", "kept"]
    detail: str = ""


def bundled(paths: Sequence[Path], licence: str) -> MapBundle:
    """The maps and manifests of some files, fit to be shared; raises UsageError."""
    if not licence.strip():
        raise UsageError("a bundle needs a licence", "say under what others may use it: CC0-1.0")
    maps: list[WorkloadMap] = []
    manifests: list[Manifest] = []
    for path in paths:
        if _is_manifest(path):
            manifests.append(_licensed(read_record(path, Manifest), licence))
        else:
            maps.append(_shareable(read_record(path, WorkloadMap), licence))
    bundle = MapBundle(licence=licence, maps=tuple(maps), manifests=tuple(manifests))
    twice = _twice(bundle)
    if twice is not None:
        raise UsageError(
            f"two of the files are {twice}", "export the newer one, or each to a bundle of its own"
        )
    return bundle


def kept_licences(bundle: MapBundle) -> list[str]:
    """A line for each record that was under a licence of its own, and is under that still."""
    return [
        f"{name} is under a licence of its own: {record.provenance.licence}"
        for name, record in _named(bundle)
        if record.provenance.licence not in ("", bundle.licence)
    ]


def _twice(bundle: MapBundle) -> str | None:
    """The name of two records of a bundle, which one folder cannot both keep."""
    counts = Counter(name for name, _ in _named(bundle))
    return next((name for name, count in counts.items() if count > 1), None)


def _is_manifest(path: Path) -> bool:
    """By what it holds; what is neither is told by reading it as a map."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(data, dict) and "rows" in data


def _licensed(manifest: Manifest, licence: str) -> Manifest:
    provenance = manifest.provenance
    stated = provenance.licence or licence  # one that is stated already is not ours to change
    return manifest.model_copy(
        update={"provenance": provenance.model_copy(update={"licence": stated})}
    )


def _shareable(found: WorkloadMap, licence: str) -> WorkloadMap:
    """Without paths of this machine: of those that errors name, the last part is left."""
    problems = tuple(problem.model_copy(update={"log": ""}) for problem in found.problems)
    text = found.model_copy(update={"problems": problems}).model_dump_json()
    plain = WorkloadMap.model_validate_json(json.dumps(_without_paths(json.loads(text))))
    provenance = found.provenance
    stated = provenance.model_copy(update={"licence": provenance.licence or licence})
    return plain.model_copy(update={"provenance": stated})


def _without_paths(value: Any) -> Any:
    """The same data, every text in it without its paths."""
    if isinstance(value, str):
        return _PATH.sub(lambda found: "…/" + found["last"], value)
    if isinstance(value, dict):
        return {name: _without_paths(each) for name, each in value.items()}
    return [_without_paths(each) for each in value] if isinstance(value, list) else value


def map_name(found: WorkloadMap) -> str:
    """The file a map is kept in: whose, of which revision, with which torch, for which target."""
    source = found.provenance
    parts = ["map", source.repository, source.revision[:12], f"torch{source.torch}"]
    return _file_name([*parts, source.target or ""])


def manifest_name(manifest: Manifest) -> str:
    """The file a manifest is kept in: of which backend, with which torch."""
    return _file_name(["manifest", manifest.name, f"torch{manifest.provenance.torch}"])


def _file_name(parts: list[str]) -> str:
    return "-".join(_NAME.sub("_", part)[:_PART] for part in parts if part) + ".json"


def unpack(bundle: MapBundle, folder: Path, prefer: Prefer = None) -> list[Taken]:
    """Write a bundle's records into a folder; of one that differs from ours, `prefer` decides.

    Without `prefer` ours stays, and the conflict is named. Raises UsageError, and writes nothing,
    where two records of the bundle are of one name.
    """
    twice = _twice(bundle)
    if twice is not None:
        raise UsageError(
            f"two records of the bundle are {twice}, and which of them counts is not said",
            "ask whoever made it for a bundle that `ciwm map export` wrote",
        )
    make_folder(folder)
    return [_take(name, record, folder / name, prefer) for name, record in _named(bundle)]


def _named(bundle: MapBundle) -> Iterator[tuple[str, WorkloadMap | Manifest]]:
    for found in bundle.maps:
        yield map_name(found), found
    for manifest in bundle.manifests:
        yield manifest_name(manifest), manifest


def _take(name: str, record: WorkloadMap | Manifest, path: Path, prefer: Prefer) -> Taken:
    if not path.exists():
        write_atomically(path, record.to_json())
        return Taken(name, "new")
    ours = read_record(path, type(record))
    apart = _differences(ours, record)
    if not apart:
        return Taken(name, "same")
    detail = f"differs in {', '.join(apart)}"
    if prefer == "theirs":
        write_atomically(path, record.to_json())
        return Taken(name, "replaced", detail)
    return Taken(name, "kept" if prefer == "ours" else "conflict", detail)


def _differences(ours: WorkloadMap | Manifest, theirs: WorkloadMap | Manifest) -> list[str]:
    """The parts that are not the same; when it was made does not count."""
    one, other = (record.model_dump(mode="json") for record in (ours, theirs))
    for data in (one, other):
        data["provenance"].pop("generated_at")
    return sorted(name for name in one if one[name] != other[name])
