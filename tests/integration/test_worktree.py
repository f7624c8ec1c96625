"""A revision's files in a folder of their own, and no trace of it in the user's repository."""

from __future__ import annotations

import hashlib
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from ciwm.errors import BuildError
from ciwm.git import Repository
from ciwm.launch.worktree import Lack, check_out, still_lacking
from tests.git_folder import GitFolder
from tests.need import missing

if TYPE_CHECKING:
    from pathlib import Path


def checked_out(folder: GitFolder, ref: str, into: Path) -> tuple[Lack, ...]:
    repository = Repository.open(folder.path)
    return check_out(repository, repository.commit(ref), into, lambda _line: None)


def snapshot(folder: Path) -> dict[str, tuple[int, int, str]]:
    """Every file's mode, time and content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        stat = path.lstat()
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path.relative_to(folder))] = (stat.st_mode, stat.st_mtime_ns, digest)
    return found


def contents(folder: Path) -> dict[str, tuple[int, str]]:
    """Every file's mode and content; git renews the time of an object that is written again."""
    return {name: (mode, digest) for name, (mode, _, digest) in snapshot(folder).items()}


@pytest.fixture
def origin(tmp_path: Path) -> GitFolder:
    folder = GitFolder.make(tmp_path / "origin")
    folder.commit({"a.txt": "one\n", "run.sh": "#!/bin/sh\n"})
    (folder.path / "run.sh").chmod(0o755)
    (folder.path / "link").symlink_to("a.txt")
    folder.commit({"deep/ü b.txt": "deep\n"})
    folder.git("tag", "v1")
    folder.commit({"a.txt": "two\n"})
    return folder


def test_the_files_are_those_of_the_revision(origin: GitFolder, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    assert checked_out(origin, "v1", tree) == ()
    assert (tree / "a.txt").read_text() == "one\n"
    assert (tree / "deep/ü b.txt").read_text() == "deep\n"
    assert os.access(tree / "run.sh", os.X_OK)
    assert os.readlink(tree / "link") == "a.txt"  # noqa: PTH115  the text of the link
    assert GitFolder(tree).git("status", "--porcelain") == ""
    assert GitFolder(tree).git("rev-parse", "HEAD") == origin.git("rev-parse", "v1")


def test_the_users_repository_is_untouched_to_the_last_byte(
    origin: GitFolder, tmp_path: Path
) -> None:
    (origin.path / "a.txt").write_text("unsaved work\n")
    (origin.path / "untracked").write_text("x\n")
    before = snapshot(origin.path)
    checked_out(origin, "v1", tmp_path / "tree")
    assert snapshot(origin.path) == before


def test_what_a_build_does_to_its_repository_stays_there(origin: GitFolder, tmp_path: Path) -> None:
    checked_out(origin, "HEAD", tmp_path / "tree")
    before = contents(origin.path)
    built = GitFolder(tmp_path / "tree")
    built.git("tag", "nightly")
    built.git("config", "user.name", "somebody")
    built.git("clean", "-xdfq")
    built.commit({"generated.py": "x = 1\n"})
    built.git("gc", "--quiet", "--prune=now")
    assert contents(origin.path) == before


def test_versions_by_git_describe_are_those_of_the_users_clone(
    origin: GitFolder, tmp_path: Path
) -> None:
    checked_out(origin, "HEAD", tmp_path / "tree")
    describe = ("describe", "--tags", "--dirty", "--long")
    assert GitFolder(tmp_path / "tree").git(*describe) == origin.git(*describe)


def test_a_shallow_clone_a_bare_one_and_a_linked_worktree_can_be_checked_out(
    origin: GitFolder, tmp_path: Path
) -> None:
    origin.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"))
    sources = {
        "shallow": origin.clone(tmp_path / "shallow", "--depth=1"),
        "bare": origin.clone(tmp_path / "bare", "--bare"),
        "linked": GitFolder(tmp_path / "linked"),
    }
    for name, source in sources.items():
        tree = tmp_path / f"tree-{name}"
        checked_out(source, "HEAD", tree)
        assert (tree / "a.txt").read_text() == "two\n"
        log = ("log", "--format=%H")
        assert GitFolder(tree).git(*log) == source.git(*log)


def test_a_repository_of_sha256_objects_can_be_checked_out(tmp_path: Path) -> None:
    folder = GitFolder.make(tmp_path / "new", "--object-format=sha256")
    folder.commit({"a": "1"})
    checked_out(folder, "HEAD", tmp_path / "tree")
    assert (tmp_path / "tree" / "a").read_text() == "1"


def test_a_partial_clone_that_lacks_a_file_is_an_error_with_its_mend(
    origin: GitFolder, tmp_path: Path
) -> None:
    origin.git("config", "uploadpack.allowFilter", "true")
    partial = origin.clone(tmp_path / "partial", "--filter=blob:none", "--no-checkout")
    objects = snapshot(partial.path / ".git" / "objects")
    with pytest.raises(BuildError, match="partial clone") as raised:
        checked_out(partial, "HEAD", tmp_path / "tree")
    assert raised.value.hint.startswith("git fetch --refetch --no-filter origin")
    assert snapshot(partial.path / ".git" / "objects") == objects  # nothing was fetched


def test_the_users_hooks_do_not_run(
    origin: GitFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = tmp_path / "hooks" / "post-checkout"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    configuration = tmp_path / "gitconfig"
    configuration.write_text(f"[core]\n\thooksPath = {hook.parent}\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".gitconfig").write_text(configuration.read_text())
    checked_out(origin, "HEAD", tmp_path / "tree")
    assert not (tmp_path / "ran").exists()


def test_the_remote_is_known_without_its_credentials(origin: GitFolder, tmp_path: Path) -> None:
    origin.git("remote", "add", "origin", "https://user:secret@example.org/a/b.git")
    checked_out(origin, "HEAD", tmp_path / "tree")
    url = GitFolder(tmp_path / "tree").git("remote", "get-url", "origin")
    assert url == "https://example.org/a/b.git"


@pytest.fixture
def nested(tmp_path: Path) -> GitFolder:
    """A repository with a submodule in a submodule, each of which changed once."""
    inner = GitFolder.make(tmp_path / "inner")
    inner.commit({"i": "inner 1"})
    middle = GitFolder.make(tmp_path / "middle")
    middle.git("submodule", "--quiet", "add", str(inner.path), "deps/inner")
    middle.commit({"m": "middle 1"})
    outer = GitFolder.make(tmp_path / "outer")
    outer.git("submodule", "--quiet", "add", "--name", "the middle", str(middle.path), "third/mid")
    outer.git("submodule", "--quiet", "update", "--init", "--recursive")
    outer.commit({"o": "outer 1"})
    outer.git("tag", "old")
    inner.commit({"i": "inner 2"})
    GitFolder(outer.path / "third/mid/deps/inner").git("pull", "--quiet", "origin", "main")
    GitFolder(outer.path / "third/mid").commit({"m": "middle 2"})
    outer.commit({"o": "outer 2"})
    return outer


@pytest.mark.parametrize(("ref", "number"), [("old", 1), ("HEAD", 2)])
def test_submodules_in_submodules_are_those_of_the_revision(
    nested: GitFolder, tmp_path: Path, ref: str, number: int
) -> None:
    before = snapshot(nested.path)
    tree = tmp_path / "tree"
    assert checked_out(nested, ref, tree) == ()
    assert (tree / "o").read_text() == f"outer {number}"
    assert (tree / "third/mid/m").read_text() == f"middle {number}"
    assert (tree / "third/mid/deps/inner/i").read_text() == f"inner {number}"
    assert GitFolder(tree).git("status", "--porcelain", "--ignore-submodules=none") == ""
    assert snapshot(nested.path) == before


def test_submodules_are_found_from_a_linked_worktree_too(nested: GitFolder, tmp_path: Path) -> None:
    nested.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"))
    assert checked_out(GitFolder(tmp_path / "linked"), "old", tmp_path / "tree") == ()
    assert (tmp_path / "tree/third/mid/m").read_text() == "middle 1"


def test_a_submodule_the_user_never_initialised_is_left_empty_and_named(
    nested: GitFolder, tmp_path: Path
) -> None:
    clone = nested.clone(tmp_path / "clone")
    lacks = checked_out(clone, "HEAD", tmp_path / "tree")
    assert [str(lack) for lack in lacks] == [
        "submodule third/mid is not initialised in this clone and is left empty"
    ]
    assert list((tmp_path / "tree/third/mid").iterdir()) == []
    repository = Repository.open(clone.path)
    assert still_lacking(repository, lacks)
    clone.git("config", "submodule.the middle.url", str(nested.path / "third/mid"))
    clone.git("submodule", "--quiet", "update", "third/mid")
    assert not still_lacking(repository, lacks)


def test_a_submodule_without_the_commit_is_an_error_with_its_mend(
    nested: GitFolder, tmp_path: Path
) -> None:
    absent = "1" * 40
    nested.git("update-index", "--cacheinfo", f"160000,{absent},third/mid")
    nested.git("commit", "--quiet", "--message", "bump")
    with pytest.raises(BuildError, match=f"third/mid needs commit {absent[:12]}") as raised:
        checked_out(nested, "HEAD", tmp_path / "tree")
    assert raised.value.hint == f"git -C {nested.path}/third/mid fetch origin {absent}"


def test_a_submodule_name_that_leaves_the_git_folder_is_refused(
    nested: GitFolder, tmp_path: Path
) -> None:
    text = (nested.path / ".gitmodules").read_text().replace("the middle", "../../../middle")
    nested.commit({".gitmodules": text})
    with pytest.raises(BuildError, match="refused"):
        checked_out(nested, "HEAD", tmp_path / "tree")


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize {}\n"


@pytest.fixture
def lfs(tmp_path: Path) -> GitFolder:
    """A repository of two LFS files, of which the clone has one; made without git-lfs."""
    folder = GitFolder.make(tmp_path / "lfs")
    here, gone = b"weights " * 1000, b"absent"
    oid = hashlib.sha256(here).hexdigest()
    stored = folder.path / ".git/lfs/objects" / oid[:2] / oid[2:4] / oid
    stored.parent.mkdir(parents=True)
    stored.write_bytes(here)
    folder.commit(
        {
            ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n",
            "here.bin": POINTER.format(oid, len(here)),
            "gone.bin": POINTER.format(hashlib.sha256(gone).hexdigest(), len(gone)),
            "plain.bin": "no pointer\n",
        }
    )
    folder.git("tag", "v1")
    return folder


def test_lfs_files_have_the_content_the_clone_has(lfs: GitFolder, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    lacks = checked_out(lfs, "HEAD", tree)
    assert (tree / "here.bin").read_bytes() == b"weights " * 1000
    assert (tree / "plain.bin").read_text() == "no pointer\n"
    assert [lack.path for lack in lacks] == ["gone.bin"]
    assert (tree / "gone.bin").read_text().startswith("version https://git-lfs")
    assert GitFolder(tree).git("describe", "--dirty", "--tags") == "v1"


def test_an_lfs_file_that_has_come_since_is_noticed(lfs: GitFolder, tmp_path: Path) -> None:
    repository = Repository.open(lfs.path)
    lacks = checked_out(lfs, "HEAD", tmp_path / "tree")
    assert still_lacking(repository, lacks)
    oid = hashlib.sha256(b"absent").hexdigest()
    stored = lfs.path / ".git/lfs/objects" / oid[:2] / oid[2:4] / oid
    stored.parent.mkdir(parents=True)
    stored.write_bytes(b"absent")
    assert not still_lacking(repository, lacks)


def test_a_full_disk_is_an_error_with_its_mend(origin: GitFolder, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    origin.commit({"large": os.urandom(2 << 20).hex()})
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        missing("a small tmpfs cannot be mounted")
    try:
        with pytest.raises(BuildError, match=r"unable to write file large .* MiB free") as raised:
            checked_out(origin, "HEAD", small / "tree")
    finally:
        subprocess.run(["umount", str(small)], check=True)
    assert "CIWM_CACHE_DIR" in raised.value.hint
