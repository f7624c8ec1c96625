"""Repositories as they really come: each ends in figures or in one clear line with its mend."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from ciwm.errors import ENVIRONMENT, USAGE
from tests.integration.sync.git_scene import (
    Ciwm,
    Ended,
    Scene,
    new_repository,
    numbered,
    publish_upstream,
)

if TYPE_CHECKING:
    from pathlib import Path


def one_line(run: Ended, code: int) -> tuple[str, str]:
    """The error and its hint, each one line, and nothing on standard output."""
    assert run.code == code, run.err
    assert run.out == ""
    lines = run.err.splitlines()
    error, hint = [line for line in lines if not line.startswith("sync-report:")]
    return error.removeprefix("error: "), hint.removeprefix("hint: ")


def figures(run: Ended) -> tuple[int, int, int]:
    """Behind, ahead, conflicting files."""
    report = run.report
    return report["behind"]["commits"], report["ahead"]["commits"], report["conflicts"]["count"]


def clone(fork: Scene, path: Path, *options: str) -> Scene:
    """A clone over a real transport, with the fork's upstream/main as main's branch there."""
    fork.git("config", "uploadpack.allowFilter", "true")
    subprocess.run(
        ["git", "clone", "-q", *options, f"file://{fork.path}", str(path)],
        check=True,
        capture_output=True,
    )
    return Scene(path)


# --- where it is run -------------------------------------------------------------------------


def test_a_folder_outside_any_repository(tmp_path: Path, ciwm: Ciwm) -> None:
    error, hint = one_line(ciwm(tmp_path), ENVIRONMENT)
    assert error == f"{tmp_path} is not inside a git repository"
    assert "-C DIR" in hint


def test_a_repository_without_a_commit(tmp_path: Path, ciwm: Ciwm) -> None:
    empty = new_repository(tmp_path / "empty")
    error, hint = one_line(ciwm(empty.path, "upstream/main"), USAGE)
    assert error == "the branch main has no commit yet"
    assert "--downstream" in hint


def test_an_unborn_branch_beside_others(fork: Scene, ciwm: Ciwm) -> None:
    fork.git("checkout", "-q", "--orphan", "fresh")
    assert one_line(ciwm(fork.path), USAGE)[0] == "the branch fresh has no commit yet"
    assert figures(ciwm(fork.path, "--downstream", "fork", "--json")) == (3, 2, 1)


def test_a_repository_of_another_user(
    fork: Scene, ciwm: Ciwm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_on_path(tmp_path, monkeypatch, 'GIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec "$git" "$@"')
    (below := fork.path / "below").mkdir()
    for folder in (fork.path, below):
        error, hint = one_line(ciwm(folder), ENVIRONMENT)
        assert error == f"git refuses {fork.path}: it belongs to another user"
        assert hint == f"git config --global --add safe.directory {fork.path}"


def test_a_machine_without_git(
    fork: Scene, ciwm: Ciwm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ciwm(fork.path).code == ENVIRONMENT


def test_a_bare_repository(fork: Scene, ciwm: Ciwm, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    shutil.copytree(fork.path / ".git", bare)
    Scene(bare).git("config", "core.bare", "true")
    run = ciwm(bare, "--json")
    assert figures(run) == (3, 2, 1)
    assert run.report["repository"] == "bare"


def test_a_detached_head(fork: Scene, ciwm: Ciwm) -> None:
    fork.git("checkout", "-q", "--detach", "fork~1")
    assert figures(ciwm(fork.path, "--json")) == (3, 1, 1)


def test_a_linked_worktree_and_a_folder_below_it(fork: Scene, ciwm: Ciwm, tmp_path: Path) -> None:
    fork.git("worktree", "add", "-q", str(tmp_path / "linked"), "fork~1")
    (tmp_path / "linked/below").mkdir()
    assert figures(ciwm(tmp_path / "linked/below", "--json")) == (3, 1, 1)


def test_a_path_with_every_awkward_sign(fork: Scene, ciwm: Ciwm, tmp_path: Path) -> None:
    awkward = tmp_path / 'a:b "c"\\d é'
    fork.path.rename(awkward)
    assert figures(ciwm(awkward, "--json")) == (3, 2, 1)


def test_a_repository_of_sha256(tmp_path: Path, ciwm: Ciwm) -> None:
    scene = new_repository(tmp_path / "sha256", "--object-format=sha256")
    scene.commit("base", a__txt=numbered(1, 9))
    scene.git("branch", "fork")
    publish_upstream(scene, scene.commit("up", a__txt=numbered(1, 9, l5="up")))
    scene.git("checkout", "-q", "fork")
    scene.commit("fork", a__txt=numbered(1, 9, l5="fork"))
    run = ciwm(scene.path, "--json")
    assert figures(run) == (1, 1, 1)
    assert len(run.report["merge_base"]) == 64
    assert run.report["conflicts"]["hunks"] == 1


# --- which upstream --------------------------------------------------------------------------


def test_an_unknown_revision(fork: Scene, ciwm: Ciwm) -> None:
    assert one_line(ciwm(fork.path, "v9.9"), USAGE)[0] == "no such revision: v9.9"
    error, hint = one_line(ciwm(fork.path, "elsewhere/main"), USAGE)
    assert error == "no such revision: elsewhere/main"
    assert "git remote add elsewhere URL && git fetch elsewhere" in hint


@pytest.mark.parametrize("option", ["--upload-pack=x", "-h^{tree}"])
def test_a_revision_that_looks_like_an_option(fork: Scene, ciwm: Ciwm, option: str) -> None:
    assert one_line(ciwm(fork.path, "--", option), USAGE)[0] == f"no such revision: {option}"


def test_a_revision_that_is_no_commit(fork: Scene, ciwm: Ciwm) -> None:
    blob = fork.git("rev-parse", "HEAD:a.txt")
    assert one_line(ciwm(fork.path, blob), USAGE)[0] == f"no such revision: {blob}"


def test_an_annotated_tag_means_its_commit(fork: Scene, ciwm: Ciwm) -> None:
    fork.git("tag", "-a", "-m", "release", "v1", "main")
    report = ciwm(fork.path, "v1", "--json").report
    assert report["upstream"]["sha"] == fork.git("rev-parse", "main")


def test_a_remote_that_was_never_fetched(fork: Scene, ciwm: Ciwm) -> None:
    fork.git("update-ref", "-d", "refs/remotes/upstream/main")
    error = ("the remote upstream was never fetched", "git fetch upstream")
    assert one_line(ciwm(fork.path), USAGE) == error
    assert "git fetch upstream" in one_line(ciwm(fork.path, "upstream/main"), USAGE)[1]


def test_no_upstream_at_all_names_the_remotes_there_are(fork: Scene, ciwm: Ciwm) -> None:
    fork.git("remote", "rename", "upstream", "origin")
    error, hint = one_line(ciwm(fork.path), USAGE)
    assert error == "which upstream? there is no remote named upstream (remotes: origin)"
    assert hint.startswith("git remote add upstream URL && git fetch upstream")


@pytest.mark.parametrize(
    ("table", "ref"),
    [
        ('remote = "vendor"', "vendor/main"),
        ('url = "https://git.example.org/project"', "vendor/main"),
        ('remote = "vendor"\nbranch = "next"', "vendor/next"),
    ],
)
def test_the_configuration_names_upstream(fork: Scene, ciwm: Ciwm, table: str, ref: str) -> None:
    fork.git("remote", "rename", "upstream", "vendor")
    fork.git("update-ref", "refs/remotes/vendor/next", "main~1")
    (fork.path / "ciwm.toml").write_text(f"[upstream]\n{table}\n")
    (fork.path / "below").mkdir()
    assert ciwm(fork.path / "below", "--json").report["upstream"]["ref"] == ref


def test_a_configured_branch_that_is_not_there_is_not_replaced(fork: Scene, ciwm: Ciwm) -> None:
    (fork.path / "ciwm.toml").write_text('[upstream]\nbranch = "next"\n')
    error, _ = one_line(ciwm(fork.path), USAGE)
    assert error == "the remote upstream has no branch next here (there are: main)"


def test_a_remote_whose_branch_is_master(fork: Scene, ciwm: Ciwm) -> None:
    fork.git("update-ref", "refs/remotes/upstream/master", "main")
    fork.git("update-ref", "-d", "refs/remotes/upstream/main")
    assert ciwm(fork.path, "--json").report["upstream"]["ref"] == "upstream/master"


def test_a_plugin_without_a_pin_is_told_what_it_needs(fork: Scene, ciwm: Ciwm) -> None:
    (fork.path / "ciwm.toml").write_text('[upstream]\nstyle = "plugin"\n')
    assert "needs a pin" in one_line(ciwm(fork.path), USAGE)[0]


def test_json_and_markdown_exclude_each_other(fork: Scene, ciwm: Ciwm) -> None:
    assert ciwm(fork.path, "--json", "--markdown").code == USAGE


# --- histories -------------------------------------------------------------------------------


def test_histories_that_share_nothing(fork: Scene, ciwm: Ciwm) -> None:
    fork.git("checkout", "-q", "--orphan", "other")
    fork.commit_index("another beginning")
    error, _ = one_line(ciwm(fork.path), USAGE)
    assert error.startswith("HEAD is a plugin (no commit and no tree in common with upstream; ")
    (fork.path / "ciwm.toml").write_text('[upstream]\nstyle = "fork"\n')
    error, _ = one_line(ciwm(fork.path), USAGE)
    assert error == "HEAD and upstream/main share no history: no merge base"


def test_a_shallow_clone_says_which_remote_to_complete(
    fork: Scene, ciwm: Ciwm, tmp_path: Path
) -> None:
    shallow = clone(fork, tmp_path / "shallow", "--depth=1", "--no-single-branch", "-b", "fork")
    error, hint = one_line(ciwm(shallow.path, "origin/main"), ENVIRONMENT)
    assert error.startswith("this clone is shallow")
    assert hint == "run `git fetch --unshallow origin`"
    shallow.git("fetch", "-q", "--unshallow", "origin")
    assert figures(ciwm(shallow.path, "origin/main", "--json")) == (3, 2, 1)


def test_an_upstream_that_was_fetched_shallow(fork: Scene, ciwm: Ciwm, tmp_path: Path) -> None:
    whole = clone(fork, tmp_path / "whole", "-b", "fork", "--single-branch")
    # A repository of its own, so that the fork's clone has no object of upstream's new commits.
    other = clone(fork, tmp_path / "other", "-b", "main", "--single-branch")
    for number in range(3):
        other.commit(f"newer {number}", new__txt=f"{number}\n")
    whole.git("remote", "add", "upstream", f"file://{other.path}")
    whole.git("fetch", "-q", "--depth=1", "upstream")
    error, hint = one_line(ciwm(whole.path), ENVIRONMENT)
    assert error.startswith("this clone is shallow")
    assert hint == "run `git fetch --unshallow upstream`"
    whole.git("fetch", "-q", "--unshallow", "upstream")
    assert figures(ciwm(whole.path, "--json")) == (6, 2, 1)


def test_replaced_objects_and_grafts_are_followed_and_told(fork: Scene, ciwm: Ciwm) -> None:
    fork.git("replace", "--graft", "fork", "fork~2")
    report = ciwm(fork.path, "--json").report
    assert report["ahead"]["commits"] == int(fork.git("rev-list", "--count", "main..fork")) == 1
    assert report["notes"][0].startswith("1 objects are replaced here (git replace)")
    fork.git("replace", "-d", fork.git("rev-parse", "fork"))
    parent, child = fork.git("rev-parse", "fork~2"), fork.git("rev-parse", "fork")
    (fork.path / ".git/info/grafts").write_text(f"{child} {parent}\n")
    report = ciwm(fork.path, "--json").report
    assert report["ahead"]["commits"] == 1
    assert report["notes"][0].startswith("history is grafted here")


def test_renames_count_as_git_counts_them_without_rename_detection(fork: Scene, ciwm: Ciwm) -> None:
    fork.git("mv", "c.txt", "moved.txt")
    fork.commit_index("move")
    carried = ciwm(fork.path, "--json").report["carried"]
    assert carried["files"] == 5  # a.txt, b.txt, own.py; c.txt gone and moved.txt new
    assert (carried["lines_added"], carried["lines_removed"]) == (4 + 9, 2 + 9)


def test_binaries_are_counted_apart(fork: Scene, ciwm: Ciwm) -> None:
    fork.commit("binary", image__bin=b"\0\1\2")
    carried = ciwm(fork.path, "--json").report["carried"]
    assert (carried["files"], carried["binaries"], carried["lines_added"]) == (4, 1, 4)


def test_clocks_that_ran_wrong(fork: Scene, ciwm: Ciwm) -> None:
    fork.git("checkout", "-q", "main")
    past = {"GIT_AUTHOR_DATE": "@0 +0000", "GIT_COMMITTER_DATE": "@0 +0000"}
    publish = fork.commit_index("from 1970", "--amend", **past)
    fork.git("update-ref", "refs/remotes/upstream/main", publish)
    fork.git("checkout", "-q", "fork")
    assert ciwm(fork.path, "--json").report["behind"]["days"] < -20_000
    raw = fork.raw("cat-file", "commit", "fork").replace(b" 17500", b" 99999999999917500")
    far = fork.raw("hash-object", "-t", "commit", "-w", "--stdin", "--literally", stdin=raw)
    assert ciwm(fork.path, "--downstream", far.decode().strip(), "--json").code == 0


# --- names -----------------------------------------------------------------------------------


def as_it_is(scene: Scene, replacements: dict[bytes, bytes]) -> None:
    """Rewrite the newest commit, byte by byte (git commit would repair what is no UTF-8)."""
    raw = scene.raw("cat-file", "commit", "HEAD")
    for old, new in replacements.items():
        raw = raw.replace(old, new)
    sha = scene.raw("hash-object", "-t", "commit", "-w", "--literally", "--stdin", stdin=raw)
    scene.git("reset", "-q", "--soft", sha.decode().strip())


def test_names_that_are_no_utf8_survive_in_gits_own_quoting(tmp_path: Path, ciwm: Ciwm) -> None:
    scene = new_repository(tmp_path / "latin1")
    name = b'caf\xe9 "x"\n\xc3\xa9.txt'
    scene.commit("root")
    scene.git("branch", "fork")
    for branch in ("main", "fork"):
        scene.git("checkout", "-q", branch)
        scene.write(name, f"{branch}\n")
        scene.git("add", "-A")
        scene.commit_index("subject")
        as_it_is(scene, {b"subject": b"caf\xe9", b"author A Developer": b"author Jos\xe9"})
    publish_upstream(scene, "main")
    run = ciwm(scene.path, "--json")
    (file,) = run.report["conflicts"]["files"]
    assert file["path"] == r'"caf\351 \"x\"\né.txt"'
    assert run.report["overlap"]["paths"] == [file["path"]]
    # git reads the quoted form back: it names the very same file
    quoted = f"{file['path']}\n".encode()
    read_back = scene.raw("hash-object", "--stdin-paths", stdin=quoted).decode().strip()
    assert read_back == scene.git("rev-parse", "HEAD:" + os.fsdecode(name))
    (commit,) = run.report["carried"]["list"]
    assert (commit["author"], commit["subject"]) == (r"Jos\xe9", r"caf\xe9")
    for option in ((), ("--markdown",)):
        assert ciwm(scene.path, *option).code == 0


def test_a_commit_in_a_declared_encoding_is_read_in_it(fork: Scene, ciwm: Ciwm) -> None:
    fork.git("config", "i18n.commitEncoding", "ISO-8859-1")
    fork.raw("commit", "-q", "--allow-empty", "-F", "-", stdin=b"caf\xe9\n")
    assert ciwm(fork.path, "--json").report["carried"]["list"][0]["subject"] == "café"


def test_text_from_the_repository_cannot_forge_the_comment(fork: Scene, ciwm: Ciwm) -> None:
    name = "@octocat | x | <!-- ciwm --> </details>\n# heading"
    fork.commit("upstream #1 @octocat <b>|\x1b[31m", **{name: "x\n"})
    fork.git("checkout", "-q", "main")
    fork.commit("same", **{name: "y\n"})
    fork.git("update-ref", "refs/remotes/upstream/main", "main")
    fork.git("checkout", "-q", "fork")
    markdown = ciwm(fork.path, "--markdown").out
    assert "<!--" not in markdown
    assert "<b>" not in markdown
    assert "\x1b" not in markdown
    assert markdown.count("<details>") == markdown.count("</details>") == 4
    assert "\x1b" not in ciwm(fork.path).out


# --- objects that are not there --------------------------------------------------------------


def trapped(scene: Scene, tmp_path: Path) -> Path:
    """Any attempt to fetch leaves a file behind."""
    trap = tmp_path / "fetched"
    script = tmp_path / "upload-pack"
    script.write_text(f"#!/bin/sh\ntouch '{trap}'\nexec git-upload-pack \"$@\"\n")
    script.chmod(0o755)
    scene.git("config", "remote.origin.uploadpack", str(script))
    return trap


def test_a_partial_clone_is_not_filled_and_the_missing_blobs_are_named(
    fork: Scene, ciwm: Ciwm, tmp_path: Path
) -> None:
    partial = clone(fork, tmp_path / "partial", "--filter=blob:none", "-b", "fork")
    trap = trapped(partial, tmp_path)
    before = partial.fingerprint()
    run = ciwm(partial.path, "origin/main", "--json")
    report = run.report
    assert not trap.exists()
    assert partial.fingerprint() == before
    assert report["partial"] is True
    # the checkout brought the fork's files; base's and upstream's of a and b were left out
    left_out = {
        fork.git("rev-parse", f"{rev}:{path}")
        for rev in ("main", "main~3")
        for path in ("a.txt", "b.txt")
    }
    left_out.add(fork.git("rev-parse", "main:d.txt"))
    assert set(report["missing_objects"]) == left_out
    assert (report["behind"]["commits"], report["ahead"]["commits"]) == (3, 2)
    assert report["carried"]["commits"] == 2
    assert report["carried"]["files"] == 3
    assert report["carried"]["lines_added"] == 2  # own.py alone
    assert report["overlap"]["paths"] == ["a.txt", "b.txt"]
    assert report["conflicts"]["count"] == 0
    assert any("3 changed files are missing" in note for note in report["notes"])
    assert "warning: " in run.err
    out = ciwm(partial.path, "origin/main").out
    assert "as far as it could be tried" in out
    assert "3 files, at least +2 -0 lines" in out  # what could not be read is not counted as none
    assert "debt: at least low (" in out


def test_a_partial_clone_is_filled_where_that_is_asked_for(
    fork: Scene, ciwm: Ciwm, tmp_path: Path
) -> None:
    partial = clone(fork, tmp_path / "partial", "--filter=blob:none", "-b", "fork")
    refs = partial.git("for-each-ref")
    options = ("--downstream", "fork", "--culprits", "20", "--states", "--json")
    whole = ciwm(fork.path, "main", *options).report
    asked = ("origin/main", *options)
    filled = ciwm(partial.path, *asked, "--fetch-missing").report
    for report in (whole, filled):
        del report["conflicts"]["scan"]  # the second finds in the cache what the first tried
    for name in ("carried", "overlap", "conflicts", "markers"):
        assert filled[name] == whole[name], name
    assert (filled["partial"], filled["missing_objects"]) == (False, [])
    assert partial.git("for-each-ref") == refs
    assert not (partial.path / ".git/FETCH_HEAD").exists()
    trap = trapped(partial, tmp_path)
    assert ciwm(partial.path, *asked, "--fetch-missing").report["partial"] is False
    assert not trap.exists(), "what is here is not asked for again"


def test_contents_that_cannot_be_fetched_are_a_note_and_the_report_is_partial(
    fork: Scene, ciwm: Ciwm, tmp_path: Path
) -> None:
    partial = clone(fork, tmp_path / "partial", "--filter=blob:none", "-b", "fork")
    partial.git("config", "remote.origin.url", str(tmp_path / "nowhere"))
    run = ciwm(partial.path, "origin/main", "--fetch-missing", "--json")
    assert run.report["partial"] is True
    assert "objects could not be fetched from origin (" in run.report["notes"][0]
    assert "warning: " in run.err


def test_a_clone_without_trees_still_counts_commits(
    fork: Scene, ciwm: Ciwm, tmp_path: Path
) -> None:
    partial = clone(fork, tmp_path / "treeless", "--filter=tree:0", "--bare")
    trap = trapped(partial, tmp_path)
    report = ciwm(partial.path, "main", "--downstream", "fork", "--json").report
    assert not trap.exists()
    assert (report["behind"]["commits"], report["ahead"]["commits"]) == (3, 2)
    assert report["carried"] is report["overlap"] is report["conflicts"] is None
    assert report["partial"] is True
    assert report["missing_objects"]


def test_one_missing_blob_leaves_the_rest_of_the_forecast(
    fork: Scene, ciwm: Ciwm, tmp_path: Path
) -> None:
    big = "x" * 5000 + "\n"
    fork.commit("big", big__txt=big)
    fork.git("checkout", "-q", "main")
    fork.commit("big too", big__txt=big + "more\n")
    fork.git("checkout", "-q", "fork")
    fork.commit("sent", e__txt="e\n")
    fork.git("checkout", "-q", "main")
    fork.clock += 3600
    fork.git("cherry-pick", "fork")
    partial = clone(fork, tmp_path / "partial", "--filter=blob:limit=2k", "--bare")
    report = ciwm(partial.path, "main", "--downstream", "fork", "--json").report
    assert set(report["missing_objects"]) == {
        fork.git("rev-parse", f"{branch}:big.txt") for branch in ("main", "fork")
    }
    assert [file["path"] for file in report["conflicts"]["files"]] == ["a.txt"]
    assert (report["carried"]["commits"], report["carried"]["upstreamed_commits"]) == (3, 1)
    assert (report["carried"]["files"], report["carried"]["lines_added"]) == (5, 5)
    assert any(note.startswith("1 commits cannot be compared") for note in report["notes"])


def damage(scene: Scene, object_id: str) -> None:
    path = scene.path / ".git/objects" / object_id[:2] / object_id[2:]
    path.chmod(0o644)
    path.write_bytes(b"not an object at all")


def test_a_damaged_blob_is_named_and_the_rest_is_measured(fork: Scene, ciwm: Ciwm) -> None:
    fork.git("checkout", "-q", "--detach")
    broken = fork.git("rev-parse", "main:b.txt")
    damage(fork, broken)
    report = ciwm(fork.path, "--json").report
    assert report["missing_objects"] == [broken]
    assert report["partial"] is True
    assert [file["path"] for file in report["conflicts"]["files"]] == ["a.txt"]


def test_a_damaged_commit_ends_in_one_line(fork: Scene, ciwm: Ciwm) -> None:
    broken = fork.git("rev-parse", "main~1")
    damage(fork, broken)
    error, hint = one_line(ciwm(fork.path), ENVIRONMENT)
    assert broken in error
    assert "git fsck" in hint


# --- the git there is ------------------------------------------------------------------------


def put_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A `git` before the real one, which `$git` names."""
    folder = tmp_path / "bin"
    folder.mkdir()
    wrapper = folder / "git"
    wrapper.write_text(f"#!/bin/sh\ngit='{shutil.which('git')}'\n{script}\n")
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


OLD_GIT = """
for word in "$@"; do
  case $word in
    version) echo "git version 2.30.2"; exit 0 ;;
    merge-tree) echo "usage: git merge-tree <base-tree> <branch1> <branch2>" >&2; exit 129 ;;
  esac
done
exec "$git" "$@"
"""


def test_an_old_git_gives_everything_but_the_trial_merge(
    fork: Scene, ciwm: Ciwm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_on_path(tmp_path, monkeypatch, OLD_GIT)
    run = ciwm(fork.path)
    assert run.code == ENVIRONMENT
    line = "no trial merge: it needs git 2.38 or newer, and this is git 2.30.2"
    assert line in run.out.replace("\n", " ")
    assert "3 commits (3 on the main line)" in run.out
    as_json = ciwm(fork.path, "--json")
    assert as_json.code == ENVIRONMENT
    assert f"warning: {line}" in as_json.err
    assert '"conflicts": null' in as_json.out
