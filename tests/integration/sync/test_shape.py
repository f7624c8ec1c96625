"""What kind of downstream it is: shared, rewritten and squashed histories, and none at all."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.errors import USAGE
from tests.integration.sync.git_scene import (
    Ciwm,
    Scene,
    new_repository,
    numbered,
    publish_upstream,
)

if TYPE_CHECKING:
    from pathlib import Path


def evidence(report: dict[str, Any]) -> str:
    return "\n".join(report["shape"]["evidence"])


def twelve_files(**changed: str) -> dict[str, str]:
    return {f"f{number}__txt": numbered(1, 9) for number in range(12)} | changed


def upstream_history(path: Path) -> Scene:
    """Five upstream commits on main, published as upstream/main; f0 and f1 change, f2 is added to.

    Tags u0 to u4 name them.
    """
    scene = new_repository(path)
    steps = [
        ("begin", twelve_files()),
        ("f0: one", {"f0__txt": numbered(1, 9, l1="one")}),
        ("f1: two", {"f1__txt": numbered(1, 9, l2="two")}),
        ("f2 and more", {"f2__txt": numbered(1, 12), "new__py": "x = 1\n"}),
        ("f0: nine", {"f0__txt": numbered(1, 9, l1="one", l9="nine")}),
    ]
    for number, (message, files) in enumerate(steps):
        scene.commit(message, **files)
        scene.git("tag", f"u{number}")
    publish_upstream(scene, "main")
    return scene


def rewritten(scene: Scene, tip: str, branch: str) -> None:
    """A branch with the same trees as `tip` and its ancestors, by another author: no id is kept."""
    parent: tuple[str, ...] = ()
    for sha in scene.git("rev-list", "--reverse", tip).split():
        new = scene.git(
            *("commit-tree", "-m", "imported", *parent, f"{sha}^{{tree}}"),
            GIT_AUTHOR_NAME="Importer",
        )
        parent = ("-p", new)
    scene.git("checkout", "-q", "-b", branch, parent[1])


# --- an ordinary fork ------------------------------------------------------------------------


def test_an_ordinary_fork_names_its_base_and_date(fork: Scene, ciwm: Ciwm) -> None:
    report = ciwm(fork.path, "--json").report
    base = fork.git("merge-base", "main", "fork")
    assert report["shape"]["style"] == "fork"
    assert report["shape"]["ancestry"] == "shared"
    assert report["shape"]["squashed"] == []
    assert evidence(report) == f"shares history with upstream up to {base[:12]} (2025-06-15)"


def test_a_style_that_is_stated_is_evidence_too(fork: Scene, ciwm: Ciwm) -> None:
    (fork.path / "ciwm.toml").write_text('[upstream]\nstyle = "fork"\n')
    assert evidence(ciwm(fork.path, "--json").report).startswith('[upstream] style = "fork"\n')


def test_every_merge_base_of_a_criss_cross_is_reported(fork: Scene, ciwm: Ciwm) -> None:
    fork.git("checkout", "-q", "--detach", "fork")
    fork.git("merge", "-q", "-s", "ours", "-m", "theirs into ours", "main")
    ours = fork.git("rev-parse", "HEAD")
    fork.git("checkout", "-q", "main")
    fork.git("merge", "-q", "-s", "ours", "-m", "ours into theirs", "fork")
    fork.git("update-ref", "refs/remotes/upstream/main", "main")
    fork.git("checkout", "-q", "-B", "fork", ours)
    bases = fork.git("merge-base", "--all", "main", "fork").split()
    report = ciwm(fork.path, "--json").report
    assert len(bases) == 2
    assert report["merge_bases"] == bases
    assert f"merged crosswise: {bases[1][:12]} are merge bases as well" in evidence(report)


def test_the_evidence_stands_at_the_top_of_every_page(fork: Scene, ciwm: Ciwm) -> None:
    text, page = ciwm(fork.path).out, ciwm(fork.path, "--markdown").out
    assert text.index("shape") < text.index("shares history") < text.index("downstream")
    assert page.index("Shape: **fork**") < page.index("shares history") < page.index("| What")


# --- a history that was rewritten ------------------------------------------------------------


def test_a_rewritten_history_is_joined_where_its_trees_are_upstreams(
    tmp_path: Path, ciwm: Ciwm
) -> None:
    scene = upstream_history(tmp_path / "r")
    rewritten(scene, "u2", "fork")
    scene.commit("our own", f0__txt=numbered(1, 9, l9="NINE", l1="one"), own__py="y = 2\n")
    scene.commit("more", own__py="y = 2\nz = 3\n")
    before = scene.fingerprint()
    report = ciwm(scene.path, "--json").report
    assert scene.fingerprint() == before
    assert report["shape"]["style"] == "fork"
    assert report["shape"]["ancestry"] == "rewritten"
    assert "3 downstream commits have the very files of an upstream commit" in evidence(report)
    assert report["merge_base"] == scene.git("rev-parse", "u2")
    assert report["behind"]["commits"] == 2
    assert report["ahead"]["commits"] == report["carried"]["commits"] == 2
    numstat = scene.git("diff", "--no-renames", "--numstat", "u2", "fork").splitlines()
    added = sum(int(line.split("\t")[0]) for line in numstat)
    assert (report["carried"]["files"], report["carried"]["lines_added"]) == (len(numstat), added)
    assert [file["path"] for file in report["conflicts"]["files"]] == ["f0.txt"]
    assert report["notes"] == []


def test_culprits_are_looked_for_on_the_joined_ground(tmp_path: Path, ciwm: Ciwm) -> None:
    scene = upstream_history(tmp_path / "r")
    rewritten(scene, "u2", "fork")
    scene.commit("our own", f0__txt=numbered(1, 9, l9="NINE", l1="one"))
    conflicts = ciwm(scene.path, "--culprits", "20", "--json").report["conflicts"]
    (culprit,) = conflicts["culprits"]
    assert culprit["sha"] == conflicts["first"]["sha"] == scene.git("rev-parse", "u4")
    assert conflicts["first"]["clean_up_to"] == scene.git("rev-parse", "u3")


def test_a_rewritten_history_with_side_branches_counts_only_its_own_commits(
    tmp_path: Path, ciwm: Ciwm
) -> None:
    scene = upstream_history(tmp_path / "r")
    rewritten(scene, "u1", "fork")
    scene.git("checkout", "-q", "-b", "side", "fork~1")
    scene.commit("side", side__py="s = 1\n")
    scene.git("checkout", "-q", "fork")
    scene.commit("own", own__py="y = 2\n")
    scene.git("merge", "-q", "--no-edit", "side")
    report = ciwm(scene.path, "--json").report
    assert report["ahead"]["commits"] == 3  # side, own and their merge
    assert report["carried"]["commits"] == 2
    assert report["merge_base"] == scene.git("rev-parse", "u1")


def test_a_rewritten_history_without_a_change_carries_nothing(tmp_path: Path, ciwm: Ciwm) -> None:
    scene = upstream_history(tmp_path / "r")
    rewritten(scene, "u3", "fork")
    report = ciwm(scene.path, "--json").report
    assert report["downstream"]["sha"] == scene.git("rev-parse", "fork")
    assert (report["behind"]["commits"], report["ahead"]["commits"]) == (1, 0)
    assert report["carried"]["files"] == 0
    assert report["conflicts"]["clean"] is True


def test_one_import_of_a_release_is_joined_to_it(tmp_path: Path, ciwm: Ciwm) -> None:
    scene = upstream_history(tmp_path / "r")
    new = scene.git("commit-tree", "-m", "import of u3", "u3^{tree}")
    scene.git("checkout", "-q", "-b", "fork", new)
    scene.commit("own", own__py="y = 2\n")
    report = ciwm(scene.path, "--json").report
    assert report["shape"]["ancestry"] == "rewritten"
    assert report["merge_base"] == scene.git("rev-parse", "u3")
    assert report["ahead"]["commits"] == 1


def test_a_rewritten_history_in_a_bare_repository_and_one_with_replacements(
    tmp_path: Path, ciwm: Ciwm
) -> None:
    scene = upstream_history(tmp_path / "r")
    rewritten(scene, "u2", "fork")
    scene.commit("first", own__py="a\n")
    scene.commit("second", own__py="b\n")
    scene.commit("third", own__py="c\n")
    scene.git("replace", "--graft", "fork", "fork~2")
    bare = tmp_path / "bare.git"
    shutil.copytree(scene.path / ".git", bare)
    Scene(bare).git("config", "core.bare", "true")
    for path in (scene.path, bare):
        report = ciwm(path, "--json").report
        assert report["ahead"]["commits"] == 2
        assert report["merge_base"] == scene.git("rev-parse", "u2")
        (note,) = report["notes"]
        assert note.startswith("1 objects are replaced here (git replace)")


def test_attributes_and_settings_of_the_checkout_hold_on_joined_ground(
    tmp_path: Path, ciwm: Ciwm
) -> None:
    scene = upstream_history(tmp_path / "r")
    rewritten(scene, "u2", "fork")
    scene.commit("own", f0__txt=numbered(1, 9, l9="NINE", l1="one"))
    scene.write(".gitattributes", "f0.txt merge=ours-always\n")
    scene.git("add", "-A")
    scene.commit_index("attributes")
    assert "asks for the merge driver ours-always" in ciwm(scene.path, "--json").report["notes"][0]
    assert ciwm(scene.path, "--json").report["conflicts"]["clean"] is False
    scene.write(".gitattributes", "f0.txt merge=union\n")
    assert ciwm(scene.path, "--json").report["conflicts"]["clean"] is True


def test_neither_hooks_nor_a_file_monitor_are_started(tmp_path: Path, ciwm: Ciwm) -> None:
    scene = upstream_history(tmp_path / "r")  # a rewritten fork: refs are made, in a scratch place
    rewritten(scene, "u2", "fork")
    scene.commit("own", f0__txt=numbered(1, 9, l9="NINE"))
    hooks, ran = tmp_path / "hooks", tmp_path / "ran"
    hooks.mkdir()
    for name in ("reference-transaction", "post-index-change", "monitor"):
        (hooks / name).write_text(f"#!/bin/sh\necho {name} >> {ran}\n")
        (hooks / name).chmod(0o755)
    scene.git("config", "core.hooksPath", str(hooks))
    scene.git("config", "core.fsmonitor", str(hooks / "monitor"))
    report = ciwm(scene.path, "--json", "--culprits", "9", "--history", "--states").report
    assert report["shape"]["ancestry"] == "rewritten"
    assert not ran.exists()


def test_a_rewritten_history_with_missing_contents(tmp_path: Path, ciwm: Ciwm) -> None:
    scene = upstream_history(tmp_path / "r")
    rewritten(scene, "u2", "fork")
    scene.commit("big", big__txt="x" * 5000 + "\n", own__py="a line that stays\n")
    scene.git("config", "uploadpack.allowFilter", "true")
    partial = tmp_path / "partial"
    clone = ("clone", "-q", "--filter=blob:limit=2k", "--no-checkout", f"file://{scene.path}")
    subprocess.run(["git", *clone, str(partial)], check=True, capture_output=True)
    report = ciwm(partial, "origin/main", "--downstream", "origin/fork", "--json").report
    assert report["shape"]["ancestry"] == "rewritten"
    assert report["missing_objects"] == [scene.git("rev-parse", "fork:big.txt")]
    assert (report["carried"]["files"], report["carried"]["lines_added"]) == (2, 1)


# --- two projects ----------------------------------------------------------------------------


def two_projects(tmp_path: Path, **files: str) -> Scene:
    scene = upstream_history(tmp_path / "two")
    scene.git("checkout", "-q", "--orphan", "own")
    scene.git("rm", "-q", "-rf", ".")
    scene.commit("licence", LICENSE="MIT\n")
    scene.commit("own", **files)
    return scene


def test_a_project_of_its_own_is_a_plugin_and_its_copies_of_upstream_are_counted(
    tmp_path: Path, ciwm: Ciwm
) -> None:
    scene = two_projects(tmp_path, plugin__py="import x\n", copied__txt=numbered(1, 12))
    run = ciwm(scene.path)
    assert run.code == USAGE
    assert "HEAD is a plugin (no commit and no tree in common with upstream; " in run.err
    assert "1 of 3 files are exact copies of upstream's" in run.err


def test_a_folder_of_patches_is_a_patch_queue(tmp_path: Path, ciwm: Ciwm) -> None:
    scene = two_projects(tmp_path, one__patch="--- a\n", two__patch="--- a\n")
    assert "HEAD is a patch queue (no commit and no tree" in ciwm(scene.path).err


@pytest.mark.parametrize("begun", ["", "MIT\n"])
def test_an_empty_or_a_tiny_tree_that_both_begin_with_proves_nothing(
    tmp_path: Path, ciwm: Ciwm, begun: str
) -> None:
    scene = new_repository(tmp_path / "r")
    for branch in ("main", "own"):
        scene.git("checkout", "-q", "--orphan", branch) if branch == "own" else None
        scene.git("rm", "-q", "-rf", "--ignore-unmatch", ".")
        scene.commit(f"begin {branch}", **({"LICENSE": begun} if begun else {}))
        scene.commit("work", **{f"{branch}__py": "x\n"})
    publish_upstream(scene, "main")
    run = ciwm(scene.path)
    assert run.code == USAGE
    assert "HEAD is a plugin" in run.err


# --- squashed syncs --------------------------------------------------------------------------


def squashed(tmp_path: Path, subject: str = "Sync with upstream") -> Scene:
    """A fork of u0 that squashed u3 into one commit, then changed f2 and a file of its own."""
    scene = upstream_history(tmp_path / "s")
    scene.clock += 3600
    scene.git("checkout", "-q", "-b", "fork", "u0")
    scene.commit("own", own__py="y = 2\n")
    scene.git("merge", "-q", "--squash", "u3")
    scene.commit_index(subject)
    scene.git("tag", "squash")
    scene.commit("own again", f2__txt=numbered(1, 12, l12="twelve"))
    return scene


def test_a_squashed_sync_is_found_and_the_commit_it_synced_to_is_named(
    tmp_path: Path, ciwm: Ciwm
) -> None:
    scene = squashed(tmp_path)
    report = ciwm(scene.path, "--json").report
    (found,) = report["shape"]["squashed"]
    assert found["sha"] == scene.git("rev-parse", "squash")
    assert found["synced_to"] == scene.git("rev-parse", "u3")
    assert (found["files"], found["upstream_files"]) == (4, 4)  # f0, f1, f2, new.py
    assert found["healed"] is False
    assert report["merge_base"] == scene.git("rev-parse", "u0")
    assert "ancestry lost: " in evidence(report)
    assert f'declare it: [upstream] synced_to = "{found["synced_to"]}"' in evidence(report)
    assert "fork, sync squashed" in ciwm(scene.path).out


def test_a_declared_sync_is_the_merge_base_and_the_squash_counts_as_its_merge(
    tmp_path: Path, ciwm: Ciwm
) -> None:
    scene = squashed(tmp_path)
    (scene.path / "ciwm.toml").write_text('[upstream]\nsynced_to = "u3"\n')
    before = scene.fingerprint()
    report = ciwm(scene.path, "--json").report
    assert scene.fingerprint() == before
    assert report["merge_base"] == report["shape"]["synced_to"] == scene.git("rev-parse", "u3")
    assert report["behind"]["commits"] == 1
    assert report["ahead"]["commits"] == 3
    assert [commit["subject"] for commit in report["carried"]["list"]] == ["own again", "own"]
    assert report["carried"]["files"] == 2
    assert report["conflicts"]["clean"] is True
    assert report["shape"]["squashed"] == []
    assert "ancestry declared: [upstream] synced_to = " in evidence(report)
    # what git would do with that history, made for real in a copy
    copy = Scene(tmp_path / "copy")
    shutil.copytree(scene.path, copy.path)
    copy.git("replace", "--graft", "squash", "squash~1", "u3")
    assert copy.git("merge-base", "main", "fork") == report["merge_base"]
    assert copy.git("rev-list", "--count", "main..fork") == "3"


def test_a_squash_that_says_nothing_of_a_sync_is_none(tmp_path: Path, ciwm: Ciwm) -> None:
    report = ciwm(squashed(tmp_path, "Weekly work").path, "--json").report
    assert report["shape"]["squashed"] == []


def test_a_pin_that_moves_in_it_gives_a_squash_away(tmp_path: Path, ciwm: Ciwm) -> None:
    scene = squashed(tmp_path, "Weekly work")
    scene.git("checkout", "-q", "squash")
    scene.write(".upstream-commit", scene.git("rev-parse", "u3") + "\n")
    scene.git("add", "-A")
    scene.commit_index("Weekly work", "--amend")
    (found,) = ciwm(scene.path, "--json").report["shape"]["squashed"]
    assert found["reason"] == "it changes .upstream-commit"
    assert found["synced_to"] == scene.git("rev-parse", "u3")


def test_a_commit_that_only_says_sync_is_none(tmp_path: Path, ciwm: Ciwm) -> None:
    scene = upstream_history(tmp_path / "s")
    scene.clock += 3600
    scene.git("checkout", "-q", "-b", "fork", "u0")
    scene.commit("Merge upstream main", a__py="1\n", b__py="2\n", c__py="3\n", d__py="4\n")
    assert ciwm(scene.path, "--json").report["shape"]["squashed"] == []


def test_a_later_merge_heals_a_squash_and_a_large_one_is_still_told(
    tmp_path: Path, ciwm: Ciwm
) -> None:
    scene = upstream_history(tmp_path / "s")
    many = {f"dir/g{number}.txt": "g\n" for number in range(60)}
    scene.git("checkout", "-q", "main")
    scene.commit("sixty files", **many)
    scene.git("tag", "u5")
    scene.clock += 3600
    scene.git("checkout", "-q", "-b", "fork", "u0")
    scene.git("merge", "-q", "--squash", "u5")
    scene.commit_index("Merge upstream main")
    scene.git("checkout", "-q", "main")
    scene.commit("later", later__txt="1\n")
    scene.git("tag", "u6")
    scene.commit("latest", later__txt="2\n")
    scene.git("update-ref", "refs/remotes/upstream/main", "main")
    scene.git("checkout", "-q", "fork")
    scene.clock += 3600
    scene.git("merge", "-q", "--no-edit", "-X", "theirs", "u6")
    report = ciwm(scene.path, "--json").report
    (found,) = report["shape"]["squashed"]
    assert found["healed"] is True
    assert report["merge_base"] == scene.git("rev-parse", "u6")
    assert "squashed long ago" in evidence(report)
    assert "sync squashed" not in ciwm(scene.path).out


def test_a_declaration_that_cannot_be_true_is_refused(tmp_path: Path, ciwm: Ciwm) -> None:
    scene = squashed(tmp_path)
    for declared, message in {
        "nowhere": "no such commit here: nowhere",
        "fork": "is no commit of upstream/main",
        "u4": None,
    }.items():
        (scene.path / "ciwm.toml").write_text(f'[upstream]\nsynced_to = "{declared}"\n')
        run = ciwm(scene.path, "--json")
        assert run.code == (USAGE if message else 0)
        assert message is None or message in run.err
    scene.git("checkout", "-q", "-b", "clean", "u0")
    scene.commit("own", own__py="y = 2\n")
    (scene.path / "ciwm.toml").write_text('[upstream]\nsynced_to = "u3"\n')
    run = ciwm(scene.path, "--downstream", "clean")
    assert run.code == USAGE
    assert "no commit of clean holds a file as it is at" in run.err


def test_a_declaration_that_a_merge_has_overtaken_may_go(tmp_path: Path, ciwm: Ciwm) -> None:
    scene = squashed(tmp_path)
    scene.git("merge", "-q", "--no-edit", "-s", "ours", "u4")
    (scene.path / "ciwm.toml").write_text('[upstream]\nsynced_to = "u3"\n')
    report = ciwm(scene.path, "--json").report
    assert "is merged by now and can be taken out of [upstream]" in evidence(report)
    assert report["merge_base"] == scene.git("rev-parse", "u4")


def test_an_import_without_equal_trees_is_joined_by_declaration(tmp_path: Path, ciwm: Ciwm) -> None:
    scene = upstream_history(tmp_path / "s")
    scene.git("checkout", "-q", "--orphan", "fork", "u3")
    scene.git("rm", "-q", "-f", "f11.txt")
    scene.commit_index("import without f11")
    scene.commit("own", own__py="y = 2\n")
    assert ciwm(scene.path).code == USAGE
    (scene.path / "ciwm.toml").write_text('[upstream]\nsynced_to = "u3"\n')
    report = ciwm(scene.path, "--json").report
    assert report["shape"]["ancestry"] == "rewritten"
    assert report["merge_base"] == scene.git("rev-parse", "u3")
    assert (report["behind"]["commits"], report["carried"]["files"]) == (1, 2)
