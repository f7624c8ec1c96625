"""Builds: one revision, one recipe, one interpreter; made once and shared by all jobs of a host."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ciwm.credentials import masker
from ciwm.errors import BuildError, CiwmError
from ciwm.launch.cache import RECORD, discard, entry_lock, evict, kind_directory, mark_used
from ciwm.launch.files import refuse_unrecordable
from ciwm.launch.interpreter import find_python
from ciwm.launch.recipe import LACKING, Job, build_key, make, recipe_environment
from ciwm.launch.worktree import Lack, still_lacking
from ciwm.records import BuildRecord, read_record

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from ciwm.config import BuildConfig
    from ciwm.git import Repository
    from ciwm.launch.cache import Kind
    from ciwm.launch.flock import Flock
    from ciwm.records.build import Revision

__all__ = ["build", "hold_build", "recipe_environment", "release_builds"]

NAME_DIGITS = 20

_held: dict[Path, Flock] = {}  # builds this process uses: shared locks keep them from eviction


def build(
    repository: Repository,
    revision: Revision,
    recipe: BuildConfig,
    *,
    on_line: Callable[[str], None] | None = None,
    stop: threading.Event | None = None,
    fresh: bool = False,
) -> BuildRecord:
    """The build of a revision: taken from the cache, or made now; `fresh` makes it anew.

    A recipe that fails, takes too long or is stopped is a record that says so. What the build
    needs of this machine and does not find (disk, sh, Python, objects) raises BuildError. The
    build is safe from eviction until this process ends or calls `release_builds`.
    """
    refuse_unrecordable((repository.root or repository.path).absolute(), "the repository")
    job = _job(repository, revision, recipe, on_line, stop)
    try:
        record = _cached_or_made(job, fresh=fresh)
        if record.status != "cached":
            _make_room(job)
    except OSError as error:
        hint = "set CIWM_CACHE_DIR to a folder we may write to"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            hint = "make room (ciwm clean), or set CIWM_CACHE_DIR to a folder on another disk"
        reason = error.strerror or str(error)
        raise BuildError(f"cannot build in {job.directory}: {reason}", hint) from error
    return record


def hold_build(record: BuildRecord) -> None:
    """Keep a build of an earlier call from eviction, as `build` does with what it returns.

    Raises BuildError when it is gone from the cache, or was made anew since.
    """
    directory = Path(record.directory).parent
    if directory in _held:
        return
    lock = entry_lock(cast("Kind", directory.parent.name), directory.name)
    if not lock.take(shared=True, timeout_s=0):
        raise BuildError(f"{directory} is being made or removed by {lock.holder()}")
    try:
        found = read_record(directory / RECORD, BuildRecord)
    except CiwmError as error:
        lock.release()
        raise BuildError(f"the build in {directory} is gone") from error
    if (found.key, found.duration_s) != (record.key, record.duration_s):
        lock.release()
        raise BuildError(f"the build in {directory} was made anew since")
    mark_used(directory)
    _held[directory] = lock


def release_builds() -> None:
    """Let go of all builds this process has used: they may be evicted from now on."""
    while _held:
        _held.popitem()[1].release()


def _job(
    repository: Repository,
    revision: Revision,
    recipe: BuildConfig,
    on_line: Callable[[str], None] | None,
    stop: threading.Event | None,
) -> Job:
    kind: Kind = "builds" if recipe.command or recipe.venv else "worktrees"
    search_path = recipe_environment(recipe).get("PATH", os.defpath)
    named = os.path.expanduser(recipe.python)  # noqa: PTH111  "python3" is no path
    made_by_recipe = "/" in named and not named.startswith("/")
    python = None if made_by_recipe else find_python(named, search_path)
    key = build_key(revision.tree, recipe, python)
    say, mask = on_line or (lambda _line: None), masker()
    return Job(
        repository=repository,
        revision=revision,
        recipe=recipe,
        python=python,
        key=key,
        directory=kind_directory(kind) / key[:NAME_DIGITS],
        lock=entry_lock(kind, key[:NAME_DIGITS]),
        say=lambda line: say(mask(line)),
        stop=stop,
    )


def _cached_or_made(job: Job, *, fresh: bool) -> BuildRecord:
    held = _held.pop(job.directory, None)
    if held is not None:
        held.release()
    lock = job.lock
    try:
        while True:
            if not fresh and _take(job, shared=True):
                found = _usable(job)
                if found is not None:
                    return _kept(job, found)
                lock.release()
            if not _take(job, shared=False):
                return job.record("interrupted")
            record = (None if fresh else _usable(job)) or _made(job)
            if not record.ok or lock.share():
                return _kept(job, record)
            fresh = False  # another process got in between and removed it: look again
    except BaseException:
        lock.release()
        raise


def _take(job: Job, *, shared: bool) -> bool:
    return job.lock.take(
        shared=shared,
        on_wait=lambda holder: job.say(f"ciwm: waiting for {job.directory.name}: used by {holder}"),
        stop=job.stop,
    )


def _kept(job: Job, record: BuildRecord) -> BuildRecord:
    """The record, its lock held on when the build can be used."""
    mark_used(job.directory)
    if record.ok:
        _held[job.directory] = job.lock
    else:
        job.lock.release()
    return record


def _make_room(job: Job) -> None:
    """Keep the cache under its cap."""
    limit_bytes = job.recipe.cache_limit_gib * 2**30
    for removal in evict(("builds", "worktrees"), limit_bytes=limit_bytes):
        if not removal.kept_because:
            job.say(f"ciwm: the cache was over its cap: removed {removal.entry.name}")


def _made(job: Job) -> BuildRecord:
    discard(job.directory)
    record = make(job)
    half = job.directory / f"{RECORD}.part"
    half.write_text(record.to_json(), encoding="utf-8")
    half.rename(job.directory / RECORD)
    return record


def _usable(job: Job) -> BuildRecord | None:
    """The finished build in the cache, unless a part of it is gone or could be had by now."""
    path = job.directory / RECORD
    try:
        record = read_record(path, BuildRecord)
        lacks = json.loads((job.directory / LACKING).read_text(encoding="utf-8"))
    except (CiwmError, OSError, ValueError):
        return None
    present = job.tree.is_dir() and os.access(job.python_path, os.X_OK)
    if not (record.ok and record.key == job.key and present):
        return None
    if not still_lacking(job.repository, tuple(Lack(**lack) for lack in lacks)):
        return None
    return record.model_copy(update={"status": "cached", "revision": job.revision})
