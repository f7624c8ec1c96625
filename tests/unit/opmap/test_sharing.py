"""Maps and manifests given away, and taken from others without losing one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ciwm.cli import run
from ciwm.errors import UsageError
from ciwm.opmap.manifests import compact, compared_with
from ciwm.opmap.sharing import bundled, kept_licences, unpack
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


@pytest.mark.parametrize(
    ("said", "given"),
    [
        ("no such file: '/home/me/data/corpus.bin'", "no such file: '…/corpus.bin'"),
        ("no build in /home/me/a b/bench/m.py", "no build in …/a b/bench/m.py"),
        ("(models.py:12 in load)", "(models.py:12 in load)"),
        ("bench/models.py, 12.5 FLOP/byte", "bench/models.py, 12.5 FLOP/byte"),
        ("see https://example.org/a/b", "see https://example.org/a/b"),
    ],
)
def test_paths_in_the_words_of_an_error_are_not_given_away(
    tmp_path: Path, said: str, given: str
) -> None:
    problem = MapProblem(stage="census", workload="train", reason="failed", detail=said)
    (tmp_path / "map.json").write_text(examples.workload_map(problems=(problem,)).to_json())
    (shared,) = bundled([tmp_path / "map.json"], "CC0-1.0").maps
    assert shared.problems[0].detail == given
    assert shared.ops == examples.workload_map().ops


def test_a_bundle_with_two_records_of_one_name_is_refused_and_nothing_is_written(
    tmp_path: Path,
) -> None:
    made = bundled([files(tmp_path)[0]], "CC0-1.0")
    forged = made.model_copy(update={"maps": (*made.maps, *made.maps)})
    with pytest.raises(UsageError, match="two records of the bundle are map-acme_torch-npu"):
        unpack(forged, tmp_path / "own")
    assert not (tmp_path / "own").exists()


def test_a_name_longer_than_a_file_may_have_is_cut(tmp_path: Path) -> None:
    source = examples.provenance(repository="acme/" + "x" * 400, target="y" * 400)
    (tmp_path / "map.json").write_text(examples.workload_map(provenance=source).to_json())
    (one,) = unpack(bundled([tmp_path / "map.json"], "CC0-1.0"), tmp_path / "own")
    assert (one.state, len(one.name) < 256) == ("new", True)


def test_a_licence_of_its_own_is_kept_and_told(tmp_path: Path) -> None:
    bundle = bundled(files(tmp_path), "MIT")  # both records say CC0-1.0
    assert [line.split(": ")[1] for line in kept_licences(bundle)] == ["CC0-1.0", "CC0-1.0"]
    assert kept_licences(bundled(files(tmp_path), "CC0-1.0")) == []
    with pytest.raises(UsageError, match="a bundle needs a licence"):
        bundled(files(tmp_path), " ")


def test_a_bundle_does_not_replace_the_map_it_is_made_from(tmp_path: Path) -> None:
    own = files(tmp_path)[0]
    before = own.read_text()
    assert run(["map", "export", str(own), "--licence", "CC0-1.0", "--out", str(own)]) == 2
    assert own.read_text() == before
