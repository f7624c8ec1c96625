"""Where a plugin's upstream is on this machine: a clone, or folders of source distributions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ciwm.errors import GitError, UsageError
from ciwm.git import Repository
from ciwm.upstream.dates import committed_at, moment
from ciwm.upstream.drift.tree import FolderTree, GitTree
from ciwm.upstream.names import readable_path
from ciwm.upstream.pair import BRANCHES
from ciwm.upstream.pins import Pin, pinned_commit

if TYPE_CHECKING:
    from datetime import datetime

    from ciwm.config import UpstreamConfig
    from ciwm.upstream.drift.tree import Tree


@dataclass(frozen=True)
class Side:
    """One upstream revision: what it was named, its id, date and files.

    `sha` is a commit's; for a folder, a digest of its files.
    """

    ref: str
    sha: str
    committed_at: datetime
    tree: Tree

    @property
    def is_commit(self) -> bool:
        """Whether it is a commit, with history behind it."""
        return isinstance(self.tree, GitTree)


@dataclass(frozen=True)
class Source:
    """Upstream's clone, or the folder of an unpacked source distribution."""

    path: Path
    repository: Repository | None

    def commit(self, ref: str, sha: str) -> Side:
        """A commit of the clone."""
        if self.repository is None:
            raise UsageError(f"{self.path} is no git repository, so it has no {ref}")
        dates = committed_at(self.repository, (sha,))
        return Side(ref, sha, dates[sha], GitTree(self.repository, sha))

    def target(self, named: str | None, config: UpstreamConfig, root: Path) -> Side:
        """What the plugin is compared with: a revision or a folder, or what config says."""
        if named is not None and (folder := root / named).is_dir() and not self._has(named):
            return folder_side(folder)
        if self.repository is None:
            if named is not None:
                raise UsageError(
                    f"there is no folder {named}, and {self.path} is no git repository",
                    "[upstream] repository is a clone, or UPSTREAM names an unpacked source folder",
                )
            return folder_side(self.path)
        ref = named or newest_ref(self.repository, config)
        return self.commit(ref, self.repository.commit(ref))

    def _has(self, named: str) -> bool:
        if self.repository is None:
            return False
        found = self.repository.run(
            "rev-parse", "--verify", "--quiet", f"{named}^{{commit}}", check=False
        )
        return found.status == 0

    def pinned(self, pin: Pin, package: str) -> Side:
        """The revision a pin means."""
        if self.repository is None:
            raise UsageError(
                f"{pin.source} pins {pin.text}, but {self.path} is no git repository",
                'name a clone in [upstream] repository, or pin = { folder = "..." }',
            )
        return self.commit(pin.text, pinned_commit(self.repository, pin, package))


def folder_side(folder: Path) -> Side:
    """An unpacked source distribution; its date is that of its newest file."""
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}")
    tree = FolderTree(folder)
    if not tree.files:
        raise UsageError(f"the folder {folder} is empty")
    return Side(folder.name, tree.id, moment(str(int(tree.newest_s))), tree)


def find_source(repository: Repository, config: UpstreamConfig, root: Path) -> Source:
    """Upstream's place; raises UsageError when it is not on this machine."""
    if config.repository is not None:
        path = root / Path(config.repository).expanduser()
        return _source(path, f"[upstream] repository = {config.repository!r}", config)
    for pin in config.lanes.values():
        if pin.submodule is not None:
            path = root / pin.submodule
            if _own_repository(path) is None:
                raise UsageError(
                    f"the submodule {readable_path(pin.submodule)} is not checked out",
                    f"git submodule update --init {pin.submodule}",
                )
            return _source(path, f"submodule {pin.submodule}", config)
    return Source(root, repository)


def _source(path: Path, named: str, config: UpstreamConfig) -> Source:
    if not path.is_dir():
        raise UsageError(
            f"{named}: there is no folder {path}",
            f"git clone {config.url or 'URL'} {path}",
        )
    found = _own_repository(path)
    if found is not None and found.is_shallow:
        raise GitError(
            f"upstream's clone {path} is shallow: commits between pin and target are missing",
            f"git -C {path} fetch --unshallow --tags",
        )
    return Source(path, found.without_fetching() if found is not None else None)


def _own_repository(path: Path) -> Repository | None:
    """The repository that a folder is, not one that it merely lies in."""
    if not path.is_dir():
        return None
    repository = Repository(path)
    if (path / ".git").exists() or (path / "HEAD").is_file():
        return Repository.open(path)
    found = repository.run("rev-parse", "--show-toplevel", check=False)
    own = found.status == 0 and Path(found.text.removesuffix("\n")).resolve() == path.resolve()
    return repository if own else None


def newest_ref(repository: Repository, config: UpstreamConfig) -> str:
    """The branch of upstream's clone that stands for its newest state; UsageError when unclear."""
    stated = "branch" in config.model_fields_set
    branches = (config.branch,) if stated else (config.branch, *BRANCHES)
    remotes = [config.remote] if config.remote else ["origin", "upstream"]
    candidates = [f"refs/remotes/{remote}/{branch}" for remote in remotes for branch in branches]
    candidates += [f"refs/heads/{branch}" for branch in branches]
    for ref in candidates:
        if repository.run("rev-parse", "--verify", "--quiet", ref, check=False).status == 0:
            return ref.removeprefix("refs/remotes/").removeprefix("refs/heads/")
    raise UsageError(
        f"which revision of upstream? {repository.path} has no branch {config.branch}",
        "name it: ciwm sync-report REV, or state [upstream] branch",
    )
