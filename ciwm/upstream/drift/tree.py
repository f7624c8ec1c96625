"""The files of one revision, read from git objects or from a folder: never a checkout."""

from __future__ import annotations

import hashlib
import os
import posixpath
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ciwm.errors import GitError
from ciwm.upstream.gaps import missing_objects
from ciwm.upstream.reading import DAMAGED_AT_MOST, MissingObjectError, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ciwm.git import Repository

AT_ONCE = 1_000  # blobs a batch: some 15 MB of sources
LARGEST_BYTES = 8 * 2**20
_LINKS_FOLLOWED = 8


class Tree(Protocol):
    """Paths with the ids of their contents, and the contents by id."""

    @property
    def id(self) -> str:
        """An id that is equal for equal contents."""
        ...

    @property
    def files(self) -> dict[str, str]:
        """Content id by path; symbolic links to files are followed inside the tree."""
        ...

    @property
    def problems(self) -> dict[str, str]:
        """Paths that could not be followed, and why."""
        ...

    def contents(self, ids: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        """Contents by id; None for one that is missing, damaged or too large."""
        ...


@dataclass
class GitTree:
    """The tree of a commit (or a tree itself)."""

    repository: Repository
    commit: str
    problems: dict[str, str] = field(default_factory=dict)

    @cached_property
    def id(self) -> str:
        """Git's tree id."""
        return self.repository.tree(self.commit)

    @cached_property
    def files(self) -> dict[str, str]:
        """Blob id by path; links are followed, submodules have no files here."""
        listed = read(self.repository, "ls-tree", "-r", "-z", "--full-tree", self.commit)
        files: dict[str, str] = {}
        links: dict[str, str] = {}
        for entry in listed.text.split("\0")[:-1]:
            meta, path = entry.split("\t", 1)
            mode, kind, blob = meta.split(" ")
            if kind == "blob":
                (links if mode == "120000" else files)[path] = blob
        self._follow(files, links)
        return files

    def _follow(self, files: dict[str, str], links: dict[str, str]) -> None:
        if not links:
            return
        texts = dict(self.contents(links.values()))
        aims = {
            path: _aim(path, texts.get(blob) or b"")
            for path, blob in links.items()
            if texts.get(blob) is not None
        }
        folders = {parent for path in files for parent in _parents(path)}
        for path in links:
            aim: str | None = path
            for _ in range(_LINKS_FOLLOWED):
                aim = aims.get(aim or "")
                if aim is None or aim in files:
                    break
            if aim in files:
                files[path] = files[aim]
            elif aim is not None and (aim in folders or aim in links):
                loop = aim in links
                self.problems[path] = (
                    "a loop of symbolic links" if loop else f"a link to the folder {aim}"
                )

    def contents(self, ids: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        """Contents by id, a batch at a time; None for one that is missing, damaged or too large."""
        wanted = list(dict.fromkeys(ids))
        absent = self._absent(wanted) if self._may_lack else set()
        yield from ((blob, None) for blob in wanted if blob in absent)
        here = [blob for blob in wanted if blob not in absent]
        for start in range(0, len(here), AT_ONCE):
            yield from self._batch(here[start : start + AT_ONCE])

    def _absent(self, ids: list[str]) -> set[str]:
        with self.repository.scratch_objects() as scratch:
            return missing_objects(scratch, ids)

    @cached_property
    def _may_lack(self) -> bool:
        return self.repository.is_partial

    def _batch(self, ids: list[str]) -> Iterator[tuple[str, bytes | None]]:
        lost: list[str] = []
        for _ in range(DAMAGED_AT_MOST):
            asked = "".join(f"{blob}\n" for blob in ids if blob not in lost)
            try:
                found = read(self.repository, "cat-file", "--batch", stdin=asked.encode())
            except MissingObjectError as error:
                if error.object_id not in ids or error.object_id in lost:
                    raise
                lost.append(error.object_id)
                continue
            yield from ((blob, None) for blob in lost)
            yield from _parsed_batch(found.stdout)
            return
        raise GitError(
            f"more than {DAMAGED_AT_MOST} objects of {self.repository.path} cannot be read",
            "is the repository whole? check it with: git fsck --full",
        )


def _parsed_batch(output: bytes) -> Iterator[tuple[str, bytes | None]]:
    """Objects of `git cat-file --batch`: a line with id, type and size, the content, a newline."""
    at = 0
    while at < len(output):
        end = output.index(b"\n", at)
        head = output[at:end].decode("ascii").split(" ")
        at = end + 1
        if head[1] == "missing":
            yield head[0], None
            continue
        size = int(head[2])
        yield head[0], output[at : at + size] if size <= LARGEST_BYTES else None
        at += size + 1


def _aim(path: str, target: bytes) -> str | None:
    """Where a link in a tree leads, as a path of the tree; None when it leads out of it."""
    text = target.decode("utf-8", "surrogateescape")
    aim = posixpath.normpath(posixpath.join(posixpath.dirname(path), text))
    return None if text.startswith("/") or aim == ".." or aim.startswith("../") else aim


def _parents(path: str) -> Iterator[str]:
    while path := posixpath.dirname(path):
        yield path


@dataclass
class FolderTree:
    """A folder that is no checkout: an unpacked source distribution."""

    root: Path
    problems: dict[str, str] = field(default_factory=dict)
    _paths: dict[str, str] = field(default_factory=dict)

    @cached_property
    def files(self) -> dict[str, str]:
        """Blob ids as git would give them, by path; folders behind links are not entered."""
        found = {}
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name != ".git"]
            for name in [*names, *folders]:
                path = Path(folder, name)
                inside = path.relative_to(self.root).as_posix()
                if path.is_symlink() and not self._followed(path, inside):
                    continue
                if name in names and (blob := self._blob(path, inside)):
                    found[inside] = blob
                    self._paths.setdefault(blob, inside)
        return dict(sorted(found.items()))

    @cached_property
    def id(self) -> str:
        """A digest of all paths and contents."""
        told = "".join(f"{blob} {path}\0" for path, blob in self.files.items())
        return hashlib.sha1(told.encode("utf-8", "surrogateescape")).hexdigest()  # noqa: S324  a name

    @property
    def newest_s(self) -> float:
        """The modification time of the newest file, in seconds since the epoch; 0 without files."""
        times = ((self.root / path).stat().st_mtime for path in self.files)
        return max(times, default=0.0)

    def contents(self, ids: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        """Contents by id; None for one that is not here or too large."""
        for blob in dict.fromkeys(ids):
            inside = self._paths.get(blob)
            try:
                content = (self.root / inside).read_bytes() if inside is not None else None
            except OSError:
                content = None
            yield blob, content if content is None or len(content) <= LARGEST_BYTES else None

    def _followed(self, path: Path, inside: str) -> bool:
        try:
            aim = path.resolve(strict=True)
        except (OSError, RuntimeError):
            self.problems[inside] = "a symbolic link that leads nowhere, or a loop of them"
            return False
        if aim.is_dir():
            self.problems[inside] = "a link to a folder"
            return False
        return aim.is_relative_to(self.root.resolve())

    def _blob(self, path: Path, inside: str) -> str | None:
        try:
            content = path.read_bytes() if path.is_file() else None
        except OSError as error:
            self.problems[inside] = f"cannot be read: {error.strerror}"
            return None
        if content is None:
            return None
        head = b"blob %d\0" % len(content)
        return hashlib.sha1(head + content).hexdigest()  # noqa: S324  git's name for it
