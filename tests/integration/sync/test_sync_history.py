"""Past syncs made once more, against merges whose every line the tests decided."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.sync.git_scene import new_repository, numbered, publish_upstream

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.sync.git_scene import Ciwm, Scene


class Team:
    """A fork (branch fork) and its upstream (branch main), and syncs of every kind."""

    def __init__(self, path: Path) -> None:
        self.scene = new_repository(path)
        self.scene.commit("base", a__txt=numbered(1, 30), b__txt=numbered(1, 30))
        self.scene.git("checkout", "-q", "-b", "fork")
        self.scene.commit("the fork's own", own__txt="own\n")
        self.upstream: dict[str, str] = {}
        self.ours = 0
        self.merges: list[str] = []

    def change(self, line: int, commits: int = 1) -> None:
        """Upstream changes a line of a.txt in its last of some commits."""
        self.scene.git("checkout", "-q", "main")
        for number in range(commits):
            text = f"upstream {line}.{number}.{len(self.merges)}"
            self.upstream[f"l{line}"] = text
            self.scene.commit(text, a__txt=numbered(1, 30, **self.upstream))

    def own(self, line: int, text: str) -> None:
        """The fork changes a line of a.txt as it stands."""
        self.scene.git("checkout", "-q", "fork")
        lines = (self.scene.path / "a.txt").read_text().splitlines()
        lines[line - 1] = text
        self.scene.commit(text, a__txt="\n".join(lines) + "\n")

    def sync(self, resolution: str | None = None, extra: str | None = None) -> str:
        """Merge main; with `resolution` for a.txt, with `extra` written to b.txt on the way."""
        scene = self.scene
        scene.git("checkout", "-q", "fork")
        scene.clock += 86400
        status, _ = scene.status("merge", "-q", "--no-ff", "--no-commit", "main")
        assert (status != 0) == (resolution is not None)
        if resolution is not None:
            scene.write("a.txt", resolution)
        if extra is not None:
            scene.write("b.txt", extra)
        scene.git("add", "-A")
        self.merges.append(scene.commit_index("sync"))
        return self.merges[-1]

    def publish(self) -> Scene:
        publish_upstream(self.scene, "main")
        self.scene.git("checkout", "-q", "fork")
        return self.scene


def report(ciwm: Ciwm, scene: Scene, *options: str) -> dict[str, Any]:
    return ciwm(scene.path, "--json", *(options or ("--history",))).report


def test_each_kind_of_sync_is_told_with_its_figures(tmp_path: Path, ciwm: Ciwm) -> None:
    team = Team(tmp_path / "kinds")
    team.change(2, commits=3)
    clean = team.sync()
    team.change(4)
    evil = team.sync(extra=numbered(1, 30, l9="edited", l10="edited"))
    team.own(20, "ours")
    team.change(20, commits=2)
    conflict = team.sync(resolution=numbered(1, 30, **team.upstream, l21="by hand"))
    found = report(ciwm, team.publish())
    syncs = {sync["merge"]: sync for sync in found["syncs"]}
    assert [sync["merge"] for sync in found["syncs"]] == [conflict, evil, clean]
    assert (syncs[clean]["kind"], syncs[clean]["hand_lines"]) == ("clean", 0)
    assert syncs[clean]["upstream_commits"] == 3
    # two lines of b.txt replaced by two others
    assert (syncs[evil]["kind"], syncs[evil]["hand_lines"]) == ("evil", 4)
    assert syncs[conflict]["kind"] == "conflict"
    assert syncs[conflict]["conflicted_files"] == 1
    assert syncs[conflict]["upstream_commits"] == 2
    # git leaves: <<<<<<<, ours, =======, upstream's, >>>>>>>, line 21; we: upstream's, by hand
    assert syncs[conflict]["hand_lines"] == 5 + 1
    history = found["sync_history"]
    assert {kind: history[kind] for kind in ("clean", "evil", "conflict")} == {
        "clean": 1,
        "evil": 1,
        "conflict": 1,
    }
    assert (history["total"], history["replayed"]) == (3, 3)
    assert [syncs[each]["outside_files"] for each in (clean, evil, conflict)] == [[], ["b.txt"], []]
    assert history["edited_outside"] == 0


def test_edits_in_files_that_git_merged_alone_are_told_apart(tmp_path: Path, ciwm: Ciwm) -> None:
    team = Team(tmp_path / "outside")
    team.own(20, "ours")
    team.change(20)
    merge = team.sync(resolution=numbered(1, 30, **team.upstream), extra=numbered(1, 30, l9="x"))
    scene = team.publish()
    found = report(ciwm, scene)
    (sync,) = found["syncs"]
    assert (sync["merge"], sync["kind"]) == (merge, "conflict")
    assert (sync["outside"], sync["outside_files"]) == (1, ["b.txt"])
    assert found["sync_history"]["edited_outside"] == 1
    page = " ".join(ciwm(scene.path, "--history").out.split())
    assert "Edited in other files too, which git had merged: 1 of 1 that conflicted." in page


def test_gaps_are_between_the_dates_of_the_merges(tmp_path: Path, ciwm: Ciwm) -> None:
    team = Team(tmp_path / "gaps")
    for pause_days in (0, 2, 10, 4):
        team.scene.clock += pause_days * 86400
        team.change(2)
        team.sync()
    found = report(ciwm, team.publish())["sync_history"]
    # a sync comes a day and two hours after upstream's change, which comes after the pause
    between = [pause + 1 + 2 / 24 for pause in (2, 4, 10)]
    assert found["gap_days_median"] == pytest.approx(between[1])
    assert found["gap_days_max"] == pytest.approx(between[2])
    assert found["age_days"] > 0
    assert found["lag_days_median"] == pytest.approx(1 + 1 / 24)


def test_markers_committed_with_a_sync_are_named_once(tmp_path: Path, ciwm: Ciwm) -> None:
    team = Team(tmp_path / "markers")
    team.own(20, "ours")
    team.change(20)
    leftover = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> main\n"
    marked = team.sync(resolution=numbered(1, 30, l20=leftover.rstrip("\n")))
    team.scene.git("checkout", "-q", "fork")
    team.scene.git("rm", "-q", "--cached", "b.txt")
    team.scene.git("add", "-A")
    team.change(2)
    later = team.sync()
    found = report(ciwm, team.publish())
    named = {sync["merge"]: sync["marker_files"] for sync in found["syncs"]}
    assert named == {marked: ["a.txt"], later: []}
    assert found["sync_history"]["marker_files"] == 1


def test_merges_inside_the_fork_and_inside_upstream_are_no_syncs(
    tmp_path: Path, ciwm: Ciwm
) -> None:
    team = Team(tmp_path / "inner")
    scene = team.scene
    team.change(2)
    sync = team.sync()
    scene.git("checkout", "-q", "-b", "topic", "fork~1")
    scene.commit("topic", topic__txt="t\n")
    scene.git("checkout", "-q", "fork")
    scene.git("merge", "-q", "--no-ff", "--no-edit", "topic")
    scene.git("checkout", "-q", "-b", "theirs", "main")
    scene.commit("theirs", theirs__txt="t\n")
    scene.git("checkout", "-q", "main")
    scene.git("merge", "-q", "--no-ff", "--no-edit", "theirs")
    scene.git("checkout", "-q", "fork")
    assert [found["merge"] for found in report(ciwm, team.publish())["syncs"]] == [sync]


def test_a_merge_of_three_is_left_out_and_said(tmp_path: Path, ciwm: Ciwm) -> None:
    team = Team(tmp_path / "octopus")
    scene = team.scene
    team.change(2)
    team.sync()
    team.change(3)
    scene.git("checkout", "-q", "-b", "topic", "fork")
    scene.commit("topic", topic__txt="t\n")
    scene.git("checkout", "-q", "fork")
    scene.commit("ours", ours__txt="o\n")
    scene.git("merge", "-q", "--no-edit", "topic", "main")
    found = report(ciwm, team.publish())
    assert found["sync_history"]["total"] == 1
    assert any("more than two parents" in note for note in found["sync_history"]["notes"])


def test_without_past_syncs_there_is_nothing_to_tell(fork: Scene, ciwm: Ciwm) -> None:
    found = report(ciwm, fork)
    assert found["syncs"] == []
    assert found["sync_history"] is found["forecast"] is None


def test_few_past_syncs_make_no_forecast_and_it_says_why(tmp_path: Path, ciwm: Ciwm) -> None:
    team = Team(tmp_path / "few")
    team.change(2)
    team.sync()
    found = report(ciwm, team.publish())["forecast"]
    assert found["refused"] == "no forecast: 1 past sync could be replayed, and it needs 20"
    assert found["horizons"] == []
    assert "it needs 20" in ciwm(team.scene.path).out


def test_twenty_past_syncs_make_one(tmp_path: Path, ciwm: Ciwm) -> None:
    team = Team(tmp_path / "twenty")
    for number in range(20):
        team.change(2 + number % 9)
        team.sync()
    team.change(25, commits=2)
    found = report(ciwm, team.publish())["forecast"]
    assert found["refused"] == ""
    assert [horizon["weeks"] for horizon in found["horizons"]] == [0, 1, 2, 4]
    now = found["horizons"][0]
    assert (now["tried"], now["files"]["value"], now["upstream_commits"]) == (True, 0, 2)
    assert "Forecast" in ciwm(team.scene.path).out


def test_past_syncs_are_replayed_once_and_then_kept(tmp_path: Path, ciwm: Ciwm) -> None:
    team = Team(tmp_path / "kept")
    for line in (2, 4, 6):
        team.change(line)
        team.sync()
    scene = team.publish()
    first = report(ciwm, scene)
    # with no time at all there is only what was kept
    config = scene.path / "ciwm.toml"
    config.write_text("[sync]\nhistory_s = 0\n")
    assert report(ciwm, scene, "--culprits", "0")["syncs"] == first["syncs"]
    team.change(8)
    scene.git("update-ref", "refs/remotes/upstream/main", "main")
    team.sync()
    cut = report(ciwm, scene, "--culprits", "0")
    assert cut["syncs"] == first["syncs"]
    assert (cut["sync_history"]["total"], cut["sync_history"]["replayed"]) == (4, 3)
    assert any("--history" in note for note in cut["sync_history"]["notes"])
    assert len(report(ciwm, scene)["syncs"]) == 4


def test_no_history_tells_none(tmp_path: Path, ciwm: Ciwm) -> None:
    team = Team(tmp_path / "none")
    team.change(2)
    team.sync()
    assert report(ciwm, team.publish(), "--no-history")["sync_history"] is None


@pytest.mark.parametrize("damage", ["", "{}", '{"schema_version": 1, "settings": "x"}', "other"])
def test_kept_replays_that_are_damaged_or_foreign_are_made_again(
    tmp_path: Path, ciwm: Ciwm, damage: str
) -> None:
    team = Team(tmp_path / "damaged")
    team.change(2)
    team.sync()
    scene = team.publish()
    whole = report(ciwm, scene)
    (path,) = (tmp_path / "cache/replays").glob("*/record.json")
    if damage == "other":
        damage = json.dumps({**json.loads(path.read_text()), "settings": "another git's"})
    path.write_text(damage)
    found = report(ciwm, scene)
    assert found["syncs"] == whole["syncs"]
    assert any("kept is of no use" in note for note in found["sync_history"]["notes"])


def test_a_sync_whose_file_is_missing_here_is_replayed_without_it(
    tmp_path: Path, ciwm: Ciwm
) -> None:
    team = Team(tmp_path / "missing")
    team.own(20, "ours")
    team.scene.commit("ours in b", b__txt=numbered(1, 30, l2="ours"))
    lost = team.scene.git("rev-parse", "fork:b.txt")
    team.change(20)
    team.scene.commit("theirs in b", b__txt=numbered(1, 30, l29="theirs"))
    team.sync(resolution=numbered(1, 30, l20="both"))
    scene = team.publish()
    (scene.path / ".git/objects" / lost[:2] / lost[2:]).unlink()
    found = report(ciwm, scene, "--history", "--culprits", "0")
    (sync,) = found["syncs"]
    assert (sync["kind"], sync["conflicted_files"], sync["unread_files"]) == ("conflict", 1, 1)
    # git leaves five lines in place of line 20, we one
    assert sync["hand_lines"] == 6


def test_a_sync_that_only_seems_clean_for_want_of_contents_is_not_told(
    tmp_path: Path, ciwm: Ciwm
) -> None:
    team = Team(tmp_path / "unknown")
    team.change(2)
    clean = team.sync()
    team.scene.git("checkout", "-q", "fork")
    team.scene.commit("ours in b", b__txt=numbered(1, 30, l2="ours"))
    lost = team.scene.git("rev-parse", "fork:b.txt")
    team.change(4)
    team.scene.commit("theirs in b", b__txt=numbered(1, 30, l29="theirs"))
    team.sync()
    scene = team.publish()
    (scene.path / ".git/objects" / lost[:2] / lost[2:]).unlink()
    found = report(ciwm, scene, "--history", "--culprits", "0")
    assert [(sync["merge"], sync["kind"]) for sync in found["syncs"]] == [(clean, "clean")]
    history = found["sync_history"]
    assert (history["total"], history["replayed"]) == (2, 1)
    assert history["notes"][0].startswith("git could not replay 1 of them: ")


def test_replaying_leaves_the_repository_as_it_was(tmp_path: Path, ciwm: Ciwm) -> None:
    team = Team(tmp_path / "untouched")
    team.change(2)
    team.sync()
    scene = team.publish()
    before = scene.fingerprint()
    assert ciwm(scene.path, "--history").code == 0
    assert scene.fingerprint() == before
