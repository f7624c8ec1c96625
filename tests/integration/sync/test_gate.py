"""Budgets, hygiene and the rating: what makes `ciwm sync-report` answer no, and why."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from ciwm.errors import ENVIRONMENT, NO, OK, USAGE
from tests.integration.sync.git_scene import Ciwm, Scene, numbered
from tests.integration.sync.patch_scene import CONFIG, patch_scene

if TYPE_CHECKING:
    from pathlib import Path


def configure(scene: Scene, text: str) -> None:
    (scene.path / "ciwm.toml").write_text(text)


def over(run_err: str) -> list[str]:
    return [line for line in run_err.splitlines() if line.startswith("over: ")]


def test_without_a_budget_nothing_is_over(fork: Scene, ciwm: Ciwm) -> None:
    run = ciwm(fork.path, "--json")
    assert run.code == OK
    assert run.report["gate"] == {"ok": True, "over": [], "budgets": [], "hygiene": []}


@pytest.mark.parametrize(
    ("budget", "sentence"),
    [
        # a.txt and b.txt: one line changed each
        ("intrusive_lines = 3", "4 lines changed in upstream's files (budget intrusive_lines: 3)"),
        ("behind_commits = 2", "3 commits behind upstream (budget behind_commits: 2)"),
        ("behind_days = 0.1", "0.2 days behind upstream (budget behind_days: 0.1)"),
        ("conflicts = 0", "1 file in conflict (budget conflicts: 0)"),
    ],
)
def test_a_budget_that_is_overrun_is_named_and_ends_in_1(
    fork: Scene, ciwm: Ciwm, budget: str, sentence: str
) -> None:
    configure(fork, f"[sync.budget]\n{budget}\n")
    for option in ((), ("--json",), ("--markdown",)):
        run = ciwm(fork.path, *option)
        assert run.code == NO
        assert over(run.err) == [f"over: {sentence}"]
    assert f"over: {sentence}" in ciwm(fork.path).out


def test_a_budget_that_is_just_kept(fork: Scene, ciwm: Ciwm) -> None:
    configure(fork, "[sync.budget]\nintrusive_lines = 4\nbehind_commits = 3\nconflicts = 1\n")
    assert ciwm(fork.path).code == OK


def test_every_budget_that_is_overrun_is_named(fork: Scene, ciwm: Ciwm) -> None:
    configure(fork, "[sync.budget]\nintrusive_lines = 0\nbehind_commits = 9\nconflicts = 0\n")
    assert len(over(ciwm(fork.path, "-q").err)) == 2


def test_what_could_not_be_measured_is_over(fork: Scene, ciwm: Ciwm) -> None:
    configure(fork, "[sync.budget]\nhard_drift = 0\n")
    run = ciwm(fork.path)
    assert run.code == NO
    assert over(run.err) == ["over: hard findings of drift: not known (budget hard_drift: 0)"]


def test_a_key_that_is_misspelt_is_refused_with_a_suggestion(fork: Scene, ciwm: Ciwm) -> None:
    configure(fork, "[sync.budget]\nconflict = 0\n")
    run = ciwm(fork.path)
    assert run.code == USAGE
    assert "did you mean conflicts?" in run.err


# --- hygiene ---------------------------------------------------------------------------------


def with_markers(fork: Scene) -> None:
    left = numbered(1, 9, l4="<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> upstream/main")
    fork.commit("merge, badly", c__txt=left, docs__rst="Title\n=======\n")


def test_markers_left_in_what_we_changed_are_found_line_by_line(fork: Scene, ciwm: Ciwm) -> None:
    with_markers(fork)
    run = ciwm(fork.path, "--json")
    assert run.code == OK, "a finding alone is a warning"
    assert [(each["path"], each["line"]) for each in run.report["markers"]] == [
        ("c.txt", 4),
        ("c.txt", 8),
    ]
    listed = fork.git("grep", "-n", "-E", "^(<<<<<<<|>>>>>>>)", "HEAD").splitlines()
    assert [line.split(":")[1:3] for line in listed] == [["c.txt", "4"], ["c.txt", "8"]]
    assert "warning: conflict marker left in c.txt line 4" in ciwm(fork.path).out


def test_markers_that_are_to_fail_do_unless_their_file_is_ignored(fork: Scene, ciwm: Ciwm) -> None:
    with_markers(fork)
    configure(fork, '[sync.hygiene]\nfail_on = ["markers"]\n')
    run = ciwm(fork.path)
    assert run.code == NO
    assert over(run.err)[0] == "over: conflict marker left in c.txt line 4"
    configure(fork, '[sync.hygiene]\nfail_on = ["markers"]\nignore = ["*.txt"]\n')
    assert ciwm(fork.path).code == OK


def test_markers_that_upstream_has_as_well_are_none_of_ours(fork: Scene, ciwm: Ciwm) -> None:
    fork.git("checkout", "-q", "main")
    sample = "<<<<<<< sample\n>>>>>>> sample\n"
    fork.commit("a sample", sample__txt=sample)
    fork.git("update-ref", "refs/remotes/upstream/main", "main")
    fork.git("checkout", "-q", "fork")
    fork.git("merge", "-q", "-X", "ours", "--no-edit", "main")
    assert ciwm(fork.path, "--json").report["markers"] == []


def test_a_squashed_sync_fails_until_it_is_declared(fork: Scene, ciwm: Ciwm) -> None:
    fork.git("checkout", "-q", "fork")
    fork.clock += 3600
    fork.git("checkout", "-q", "-b", "squashing", "main~3")
    fork.clock += 10 * 3600
    fork.git("merge", "-q", "--squash", "main")
    fork.commit_index("Merge upstream main")
    failing = '[sync.hygiene]\nfail_on = ["squashed"]\n'
    configure(fork, failing)
    run = ciwm(fork.path)
    assert run.code == NO
    assert "(Merge upstream main): ancestry is lost" in over(run.err)[0]
    configure(fork, f'{failing}[upstream]\nsynced_to = "main"\n')
    assert ciwm(fork.path).code == OK


def test_a_pin_that_moved_backwards(tmp_path: Path, ciwm: Ciwm) -> None:
    scene = patch_scene(tmp_path)
    scene.queue(scene.patch(a__txt=numbered(1, 40, l5="five")))
    newer = scene.upstream_moves("newer", b__txt="b\n")
    pin = scene.upstream.git("rev-parse", "v1.0")
    scene.ours.write(".upstream-commit", f"{newer}\n")
    scene.ours.commit("forward")
    assert scene.report(ciwm)["pin_back"] is None
    scene.ours.write(".upstream-commit", f"{pin}\n")
    back = scene.ours.commit("and back")
    scene.ours.write("ciwm.toml", CONFIG + '[sync.hygiene]\nfail_on = ["pin"]\n')
    run = ciwm(scene.ours.path)
    assert run.code == NO
    told = f"over: the pin moved backwards in {back[:12]}: {newer[:12]} to {pin[:12]}"
    assert over(run.err) == [told]


def test_patches_that_fail_have_a_budget(tmp_path: Path, ciwm: Ciwm) -> None:
    scene = patch_scene(tmp_path)
    limit = "[sync.budget]\nfailing_patches = 0\n"
    scene.queue(scene.patch(a__txt=numbered(1, 40, l5="five")), config=CONFIG + limit)
    scene.upstream_moves("five", a__txt=numbered(1, 40, l5="FIVE"))
    run = ciwm(scene.ours.path)
    assert run.code == NO
    assert over(run.err) == ["over: 1 patch failing to apply (budget failing_patches: 0)"]


def test_a_newest_sync_that_is_no_plain_merge_fails_where_that_is_bad_form(
    fork: Scene, ciwm: Ciwm
) -> None:
    fork.git("checkout", "-q", "-B", "fork", "main~3")
    fork.commit("own", own__txt="1\n")
    fork.git("merge", "-q", "--no-commit", "main~1")
    fork.write("c.txt", numbered(1, 9, l2="slipped in"))
    fork.git("add", "-A")
    evil = fork.commit_index("Merge upstream")
    assert ciwm(fork.path).code == OK, "a finding alone is a warning"
    configure(fork, '[sync.hygiene]\nfail_on = ["evil"]\n')
    for options in (("--history",), ()):  # a check that is to fail looks without being asked
        run = ciwm(fork.path, *options)
        assert run.code == NO
        assert over(run.err)[0].startswith(f"over: the newest sync {evil[:12]} is no plain merge")
    unseen = ciwm(fork.path, "--no-history")
    assert unseen.code == NO, "what was not looked at is no pass"
    assert over(unseen.err)[0].startswith("over: hygiene evil: no past sync was replayed")


def test_edits_besides_the_conflicts_of_a_sync_are_as_bad(fork: Scene, ciwm: Ciwm) -> None:
    assert fork.status("merge", "-q", "--no-commit", "main")[0] != 0
    fork.write("a.txt", numbered(1, 9))
    fork.git("add", "-A")
    fork.commit_index("Merge upstream")
    configure(fork, '[sync.hygiene]\nfail_on = ["evil"]\n')
    assert ciwm(fork.path).code == OK, "a conflict resolved is what a sync is for"
    fork.write("slipped.txt", "in\n")
    fork.git("add", "slipped.txt")
    fork.commit_index("Merge upstream", "--amend")
    run = ciwm(fork.path)
    assert run.code == NO
    assert over(run.err)[0].endswith("slipped.txt edited besides what conflicted")


# --- the rating ------------------------------------------------------------------------------


def test_the_rating_is_the_worst_figure_and_says_which(fork: Scene, ciwm: Ciwm) -> None:
    rating = ciwm(fork.path, "--json").report["rating"]
    assert rating["level"] == "medium"
    assert rating["reasons"] == ["1 file in conflict (medium from 1)"]
    by_name = {factor["name"]: factor for factor in rating["factors"]}
    assert by_name["intrusive_lines"]["value"] == 4
    assert by_name["intrusive_lines"]["level"] == "low"
    assert by_name["conflict_pct"]["level"] is None
    assert "% of past syncs with a conflict: not known" in rating["unknown"]
    page = " ".join(ciwm(fork.path).out.split())
    assert "debt: medium (1 file in conflict (medium from 1)" in page
    assert "left out, as not known: % of past syncs with a conflict, % of our upstream" in page


def resolved_sync(fork: Scene, upstream: str) -> None:
    """The fork is dragged into a conflict with a commit of upstream's, and settles it."""
    assert fork.status("merge", "-q", "--no-commit", upstream)[0] != 0
    fork.write("a.txt", numbered(1, 9))
    fork.git("add", "-A")
    fork.commit_index("Merge upstream")


def test_one_past_sync_makes_no_share_of_conflicts(fork: Scene, ciwm: Ciwm) -> None:
    resolved_sync(fork, "main")
    rating = ciwm(fork.path, "--json", "--history").report["rating"]
    told = "% of past syncs with a conflict: not counted, 1 replayed and it takes 5"
    assert told in rating["unknown"]
    assert rating["level"] == "low"
    assert told in " ".join(ciwm(fork.path, "--history").out.split()), "it is said on the page"


def test_five_past_syncs_do(fork: Scene, ciwm: Ciwm) -> None:
    for number in range(5):
        fork.git("checkout", "-q", "main")
        fork.commit(f"up {number}", a__txt=numbered(1, 9, l5=f"upstream's {number}"))
        fork.git("update-ref", "refs/remotes/upstream/main", "main")
        fork.git("checkout", "-q", "fork")
        fork.commit(f"ours {number}", a__txt=numbered(1, 9, l5=f"ours {number}"))
        resolved_sync(fork, "main")
    found = ciwm(fork.path, "--json", "--history").report
    assert [sync["kind"] for sync in found["syncs"]] == ["conflict"] * 5
    assert found["rating"]["reasons"] == ["100 % of past syncs with a conflict (high from 70)"]


def test_thresholds_are_the_users(fork: Scene, ciwm: Ciwm) -> None:
    configure(
        fork,
        "[sync.rating]\nconflicts = { medium = 2, high = 3 }\n"
        "intrusive_lines = { medium = 1, high = 4 }\n",
    )
    rating = ciwm(fork.path, "--json").report["rating"]
    assert rating["level"] == "high"
    assert rating["reasons"] == ["4 lines changed in upstream's files (high from 4)"]
    configure(fork, "[sync.rating]\nconflicts = { medium = 4, high = 3 }\n")
    assert "high must not be below medium" in ciwm(fork.path).err


def test_a_fork_that_is_up_to_date_and_carries_little_is_rated_low(fork: Scene, ciwm: Ciwm) -> None:
    report = ciwm(fork.path, "fork", "--json").report
    assert report["rating"]["level"] == "low"


# --- the file for a bot ----------------------------------------------------------------------


def test_an_agents_file_that_finds_no_room_costs_nothing_that_was_measured(
    fork: Scene, ciwm: Ciwm
) -> None:
    run = ciwm(fork.path, "--json", "--agent-report", "/dev/full")
    assert run.code == ENVIRONMENT
    assert json.loads(run.out)["conflicts"]["count"] == 1
    assert "error: cannot write /dev/full: " in run.err


def test_the_agents_file_is_written_whatever_else_is_printed(
    fork: Scene, ciwm: Ciwm, tmp_path: Path
) -> None:
    file = tmp_path / "agent.md"
    configure(fork, "[sync.budget]\nconflicts = 0\n")
    run = ciwm(fork.path, "--json", "--agent-report", str(file))
    assert run.code == NO, "and it is written all the same"
    assert json.loads(run.out)["gate"]["ok"] is False
    page = file.read_text(encoding="utf-8")
    upstream = fork.git("rev-parse", "main")
    assert f"git merge --no-ff {upstream}" in page
    assert page.index("## What to do") < page.index("## Conflicts") < page.index("## Carried")
    assert "FIVE\n=======\nfive\n" in page


def test_a_file_that_cannot_be_written_is_one_line(fork: Scene, ciwm: Ciwm, tmp_path: Path) -> None:
    run = ciwm(fork.path, "--agent-report", str(tmp_path / "no/such/folder.md"))
    assert run.code == USAGE
    assert f"error: cannot write {tmp_path}/no/such/folder.md: there is no folder" in run.err
