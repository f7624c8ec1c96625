"""Tomorrow's bump today: the newest upstream merged or pinned, built, measured against base."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ciwm.config import find_config
from ciwm.errors import NO, GitError, UsageError
from ciwm.report.figures import plural
from ciwm.story.files_at import config_at
from ciwm.story.job import Asked, Job, bump_of
from ciwm.story.story import Story
from ciwm.story.telling import tell
from ciwm.story.upstream_side import UpstreamSide, upstream_side
from ciwm.upstream.pin_writing import committed_move, moved_pin
from ciwm.upstream.plugin import is_plugin

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from ciwm.config import UpstreamConfig
    from ciwm.git import Repository
    from ciwm.records import BumpReport
    from ciwm.story.bump import Part

PREVIEW_REF = "refs/ciwm/preview"
_IDENTITY = {
    "GIT_AUTHOR_NAME": "ciwm",
    "GIT_AUTHOR_EMAIL": "ciwm@localhost",
    "GIT_COMMITTER_NAME": "ciwm",
    "GIT_COMMITTER_EMAIL": "ciwm@localhost",
}
_NEEDED_GIT = (2, 38)


@dataclass(frozen=True)
class Preview:
    """What is to be previewed; `name` and `run_url` are the job's, where there is one."""

    repository: Repository
    base: str
    upstream: str | None
    fetch: bool
    directory: Path
    seed: int | None
    culprits_s: float
    name: str | None = None
    run_url: str | None = None
    in_actions: bool = False  # where a fetch that fails must not go unnoticed


@dataclass(frozen=True)
class Watched:
    """Who watches: what stops it, who is told, and how the log is folded."""

    stop: threading.Event
    say: Callable[[str], None]
    fold: Callable[[str], AbstractContextManager[None]]


def preview(asked: Preview, watched: Watched) -> BumpReport:
    """The report of merging upstream into base, or of moving a plugin's pin to it.

    Exit code 1 where they conflict. Writes objects and refs/ciwm/* into the repository; no branch,
    index or work tree changes. Raises UsageError without an upstream, GitError where git cannot
    merge.
    """
    repository = asked.repository
    base = repository.commit(asked.base)
    config = (config_at(repository, base) or find_config(repository.path)).upstream
    if is_plugin(config):
        return _pin_moved(asked, watched, base, config)
    side = _upstream(asked, config, watched.say)
    tip = repository.commit(side.ref or "")
    if _holds(repository, base, tip):
        return _told(asked, watched, side, base, base)
    merged = _merge(repository, base, tip, side.name)
    if merged is None:
        return _conflicting(_told(asked, watched, side, base, base))
    watched.say(f"{side.name} ({tip[:12]}) merges into {base[:12]}: {merged[:12]}")
    return _told(asked, watched, side, base, merged)


def _pin_moved(asked: Preview, watched: Watched, base: str, config: UpstreamConfig) -> BumpReport:
    """The report of the pin moved to the newest upstream that the clone has."""
    repository = asked.repository
    move = moved_pin(repository, base, config, asked.upstream)
    side = UpstreamSide(move.sha, move.new)
    if move.tree is None:
        return _told(asked, watched, side, base, base)
    message = f"Move the upstream pin to {move.new}, as a preview"
    ours = repository.with_variables(**_IDENTITY)
    head = committed_move(ours, base, move, message)
    ours.run("update-ref", PREVIEW_REF, head)
    watched.say(f"the pin moves from {move.old} to {move.new} ({move.sha[:12]}): {head[:12]}")
    return _told(asked, watched, side, base, head)


def _upstream(asked: Preview, config: UpstreamConfig, say: Callable[[str], None]) -> UpstreamSide:
    if asked.upstream is not None:
        return UpstreamSide(asked.upstream, asked.upstream)
    if config.style == "patches" or config.patches is not None:
        raise UsageError(
            "upstream is not merged into a patch queue",
            "ciwm sync-report tells which patches still apply",
        )
    side = upstream_side(
        asked.repository, config, say, fetch=asked.fetch, must_fetch=asked.in_actions
    )
    if side.ref is None:
        raise UsageError(side.why_not, "[upstream] url or remote in ciwm.toml, or --upstream REV")
    return side


def _holds(repository: Repository, tip: str, commit: str) -> bool:
    return repository.run("merge-base", "--is-ancestor", commit, tip, check=False).status == 0


def _merge(repository: Repository, base: str, tip: str, upstream: str) -> str | None:
    """A commit that merges the two, kept by a ref of ours; None where they conflict."""
    if repository.version < _NEEDED_GIT:
        raise GitError("a merge without a work tree takes git 2.38 or newer", "update git")
    done = repository.from_top().run("merge-tree", "--write-tree", "-z", base, tip, check=False)
    tree = re.search(r"(?:[0-9a-f]{64}|[0-9a-f]{40})$", done.text.split("\0", 1)[0])
    if done.status not in (0, 1) or tree is None:
        said = done.stderr.strip().splitlines()
        raise GitError(f"git cannot merge {upstream}: {said[-1] if said else 'no message'}")
    if done.status == 1:
        return None
    ours = repository.with_variables(**_IDENTITY)
    message = f"Merge {upstream} ({tip[:12]}), as a preview"
    commit = ours.text("commit-tree", tree[0], "-p", base, "-p", tip, "-m", message)
    ours.run("update-ref", PREVIEW_REF, commit)
    return commit


def _told(asked: Preview, watched: Watched, side: UpstreamSide, base: str, head: str) -> BumpReport:
    only: Part | None = "sync" if head == base else None
    job = Job(
        repository=asked.repository,
        event=None,
        asked=Asked(base, head, side.ref, None, False, asked.directory, asked.seed, {}, only),  # noqa: FBT003
        token=None,
        say=watched.say,
    )
    bump = bump_of(job)
    effort = bump.config.sync.model_copy(update={"culprits_s": asked.culprits_s})
    named = replace(
        bump,
        config=bump.config.model_copy(update={"sync": effort}),
        base=bump.base.model_copy(update={"ref": asked.base}),
        head=bump.head.model_copy(update={"ref": asked.base if head == base else PREVIEW_REF}),
        name=asked.name or bump.name,
        run_url=asked.run_url,
        upstream_name=side.name,
    )
    return tell(Story(named, watched.stop, watched.say, watched.fold))


def _conflicting(report: BumpReport) -> BumpReport:
    """A merge that a person has to make is a no, however fine everything else is."""
    conflicts = report.sync_base.conflicts if report.sync_base else None
    files = f" in {plural(conflicts.count, 'file')}" if conflicts else ""
    headline = f"The newest upstream does not merge: conflicts{files}"
    changes = {"headline": headline, "conclusion": "failure", "exit_code": report.exit_code or NO}
    return report.model_copy(update=changes)
