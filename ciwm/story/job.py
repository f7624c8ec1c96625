"""From an event of the CI system, or two named revisions, to the bump that is told."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ciwm.bench.place import NO_MATRIX, Place
from ciwm.bench.run_file import read_run
from ciwm.errors import GitError, UsageError
from ciwm.story.bump import Bump
from ciwm.story.files_at import waivers_at
from ciwm.story.job_config import configs
from ciwm.story.revisions import (
    BASE_REF,
    HEAD_REF,
    Compared,
    fetch_origin,
    fetching,
    named,
    of_pull_request,
    of_push,
)
from ciwm.story.upstream_side import UpstreamSide, upstream_side

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ciwm.actions import Event
    from ciwm.config import Config
    from ciwm.git import Repository
    from ciwm.records.run import Run
    from ciwm.story.bump import Part


@dataclass(frozen=True)
class Asked:
    """What the command line or the action's inputs ask for; None means what the event implies."""

    base: str | None
    head: str | None
    upstream: str | None
    config: Path | None
    fetch: bool
    directory: Path
    seed: int | None
    policy: dict[str, Any]
    only: Part | None = None
    coverage_base: tuple[Path, ...] = ()
    coverage_head: tuple[Path, ...] = ()
    place: Place = NO_MATRIX
    confirms: Path | None = None


@dataclass(frozen=True)
class Job:
    """What is known before anything is compared."""

    repository: Repository
    event: Event | None
    asked: Asked
    token: str | None
    say: Callable[[str], None]
    warnings: list[str] = field(default_factory=list)  # what the report says at its head

    @property
    def reading(self) -> Repository:
        """The repository, which fetches what a partial clone left out, where we may fetch."""
        return fetching(self.repository, self.token) if self.asked.fetch else self.repository


def bump_of(job: Job) -> Bump:
    """Fetch what is missing and decide what is compared; raises CiwmError when it cannot be."""
    event, asked = job.event, job.asked
    _refuse_strangers_code(event, asked)
    tip = _fetch_base(job, event) if asked.fetch and event is not None else None
    compared = _compared(job)
    config, base_config = configs(job, compared)
    job.say(
        f"comparing {compared.head.ref} with {compared.base.ref}: {compared.why} "
        f"({compared.base.sha[:12]} -> {compared.head.sha[:12]})"
    )
    upstream = _upstream(job, config)
    if asked.fetch and asked.only in (None, "sync") and upstream.ref is not None:
        _fill(job, compared, upstream.ref, config)
    return Bump(
        repository=job.repository,
        base=compared.base,
        head=compared.head,
        config=config,
        base_config=base_config,
        upstream=upstream.ref,
        upstream_name=upstream.name,
        no_upstream=upstream.why_not,
        directory=asked.directory,
        seed=random.randrange(2**31) if asked.seed is None else asked.seed,
        name=event.repository if event else job.repository.path.name,
        pull_request=event.pull_request.number if event and event.pull_request else None,
        check_sha=compared.check_sha,
        run_url=event.run_url if event else None,
        keep=_keeper(job, config),
        history=_historian(job, base_config, compared.base.sha),
        only=asked.only,
        coverage_base=asked.coverage_base,
        coverage_head=asked.coverage_head,
        first=None if asked.confirms is None else read_run(asked.confirms),
        # the branch as it is now: a waiver merged meanwhile counts for a job that is run again
        waivers=waivers_at(job.reading, tip or compared.base.sha),
        place=asked.place,
        warnings=tuple(job.warnings),
    )


def _refuse_strangers_code(event: Event | None, asked: Asked) -> None:
    """Raise UsageError for the event that gives a fork's code our secrets; git may be read."""
    pull = event.pull_request if event is not None else None
    privileged = event is not None and event.name == "pull_request_target"
    if privileged and pull is not None and pull.from_fork and asked.only != "sync":
        raise UsageError(
            "a fork's code is not run for pull_request_target, where it would have this "
            "repository's secrets and its token",
            "use the event pull_request, and the pair of workflows for forks (docs/forks.md)",
        )


def _fill(job: Job, compared: Compared, upstream: str, config: Config) -> None:
    """Bring what a partial clone left out and the sync cost reads: else no budget is kept."""
    if not job.repository.is_partial:
        return
    from ciwm.upstream.fetching import fetch_missing  # noqa: PLC0415

    job.say("fetching the file contents that this partial clone left out")
    online = fetching(job.repository, job.token)
    for side in (compared.head, compared.base):
        for note in fetch_missing(online, upstream, downstream=side.sha, config=config.upstream):
            job.say(f"warning: {note}")


def _fetch_base(job: Job, event: Event) -> str | None:
    """Complete the history, and bring the base branch or the pushed commit.

    The tip of a pull request's base branch; None where there is none, or it could not be fetched.
    """
    pull, repository = event.pull_request, job.repository
    if pull is not None:
        wanted = f"+refs/heads/{pull.base_ref}:{BASE_REF}"
    elif event.after is not None and repository.is_shallow:
        wanted = f"+{event.after}:{HEAD_REF}"
    else:
        return None
    try:
        fetch_origin(repository, [wanted], token=job.token, say=job.say)
    except GitError as error:
        # what is here may do: whether it does shows when the revisions are looked up
        job.say(f"warning: {error.message}")
        return None
    return repository.commit(BASE_REF) if pull is not None else None


def _compared(job: Job) -> Compared:
    asked, event = job.asked, job.event
    if asked.base is not None and asked.head is not None:
        return named(job.repository, asked.base, asked.head)
    implied = _implied(job.repository, event)
    if asked.base is None and asked.head is None:
        return implied
    base, head = asked.base or implied.base.sha, asked.head or implied.head.sha
    return named(job.repository, base, head)


def _implied(repository: Repository, event: Event | None) -> Compared:
    if event is not None and event.pull_request is not None:
        return of_pull_request(repository, event.pull_request)
    if event is not None and event.before and event.after:
        return of_push(repository, event.before, event.after)
    what = f"the event {event.name}" if event else "without an event of GitHub Actions, nothing"
    raise UsageError(
        f"{what} implies no base and head", "name both: --base REV --head REV (inputs base, head)"
    )


def _upstream(job: Job, config: Config) -> UpstreamSide:
    asked = job.asked
    if asked.upstream is not None:
        return UpstreamSide(asked.upstream, asked.upstream)
    in_actions = job.event is not None
    return upstream_side(
        job.repository, config.upstream, job.say, fetch=asked.fetch, must_fetch=in_actions
    )


def _historian(job: Job, config: Config, base: str) -> Callable[[str], Sequence[Run]]:
    """The kept runs of a machine, which are asked of origin where we may fetch in a job."""
    asks = job.asked.fetch and job.event is not None
    remote = ("origin", job.token) if asks else None

    def runs(machine: str) -> Sequence[Run]:
        from ciwm.story.trends import runs_before  # noqa: PLC0415  not every bump has a history

        return runs_before(job.repository, config, base, machine, remote=remote)

    return runs


def _keeper(job: Job, config: Config) -> Callable[[Run], str] | None:
    """Only a push to a branch may write history; a pull request's job never does."""
    event = job.event
    if event is None or event.name != "push" or not (event.ref or "").startswith("refs/heads/"):
        return None
    from ciwm.store import open_store  # noqa: PLC0415

    store = open_store(config.store.url, job.repository)

    def keep(run: Run) -> str:
        path = store.add(run)
        store.push("origin", job.token)
        return path

    return keep
