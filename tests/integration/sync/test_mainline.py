"""The scan of upstream's main line: as right as merging every commit, and kept for next time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ciwm import cli
from ciwm.errors import GitError
from ciwm.git import Repository
from ciwm.upstream.mainline import walk as walking
from ciwm.upstream.mainline.line import Line
from ciwm.upstream.mainline.walk import DISAGREED, walk
from tests.integration.sync.test_culprits import AMPLE_S, upstream_of
from tests.integration.sync.wild_history import wild_history

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.sync.git_scene import Ciwm, Scene


def line_of(scene: Scene, budget_s: float = 600) -> Line:
    """Upstream's main line in a repository with branches main and fork."""
    base = scene.git("merge-base", "main", "fork")
    commits = scene.git("rev-list", "--first-parent", "--reverse", f"{base}..main").split()
    return Line(Repository(scene.path), base, scene.git("rev-parse", "fork"), commits, budget_s)


def merged_one_by_one(line: Line) -> dict[int, frozenset[str]]:
    """The conflicting paths by a merge of whole trees for every commit; some git cannot make."""
    every = Line(line.repository, line.base, line.downstream, line.commits, 600)
    every.learn(range(len(line.commits)))
    return every.known


@pytest.mark.parametrize("seed", range(8))
def test_what_is_concluded_is_what_merging_every_commit_gives(tmp_path: Path, seed: int) -> None:
    line = line_of(wild_history(tmp_path / "wild", seed))
    assert walk(line) == ""
    expected = merged_one_by_one(line)
    # git 2.39 breaks off some merges of links; what follows one stays unknown until it is certain
    assert set(expected) - set(line.known) <= set(line.failed)
    assert line.known == {index: expected[index] for index in line.known}


@pytest.mark.parametrize("seed", [3, 8])
def test_a_walk_taken_up_anywhere_ends_as_a_walk_in_one_go(tmp_path: Path, seed: int) -> None:
    scene = wild_history(tmp_path / "wild", seed)
    one_go = line_of(scene)
    walk(one_go)
    for start in range(1, one_go.prefix, 7):
        later = line_of(scene)
        later.known.update({index: one_go.known[index] for index in range(start)})
        assert walk(later) == ""
        assert later.known == one_go.known


def test_most_commits_of_a_calm_history_need_no_merge_of_trees(tmp_path: Path) -> None:
    places = [(f"change {place}", place) for place in (8, 118, 228, 3, 9, 119, 229, 113, 10, 120)]
    scene, _ = upstream_of(tmp_path / "calm", *places)
    line = line_of(scene)
    walk(line)
    changes = 2  # two commits bring a conflict; each is confirmed together with the one before
    assert len(line.known) == len(places)
    assert len(line.merged) == 2 * changes


def test_a_shortcut_that_is_wrong_is_found_out_and_made_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, _ = upstream_of(tmp_path / "wrong", ("harmless", 8), ("breaks a", 3), ("more", 118))
    monkeypatch.setattr(walking, "conflicting_files", lambda _repository, _files: set())
    line = line_of(scene)
    line.known[2] = frozenset({"a.txt"})  # as the trial merge of the report has it
    assert walk(line) == DISAGREED
    assert line.known == merged_one_by_one(line)


def test_attributes_that_follow_each_tree_are_left_to_whole_merges(tmp_path: Path) -> None:
    scene, commits = upstream_of(tmp_path / "renormalize", ("harmless", 8), ("breaks a", 3))
    scene.git("config", "merge.renormalize", "true")
    line = line_of(scene)
    walk(line)
    assert line.merged == set(range(len(commits)))


def kept(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache/scans").glob("*/record.json"))


def scan(ciwm: Ciwm, scene: Scene) -> dict[str, Any]:
    found: dict[str, Any] = ciwm(scene.path, "--json", "--culprits", AMPLE_S).report
    return found


def test_the_next_report_pays_only_for_what_is_new(tmp_path: Path, ciwm: Ciwm) -> None:
    scene, _ = upstream_of(tmp_path / "kept", *((f"harmless {n}", 8) for n in range(9)), ("a", 3))
    first = scan(ciwm, scene)
    again = scan(ciwm, scene)
    assert first["conflicts"]["scan"]["kept"] == 0
    assert again["conflicts"]["scan"]["kept"] == 10
    assert again["conflicts"]["culprits"] == first["conflicts"]["culprits"]
    scene.git("checkout", "-q", "main")
    commit = scene.commit("and b", b__txt="other\n")
    scene.git("update-ref", "refs/remotes/upstream/main", "main")
    scene.git("checkout", "-q", "fork")
    later = scan(ciwm, scene)
    assert later["conflicts"]["scan"]["kept"] == 10
    assert later["conflicts"]["culprits"][-1]["sha"] == commit
    assert len(kept(tmp_path)) == 1


def test_another_downstream_commit_has_nothing_kept_for_it(tmp_path: Path, ciwm: Ciwm) -> None:
    scene, _ = upstream_of(tmp_path / "moved", ("breaks a", 3))
    scan(ciwm, scene)
    scene.commit("resolved", a__txt="entirely ours\n")
    assert scan(ciwm, scene)["conflicts"]["scan"]["kept"] == 0


def test_upstream_rewritten_keeps_what_is_still_on_its_line(tmp_path: Path, ciwm: Ciwm) -> None:
    scene, commits = upstream_of(tmp_path / "other", ("harmless", 8), ("a", 3), ("b", 113))
    scan(ciwm, scene)
    scene.git("checkout", "-q", "-B", "main", commits[1])
    scene.commit("another third", c__txt="rewritten\n")
    scene.git("update-ref", "refs/remotes/upstream/main", "main")
    scene.git("checkout", "-q", "fork")
    report = scan(ciwm, scene)
    assert report["conflicts"]["scan"]["kept"] == 2
    found = [(culprit["subject"], culprit["files"]) for culprit in report["conflicts"]["culprits"]]
    assert found == [("a", ["a.txt"]), ("another third", ["c.txt"])]


@pytest.mark.parametrize(
    "damage",
    ["", "{", "[]", '{"schema_version": 1}', '{"schema_version": 99}', "\0\0", "foreign"],
)
def test_a_kept_scan_that_is_damaged_or_foreign_is_told_and_left_alone(
    tmp_path: Path, ciwm: Ciwm, damage: str
) -> None:
    scene, _ = upstream_of(tmp_path / "damaged", ("harmless", 8), ("breaks a", 3))
    whole = scan(ciwm, scene)
    (path,) = kept(tmp_path)
    if damage == "foreign":
        damage = json.dumps({**json.loads(path.read_text()), "downstream": "f" * 40})
    path.write_text(damage)
    report = scan(ciwm, scene)
    assert report["conflicts"]["culprits"] == whole["conflicts"]["culprits"]
    assert any("kept is of no use" in note for note in report["notes"])
    assert not any("kept" in note for note in scan(ciwm, scene)["notes"])


def test_a_cache_that_cannot_be_written_costs_a_note_and_no_more(
    tmp_path: Path, ciwm: Ciwm, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, commits = upstream_of(tmp_path / "full", ("breaks a", 3))
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CIWM_CACHE_DIR", str(tmp_path / "file" / "cache"))
    report = scan(ciwm, scene)
    assert report["conflicts"]["culprits"][0]["sha"] == commits[0]
    assert any("nothing could be kept" in note for note in report["notes"])


def test_clean_removes_what_reports_keep(
    tmp_path: Path, ciwm: Ciwm, capsys: pytest.CaptureFixture[str]
) -> None:
    scene, _ = upstream_of(tmp_path / "clean", ("breaks a", 3))
    scan(ciwm, scene)
    assert len(kept(tmp_path)) == 1
    assert cli.run(["clean", "--reports"]) == 0
    assert "removed scans/" in capsys.readouterr().out
    assert kept(tmp_path) == []


def test_a_merge_that_makes_git_fail_leaves_the_others_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, commits = upstream_of(tmp_path / "fails", ("harmless", 8), ("a", 3), ("b", 113))
    line = line_of(scene)
    merge = Line._merged

    def stumbling(self: Line, indices: list[int]) -> dict[int, frozenset[str]]:
        if 1 in indices:
            raise GitError("git merge-tree failed: Assertion failed")
        return merge(self, indices)

    monkeypatch.setattr(Line, "_merged", stumbling)
    line.learn(range(len(commits)))
    assert set(line.known) == {0, 2}
    assert line.failed == {1: "git merge-tree failed: Assertion failed"}
