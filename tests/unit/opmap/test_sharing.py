"""Maps and manifests given away, and taken from others without losing one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ciwm.errors import UsageError
from ciwm.opmap.manifests import compact, compared_with
from ciwm.opmap.sharing import bundled, unpack
from ciwm.records import Manifest, parse_record
from ciwm.records.opmap import MapProblem
from tests import map_examples as examples

if TYPE_CHECKING:
    from pathlib import Path


def files(folder: Path) -> list[Path]:
    problem = MapProblem(
        stage="census", workload="w", reason="failed", detail="no", log="/home/me/log.txt"
    )
    one, other = folder / "map.json", folder / "manifest.json"
    one.write_text(examples.workload_map(problems=(problem,)).to_json())
    other.write_text(compact(examples.manifest()))
    return [one, other]


def test_a_compact_manifest_reads_back_to_an_equal_one() -> None:
    manifest = examples.manifest()
    assert parse_record(compact(manifest), Manifest, "m").table() == manifest.table()


def test_what_is_given_away_has_no_paths_of_ours(tmp_path: Path) -> None:
    bundle = bundled(files(tmp_path), "CC0-1.0")
    assert "/home/me" not in bundle.to_json()
    assert (len(bundle.maps), len(bundle.manifests)) == (1, 1)


def test_a_bundle_unpacks_once_and_then_is_the_same(tmp_path: Path) -> None:
    bundle = bundled(files(tmp_path), "CC0-1.0")
    assert [one.state for one in unpack(bundle, tmp_path / "own")] == ["new", "new"]
    assert [one.state for one in unpack(bundle, tmp_path / "own")] == ["same", "same"]


def test_a_conflict_is_named_and_ours_stays(tmp_path: Path) -> None:
    unpack(bundled(files(tmp_path), "CC0-1.0"), tmp_path / "own")
    (tmp_path / "manifest.json").write_text(compact(examples.manifest(codegen=True)))
    theirs = bundled([tmp_path / "manifest.json"], "CC0-1.0")
    (one,) = unpack(theirs, tmp_path / "own")
    assert (one.state, one.detail) == ("conflict", "differs in codegen")
    kept = parse_record((tmp_path / "own" / one.name).read_text(), Manifest, "m")
    assert not kept.codegen
    assert unpack(theirs, tmp_path / "own", "theirs")[0].state == "replaced"
    assert unpack(theirs, tmp_path / "own")[0].state == "same"


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="two of the files"):
        bundled([*files(tmp_path), tmp_path / "map.json"], "CC0-1.0")


def test_a_manifest_of_another_torch_says_what_either_does_not_know() -> None:
    known = ["aten::mm.out", "aten::erfinv.out", "aten::brand_new"]
    (said,) = compared_with(examples.manifest(), "2.14.1", known)
    assert "4 operators that this torch does not know" in said
    assert "1 operators that the manifest does not know (aten::brand_new)" in said


def test_a_manifest_of_the_same_torch_says_nothing() -> None:
    assert compared_with(examples.manifest(), "2.13.0+cu130", []) == []
