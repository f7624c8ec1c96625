"""Upstream changes that touch what we carry: ranked by shared lines, from git alone."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from ciwm.git import Repository
from ciwm.upstream.pulls.incoming import Incoming, Merge, Ours, incoming
from tests.integration.sync.git_scene import Scene, new_repository, numbered
from tests.integration.sync.pulls_scene import merge_of

if TYPE_CHECKING:
    from pathlib import Path


def found(scene: Scene, ours: Ours | None = None, used: tuple[str, ...] = ()) -> Incoming:
    merge = merge_of(scene)._replace(used=used)
    return incoming(Repository.open(scene.path), merge, ours or Ours())


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """We changed lines 10 to 12 of a.txt, inserted after line 3 of b.txt, and added own.txt."""
    scene = new_repository(tmp_path / "fork")
    scene.commit("base", a__txt=numbered(1, 40), b__txt=numbered(1, 40), c__txt="c\n")
    scene.git("branch", "fork")
    scene.git("checkout", "-q", "fork")
    b = numbered(1, 3) + "ours\n" + numbered(4, 40)
    scene.commit("ours", a__txt=numbered(1, 40, l10="A", l11="B", l12="C"), b__txt=b)
    scene.commit("own", own__txt="own\n")
    scene.git("checkout", "-q", "main")
    return scene


def test_changes_are_ranked_by_the_lines_they_share_with_ours(scene: Scene) -> None:
    scene.commit("Shift everything (#1)", a__txt="new\n" * 5 + numbered(1, 40))
    moved = numbered(1, 40, l11="x", l12="y", l30="z")
    scene.commit("Change eleven and twelve (#2)", a__txt="new\n" * 5 + moved)
    scene.commit("Insert beside ours (#3)", b__txt=numbered(1, 3) + "theirs\n" + numbered(4, 40))
    scene.commit("Nothing of ours (#4)", c__txt="C\n")
    changes = found(scene)
    assert changes.total == 3
    assert [(one.number, one.overlap_lines) for one in changes.listed] == [(2, 2), (3, 2), (1, 0)]
    second, third, _ = changes.listed
    assert (second.lines_added, second.lines_removed, second.files) == (3, 3, ("a.txt",))
    assert (third.lines_added, third.lines_removed, third.files) == (1, 0, ("b.txt",))
    assert second.sha == scene.git("log", "-1", "--format=%H", "--grep=(#2)", "main")
    assert [one.merged_at.timestamp() for one in changes.listed[:1]] == [
        int(scene.git("log", "-1", "--format=%ct", "--grep=(#2)", "main"))
    ]


def test_a_change_right_beside_ours_ranks_above_one_far_away(scene: Scene) -> None:
    scene.commit("Far (#1)", a__txt=numbered(1, 40, l30="x", l31="y", l32="z"))
    scene.commit("Beside (#2)", a__txt=numbered(1, 40, l13="x", l30="x", l31="y", l32="z"))
    merged, _ = scene.status("merge-tree", "--write-tree", "fork", "main")
    assert merged == 1, "git itself cannot merge the two"
    listed = [(one.number, one.overlap_lines, one.near_lines) for one in found(scene).listed]
    assert listed == [(2, 0, 1), (1, 0, 0)]


def test_commits_of_one_pull_request_are_one_change_and_others_stand_alone(scene: Scene) -> None:
    scene.commit("First (#5)", a__txt=numbered(1, 40, l10="x"))
    scene.commit("Second (#5)", a__txt=numbered(1, 40, l10="x", l11="y"))
    scene.commit("By hand", b__txt=numbered(1, 40, l3="x"))
    one, other = found(scene, Ours(site="https://github.com/a/b")).listed
    assert (one.number, one.commits, one.overlap_lines) == (5, 2, 2)
    assert one.url == "https://github.com/a/b/pull/5"
    assert (other.number, other.url) == (None, f"https://github.com/a/b/commit/{other.sha}")


def test_a_merge_commit_counts_as_the_pull_request_it_names(scene: Scene) -> None:
    scene.git("checkout", "-q", "-b", "topic")
    scene.commit("one", a__txt=numbered(1, 40, l10="x"))
    scene.commit("two", a__txt=numbered(1, 40, l10="x", l12="y"))
    scene.git("checkout", "-q", "main")
    scene.commit("aside (#8)", c__txt="C\n")
    scene.git("merge", "-q", "--no-ff", "-m", "Merge pull request #9 from a/topic", "topic")
    (change,) = found(scene).listed
    assert (change.number, change.commits, change.overlap_lines) == (9, 1, 2)


def test_a_base_off_the_main_line_is_led_back_to_it(scene: Scene) -> None:
    # the fork grew from a topic branch that upstream merged later
    scene.git("checkout", "-q", "-b", "topic")
    base = scene.commit("topic", a__txt="top\n" * 3 + numbered(1, 40))
    scene.git("checkout", "-q", "-B", "fork", base)
    scene.commit("ours", a__txt="top\n" * 3 + numbered(1, 40, l10="A"))
    scene.git("checkout", "-q", "main")
    scene.commit("tenth line (#1)", a__txt=numbered(1, 40, l10="theirs"))
    scene.git("merge", "-q", "--no-ff", "-m", "Merge pull request #2 from a/topic", "topic")
    changes = {one.number: one.overlap_lines for one in found(scene).listed}
    # #1 changed the tenth line of what it had, which is line 13 of the base and ours as well;
    # #2 brings the lines the base has already
    assert changes == {1: 1, 2: 0}


def test_our_own_changes_are_marked_by_mail_and_by_number(scene: Scene) -> None:
    scene.write("a.txt", numbered(1, 40, l10="x"))
    scene.git("add", "-A")
    scene.commit_index("Mine (#1)", GIT_AUTHOR_EMAIL="Me@Example.org", GIT_AUTHOR_NAME="Me")
    scene.commit("Mine too (#2)", a__txt=numbered(1, 40, l10="y"))
    scene.commit("Not mine (#3)", a__txt=numbered(1, 40, l10="z"))
    marked = found(scene, Ours(mails={"me@example.org"}, numbers={2})).listed
    assert {one.number for one in marked if one.ours} == {1, 2}


def test_files_we_only_use_are_watched_too_and_rank_below(scene: Scene) -> None:
    scene.commit("Used (#1)", c__txt="C\n" * 9)
    scene.commit("Carried (#2)", a__txt=numbered(1, 40, l10="x"))
    assert [one.number for one in found(scene, used=("c.txt",)).listed] == [2, 1]


def test_files_a_queue_patches_are_watched_though_no_line_can_be_compared(scene: Scene) -> None:
    scene.commit("Small (#1)", c__txt="C\n")
    scene.commit("Large (#2)", c__txt="C\n" * 9)
    merge = merge_of(scene)._replace(downstream=None, used=("c.txt", "never.txt"))
    changes = incoming(Repository.open(scene.path), merge, Ours()).listed
    assert [(one.number, one.overlap_lines, one.lines_added) for one in changes] == [
        (2, None, 8),
        (1, None, 1),
    ]


def test_removed_files_binaries_links_and_odd_names_are_taken_as_they_are(
    tmp_path: Path,
) -> None:
    scene = new_repository(tmp_path / "fork")
    names = [b'qu"ote.txt', b"t\tab.txt", b"sp ace.txt", b"caf\xe9.txt", "ü.txt".encode(), b"*.txt"]
    for name in names:
        scene.write(name, "one\n")
    scene.commit("base", gone__txt="a\nb\n", pic__bin=b"\0\1", plain__txt="x")
    scene.git("branch", "fork")
    scene.git("checkout", "-q", "fork")
    for name in names:
        scene.write(name, "ours\n")
    scene.commit("ours", gone__txt="a\nB\n", pic__bin=b"\0\2", plain__txt="ours")
    scene.git("checkout", "-q", "main")
    for name in names:
        scene.write(name, "theirs\n--- a/trap\n+++ b/trap\n@@ -1 +1 @@\n")
    scene.commit("names (#1)")
    scene.git("rm", "-q", "gone.txt")
    scene.commit("remove (#2)", pic__bin=b"\0\3", plain__txt="theirs")
    changes = {one.number: one for one in found(scene).listed}
    assert changes[1].files_count == len(names)
    assert changes[1].overlap_lines == len(names)
    assert '"caf\\351.txt"' in changes[1].files
    assert changes[2].files == ("gone.txt", "pic.bin", "plain.txt")
    # the removed file's second line, and the only line of plain.txt
    assert changes[2].overlap_lines == 2


def test_with_contents_missing_files_still_tell(scene: Scene) -> None:
    scene.commit("Ten (#1)", a__txt=numbered(1, 40, l10="x"))
    blob = scene.git("rev-parse", "main:a.txt")
    scene.git("checkout", "-q", "fork")  # git would read the checked out file instead
    (scene.path / ".git/objects" / blob[:2] / blob[2:]).unlink()
    changes = found(scene)
    assert [(one.number, one.overlap_lines) for one in changes.listed] == [(1, None)]
    assert blob in changes.notes[0]


def test_nothing_shared_and_nothing_new_are_no_changes(scene: Scene) -> None:
    assert found(scene) == Incoming((), 0)
    scene.commit("elsewhere (#1)", c__txt="C\n")
    assert found(scene) == Incoming((), 0)
    tip = scene.git("rev-parse", "main")
    assert incoming(Repository.open(scene.path), Merge(tip, tip, tip), Ours()).total == 0


@pytest.mark.parametrize("seed", range(8))
def test_shared_lines_are_those_that_blame_says_are_gone(tmp_path: Path, seed: int) -> None:
    """Lines that upstream replaced, by `git blame` of the present, against the sum of our spans."""
    draw, scene = random.Random(seed), new_repository(tmp_path / "fork")
    lines = [f"line {number}" for number in range(1, 61)]
    scene.commit("base", a__txt="\n".join(lines) + "\n")
    scene.git("branch", "fork")
    scene.git("checkout", "-q", "fork")
    scene.commit("ours: every line", a__txt="\n".join(f"our {line}" for line in lines) + "\n")
    scene.git("checkout", "-q", "main")
    present = list(lines)
    for number in range(1, 13):
        at = draw.randrange(len(present))
        if draw.random() < 0.5:
            present[at] = f"theirs {number}"
        elif draw.random() < 0.5:
            del present[at]
        else:
            present[at : at + 2] = [f"block {number} {step}" for step in range(draw.randrange(3))]
        scene.commit(f"change (#{number})", a__txt="\n".join(present) + "\n")
    base = scene.git("merge-base", "main", "fork")
    blamed = scene.git("blame", "-s", "--abbrev=39", "main", "--", "a.txt").splitlines()
    kept = sum(line.lstrip("^").startswith(base[:39]) for line in blamed)
    shared = [one.overlap_lines or 0 for one in found(scene).listed]
    assert sum(shared) == len(lines) - kept
