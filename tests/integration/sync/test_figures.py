"""Every figure against plain git, and the promise to change nothing."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.sync.git_scene import (
    Ciwm,
    Scene,
    new_repository,
    numbered,
    publish_upstream,
)

if TYPE_CHECKING:
    from pathlib import Path

UPSTREAM, FORK = "refs/remotes/upstream/main", "HEAD"


def plain_git(scene: Scene) -> dict[str, Any]:
    """The same figures, by the commands a maintainer would type."""
    behind, ahead = scene.git("rev-list", "--left-right", "--count", f"{UPSTREAM}...{FORK}").split()
    base = scene.git("merge-base", UPSTREAM, FORK)
    cherry = scene.git("cherry", UPSTREAM, FORK).split()
    numstat = scene.git("diff", "--no-renames", "--numstat", f"{UPSTREAM}...{FORK}").splitlines()
    rows = [line.split("\t") for line in numstat]
    ours = set(scene.git("diff", "--no-renames", "--name-only", base, FORK).splitlines())
    theirs = set(scene.git("diff", "--no-renames", "--name-only", base, UPSTREAM).splitlines())
    date = "log", "-1", "--format=%ct"
    merge = ("merge-tree", "--write-tree", "--no-messages", "--name-only", FORK, UPSTREAM)
    code, merged = scene.status(*merge)
    tree, *conflicted = merged.splitlines()
    marked = [scene.status("show", f"{tree}:{path}")[1] for path in conflicted]
    return {
        "merge_base": base,
        "behind": int(behind),
        "first_parent": int(
            scene.git("rev-list", "--count", "--first-parent", f"{FORK}..{UPSTREAM}")
        ),
        "seconds": int(scene.git(*date, UPSTREAM)) - int(scene.git(*date, base)),
        "ahead": int(ahead),
        "carried": cherry.count("+"),
        "upstreamed": cherry.count("-"),
        "files": len(rows),
        "binaries": sum(row[0] == "-" for row in rows),
        "added": sum(int(row[0]) for row in rows if row[0] != "-"),
        "removed": sum(int(row[1]) for row in rows if row[1] != "-"),
        "overlap": len(ours & theirs),
        "clean": code == 0,
        "conflicted": sorted(conflicted),
        "hunks": sum(line.startswith("<<<<<<< ") for text in marked for line in text.splitlines()),
    }


def reported(report: dict[str, Any]) -> dict[str, Any]:
    """The record's figures under the names above."""
    conflicts, carried = report["conflicts"], report["carried"]
    assert conflicts["count"] == len(conflicts["files"])
    assert conflicts["hunks"] == sum(file["hunk_count"] for file in conflicts["files"])
    return {
        "merge_base": report["merge_base"],
        "behind": report["behind"]["commits"],
        "first_parent": report["behind"]["first_parent"],
        "seconds": round(report["behind"]["days"] * 86400),
        "ahead": report["ahead"]["commits"],
        "carried": carried["commits"],
        "upstreamed": carried["upstreamed_commits"],
        "files": carried["files"],
        "binaries": carried["binaries"],
        "added": carried["lines_added"],
        "removed": carried["lines_removed"],
        "overlap": report["overlap"]["files"],
        "clean": conflicts["clean"],
        "conflicted": [file["path"] for file in conflicts["files"]],
        "hunks": conflicts["hunks"],
    }


def grown_history(path: Path, seed: int, commits: int = 30) -> Scene:
    """Two branches with edits, new, removed and renamed files, cherry-picks and past syncs."""
    draw = random.Random(seed)
    scene = new_repository(path)
    scene.commit("base", **{f"f{number}__txt": numbered(1, 40) for number in range(12)})
    scene.git("branch", "fork")
    for step in range(commits):
        side = draw.choice(("fork", "main"))
        scene.git("checkout", "-q", side)
        _one_commit(scene, draw, f"{side} {step}")
        if draw.random() < 0.15:
            _cherry_pick(scene, draw)
        if draw.random() < 0.1:
            _past_sync(scene)
    publish_upstream(scene, "main")
    scene.git("checkout", "-q", "fork")
    return scene


def _one_commit(scene: Scene, draw: random.Random, message: str) -> None:
    present = scene.git("ls-files").splitlines()
    name = draw.choice(present)
    match draw.randrange(7):
        case 0:
            scene.git("rm", "-q", name)
        case 1:
            scene.git("mv", name, f"moved-{message.replace(' ', '-')}.txt")
        case 2:
            scene.write(f"new/{message}.py", numbered(1, draw.randrange(1, 30)))
        case 3:
            scene.write(f"{message}.bin", b"\0" + draw.randbytes(20))
        case _:
            lines = (scene.path / name).read_bytes().split(b"\n")
            lines[draw.randrange(len(lines))] = message.encode()
            scene.write(name, b"\n".join(lines))
    scene.git("add", "-A")
    scene.commit_index(message)


def _cherry_pick(scene: Scene, draw: random.Random) -> None:
    scene.clock += 3600
    here = scene.git("symbolic-ref", "--short", "HEAD")
    other = "main" if here == "fork" else "fork"
    picked = draw.choice(scene.git("rev-list", "--no-merges", f"{here}..{other}").split() or [""])
    if picked and scene.status("cherry-pick", picked)[0] != 0:
        scene.git("cherry-pick", "--abort")


def _past_sync(scene: Scene) -> None:
    scene.clock += 3600
    scene.git("checkout", "-q", "fork")
    if scene.status("merge", "-q", "--no-edit", "main")[0] != 0:
        scene.git("add", "-A")  # markers and all: what counts here is the shape of the history
        scene.commit_index("sync")


@pytest.mark.parametrize("seed", range(6))
def test_every_figure_is_what_plain_git_says(tmp_path: Path, ciwm: Ciwm, seed: int) -> None:
    scene = grown_history(tmp_path / "grown", seed)
    assert reported(ciwm(scene.path, "--json").report) == plain_git(scene)


def test_the_figures_of_a_small_fork_are_those_counted_by_hand(fork: Scene, ciwm: Ciwm) -> None:
    report = ciwm(fork.path, "--json").report
    assert report["upstream"]["ref"] == "upstream/main"
    assert report["upstream"]["sha"] == fork.git("rev-parse", "main")
    assert report["downstream"]["sha"] == fork.git("rev-parse", "fork")
    assert report["behind"] == {"commits": 3, "first_parent": 3, "days": pytest.approx(5 / 24)}
    assert report["ahead"] == {"commits": 2}
    carried = report["carried"]
    assert (carried["commits"], carried["files"]) == (2, 3)
    assert (carried["lines_added"], carried["lines_removed"]) == (4, 2)
    assert carried["additive"] == {"files": 1, "lines_added": 2}
    assert carried["intrusive"] == {"files": 2, "lines_added": 2, "lines_removed": 2}
    assert carried["deleted"] == {"files": 0, "lines_removed": 0}
    assert report["overlap"] == {"files": 2, "paths": ["a.txt", "b.txt"]}
    assert [(file["path"], file["kind"]) for file in report["conflicts"]["files"]] == [
        ("a.txt", "content")
    ]
    hunk = report["conflicts"]["files"][0]["hunks"][0]
    assert hunk["start_line"] == 5
    assert hunk["text"].splitlines()[1::2] == ["FIVE", "five"]
    assert report["partial"] is False
    assert report["missing_objects"] == []


def test_new_changed_and_removed_files_add_up_to_what_is_carried(fork: Scene, ciwm: Ciwm) -> None:
    fork.git("rm", "-q", "c.txt")
    (fork.path / "b.txt").unlink()
    (fork.path / "b.txt").symlink_to("a.txt")
    fork.commit("remove c, link b")
    carried = ciwm(fork.path, "--json").report["carried"]
    assert carried["deleted"] == {"files": 1, "lines_removed": 9}
    # a.txt: one line; b.txt became a link (one line) and lost its twenty lines
    assert carried["intrusive"] == {"files": 2, "lines_added": 2, "lines_removed": 21}
    assert carried["lines_added"] == 2 + carried["additive"]["lines_added"]
    assert carried["lines_removed"] == 21 + 9


def test_carried_commits_are_named_and_the_one_upstream_has_is_not(fork: Scene, ciwm: Ciwm) -> None:
    fork.git("checkout", "-q", "fork")
    fork.commit("sent upstream", e__txt="e\n")
    sent = fork.git("rev-parse", "HEAD")
    fork.git("checkout", "-q", "main")
    fork.clock += 3600
    fork.git("cherry-pick", sent)
    fork.git("update-ref", "refs/remotes/upstream/main", "main")
    fork.git("checkout", "-q", "fork")
    carried = ciwm(fork.path, "--json").report["carried"]
    assert carried["upstreamed_commits"] == 1
    assert [commit["subject"] for commit in carried["list"]] == ["fork: seventeen", "fork: five"]
    assert carried["list"][0]["author"] == "A Developer"


def test_lines_are_counted_by_path_class_and_the_first_class_wins(
    fork: Scene, ciwm: Ciwm, tmp_path: Path
) -> None:
    config = tmp_path / "classes.toml"
    config.write_text(
        '[upstream.classes]\npython = ["*.py"]\nnamed-a = ["a.*"]\nall-text = ["**/*.txt"]\n'
    )
    carried = ciwm(fork.path, "--json", "--config", str(config)).report["carried"]
    rows = [tuple(cost.values()) for cost in carried["classes"]]
    assert sorted(rows) == [("all-text", 1, 1, 1), ("named-a", 1, 1, 1), ("python", 1, 2, 0)]


def test_nothing_in_the_repository_changes_and_nothing_is_left_behind(
    fork: Scene, ciwm: Ciwm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    fork.write("untracked.txt", "mine\n")
    fork.write("a.txt", "edited\n")
    checks = ("count-objects", "-v"), ("fsck", "--full", "--no-progress"), ("stash", "list")
    said = [fork.status(*check) for check in checks]
    before = fork.fingerprint()
    for options in (("--json",), ("--markdown",), (), ("main", "--downstream", "upstream/main")):
        assert ciwm(fork.path, *options).code == 0
    assert fork.fingerprint() == before
    assert [fork.status(*check) for check in checks] == said
    assert list(temporary.iterdir()) == []


def test_an_upstream_that_is_all_merged_costs_nothing(fork: Scene, ciwm: Ciwm) -> None:
    report = ciwm(fork.path, "fork", "--json").report
    assert report["behind"]["commits"] == report["ahead"]["commits"] == 0
    conflicts = report["conflicts"]
    assert (conflicts["clean"], conflicts["count"], conflicts["files"]) == (True, 0, [])
    assert "nothing to merge" in ciwm(fork.path, "fork").out


def test_what_the_user_configured_for_reading_does_not_change_a_figure(
    fork: Scene, ciwm: Ciwm
) -> None:
    before = reported(ciwm(fork.path, "--json").report)
    for key, value in {
        "color.ui": "always",
        "core.quotePath": "true",
        "core.splitIndex": "true",
        "diff.external": "false",
        "diff.noprefix": "true",
        "diff.renames": "copies",
        "log.date": "relative",
        "log.showSignature": "true",
        "merge.conflictStyle": "diff3",
    }.items():
        fork.git("config", key, value)
    assert reported(ciwm(fork.path, "--json").report) == before


def test_variables_of_a_hook_do_not_lead_it_astray(
    fork: Scene, ciwm: Ciwm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = reported(ciwm(fork.path, "--json").report)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path / "objects"))
    assert reported(ciwm(fork.path, "--json").report) == before
    assert not (tmp_path / "objects").exists()
