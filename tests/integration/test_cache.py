"""The cache: what it holds, what it may drop, and what a killed or concurrent job leaves."""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from ciwm.errors import EnvironmentFailure
from ciwm.launch import cache

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CIWM_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def entry(name: str, *, age_s: float = 0, kind: cache.Kind = "builds", kib: int = 100) -> Path:
    """A finished entry of some size that was last used some time ago."""
    path = cache.kind_directory(kind) / name
    path.mkdir()
    (path / "data").write_bytes(os.urandom(kib * 1024))
    (path / cache.RECORD).write_text("{}")
    used = time.time() - age_s
    os.utime(path, (used, used))
    return path


def test_the_root_is_the_one_named_or_the_users_and_always_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cache.cache_root() == tmp_path / "cache"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CIWM_CACHE_DIR", "near")
    assert cache.cache_root() == tmp_path / "near"
    monkeypatch.delenv("CIWM_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.cache_root() == tmp_path / "xdg" / "ciwm"
    assert (tmp_path / "xdg" / "ciwm").stat().st_mode & 0o077 == 0  # logs are nobody else's


def test_sizes_are_those_of_du(root: Path) -> None:
    path = entry("one", kib=300)
    (path / "deep").mkdir()
    (path / "deep" / "small").write_text("x")
    os.link(path / "data", path / "deep" / "same")
    (path / "dangling").symlink_to("/nowhere")
    du = subprocess.run(["du", "-s", "-B1", str(path)], capture_output=True, text=True, check=True)
    assert cache.disk_usage_bytes(path) == int(du.stdout.split()[0])
    assert root in path.parents


def test_the_longest_unused_go_first_until_the_rest_fits() -> None:
    old, older, new = entry("b", age_s=200), entry("a", age_s=300), entry("c", age_s=1)
    removed = cache.evict(["builds"], limit_bytes=250 * 1024)
    assert [removal.entry.path for removal in removed] == [older]
    assert (old.exists(), older.exists(), new.exists()) == (True, False, True)


def test_what_nobody_used_for_that_long_goes() -> None:
    old, new = entry("a", age_s=3600), entry("b", age_s=60)
    removed = cache.evict(["builds"], older_than_s=600)
    assert [removal.entry.path for removal in removed] == [old]
    assert new.exists()


def test_other_kinds_stay() -> None:
    build, run = entry("a"), entry("a", kind="runs")
    cache.evict(["builds", "worktrees"], limit_bytes=-1)
    assert (build.exists(), run.exists()) == (False, True)


def test_using_an_entry_makes_it_the_last_to_go() -> None:
    first, second = entry("a", age_s=300), entry("b", age_s=200)
    cache.mark_used(first)
    assert [found.path for found in cache.entries("builds")] == [second, first]


def test_a_half_made_entry_is_the_first_to_go() -> None:
    done, half = entry("a", age_s=300), entry("b")
    (half / cache.RECORD).unlink()
    removed = cache.evict(["builds"], limit_bytes=150 * 1024)
    assert [removal.entry.path for removal in removed] == [half]
    assert done.exists()


@pytest.mark.parametrize("shared", [True, False])
def test_what_is_locked_stays_and_the_next_one_goes(shared: bool) -> None:  # noqa: FBT001  a case
    used, next_one = entry("a", age_s=300), entry("b", age_s=200)
    lock = cache.entry_lock("builds", "a")
    assert lock.take(shared=shared)
    removed = cache.evict(["builds"], limit_bytes=150 * 1024)
    assert {r.entry.path: bool(r.kept_because) for r in removed} == {used: True, next_one: False}
    lock.release()
    assert not cache.evict(["builds"], limit_bytes=-1)[0].kept_because
    assert not used.exists()


def test_a_dry_run_tells_the_same_and_changes_nothing() -> None:
    paths = [entry("a", age_s=300), entry("b", age_s=200), entry("c", age_s=1)]
    before = [found.used_at for found in cache.entries("builds")]
    told = cache.evict(["builds"], limit_bytes=150 * 1024, dry_run=True)
    assert all(path.exists() for path in paths)
    assert [found.used_at for found in cache.entries("builds")] == before
    done = cache.evict(["builds"], limit_bytes=150 * 1024)
    assert [r.entry.name for r in told] == [r.entry.name for r in done] == ["a", "b"]


def test_folders_without_write_permission_are_removed(root: Path) -> None:
    locked = entry("a") / "modules"
    locked.mkdir()
    (locked / "file").touch()
    locked.chmod(0o500)
    assert cache.evict(["builds"], limit_bytes=-1)[0].kept_because == ""
    assert list((root / "trash").iterdir()) == []


def test_what_a_kill_left_in_the_trash_goes_with_the_next_eviction(root: Path) -> None:
    cache.discard(entry("a"))
    (root / "trash" / "left").mkdir()
    (root / "trash" / "left" / "file").touch()
    cache.evict(["builds"], limit_bytes=0)
    assert list((root / "trash").iterdir()) == []


def test_links_and_stray_files_are_no_entries(tmp_path: Path) -> None:
    outside = tmp_path / "precious"
    outside.mkdir()
    (cache.kind_directory("builds") / "link").symlink_to(outside)
    (cache.kind_directory("builds") / "file").touch()
    assert cache.entries("builds") == []
    cache.evict(["builds"], limit_bytes=-1)
    assert outside.exists()


def test_a_waiter_never_holds_the_lock_of_an_entry_that_was_removed() -> None:
    entry("a")
    waiter = cache.entry_lock("builds", "a")
    remover = cache.entry_lock("builds", "a")
    assert remover.take()
    assert not waiter.take(timeout_s=0)  # has the old lock file open
    remover.path.unlink()
    remover.release()
    assert waiter.take(timeout_s=5)
    assert not cache.entry_lock("builds", "a").take(timeout_s=0)
    waiter.release()


def test_a_cache_folder_that_is_a_file_is_an_error_with_its_mend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("CIWM_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(EnvironmentFailure, match="cannot make the cache folder") as raised:
        cache.cache_root()
    assert "CIWM_CACHE_DIR" in raised.value.hint
