"""The upstream commits behind the conflicts, against a merge of every single one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.sync.git_scene import (
    Ciwm,
    Scene,
    new_repository,
    numbered,
    publish_upstream,
)
from tests.integration.sync.test_figures import grown_history

if TYPE_CHECKING:
    from pathlib import Path

AMPLE_S = "600"


def whole(scan: dict[str, Any], total: int) -> bool:
    """Whether a scan covered the whole main line."""
    return (scan["tried"], scan["total"], scan["sampled"]) == (total, total, False)


def upstream_of(path: Path, *subjects_and_lines: tuple[str, int]) -> tuple[Scene, list[str]]:
    """An upstream that changes one line a commit; the fork changed lines 3, 13 and 23."""
    scene = new_repository(path)
    scene.commit("base", **{f"{name}__txt": numbered(1, 30) for name in "abc"})
    scene.git("branch", "fork")
    commits = []
    changed: dict[str, dict[str, str]] = {"a": {}, "b": {}, "c": {}}
    for subject, place in subjects_and_lines:
        name = "abc"[place // 100]
        changed[name][f"l{place % 100}"] = f"upstream's {subject}"
        commits.append(scene.commit(subject, **{f"{name}__txt": numbered(1, 30, **changed[name])}))
    publish_upstream(scene, "main")
    scene.git("checkout", "-q", "fork")
    ours = numbered(1, 30, l3="ours", l13="ours", l23="ours")
    scene.commit("ours", **{f"{name}__txt": ours for name in "abc"})
    return scene, commits


@pytest.mark.parametrize("typed", ["nan", "inf", "-1", "soon"])
def test_a_time_that_is_none_is_refused(tmp_path: Path, ciwm: Ciwm, typed: str) -> None:
    told = ciwm(tmp_path, f"--culprits={typed}")

    assert (told.code, typed in told.err) == (2, True)


def test_the_culprits_are_those_made_on_purpose(tmp_path: Path, ciwm: Ciwm) -> None:
    scene, commits = upstream_of(
        tmp_path / "culprits",
        ("harmless (#1)", 8),
        ("also harmless", 118),
        ("breaks a (#12)", 3),
        ("harmless again", 228),
        ("Merge pull request #77 from team/b", 113),
        ("worsens a, which conflicts already (#14)", 23),
    )
    conflicts = ciwm(scene.path, "--json", "--culprits", AMPLE_S).report["conflicts"]
    assert conflicts["first"] == {"sha": commits[2], "index": 2, "clean_up_to": commits[1]}
    assert whole(conflicts["scan"], 6)
    found = [(c["sha"], c["pr"], c["files"], c["span"]) for c in conflicts["culprits"]]
    assert found == [(commits[2], 12, ["a.txt"], 1), (commits[4], 77, ["b.txt"], 1)]
    shown = ciwm(scene.path, "--culprits", AMPLE_S).out
    assert (
        f"You can merge up to {commits[1][:12]} cleanly today (2 of 6 main-line commits)" in shown
    )


def test_a_conflict_that_upstream_took_back_is_still_the_first(tmp_path: Path, ciwm: Ciwm) -> None:
    scene, commits = upstream_of(
        tmp_path / "back", ("breaks a", 3), ("breaks b", 113), ("harmless", 228)
    )
    scene.git("checkout", "-q", "main")
    scene.git("revert", "--no-edit", commits[0])
    scene.git("update-ref", "refs/remotes/upstream/main", "main")
    scene.git("checkout", "-q", "fork")
    conflicts = ciwm(scene.path, "--json", "--culprits", AMPLE_S).report["conflicts"]
    assert conflicts["first"]["index"] == 0
    assert conflicts["first"]["clean_up_to"] == scene.git("merge-base", "fork", "main")
    assert [culprit["sha"] for culprit in conflicts["culprits"]] == commits[:2]
    shown = ciwm(scene.path, "--culprits", AMPLE_S).out
    assert f"The first upstream commit, {commits[0][:12]}, already conflicts." in shown
    assert "You can merge up to" not in shown
    task = tmp_path / "task.md"
    assert ciwm(scene.path, "--culprits", AMPLE_S, "--agent-report", str(task)).code == 0
    assert "Without a conflict it goes up to" not in task.read_text()


def test_a_conflict_that_moves_with_its_file_stays_with_its_culprit(
    tmp_path: Path, ciwm: Ciwm
) -> None:
    scene, commits = upstream_of(tmp_path / "moves", ("breaks a", 3), ("harmless", 228))
    scene.git("checkout", "-q", "main")
    scene.git("mv", "a.txt", "moved.txt")
    scene.git("update-ref", "refs/remotes/upstream/main", scene.commit_index("move a"))
    scene.git("checkout", "-q", "fork")
    conflicts = ciwm(scene.path, "--json", "--culprits", AMPLE_S).report["conflicts"]
    assert [file["path"] for file in conflicts["files"]] == ["moved.txt"]
    found = [(culprit["sha"], culprit["files"]) for culprit in conflicts["culprits"]]
    assert found == [(commits[0], ["a.txt", "moved.txt"])]
    assert conflicts["culprits"][0]["later_names"] == ["moved.txt"], "one file, told once"
    page = ciwm(scene.path, "--culprits", AMPLE_S, "--markdown").out
    row = next(line for line in page.splitlines() if line.startswith(f"| `{commits[0][:12]}`"))
    assert [cell.strip() for cell in row.split("|")][3] == "1"


def every_merge(scene: Scene) -> list[set[str]]:
    """Conflicting paths at every commit of upstream's main line, one plain git each."""
    walk = ("rev-list", "--first-parent", "--reverse", "upstream/main", "^HEAD")
    conflicting = []
    for sha in scene.git(*walk).split():
        merge = ("merge-tree", "--write-tree", "--name-only", "--no-messages", "HEAD", sha)
        paths = scene.status(*merge)[1].splitlines()[1:]
        conflicting.append({path.replace(f"~{sha}", "~upstream") for path in paths})
    return conflicting


def rises(conflicting: list[set[str]]) -> dict[int, set[str]]:
    """For each index at which more paths conflict than before, the paths that came."""
    before = [set[str](), *conflicting[:-1]]
    return {
        index: now - old
        for index, (old, now) in enumerate(zip(before, conflicting, strict=True))
        if len(now) > len(old)
    }


@pytest.mark.parametrize("seed", [2, 4])
def test_with_ample_time_culprits_are_what_merging_every_commit_gives(
    tmp_path: Path, ciwm: Ciwm, seed: int
) -> None:
    scene = grown_history(tmp_path / "grown", seed, commits=45)
    conflicting = every_merge(scene)
    head = scene.git("rev-parse", "HEAD")
    expected = {
        index: {path.replace(f"~{head}", "~downstream") for path in paths}
        for index, paths in rises(conflicting).items()
    }
    conflicts = ciwm(scene.path, "--json", "--culprits", AMPLE_S).report["conflicts"]
    line = scene.git("rev-list", "--first-parent", "--reverse", "upstream/main", "^HEAD").split()
    assert whole(conflicts["scan"], len(line))
    assert conflicts["first"]["index"] == min(expected)
    found = {line.index(culprit["sha"]): set(culprit["files"]) for culprit in conflicts["culprits"]}
    assert found.keys() == expected.keys()
    assert all(found[index] >= expected[index] for index in expected)


def test_without_time_the_report_says_how_little_was_tried(tmp_path: Path, ciwm: Ciwm) -> None:
    scene, _ = upstream_of(tmp_path / "hurried", ("harmless", 8), ("breaks a", 3))
    conflicts = ciwm(scene.path, "--json", "--culprits", "1e-9").report["conflicts"]
    assert conflicts["scan"]["tried"] == 1
    assert conflicts["scan"]["total"] == 2
    assert conflicts["scan"]["sampled"] is True
    assert conflicts["first"] is None
    assert conflicts["culprits"] == []
    assert "Time allowed to try 1 of 2" in ciwm(scene.path, "--culprits", "1e-9").out


def test_culprits_are_looked_for_where_asked_on_the_command_line_or_by_configuration(
    fork: Scene, ciwm: Ciwm
) -> None:
    quick = ciwm(fork.path, "--json").report["conflicts"]
    assert quick["scan"] is quick["first"] is None
    assert "ciwm sync-report --culprits 20" in ciwm(fork.path).out
    assert whole(ciwm(fork.path, "--json", "--culprits", AMPLE_S).report["conflicts"]["scan"], 3)
    fork.write("ciwm.toml", f"[sync]\nculprits_s = {AMPLE_S}\n")
    assert whole(ciwm(fork.path, "--json").report["conflicts"]["scan"], 3)


def test_a_clean_forecast_needs_no_culprits(fork: Scene, ciwm: Ciwm) -> None:
    fork.git("checkout", "-q", "fork~2")
    fork.commit("elsewhere", e__txt="e\n")
    conflicts = ciwm(fork.path, "--json", "--culprits", AMPLE_S).report["conflicts"]
    assert conflicts["clean"] is True
    assert conflicts["scan"] is None


def test_the_search_leaves_the_repository_as_it_was(fork: Scene, ciwm: Ciwm) -> None:
    before = fork.fingerprint()
    assert ciwm(fork.path, "--culprits", AMPLE_S).code == 0
    assert fork.fingerprint() == before


def test_each_culprit_names_our_commits_whose_lines_it_hits(tmp_path: Path, ciwm: Ciwm) -> None:
    scene, _ = upstream_of(tmp_path / "hits", ("breaks a", 3), ("removes b", 113))
    line_eight = numbered(1, 30, l3="ours", l8="mine", l13="ours", l23="ours")
    mine = scene.commit("mine, elsewhere in a", a__txt=line_eight)
    ours = scene.git("rev-parse", "HEAD~1")
    scene.git("checkout", "-q", "main")
    scene.git("rm", "-q", "b.txt")
    scene.commit_index("gone")
    scene.git("checkout", "-q", "fork")
    scene.git("update-ref", "refs/remotes/upstream/main", "main")
    culprits = ciwm(scene.path, "--json", "--culprits", AMPLE_S).report["conflicts"]["culprits"]
    hits = {c["subject"]: {h["sha"]: h["files"] for h in c["hits"]} for c in culprits}
    assert hits["breaks a"] == {ours: ["a.txt"]}
    assert mine not in hits["breaks a"]
    assert {h["author"] for c in culprits for h in c["hits"]} == {"A Developer"}
    assert "A Developer" in ciwm(scene.path, "--culprits", AMPLE_S).out


def test_no_program_that_attributes_and_settings_name_is_run(tmp_path: Path, ciwm: Ciwm) -> None:
    scene, _ = upstream_of(tmp_path / "programs", ("breaks a", 3))
    scene.write(".git/info/attributes", "* merge=evil diff=evil filter=evil\n")
    names = ("merge.evil.driver", "diff.evil.textconv", "diff.evil.command", "diff.external")
    for name in (*names, "filter.evil.clean", "filter.evil.smudge", "core.pager"):
        scene.git("config", name, f"sh -c 'echo {name} >> {tmp_path / 'ran'}; cat'")
    told = ("--json", "--culprits", AMPLE_S, "--history", "--states")
    (culprit,) = ciwm(scene.path, *told).report["conflicts"]["culprits"]
    assert culprit["hits"]
    assert not (tmp_path / "ran").exists()


def test_a_file_of_commits_to_ignore_that_is_not_there_costs_no_owner(
    tmp_path: Path, ciwm: Ciwm
) -> None:
    scene, _ = upstream_of(tmp_path / "ignore", ("breaks a", 3))
    scene.git("config", "blame.ignoreRevsFile", ".git-blame-ignore-revs")
    (culprit,) = ciwm(scene.path, "--json", "--culprits", AMPLE_S).report["conflicts"]["culprits"]
    assert [hit["sha"] for hit in culprit["hits"]] == [scene.git("rev-parse", "HEAD")]


def test_a_line_of_ours_that_is_gone_is_blamed_on_the_commits_that_touched_the_file(
    tmp_path: Path, ciwm: Ciwm
) -> None:
    scene = new_repository(tmp_path / "gone")
    scene.commit("base", a__txt=numbered(1, 9))
    scene.git("checkout", "-q", "-b", "fork")
    removed = scene.commit("drop line five", a__txt=numbered(1, 9).replace("line 5\n", ""))
    scene.git("checkout", "-q", "main")
    scene.commit("change line five", a__txt=numbered(1, 9, l5="five"))
    publish_upstream(scene, "main")
    scene.git("checkout", "-q", "fork")
    report = ciwm(scene.path, "--json", "--culprits", AMPLE_S).report
    (culprit,) = report["conflicts"]["culprits"]
    assert [hit["sha"] for hit in culprit["hits"]] == [removed]


@pytest.mark.parametrize(
    ("url", "page"),
    [
        ("https://github.com/acme/framework.git", "https://github.com/acme/framework/pull/12"),
        ("git@github.com:acme/framework", "https://github.com/acme/framework/pull/12"),
        ("https://bot:secret@github.com/acme/x", "https://github.com/acme/x/pull/12"),
        ("https://git.example.org/acme/framework", None),
        ("../framework", None),
    ],
)
def test_culprits_link_to_upstreams_pull_requests_on_github(
    tmp_path: Path, ciwm: Ciwm, url: str, page: str | None
) -> None:
    scene, _ = upstream_of(tmp_path / "links", ("breaks a (#12)", 3))
    scene.git("config", "remote.upstream.url", url)
    report = ciwm(scene.path, "--json", "--culprits", AMPLE_S).report
    (culprit,) = report["conflicts"]["culprits"]
    assert culprit["url"] == page


def test_the_configured_url_of_upstream_comes_before_that_of_the_remote(
    tmp_path: Path, ciwm: Ciwm
) -> None:
    scene, commits = upstream_of(tmp_path / "configured", ("breaks a", 3))
    scene.write("ciwm.toml", '[upstream]\nurl = "https://github.com/acme/framework"\n')
    asked = ("upstream/main", "--json", "--culprits", AMPLE_S)
    (culprit,) = ciwm(scene.path, *asked).report["conflicts"]["culprits"]
    assert culprit["url"] == f"https://github.com/acme/framework/commit/{commits[0]}"
