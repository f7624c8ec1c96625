"""Upstream's repository, the pin, the target, and a scratch repository to apply patches in."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ciwm.errors import ConfigError, GitError, UsageError
from ciwm.git import Repository
from ciwm.upstream.grafts import borrowing
from ciwm.upstream.pair import BRANCHES, upstream_ref
from ciwm.upstream.pins import pinned_commit, read_pin
from ciwm.upstream.quiet import quiet
from ciwm.upstream.setting import repository_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ciwm.config import UpstreamConfig
    from ciwm.upstream.pins import Pin

_EXAMPLE = 'pin = { file = ".upstream-commit" } and repository = "../upstream"'


@dataclass(frozen=True)
class Bases:
    """Where the queue is applied: `scratch` holds the objects of `clone`, and ours meanwhile."""

    scratch: Repository
    clone: Repository
    name: str
    pin: str
    pin_source: str
    target_ref: str
    target: str


def is_patch_queue(config: UpstreamConfig) -> bool:
    """Whether configuration says so, or names a folder of patches and no other style."""
    return config.style == "patches" or (config.style is None and config.patches is not None)


@contextmanager
def found_bases(
    repository: Repository, downstream: str, upstream: str | None, config: UpstreamConfig
) -> Iterator[Bases]:
    """The bases of the queue at a downstream commit.

    Raises ConfigError where the pin is not configured, UsageError for what is not there.
    """
    if len(config.lanes) != 1:
        what = "a patch queue needs a pin: the upstream commit its patches were made for"
        if config.lanes:
            what = "a patch queue has one pin, and [upstream.pins] names several"
        raise ConfigError(what, f"[upstream] {_EXAMPLE}")
    clone = upstream_clone(repository, config)
    ref = upstream if upstream is not None else _target(clone, config)
    target = clone.commit(ref)
    (pin,) = config.lanes.values()
    found: Pin = read_pin(repository, downstream, pin)
    package = pin.package or next(iter(config.packages), "")
    pinned = pinned_commit(clone, found, package)
    with borrowing(clone) as scratch:
        yield Bases(scratch, clone, repository_name(clone), pinned, found.source, ref, target)


def upstream_clone(repository: Repository, config: UpstreamConfig) -> Repository:
    """The configured clone of upstream, else this repository, which may have fetched upstream."""
    if config.repository is None:
        return repository
    root = repository.root or repository.common_directory
    path = root / Path(config.repository).expanduser()
    if not path.is_dir():
        raise UsageError(
            f"[upstream] repository: there is no folder {path}",
            f"git clone {config.url or 'URL'} {path}",
        )
    clone = quiet(Repository.open(path).from_top().without_fetching())
    if clone.is_shallow:
        raise GitError(
            f"the clone of upstream in {path} is shallow: its history is cut off",
            f"git -C {path} fetch --unshallow",
        )
    return clone


def _target(clone: Repository, config: UpstreamConfig) -> str:
    """The newest upstream there is: of a clone its origin's branch, else its own."""
    branches = (
        (config.branch, *BRANCHES) if "branch" not in config.model_fields_set else (config.branch,)
    )
    remote = config.remote or "origin"
    if config.repository is None:
        return upstream_ref(clone, config)
    for name in (f"refs/remotes/{remote}/{{}}", "refs/heads/{}"):
        for branch in branches:
            ref = name.format(branch)
            if clone.run("rev-parse", "--verify", "--quiet", ref, check=False).status == 0:
                return ref.removeprefix("refs/remotes/").removeprefix("refs/heads/")
    raise UsageError(
        f"the clone of upstream in {clone.path} has no branch {config.branch}",
        "name a revision: ciwm sync-report REV",
    )
