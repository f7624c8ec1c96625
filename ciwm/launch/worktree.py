"""A revision's files in a folder of their own, without a trace in the user's repository.

Not `git worktree`: that registers in the user's `.git`, where a killed job leaves stale entries,
and a build that tags, cleans or configures would do so to the user. Here every tree is a new
repository that borrows objects (`objects/info/alternates`) and copies tags, so that `git describe`
works in it. It has no promisor, so that nothing is fetched behind the user's back: what a partial
clone lacks is an error that says so.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ciwm.errors import BuildError, GitError
from ciwm.git import Repository, as_listed

if TYPE_CHECKING:
    from collections.abc import Callable

VARIABLES = {
    "GIT_LFS_SKIP_SMUDGE": "1",  # it would fetch; `_fill_lfs` copies what the clone has
    "GIT_CONFIG_COUNT": "1",  # the user's own hooks have no business in a build
    "GIT_CONFIG_KEY_0": "core.hooksPath",
    "GIT_CONFIG_VALUE_0": "/dev/null",
}
POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:.*\n)*oid sha256:([0-9a-f]{64})\n"
)
WRITE_FAILED = re.compile(
    r"unable to (write|create)|cannot create|No space left|quota", re.IGNORECASE
)
LARGEST_POINTER_BYTES = 1024
_URL_USER = re.compile(r"(?<=://)[^/@]*@")


@dataclass(frozen=True)
class Source:
    """Where objects come from: a clone, and the folder it is checked out in, if any."""

    repository: Repository
    root: Path | None

    @classmethod
    def of(cls, repository: Repository) -> Source:
        """The source that a user's clone is."""
        return cls(repository, repository.root)

    def path(self, name: str) -> Path:
        """A path of the git directory, where git keeps it (linked worktrees differ)."""
        return (
            self.repository.path / self.repository.text("rev-parse", "--git-path", name)
        ).resolve()


@dataclass(frozen=True)
class Lack:
    """Something of a revision that this clone does not have: left empty, or a pointer file."""

    what: str  # "submodule" or "lfs"
    path: str
    identity: str

    def __str__(self) -> str:
        if self.what == "submodule":
            return f"submodule {self.path} is not initialised in this clone and is left empty"
        return f"{self.path} stays a Git LFS pointer: its content is not in this clone"


def check_out(
    repository: Repository, sha: str, directory: Path, say: Callable[[str], None]
) -> tuple[Lack, ...]:
    """Put a commit's files, submodules and LFS contents into a new folder; what was lacking.

    Raises BuildError when objects are missing or the disk is full.
    """
    source = Source.of(repository)
    try:
        lacks = _check_out(source, sha, directory, prefix="")
    except GitError as error:
        raise _explained(error, repository, sha, directory) from error
    for lack in lacks:
        say(str(lack))
    return lacks


def still_lacking(repository: Repository, lacks: tuple[Lack, ...]) -> bool:
    """Whether nothing of what was lacking has come into the clone since."""
    source = Source.of(repository)
    return not any(
        _lfs_object(source, lack.identity).exists()
        if lack.what == "lfs"
        else _submodule_source(source, *lack.identity.split(":", 1)) is not None
        for lack in lacks
    )


def _check_out(source: Source, sha: str, directory: Path, prefix: str) -> tuple[Lack, ...]:
    directory.mkdir(parents=True, exist_ok=True)
    tree = _borrowing(source, directory)
    tree.run("checkout", "--quiet", "--force", "--detach", sha)
    return (*_fill_lfs(source, tree, prefix), *_fill_submodules(source, tree, sha, prefix))


def _borrowing(source: Source, directory: Path) -> Repository:
    """A new repository with the objects, the tags, the depth and the remote of the source."""
    algorithm = source.repository.text("rev-parse", "--show-object-format")
    tree = Repository(directory).with_variables(**VARIABLES)
    tree.run("init", "--quiet", "--template=", f"--object-format={algorithm}")
    git = directory / ".git"
    (git / "objects" / "info").mkdir(exist_ok=True)
    (git / "objects" / "info" / "alternates").write_text(
        as_listed(str(source.path("objects"))) + "\n", encoding="utf-8", errors="surrogateescape"
    )
    tags = source.repository.run("for-each-ref", "--format=%(objectname) %(refname)", "refs/tags")
    (git / "packed-refs").write_bytes(tags.stdout)
    if source.path("shallow").exists():
        shutil.copyfile(source.path("shallow"), git / "shallow")
    tree.run("config", "gc.auto", "0")
    tree.run("config", "maintenance.auto", "false")
    url = source.repository.run("config", "--get", "remote.origin.url", check=False).text.strip()
    if url:  # relative submodule URLs in a recipe resolve against it; credentials stay behind
        tree.run("config", "remote.origin.url", _URL_USER.sub("", url))
    return tree


def _fill_submodules(source: Source, tree: Repository, sha: str, prefix: str) -> tuple[Lack, ...]:
    if not (tree.path / ".gitmodules").is_file():
        return ()
    names = _submodule_names(tree, sha)
    lacks: list[Lack] = []
    for entry in tree.fields("ls-tree", "-r", "-z", sha):
        meta, path = entry.split("\t", 1)
        mode, _, commit = meta.split()
        if mode != "160000" or path not in names:
            continue
        found = _submodule_source(source, names[path], path)
        if found is None:
            lacks.append(Lack("submodule", prefix + path, f"{names[path]}:{path}"))
            continue
        _require_commit(found, commit, prefix + path)
        lacks += _check_out(found, commit, tree.path / path, f"{prefix}{path}/")
    return tuple(lacks)


def _submodule_names(tree: Repository, sha: str) -> dict[str, str]:
    """Path -> name of each submodule; a name that would leave `.git/modules` is refused."""
    listed = tree.run(
        "config",
        "-z",
        "--blob",
        f"{sha}:.gitmodules",
        "--get-regexp",
        r"^submodule\..*\.path$",
        check=False,
    )
    names = {}
    for field in listed.text.split("\0")[:-1]:
        key, _, path = field.partition("\n")
        name = key.removeprefix("submodule.").removesuffix(".path")
        if ".." in PurePosixPath(name).parts or name.startswith("/"):
            raise BuildError(f".gitmodules of {sha[:12]} names a submodule {name!r}: refused")
        names[path.rstrip("/")] = name
    return names


def _submodule_source(source: Source, name: str, path: str) -> Source | None:
    """The local clone of a submodule: in `.git/modules`, or in place."""
    candidates = [
        source.path(f"modules/{name}"),
        source.repository.common_directory / "modules" / name,
        *([source.root / path / ".git"] if source.root is not None else []),
    ]
    for candidate in candidates:
        if (candidate / "HEAD").is_file():
            return Source(Repository(candidate), source.root / path if source.root else None)
    return None


def _require_commit(source: Source, commit: str, path: str) -> None:
    if source.repository.run("cat-file", "-e", f"{commit}^{{commit}}", check=False).status != 0:
        raise BuildError(
            f"submodule {path} needs commit {commit[:12]}, which this clone of it lacks",
            f"git -C {source.root or source.repository.path} fetch origin {commit}",
        )


def _fill_lfs(source: Source, tree: Repository, prefix: str) -> tuple[Lack, ...]:
    """Replace LFS pointer files by the contents the clone has; needs no git-lfs."""
    lacks, filled = [], []
    for name in tree.fields("ls-files", "-z", ":(attr:filter=lfs)"):
        path = tree.path / name
        found = _pointer(path)
        if found is None:
            continue
        content = _lfs_object(source, found)
        if content.is_file():
            shutil.copyfile(content, path)
            filled.append(name)
        else:
            lacks.append(Lack("lfs", prefix + name, found))
    if filled:  # where git has no LFS filter it would call them modified, and versions "dirty"
        listed = "".join(f"{name}\0" for name in filled).encode("utf-8", "surrogateescape")
        tree.run("update-index", "--assume-unchanged", "-z", "--stdin", stdin=listed)
    return tuple(lacks)


def _pointer(path: Path) -> str | None:
    """The object id in an LFS pointer file; None for any other file."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST_POINTER_BYTES:
        return None
    match = POINTER.match(path.read_bytes())
    return match.group(1).decode() if match else None


def _lfs_object(source: Source, identity: str) -> Path:
    storage = source.repository.run("config", "--get", "lfs.storage", check=False).text.strip()
    folder = source.repository.common_directory / (storage or "lfs")
    return folder / "objects" / identity[:2] / identity[2:4] / identity


def _explained(error: GitError, repository: Repository, sha: str, directory: Path) -> BuildError:
    message = f"cannot check out {sha[:12]}: {error.message}"
    if "Permission denied" in error.message:
        return BuildError(message, "set CIWM_CACHE_DIR to a folder we may write to")
    if WRITE_FAILED.search(error.message):
        free_mib = shutil.disk_usage(directory).free / 2**20
        return BuildError(
            f"{message} ({free_mib:.0f} MiB free there)",
            "make room (ciwm clean), or set CIWM_CACHE_DIR to a folder on another disk",
        )
    if repository.is_partial:
        remote = next(iter(repository.lines("remote")), "origin")
        return BuildError(
            f"{message}; this is a partial clone without all files of that revision",
            f"git fetch --refetch --no-filter {remote}, or clone without --filter",
        )
    return BuildError(message, "see: git fsck --connectivity-only")
