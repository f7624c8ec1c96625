"""The workloads' own files, taken from one stated revision into a folder outside every build.

Both sides run the same workload code; what that code imports comes from each side's own build.
"""

from __future__ import annotations

import posixpath
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ciwm.errors import ConfigError
from ciwm.launch.command_words import argument_words, module_files

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ciwm.config import WorkloadConfig
    from ciwm.git import Repository
    from ciwm.records import Revision


@dataclass(frozen=True)
class WorkloadSource:
    """A revision of a repository as the place that workload files come from."""

    repository: Repository
    revision: Revision

    def files(self, workload: WorkloadConfig) -> tuple[str, ...]:
        """The workload's own files, as paths in the repository; raises ConfigError."""
        if workload.collective is not None:
            return ()
        named = _python_file(workload) if workload.python else self._tokens(workload)
        paths = {path for name in named for path in self._around(workload, name)}
        for pattern in workload.files:
            matched = self._matching(pattern)
            if not matched:
                raise self._nothing(workload, f"files: {pattern} matches nothing")
            paths |= matched
        return tuple(sorted(paths))

    def edited(self, workload: WorkloadConfig, changed: frozenset[str]) -> bool:
        """Whether a change of these paths edits the workload: its files, or the module it runs."""
        modules = module_files(workload.command or "")
        return not changed.isdisjoint(self.files(workload)) or any(
            path == name or path.endswith("/" + name) for path in changed for name in modules
        )

    def materialise(self, paths: Iterable[str], folder: Path) -> None:
        """Write files below a folder, as a checkout would; the user's tree and index stay."""
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="ciwm-index-") as scratch:
            into = self.repository.with_variables(
                GIT_INDEX_FILE=str(Path(scratch, "index")),
                GIT_DIR=self.repository.text("rev-parse", "--absolute-git-dir"),
                GIT_WORK_TREE=str(folder.resolve()),
            )
            into.run("read-tree", self.revision.sha)
            names = "".join(f"{path}\0" for path in sorted(set(paths)))
            into.run("checkout-index", "-f", "-q", "-z", "--stdin", stdin=names.encode(*_BYTES))

    @cached_property
    def _all(self) -> frozenset[str]:
        return frozenset(
            self.repository.fields(
                "ls-tree", "-r", "-z", "--full-tree", "--name-only", self.revision.sha
            )
        )

    def _tokens(self, workload: WorkloadConfig) -> list[str]:
        """The words of a command that are paths in the revision."""
        try:
            words = argument_words(workload.command or "")
        except ValueError as error:
            raise ConfigError(f"workload {workload.id}: command: {error}") from error
        return [name for name in words if name in self._all or self._below(name)]

    def _around(self, workload: WorkloadConfig, name: str) -> set[str]:
        """A file's folder with all in it, or, at the root of the repository, the file alone."""
        if name not in self._all and not self._below(name):
            raise self._nothing(workload, f"there is no {name}")
        folder = name if name not in self._all else posixpath.dirname(name)
        return self._below(folder) if folder else {name}

    def _below(self, folder: str) -> set[str]:
        return {path for path in self._all if path.startswith(folder + "/")}

    def _matching(self, pattern: str) -> set[str]:
        """The files a glob matches, by git's own rules."""
        with tempfile.TemporaryDirectory(prefix="ciwm-index-") as scratch:
            reader = self.repository.with_variables(GIT_INDEX_FILE=str(Path(scratch, "index")))
            reader.run("read-tree", self.revision.sha)
            glob = f":(top,glob){pattern}"
            return set(reader.fields("ls-files", "-z", "--full-name", "--", glob))

    def _nothing(self, workload: WorkloadConfig, what: str) -> ConfigError:
        return ConfigError(
            f"workload {workload.id}: {what} at {self.revision.ref} ({self.revision.sha[:12]})",
            "commit it, or name the revision that has it: --workloads-from REV",
        )


_BYTES = ("utf-8", "surrogateescape")


def changed_paths(repository: Repository, base: Revision, head: Revision) -> frozenset[str]:
    """Every path that base and head do not have the same."""
    return frozenset(
        repository.fields("diff", "--name-only", "-z", "--no-renames", base.sha, head.sha)
    )


def python_entry(workload: WorkloadConfig) -> tuple[str, str]:
    """The file of a `file.py:callable` workload, as a path in the repository, and the callable."""
    file, _, name = (workload.python or "").rpartition(":")
    return posixpath.normpath(file), name


def _python_file(workload: WorkloadConfig) -> list[str]:
    file, _ = python_entry(workload)
    if file.startswith(("/", "../")):
        raise ConfigError(
            f"workload {workload.id}: python = {workload.python!r} is outside the repository",
            "give the path from the repository's root",
        )
    return [file]
