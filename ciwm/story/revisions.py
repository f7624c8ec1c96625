"""Which two revisions an event means, and fetching what a shallow checkout lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.errors import GitError, UsageError
from ciwm.git import token_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ciwm.actions import PullRequest
    from ciwm.config import UpstreamConfig
    from ciwm.git import Repository
    from ciwm.records.build import Revision

BASE_REF = "refs/ciwm/base"
HEAD_REF = "refs/ciwm/head"
UPSTREAM_REF = "refs/ciwm/upstream"


@dataclass(frozen=True)
class Compared:
    """The two sides, the commit the check belongs to, and why these."""

    base: Revision
    head: Revision
    check_sha: str
    why: str


def named(repository: Repository, base: str, head: str) -> Compared:
    """The two revisions the user named; raises UsageError when one does not exist."""
    head_revision = repository.revision(head)
    return Compared(repository.revision(base), head_revision, head_revision.sha, "as asked for")


def of_pull_request(repository: Repository, pull: PullRequest) -> Compared:
    """Base and head of a pull request.

    When HEAD is the merge GitHub tests, its first parent is the base, so that nothing merged
    meanwhile is blamed on the pull request; else the merge base with the base branch is.
    """
    name = f"refs/pull/{pull.number}"
    parents = repository.text("rev-list", "--parents", "--max-count=1", "HEAD").split()[1:]
    if len(parents) == 2 and parents[1] == pull.head_sha:  # noqa: PLR2004  a merge has two
        return Compared(
            _known_as(repository, parents[0], pull.base_ref),
            _known_as(repository, "HEAD", f"{name}/merge"),
            pull.head_sha,
            f"the pull request merged into {pull.base_ref}, against {pull.base_ref}",
        )
    candidates = (BASE_REF, f"refs/remotes/origin/{pull.base_ref}", pull.base_ref)
    tip = _first_known(repository, candidates)
    if tip is None:
        raise GitError(
            f"the base branch {pull.base_ref} is not in this checkout",
            f"git fetch origin {pull.base_ref}, or let ciwm fetch (input fetch: true)",
        )
    return Compared(
        _known_as(repository, _merge_base(repository, tip, pull.head_sha), pull.base_ref),
        _known_as(repository, pull.head_sha, f"{name}/head"),
        pull.head_sha,
        f"the pull request against its merge base with {pull.base_ref}",
    )


def _known_as(repository: Repository, revision: str, name: str) -> Revision:
    """A revision under the name by which everybody can fetch it."""
    return repository.revision(revision).model_copy(update={"ref": name})


def of_push(repository: Repository, before: str, after: str) -> Compared:
    """The pushed commit against the previous tip, or its first parent when there was none.

    The push of an annotated tag names the tag; what is compared is the commit it is of.
    """
    after = repository.commit(after)
    if _first_known(repository, (before,)) is not None:
        base, why = before, "the pushed commit against the previous tip"
    else:
        base, why = f"{after}^1", "the pushed commit against its first parent (no previous tip)"
    return Compared(repository.revision(base), repository.revision(after), after, why)


def fetch_origin(
    repository: Repository,
    refspecs: Sequence[str],
    *,
    token: str | None,
    say: Callable[[str], None],
) -> None:
    """Complete the history of a shallow checkout and fetch refs of origin into refs/ciwm/*.

    The token is used where origin is reached by http(s) and the checkout kept no credentials.
    Raises GitError when a ref cannot be fetched.
    """
    depth = ("--unshallow",) if repository.is_shallow else ()
    say(f"git fetch origin {' '.join(refspecs)}{' (completing the history)' if depth else ''}")
    _fetch(_authorized(repository, token), "origin", refspecs, *depth)


def _authorized(repository: Repository, token: str | None) -> Repository:
    url = repository.run("remote", "get-url", "origin", check=False).text.strip()
    kept = repository.run("config", "--get-regexp", r"^http\..*\.extraheader$", check=False)
    if token is None or kept.status == 0 or not url.startswith(("http://", "https://")):
        return repository
    return repository.with_settings(token_settings(url, token))


def fetching(repository: Repository, token: str | None) -> Repository:
    """The same repository, which fetches a missing object of a partial clone when it is read."""
    return _authorized(repository, token).with_variables(GIT_NO_LAZY_FETCH="0")


def fetch_upstream(
    repository: Repository, upstream: UpstreamConfig, say: Callable[[str], None]
) -> str | None:
    """Fetch the configured upstream branch and return its ref; None when none is configured."""
    source = upstream.url or upstream.remote
    if source is None:
        return None
    say(f"git fetch {source} {upstream.branch}")
    _fetch(repository, source, [f"+refs/heads/{upstream.branch}:{UPSTREAM_REF}"])
    return UPSTREAM_REF


def _fetch(repository: Repository, source: str, refspecs: Sequence[str], *options: str) -> None:
    quiet = (
        "--refmap=",
        "--no-tags",
        "--no-recurse-submodules",
        "--force",
        "--no-write-fetch-head",
    )
    repository.run("fetch", *quiet, *options, "--end-of-options", source, *refspecs)


def _first_known(repository: Repository, candidates: Sequence[str]) -> str | None:
    for candidate in candidates:
        try:
            return repository.commit(candidate)
        except UsageError:
            continue
    return None


def _merge_base(repository: Repository, one: str, other: str) -> str:
    found = repository.run("merge-base", one, other, check=False)
    if found.status != 0:
        raise GitError(
            f"{one[:12]} and {other[:12]} have no common commit here",
            "the checkout may be shallow: git fetch --unshallow origin",
        )
    return found.text.strip()
