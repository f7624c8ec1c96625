"""What became of each carried commit: upstreamed, likely upstreamed, dead or live."""

from __future__ import annotations

import subprocess
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

FEATURE = (
    "def softmax(values):\n    top = max(values)\n    return [value - top for value in values]\n"
)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A base with two files, on branch fork; main waits for upstream's commits."""
    scene = new_repository(tmp_path / "fork")
    scene.commit("base", a__txt=numbered(1, 30), b__txt=numbered(1, 30))
    scene.git("branch", "fork")
    publish_upstream(scene, "main")
    scene.git("checkout", "-q", "fork")
    return scene


def upstream(scene: Scene, message: str, **files: str | bytes) -> str:
    """A commit of upstream's; the fork stays checked out."""
    scene.git("checkout", "-q", "main")
    sha = scene.commit(message, **files)
    scene.git("update-ref", "refs/remotes/upstream/main", "main")
    scene.git("checkout", "-q", "fork")
    return sha


def states(carried: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """State and evidence by subject."""
    return {
        commit["subject"]: (commit["state"], commit["evidence"])
        for commit in (*carried["list"], *carried["upstreamed"])
    }


def carried(scene: Scene, ciwm: Ciwm) -> dict[str, Any]:
    """What is carried; each commit is counted in one state."""
    found: dict[str, Any] = ciwm(scene.path, "--json", "--states").report["carried"]
    counts = found["commits_by_state"]
    assert counts["upstreamed"] == found["upstreamed_commits"] == len(found["upstreamed"])
    assert sum(counts.values()) - counts["upstreamed"] == found["commits"]
    for state in ("likely_upstreamed", "dead", "live"):
        assert counts[state] == sum(commit["state"] == state for commit in found["list"])
    return found


def test_the_same_patch_is_upstreamed_and_the_commit_that_has_it_is_named(
    scene: Scene, ciwm: Ciwm
) -> None:
    scene.commit("sent", new__py=FEATURE)
    sha = upstream(scene, "another subject", new__py=FEATURE)
    found = carried(scene, ciwm)
    assert states(found)["sent"] == ("upstreamed", f"the same patch as upstream's {sha[:12]}")
    assert found["commits"] == 0


def test_a_commit_whose_lines_upstream_has_in_another_patch_is_likely_upstreamed(
    scene: Scene, ciwm: Ciwm
) -> None:
    scene.commit("fast softmax", new__py=FEATURE)
    upstream(
        scene, "rewritten on the way", new__py='"""Softmax."""\n\n\n' + FEATURE + "\n\nX = 1\n"
    )
    found = carried(scene, ciwm)
    assert states(found)["fast softmax"] == (
        "likely_upstreamed",
        "3 of its 3 lines are in upstream's files",
    )
    assert found["commits"] == 1, "it is not proved, so it is still carried"


def test_nine_tenths_of_the_lines_are_enough_and_less_are_not(scene: Scene, ciwm: Ciwm) -> None:
    lines = [f"distinct line {number}\n" for number in range(10)]
    scene.commit("ten", ten__txt="".join(lines))
    upstream(scene, "nine of them", ten__txt="".join(lines[:9]) + "something else\n")
    assert states(carried(scene, ciwm))["ten"][0] == "likely_upstreamed"
    upstream(scene, "eight of them", ten__txt="".join(lines[:8]) + "something else\n")
    assert states(carried(scene, ciwm))["ten"][0] == "live"


def test_brackets_and_blank_lines_prove_nothing(scene: Scene, ciwm: Ciwm) -> None:
    scene.commit("brackets", c__c="{\n  {\n\n  }\n}\nelse\n")
    upstream(scene, "other", c__c="{\n  x\n  {\n\n  }\n}\nelse\n")
    assert states(carried(scene, ciwm))["brackets"][0] == "live"


def test_lines_that_were_only_moved_are_no_evidence(scene: Scene, ciwm: Ciwm) -> None:
    lines = numbered(1, 30).splitlines(keepends=True)
    scene.commit("reorder", a__txt="".join(lines[15:] + lines[:15]))
    upstream(scene, "elsewhere", b__txt=numbered(1, 30, l3="three"))
    assert states(carried(scene, ciwm))["reorder"][0] == "live"


@pytest.mark.parametrize(
    "message",
    [
        "Fix the scheduler's deadlock (#23456)",  # the same subject
        "[ROCm] Cherry-pick #23456 (#88)",
        "Port https://github.com/vendor/project/pull/23456",
        "Something\n\nBackport of upstream PR #23456.",
    ],
)
def test_the_number_of_a_merged_pull_request_makes_it_likely(
    scene: Scene, ciwm: Ciwm, message: str
) -> None:
    scene.commit(message, a__txt=numbered(1, 30, l9="NINE AND MORE"))
    sha = upstream(scene, "Fix the scheduler's deadlock (#23456)", b__txt=numbered(1, 30, l1="x"))
    ((state, evidence),) = states(carried(scene, ciwm)).values()
    assert (state, evidence) == (
        "likely_upstreamed",
        f"upstream merged PR #23456 as {sha[:12]}",
    )


@pytest.mark.parametrize(
    "message",
    [
        "Tune the allocator (#23456)",  # the fork's own number
        "Sync the docker file with upstream (#23456)",
        'Revert "Fix the scheduler\'s deadlock (#23456)"',
    ],
)
def test_a_number_that_means_something_else_does_not(
    scene: Scene, ciwm: Ciwm, message: str
) -> None:
    scene.commit(message, a__txt=numbered(1, 30, l9="NINE AND MORE"))
    upstream(scene, "Fix the scheduler's deadlock (#23456)", b__txt=numbered(1, 30, l1="x"))
    ((state, _),) = states(carried(scene, ciwm)).values()
    assert state == "live"


def test_a_pick_that_had_to_be_changed_is_known_by_its_trailer(scene: Scene, ciwm: Ciwm) -> None:
    sha = upstream(scene, "a fix", b__txt=numbered(1, 30, l2="two"))
    scene.commit(
        f"a fix, adapted\n\n(cherry picked from commit {sha})", a__txt=numbered(1, 30, l2="2")
    )
    assert states(carried(scene, ciwm))["a fix, adapted"] == (
        "likely_upstreamed",
        f"says it was picked from upstream's {sha[:12]}",
    )


def test_what_was_undone_or_overwritten_is_dead(scene: Scene, ciwm: Ciwm) -> None:
    scene.commit("first try", a__txt=numbered(1, 30, l9="the first attempt"))
    scene.commit("undone", a__txt=numbered(1, 30))
    scene.commit("a helper", helper__py=FEATURE)
    (scene.path / "helper.py").unlink()
    scene.commit("helper gone")
    scene.commit_index("nothing at all")
    scene.commit("kept", b__txt=numbered(1, 30, l1="a line that stays"))
    upstream(scene, "up", c__txt="c\n")
    found = states(carried(scene, ciwm))
    assert found["first try"] == ("dead", "nothing is left of what it changed (1 line)")
    assert found["undone"][0] == "dead"
    assert found["a helper"] == ("dead", "nothing is left of what it changed (3 lines)")
    assert found["nothing at all"] == ("dead", "it changes nothing")
    assert found["kept"] == ("live", "still carried: 1 of 1 line")


def test_work_that_a_merge_rewrote_lives_on_and_the_merge_is_named(
    scene: Scene, ciwm: Ciwm
) -> None:
    scene.commit("on the npu", a__txt=numbered(1, 30, l9="return x + 5 + npu(5)"))
    sha = upstream(scene, "fifty", a__txt=numbered(1, 30, l9="return x + 50"))
    assert scene.status("merge", sha)[0] == 1
    merge = scene.commit("resolved", a__txt=numbered(1, 30, l9="return x + 50 + npu(5)"))
    upstream(scene, "up", c__txt="c\n")
    assert states(carried(scene, ciwm))["on the npu"] == (
        "live",
        f"rewritten by merge {merge[:12]}; it may live on in a.txt",
    )


def test_work_that_was_rewritten_in_a_renamed_file_is_not_dead(scene: Scene, ciwm: Ciwm) -> None:
    scene.commit("a helper", helper__py="value = warp_size(first_argument)\n")
    scene.git("mv", "helper.py", "renamed.py")
    scene.commit("rename", renamed__py="value = warp_size(first_argument, 64)\n")
    upstream(scene, "up", c__txt="c\n")
    assert states(carried(scene, ciwm))["a helper"][0] == "live"


def test_work_that_a_later_commit_rewrote_is_not_dead(scene: Scene, ciwm: Ciwm) -> None:
    scene.commit("first", a__txt=numbered(1, 30, l9="return warp_size(32)"))
    scene.commit("second", a__txt=numbered(1, 30, l9="return warp_size(64)"))
    upstream(scene, "up", c__txt="c\n")
    told = "rewritten since; it may live on in a.txt"
    assert states(carried(scene, ciwm))["first"] == ("live", told)


def test_what_undoes_only_a_part_of_live_work_is_not_dead(scene: Scene, ciwm: Ciwm) -> None:
    odd = numbered(1, 30, l9="a mistake")
    scene.commit("two files", a__txt=odd, b__txt=numbered(1, 30, l1="a line that stays"))
    scene.commit("takes back the mistake", a__txt=numbered(1, 30))
    upstream(scene, "up", c__txt="c\n")
    found = states(carried(scene, ciwm))
    assert found["two files"][0] == "live"
    assert found["takes back the mistake"] == (
        "live",
        "nothing of it is left, but live commits changed the same files",
    )


def test_lines_that_later_work_took_out_of_a_file_are_dead(scene: Scene, ciwm: Ciwm) -> None:
    scene.commit("debugging", a__txt=numbered(1, 30) + "trace(everything)\n")
    scene.commit("replaced", a__txt=numbered(1, 30) + "another thing\n")
    upstream(scene, "up", c__txt="c\n")
    found = states(carried(scene, ciwm))
    assert found["debugging"][0] == "dead"
    assert found["replaced"][0] == "live"


def test_a_removal_lives_as_long_as_the_lines_stay_away(scene: Scene, ciwm: Ciwm) -> None:
    short = numbered(1, 20)
    scene.commit("cut", a__txt=short)
    upstream(scene, "up", c__txt="c\n")
    assert states(carried(scene, ciwm))["cut"][0] == "live"
    scene.commit("put back", a__txt=numbered(1, 30))
    assert states(carried(scene, ciwm))["cut"][0] == "dead"


def test_lines_live_on_in_a_file_that_was_renamed(scene: Scene, ciwm: Ciwm) -> None:
    scene.commit("a helper", helper__py=FEATURE)
    scene.git("mv", "helper.py", "renamed.py")
    scene.commit_index("rename")
    upstream(scene, "up", c__txt="c\n")
    assert states(carried(scene, ciwm))["a helper"][0] == "live"


def test_binaries_modes_links_and_submodules_have_states_too(scene: Scene, ciwm: Ciwm) -> None:
    scene.commit("old picture", picture__bin=b"\0old")
    scene.commit("new picture", picture__bin=b"\0new")
    scene.git("update-index", "--chmod=+x", "b.txt")
    scene.commit_index("executable")
    (scene.path / "b.txt").chmod(0o755)
    (scene.path / "a.txt").unlink()
    (scene.path / "a.txt").symlink_to("b.txt")
    scene.commit("a link")
    scene.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},third_party/x")
    scene.commit_index("a submodule")
    scene.git("update-index", "--add", "--cacheinfo", f"160000,{'2' * 40},third_party/x")
    scene.commit_index("the submodule moved")
    upstream(scene, "up", c__txt="c\n")
    found = {subject: state for subject, (state, _) in states(carried(scene, ciwm)).items()}
    assert found == {
        "old picture": "dead",
        "new picture": "live",
        "executable": "live",
        "a link": "live",
        "a submodule": "dead",
        "the submodule moved": "live",
    }


def test_paths_and_lines_that_are_no_utf8_and_lines_that_look_like_diffs(
    scene: Scene, ciwm: Ciwm
) -> None:
    odd = b"diff --git a/x b/x\n@@ -1 +1 @@\n--- a/name.txt\n+++ b/name.txt\n\\ No newline\n"
    odd += b"\xff\xfe caf\xe9 line"
    scene.write(b'caf\xe9 "x"\n.txt', odd)
    scene.git("add", "-A")
    scene.commit_index("odd")
    scene.commit("after", zz__txt="a line after the odd ones\n")
    upstream(scene, "up", c__txt="c\n")
    found = states(carried(scene, ciwm))
    assert found["odd"] == ("live", "still carried: 6 of 6 lines")
    assert found["after"] == ("live", "still carried: 1 of 1 line")


def test_a_commit_whose_contents_are_missing_counts_as_live_and_says_so(
    scene: Scene, ciwm: Ciwm, tmp_path: Path
) -> None:
    scene.commit("big", big__txt="x" * 5000 + "\n")
    scene.commit("small", small__txt="a line that stays\n")
    upstream(scene, "up", c__txt="c\n")
    scene.git("config", "uploadpack.allowFilter", "true")
    partial = tmp_path / "partial"
    clone = ("clone", "-q", "--bare", "--filter=blob:limit=2k", f"file://{scene.path}")
    subprocess.run(["git", *clone, str(partial)], check=True, capture_output=True)
    found = ciwm(partial, "main", "--downstream", "fork", "--json", "--states").report["carried"]
    assert states(found) == {
        "big": ("live", "not compared: some of its contents are not here"),
        "small": ("live", "still carried: 1 of 1 line"),
    }


def test_states_are_on_every_page(scene: Scene, ciwm: Ciwm) -> None:
    scene.commit("first try", a__txt=numbered(1, 30, l9="the first attempt"))
    scene.commit("undone", a__txt=numbered(1, 30))
    upstream(scene, "up", c__txt="c\n")
    for option in ((), ("--markdown",)):
        page = ciwm(scene.path, *option, "--states").out
        assert "0 live, 0 likely upstream by now, 2 dead" in " ".join(page.split())
        assert "Carried commits that a rebase may drop" in page
