"""Which two commits are compared, and where their histories part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.errors import GitError, UsageError
from ciwm.git import without_credentials
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from ciwm.config import UpstreamConfig
    from ciwm.git import Repository

BRANCHES = ("main", "master")
SHOWN = 8  # branches named in an error
UNRELATED_HINT = (
    "a fork whose history was cut: name the upstream commit whose work it holds, [upstream] "
    'synced_to = "SHA"; a plugin: style = "plugin", with pin; a patch queue: patches = "FOLDER"'
)


@dataclass(frozen=True)
class Pair:
    """The commits compared, as they were named and as full ids."""

    upstream_ref: str
    upstream: str
    downstream_ref: str
    downstream: str

    @property
    def sides(self) -> str:
        """Both histories without what they share; `<` is upstream's, `>` the downstream's."""
        return f"{self.upstream}...{self.downstream}"


def find_pair(
    repository: Repository, upstream: str | None, downstream: str, config: UpstreamConfig
) -> Pair:
    """The two commits; raises UsageError for one that is not there, GitError when shallow."""
    downstream_sha = _downstream_commit(repository, downstream)
    ref = upstream if upstream is not None else upstream_ref(repository, config)
    pair = Pair(ref, repository.commit(ref), downstream, downstream_sha)
    if repository.is_shallow:
        raise _shallow(repository, pair, config)
    return pair


def _downstream_commit(repository: Repository, downstream: str) -> str:
    try:
        return repository.commit(downstream)
    except UsageError:
        branch = repository.run("symbolic-ref", "--quiet", "--short", "HEAD", check=False)
        if downstream != "HEAD" or branch.status != 0:
            raise
        raise UsageError(
            f"the branch {branch.text.strip()} has no commit yet",
            "check out the downstream's branch, or name a revision: --downstream REV",
        ) from None


def upstream_ref(repository: Repository, config: UpstreamConfig) -> str:
    """The upstream branch that configuration or the remotes say; UsageError when none does."""
    remote = config.remote or _remote_with(repository, config.url) or "upstream"
    prefix = f"refs/remotes/{remote}/"
    refs = repository.lines("for-each-ref", "--format=%(refname)", prefix)
    if not refs:
        raise _no_remote(repository, remote, config)
    branches = [ref.removeprefix(prefix) for ref in refs]
    stated = "branch" in config.model_fields_set
    for branch in (config.branch,) if stated else (config.branch, *BRANCHES, "HEAD"):
        if branch in branches:
            return f"{remote}/{branch}"
    more = f" and {len(branches) - SHOWN} more" if len(branches) > SHOWN else ""
    raise UsageError(
        f"the remote {remote} has no branch {config.branch} here "
        f"(there are: {', '.join(branches[:SHOWN])}{more})",
        f"git fetch {remote}, or name a revision: ciwm sync-report REV",
    )


def _remote_with(repository: Repository, url: str | None) -> str | None:
    """The remote with the configured URL, under whatever name it was added."""
    if url is None:
        return None
    found = repository.run("config", "-z", "--get-regexp", r"^remote\..*\.url$", check=False)
    for entry in found.text.split("\0")[:-1]:
        key, _, value = entry.partition("\n")
        if _plain_url(value) == _plain_url(url):
            return key.removeprefix("remote.").removesuffix(".url")
    return None


def _plain_url(url: str) -> str:
    return url.rstrip("/").removesuffix(".git").lower()


def _no_remote(repository: Repository, remote: str, config: UpstreamConfig) -> UsageError:
    remotes = repository.lines("remote")
    if remote in remotes:
        return UsageError(f"the remote {remote} was never fetched", f"git fetch {remote}")
    add = f"git remote add {remote} {config.url or 'URL'} && git fetch {remote}"
    if config.url is not None and config.remote is None:
        return _not_fetched(config.url, remote, config.branch)
    there = f"(remotes: {', '.join(remotes) or 'none'})"
    if config.remote is not None:
        return UsageError(f"there is no remote {remote}, which [upstream] names {there}", add)
    return UsageError(
        f"which upstream? there is no remote named upstream {there}",
        f"{add}, or name a revision: ciwm sync-report REV",
    )


def _not_fetched(url: str, remote: str, branch: str) -> UsageError:
    shown = without_credentials(url)
    return UsageError(
        f"{shown}, which [upstream] url names, was not fetched: no remote has that address",
        f"git remote add {remote} {shown} && git fetch {remote} {branch}, "
        "or name a revision: ciwm sync-report REV",
    )


def _shallow(repository: Repository, pair: Pair, config: UpstreamConfig) -> GitError:
    """Which remotes to unshallow: those whose side of the history is cut."""
    cut = set((repository.common_directory / "shallow").read_text(encoding="ascii").split())
    remotes = repository.lines("remote")
    named = pair.upstream_ref.removeprefix("refs/remotes/").split("/")[0]
    theirs = named if named in remotes else config.remote or "upstream"
    ours = "origin" if "origin" in remotes else theirs
    commands = []
    for remote, sha in ((ours, pair.downstream), (theirs, pair.upstream)):
        roots = repository.lines("rev-list", "--max-parents=0", sha)
        command = f"`git fetch --unshallow {remote}`"
        if cut & set(roots) and command not in commands:
            commands.append(command)
    return GitError(
        "this clone is shallow: its history is cut off, so nothing can be counted",
        f"run {' and '.join(commands) or f'`git fetch --unshallow {ours}`'}",
    )


def merge_bases(repository: Repository, pair: Pair) -> tuple[str, ...]:
    """All best common ancestors, the one git uses first; raises UsageError when there is none."""
    found = read(repository, "merge-base", "--all", pair.upstream, pair.downstream, accept=(1,))
    bases = tuple(found.text.split())
    if not bases:
        raise UsageError(
            f"{pair.downstream_ref} and {pair.upstream_ref} share no history: no merge base",
            UNRELATED_HINT,
        )
    return bases
