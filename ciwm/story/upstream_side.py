"""Which upstream a bump is compared with: found as `ciwm sync-report` finds it, fetched if asked.

What is fetched goes to refs/ciwm/upstream alone; remote-tracking branches stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.errors import GitError, UsageError
from ciwm.git import without_credentials
from ciwm.story.revisions import UPSTREAM_REF, fetch_upstream
from ciwm.upstream.pair import upstream_ref

if TYPE_CHECKING:
    from collections.abc import Callable

    from ciwm.config import UpstreamConfig
    from ciwm.git import Repository

REMOTE = "upstream"  # the name by custom, where nothing is configured
NOT_CONFIGURED = "no upstream is configured, and there is no remote named upstream"


@dataclass(frozen=True)
class UpstreamSide:
    """A revision of upstream's and its name for people; without one, why there is none."""

    ref: str | None
    name: str
    why_not: str = ""


def upstream_side(
    repository: Repository,
    config: UpstreamConfig,
    say: Callable[[str], None],
    *,
    fetch: bool,
    must_fetch: bool,
) -> UpstreamSide:
    """The upstream of the configuration, else the remote named upstream.

    A fetch that fails raises GitError when it must succeed, else what is here already will do.
    """
    stated = _with_detected(repository, config)
    source = stated.remote or without_credentials(stated.url or "")
    if not source:
        return UpstreamSide(None, "", NOT_CONFIGURED)
    name = f"{source}/{stated.branch}"
    if fetch:
        try:
            return UpstreamSide(fetch_upstream(repository, stated, say), name)
        except GitError as error:
            if must_fetch:
                raise
            say(f"warning: {error.message}; going on with what is here")
    if _is_here(repository, UPSTREAM_REF):
        return UpstreamSide(UPSTREAM_REF, name)
    if stated.remote is not None:
        return UpstreamSide(f"{stated.remote}/{stated.branch}", name)
    return _tracked(repository, stated, name)


def _with_detected(repository: Repository, config: UpstreamConfig) -> UpstreamConfig:
    """The configuration with the remote and the branch that sync-report would find."""
    if config.remote is None and config.url is None:
        if REMOTE not in repository.lines("remote"):
            return config
        config = config.model_copy(update={"remote": REMOTE})
    if config.remote is None or "branch" in config.model_fields_set:
        return config
    try:
        branch = upstream_ref(repository, config).removeprefix(f"{config.remote}/")
    except UsageError:
        return config  # never fetched: whether the branch is there, the fetch will tell
    return config if branch == "HEAD" else config.model_copy(update={"branch": branch})


def _tracked(repository: Repository, config: UpstreamConfig, name: str) -> UpstreamSide:
    """The branch of a remote that has the configured address, under whatever name."""
    try:
        return UpstreamSide(upstream_ref(repository, config), name)
    except UsageError:
        return UpstreamSide(
            None, name, f"{name} is not here: let ciwm fetch it (--fetch), or name --upstream REV"
        )


def _is_here(repository: Repository, ref: str) -> bool:
    return repository.run("rev-parse", "--verify", "--quiet", ref, check=False).status == 0
