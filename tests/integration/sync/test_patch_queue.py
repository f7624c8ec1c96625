"""Patch queues: how each patch fits at the target, and why it does not."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from ciwm.errors import ENVIRONMENT, USAGE
from ciwm.records import SyncReport
from ciwm.upstream.patch_queue.advice import asked_pulls, with_pull_states
from tests.integration.sync.git_scene import Ciwm, numbered
from tests.integration.sync.patch_scene import CONFIG, PatchScene, patch_scene

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def scene(tmp_path: Path) -> PatchScene:
    return patch_scene(tmp_path)


def lines(first: int, last: int, **changed: str) -> str:
    return numbered(first, last, **changed)


def test_patches_that_fit_elsewhere_with_fuzz_not_at_all_and_are_upstream(
    scene: PatchScene, ciwm: Ciwm
) -> None:
    patches = [
        scene.patch(a__txt=lines(1, 40, l30="thirty")),
        scene.patch(b__txt=lines(1, 40, l30="thirty")),
        scene.patch(c__txt=lines(1, 40, l30="thirty")),
        scene.patch(c__txt=lines(1, 40, l30="thirty", l5="five")),
        scene.patch(new__py="x = 1\ny = 2\n"),
    ]
    scene.queue(*patches)
    scene.upstream_moves("longer b", b__txt="a\nb\nc\n" + lines(1, 40))
    scene.upstream_moves("context of c", c__txt=lines(1, 40, l27="TWENTY-SEVEN", l5="FIVE"))
    scene.upstream_moves("the same file", new__py="x = 1\ny = 2\n")
    found = scene.report(ciwm)["patches"]
    one, two, three, four, five = found["patches"]
    assert found["counts"] == {"applies": 1, "offset": 1, "fuzz": 1, "fails": 1, "upstream": 1}
    assert (one["fits"], one["at_pin"]) == ("applies", "applies")
    assert (two["fits"], two["offset_lines"]) == ("offset", 3)
    assert (three["fits"], three["fuzz"]) == ("fuzz", 1)
    assert (four["fits"], four["hunks_failed"], four["hunks"]) == ("fails", 1, 1)
    assert (five["fits"], five["advice"]) == ("upstream", "delete")


def test_the_judge_is_git_apply_itself(scene: PatchScene, ciwm: Ciwm) -> None:
    """What is said to apply does, in a checkout of the target, one after the other."""
    patches = [
        scene.patch(a__txt=lines(1, 40, l10="ten")),
        scene.patch(a__txt=lines(1, 40, l10="ten", l12="twelve")),
        scene.patch(a__txt=lines(1, 40, l10="TEN", l12="twelve", l38="x")),
    ]
    scene.queue(*patches)
    scene.upstream_moves("before", a__txt="first\n" + lines(1, 40, l36="36"))
    fits = scene.fits(ciwm)
    scene.upstream.git("checkout", "-q", "-f", "main")
    for number, fit in enumerate(fits.values(), start=1):
        path = str(scene.ours.path / f"patches/{number}.patch")
        reduced = ["-C1"] if fit == "fuzz" else []
        assert scene.upstream.status("apply", *reduced, path)[0] == 0
    assert list(fits.values()) == ["offset", "offset", "fuzz"]


def test_a_hunk_that_fails_names_the_upstream_commits_that_changed_its_lines(
    scene: PatchScene, ciwm: Ciwm
) -> None:
    scene.queue(scene.patch(a__txt=lines(1, 40, l5="five", l30="thirty")))
    scene.upstream_moves("far above", a__txt="0\n" + lines(1, 40))
    scene.upstream_moves("between", a__txt="0\n" + lines(1, 40, l15="15"))
    first = scene.upstream_moves("its line", a__txt="0\n" + lines(1, 40, l15="15", l30="30"))
    second = scene.upstream_moves(
        "its context", a__txt="0\n" + lines(1, 40, l15="15", l30="30", l31="31")
    )
    scene.upstream_moves("another file", b__txt=lines(1, 40, l30="b"))
    (patch,) = scene.report(ciwm)["patches"]["patches"]
    (hunk,) = patch["failed"]
    assert (hunk["path"], hunk["number"], hunk["start_line"]) == ("a.txt", 2, 27)
    assert [each["sha"] for each in hunk["culprits"]] == [first, second]
    assert [each["subject"] for each in hunk["culprits"]] == ["its line", "its context"]
    assert "-line 30\n+thirty" in hunk["text"]
    assert hunk["reason"] == "a.txt: patch does not apply"
    assert (patch["hunks"], patch["hunks_failed"]) == (2, 1)


def test_lines_put_in_between_and_a_file_that_went_name_their_commits_too(
    scene: PatchScene, ciwm: Ciwm
) -> None:
    between = lines(1, 28) + "new\n" * 4 + "\n".join(f"line {n}" for n in range(29, 41)) + "\n"
    scene.queue(
        scene.patch(a__txt=lines(1, 40, l29="nine", l28="eight")),
        scene.patch(b__txt=lines(1, 40, l3="three", l33="three")),
    )
    inserting = scene.upstream_moves("insert", a__txt=between)
    scene.upstream_moves("edit b", b__txt=lines(1, 40, l20="b"))
    (scene.upstream.path / "b.txt").unlink()
    removing = scene.upstream.commit("b is gone")
    one, two = scene.report(ciwm)["patches"]["patches"]
    assert [each["sha"] for each in one["failed"][0]["culprits"]] == [inserting]
    (gone,) = two["failed"]
    assert (gone["path"], gone["number"], gone["reason"]) == ("b.txt", 0, "b.txt: does not exist")
    assert [each["sha"] for each in gone["culprits"]] == [removing]
    assert two["hunks_failed"] == 2


def test_a_file_that_upstream_made_meanwhile(scene: PatchScene, ciwm: Ciwm) -> None:
    scene.queue(scene.patch(new__py="ours = 1\n"))
    making = scene.upstream_moves("their own", new__py="theirs = 1\n")
    scene.upstream_moves("changed", new__py="theirs = 2\n")
    (patch,) = scene.report(ciwm)["patches"]["patches"]
    (hunk,) = patch["failed"]
    assert hunk["reason"] == "new.py: already exists in index"
    assert [each["sha"] for each in hunk["culprits"]] == [making]


def test_the_hunks_of_a_failing_patch_that_do_fit_are_there_for_the_next(
    scene: PatchScene, ciwm: Ciwm
) -> None:
    scene.queue(
        scene.patch(a__txt=lines(1, 40, l5="five"), b__txt=lines(1, 40, l5="five")),
        scene.patch(b__txt=lines(1, 40, l5="FIVE AGAIN")),
        scene.patch(a__txt=lines(1, 40, l5="FIVE AGAIN")),
    )
    scene.upstream_moves("a", a__txt=lines(1, 40, l5="other"))
    one, two, three = scene.report(ciwm)["patches"]["patches"]
    assert (one["fits"], two["fits"], three["fits"]) == ("fails", "applies", "fails")
    assert two["after_failed"] == []
    assert three["after_failed"] == ["1.patch"]


def test_a_hunk_that_upstream_has_is_not_counted_as_failing(scene: PatchScene, ciwm: Ciwm) -> None:
    scene.queue(scene.patch(a__txt=lines(1, 40, l5="five", l30="thirty")))
    scene.upstream_moves("half", a__txt=lines(1, 40, l5="five", l30="30"))
    (patch,) = scene.report(ciwm)["patches"]["patches"]
    assert (patch["hunks"], patch["hunks_there"], patch["hunks_failed"]) == (2, 1, 1)


def test_the_queue_is_reported_on_like_the_fork_it_amounts_to(
    scene: PatchScene, ciwm: Ciwm
) -> None:
    scene.queue(
        scene.patch("Make five\n", a__txt=lines(1, 40, l5="five")),
        scene.patch(own__py="x = 1\ny = 2\n"),
    )
    fork_tip = scene.upstream.git("rev-parse", "HEAD")
    scene.upstream_moves("five", a__txt=lines(1, 40, l5="FIVE"))
    report = scene.report(ciwm)
    scene.upstream.git("checkout", "-q", "-b", "fork", fork_tip)
    fork = ciwm(scene.upstream.path, "main", "--json").report
    assert report["shape"]["style"] == "patches"
    for figure in ("merge_base", "behind", "ahead", "overlap"):
        assert report[figure] == fork[figure]
    for figure in ("commits", "files", "lines_added", "lines_removed", "classes", "intrusive"):
        assert report["carried"][figure] == fork["carried"][figure]
    assert [each["path"] for each in report["conflicts"]["files"]] == ["a.txt"]
    assert report["downstream"]["sha"] == scene.ours.git("rev-parse", "HEAD")
    assert report["upstream"]["sha"] == scene.upstream.git("rev-parse", "main")
    assert report["merge_base"] == scene.upstream.git("rev-parse", "v1.0")


def test_culprits_are_looked_for_behind_the_queue_as_well(scene: PatchScene, ciwm: Ciwm) -> None:
    scene.queue(scene.patch(a__txt=lines(1, 40, l5="five")))
    scene.upstream_moves("harmless", b__txt="b\n")
    sha = scene.upstream_moves("five", a__txt=lines(1, 40, l5="FIVE"))
    conflicts = scene.report(ciwm, "--culprits", "20")["conflicts"]
    assert [culprit["sha"] for culprit in conflicts["culprits"]] == [sha]


def test_neither_repository_changes_and_nothing_is_left_behind(
    scene: PatchScene, ciwm: Ciwm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.queue(scene.patch(a__txt=lines(1, 40, l5="five")), scene.patch(own__py="x\n"))
    scene.upstream_moves("five", a__txt=lines(1, 40, l5="FIVE"))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    scene.upstream.write("a.txt", "edited\n")
    scene.ours.write("untracked", "mine\n")
    before = scene.upstream.fingerprint(), scene.ours.fingerprint()
    for option in ((), ("--json",), ("--markdown",)):
        assert ciwm(scene.ours.path, *option).code == 0
    assert (scene.upstream.fingerprint(), scene.ours.fingerprint()) == before
    assert list(temporary.iterdir()) == []


def test_the_patches_are_read_from_the_revision_and_not_the_checkout(
    scene: PatchScene, ciwm: Ciwm
) -> None:
    scene.queue(scene.patch(a__txt=lines(1, 40, l5="five")))
    scene.upstream_moves("five", b__txt="b\n")
    (scene.ours.path / "patches/1.patch").write_text("nonsense\n")
    assert scene.fits(ciwm) == {"1.patch": "applies"}


def test_upstream_may_be_fetched_into_the_same_repository(scene: PatchScene, ciwm: Ciwm) -> None:
    scene.queue(
        scene.patch(a__txt=lines(1, 40, l5="five")), config=CONFIG.replace("repository", "#")
    )
    scene.upstream_moves("five", a__txt=lines(1, 40, l5="FIVE"))
    scene.ours.git("remote", "add", "upstream", str(scene.upstream.path))
    scene.ours.git("fetch", "-q", "upstream")
    report = scene.report(ciwm)
    assert report["upstream"]["ref"] == "upstream/main"
    assert report["patches"]["counts"]["fails"] == 1


def test_a_pin_on_a_release_branch_does_not_make_its_commits_ours(
    scene: PatchScene, ciwm: Ciwm
) -> None:
    scene.upstream.git("checkout", "-q", "-b", "release", "v1.0")
    scene.upstream.commit("release only", release__txt="1\n")
    scene.upstream.git("tag", "v1.0.1")
    scene.queue(
        scene.patch(a__txt=lines(1, 40, l5="five")),
        config=CONFIG.replace('file = ".upstream-commit"', 'revision = "v1.0.1"'),
    )
    scene.upstream_moves("main goes on", b__txt="b\n")
    report = scene.report(ciwm)
    assert report["merge_base"] == scene.upstream.git("rev-parse", "v1.0.1")
    assert (report["carried"]["files"], report["carried"]["lines_added"]) == (1, 1)
    assert report["behind"]["commits"] == 1
    assert any("does not hold the pin" in line for line in report["shape"]["evidence"])


def test_a_patch_that_is_not_even_right_at_its_pin_is_named(scene: PatchScene, ciwm: Ciwm) -> None:
    good = scene.patch(a__txt=lines(1, 40, l5="five"))
    scene.queue(good.replace("line 5", "line five"), scene.patch(b__txt="b\n"))
    scene.upstream_moves("on", c__txt="c\n")
    report = scene.report(ciwm)
    assert [patch["at_pin"] for patch in report["patches"]["patches"]] == ["fails", "applies"]
    assert "not even at that pin do all of them apply: 1.patch" in report["shape"]["evidence"][-1]
    assert report["carried"]["files"] == 1


# --- what becomes of a patch -----------------------------------------------------------------


def test_headers_are_checked_against_what_upstream_merged(scene: PatchScene, ciwm: Ciwm) -> None:
    sha = scene.upstream.git("rev-parse", "v1.0")
    scene.queue(
        scene.patch("Faster five\nRelated-PR: #12", a__txt=lines(1, 40, l5="five")),
        scene.patch(f"Old\nApplied-Upstream: {sha[:12]}", own__py="x\n"),
        scene.patch("Tagged\nApplied-Upstream: 2.0", own__py="x\ny\n"),
        scene.patch("Waiting\nForwarded: https://github.com/o/n/pull/99", b__txt="b\n"),
        scene.patch("Ours\nForwarded: not-needed", c__txt="c\n"),
    )
    merged = scene.upstream_moves("Five, but faster (#12)", a__txt=lines(1, 40, l5="FAST"))
    scene.upstream.git("tag", "v2.0")
    one, two, three, four, five = scene.report(ciwm)["patches"]["patches"]
    assert (one["landed"], one["upstream_commit"], one["advice"]) == ([12], merged, "delete")
    assert (two["upstream_commit"], two["advice"]) == (sha, "delete")
    assert "its header says upstream has it" in two["reason"]
    assert (three["upstream_commit"], three["advice"]) == (merged, "delete")
    assert four["reason"] == "state of PR #99 unknown: needs a token"
    assert five["reason"] == "yours for ever (Forwarded: not-needed)"
    assert (
        ciwm(scene.ours.path, "v1.0", "--json").report["patches"]["patches"][2]["advice"] == "keep"
    )


def test_the_upstream_commit_with_the_same_patch_is_named(scene: PatchScene, ciwm: Ciwm) -> None:
    scene.queue(scene.patch("Ours", a__txt=lines(1, 40, l5="five")))
    taken = scene.upstream_moves("Theirs", a__txt=lines(1, 40, l5="five"))
    (patch,) = scene.report(ciwm)["patches"]["patches"]
    assert (patch["fits"], patch["upstream_commit"]) == ("upstream", taken)
    assert patch["reason"] == f"upstream has it as {taken[:12]}: delete this patch"
    assert "Carried commits that a rebase may drop" not in ciwm(scene.ours.path).out


def test_states_of_pull_requests_can_be_handed_in_later(scene: PatchScene, ciwm: Ciwm) -> None:
    scene.queue(scene.patch("A\nRelated-PR: #12", a__txt=lines(1, 40, l5="five")))
    scene.upstream_moves("on", b__txt="b\n")
    report = SyncReport.model_validate_json(ciwm(scene.ours.path, "--json").out)
    assert asked_pulls(report) == (12,)
    settled = with_pull_states(report, {12: "closed"})
    assert settled.patches is not None
    assert settled.patches.patches[0].advice == "yours"


# --- forms of queues -------------------------------------------------------------------------


def test_a_series_with_comments_options_and_files_it_leaves_out(
    scene: PatchScene, ciwm: Ciwm
) -> None:
    plain = scene.patch(a__txt=lines(1, 40, l5="five"))
    bare = scene.patch(b__txt=lines(1, 40, l5="five")).replace(" a/", " ").replace(" b/", " ")
    backwards = scene.patch(c__txt=lines(1, 40, l5="five"))
    scene.upstream_moves("c", c__txt=lines(1, 40, l5="five"))
    series = "# first\n1.patch  # why\n\n2.patch -p0\n3.patch -R\n"
    scene.queue(plain, bare, backwards, "not listed", series=series)
    report = scene.report(ciwm)
    assert {p["name"]: p["fits"] for p in report["patches"]["patches"]} == {
        "1.patch": "applies",
        "2.patch": "applies",
        "3.patch": "applies",
    }
    note = "1 patch files are not in series and are left out (the first: 4.patch)"
    assert note in report["notes"]


def test_a_series_that_names_a_patch_that_is_not_there(scene: PatchScene, ciwm: Ciwm) -> None:
    scene.queue(scene.patch(a__txt="a\n"), series="1.patch\ngone.patch\n")
    scene.upstream_moves("on", b__txt="b\n")
    one, gone = scene.report(ciwm)["patches"]["patches"]
    assert (one["fits"], gone["fits"]) == ("applies", "fails")
    assert gone["message"] == "the series names it, but there is no such file"
    told = " ".join(ciwm(scene.ours.path).out.split())
    assert "fails: the series names it, but there is no such file" in told


def test_mailboxes_of_several_mails_in_any_encoding(scene: PatchScene, ciwm: Ciwm) -> None:
    scene.upstream.git("config", "user.name", "José")
    for number, text in ((5, "fünf"), (30, "dreißig")):
        scene.upstream.write("a.txt", lines(1, 40, **{"l5": "fünf", f"l{number}": text}))
        scene.upstream.git("add", "-A")
        scene.upstream.commit_index(f"Schöne Zeile {number}\n\nRelated PR: #77")
    mailbox = scene.upstream.raw("format-patch", "--stdout", "--attach", "-2")
    one_by_one = scene.upstream.raw("format-patch", "--stdout", "-1")
    scene.upstream_moves("on", b__txt="b\n")
    scene.ours.write("patches/0001-two.mbox", mailbox)
    scene.ours.write("patches/0002-again.patch", one_by_one)
    scene.ours.write("patches/0000-cover.patch", "From: A\nSubject: [PATCH 0/2] cover\n\nWhy.\n")
    scene.ours.write("ciwm.toml", CONFIG)
    scene.ours.commit("queue")
    report = scene.report(ciwm)
    found = report["patches"]["patches"]
    assert [patch["name"] for patch in found] == [
        "0001-two.mbox#1",
        "0001-two.mbox#2",
        "0002-again.patch",
    ]
    assert [patch["subject"] for patch in found[:2]] == ["Schöne Zeile 5", "Schöne Zeile 30"]
    assert [patch["fits"] for patch in found] == ["applies", "applies", "upstream"]
    assert found[0]["claims"]["pulls"] == [77]
    assert "0000-cover.patch holds no diff and is left out" in report["notes"]


def test_renames_modes_binaries_and_odd_paths(scene: PatchScene, ciwm: Ciwm) -> None:
    moved = scene.upstream
    moved.git("mv", "a.txt", "moved.txt")
    renaming = moved.raw("diff", "--cached", "-M").decode()
    moved.commit_index("moved")
    moved.git("update-index", "--chmod=+x", "b.txt")
    executable = moved.raw("diff", "--cached").decode()
    moved.commit_index("mode")
    moved.git("checkout", "-q", "-f", "HEAD")
    binary = scene.patch(picture__bin=b"\0\1\2" * 50)
    odd = scene.patch(**{'a "q" ü.txt': "-- a line\n++ another\n"})
    removing_dashes = scene.patch(**{'a "q" ü.txt': "++ another\n"})
    scene.queue(renaming, executable, binary, odd, removing_dashes)
    scene.upstream_moves("on", c__txt="c\n")
    assert set(scene.fits(ciwm).values()) == {"applies"}
    assert scene.report(ciwm)["carried"]["files"] == 5  # a gone, moved, b's mode, two new ones


def test_a_patch_that_is_broken_or_wants_out_of_the_tree_fails_by_name(
    scene: PatchScene, ciwm: Ciwm
) -> None:
    good = scene.patch(a__txt=lines(1, 40, l5="five"))
    outside = good.replace("a/a.txt", "a/../../a.txt").replace("b/a.txt", "b/../../a.txt")
    cut = "\n".join(good.splitlines()[:-3]) + "\n"
    scene.queue(cut, outside, good.replace("\n", "\r\n"))
    scene.upstream_moves("on", b__txt="b\n")
    cut_one, outside_one, windows = scene.report(ciwm)["patches"]["patches"]
    assert (cut_one["fits"], outside_one["fits"]) == ("fails", "fails")
    assert "corrupt patch" in cut_one["message"]
    assert outside_one["message"] == "../../a.txt: does not exist in index"
    assert windows["fits"] == "applies"
    assert not (scene.upstream.path.parent / "a.txt").exists()


# --- what is wrong with the configuration ----------------------------------------------------


@pytest.mark.parametrize(
    ("config", "code", "words"),
    [
        (CONFIG.replace("pin", "#"), USAGE, "a patch queue needs a pin"),
        (CONFIG.replace('patches = "patches/"', 'style = "patches"'), USAGE, "needs a folder"),
        (CONFIG.replace("../upstream", "../nowhere"), USAGE, "there is no folder"),
        (CONFIG.replace("../upstream", "../"), ENVIRONMENT, "not inside a git repository"),
        (CONFIG.replace("patches/", "elsewhere/"), USAGE, "has no folder elsewhere/"),
        (CONFIG.replace("patches/", "../outside"), USAGE, "is no folder of the repository"),
        (CONFIG.replace(".upstream-commit", "gone"), USAGE, "has no file gone"),
        (CONFIG.replace('"patches/"', '"docs"'), USAGE, "docs holds no patches"),
    ],
)
def test_what_is_wrong_is_one_line_with_a_hint(
    scene: PatchScene, ciwm: Ciwm, config: str, code: int, words: str
) -> None:
    scene.ours.write("docs/readme.md", "x\n")
    scene.queue(scene.patch(a__txt="a\n"), config=config)
    run = ciwm(scene.ours.path)
    assert run.code == code, run.err
    errors = [line for line in run.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert words in errors[0]
    assert "hint: " in run.err


def test_a_pin_that_upstream_does_not_have(scene: PatchScene, ciwm: Ciwm) -> None:
    scene.ours.write(".upstream-commit", "1" * 40 + "\n")
    scene.queue(scene.patch(a__txt="a\n"))
    run = ciwm(scene.ours.path)
    assert run.code == USAGE
    assert f"has no {'1' * 40}, which .upstream-commit names" in run.err


def test_a_shallow_clone_of_upstream(scene: PatchScene, ciwm: Ciwm, tmp_path: Path) -> None:
    scene.queue(
        scene.patch(a__txt="a\n"), config=CONFIG.replace("../upstream", str(tmp_path / "cut"))
    )
    scene.upstream_moves("on", b__txt="b\n")
    source = f"file://{scene.upstream.path}"
    command = ["git", "clone", "-q", "--depth=1", source, str(tmp_path / "cut")]
    subprocess.run(command, check=True, capture_output=True)
    run = ciwm(scene.ours.path)
    assert run.code == ENVIRONMENT
    assert "is shallow" in run.err
    assert "fetch --unshallow" in run.err


def test_every_page_says_it(scene: PatchScene, ciwm: Ciwm) -> None:
    scene.queue(scene.patch(a__txt=lines(1, 40, l5="five")), scene.patch(own__py="x\n"))
    scene.upstream_moves("five | <b>@octocat", a__txt=lines(1, 40, l5="FIVE"))
    text, page = ciwm(scene.ours.path).out, ciwm(scene.ours.path, "--markdown").out
    answer = "Of 2 patches 1 apply to {}main{}, 1 does not (1 hunk)."
    assert answer.format("", "") in text
    assert answer.format("`", "`") in page
    assert "fails in 1 of 1 hunk" in text
    assert "fails in 1 of 1 hunk" in page
    assert "<b>" not in page
