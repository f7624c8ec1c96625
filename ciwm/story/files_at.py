"""The files that decide how a bump is judged, as a commit holds them.

A file that is there and cannot be read is an error, never taken for absent: that would hand the
policy of the base to the head and tell nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.config import FILE_NAMES, Config, parse_config
from ciwm.errors import GitError
from ciwm.waivers import FILE_NAME as WAIVERS
from ciwm.waivers import parse_waivers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ciwm.git import Repository
    from ciwm.waivers import Waiver


def file_at(repository: Repository, sha: str, path: str) -> bytes | None:
    """The content of a file in a commit, by its path from the top; None where it has no such file.

    Raises GitError when the commit has the file and its content is not here.
    """
    listed = repository.fields("ls-tree", "-z", "--full-tree", sha, "--", path)
    if not any(_is_file(entry, path) for entry in listed):
        return None
    found = repository.run("cat-file", "blob", f"{sha}:{path}", check=False)
    if found.status != 0:
        raise GitError(
            f"commit {sha[:12]} has a {path}, and its content is not in this clone",
            f"a partial clone leaves it out: git fetch --refetch --no-filter, or git show "
            f"{sha[:12]}:{path} once, with git's access to the remote",
        )
    return found.stdout


def _is_file(entry: str, path: str) -> bool:
    """Whether `MODE TYPE ID<tab>PATH` is a file (or link) of that very path."""
    facts, _, name = entry.partition("\t")
    return name == path and facts.split()[1:2] == ["blob"]


def path_inside(repository: Repository, path: Path) -> str | None:
    """The path of a file from the top of its repository; None for a file outside of it.

    A link that leads in, and one that is in and leads out, are inside: a commit can change them.
    """
    top = (repository.root or repository.common_directory).resolve()
    for place in (path.parent.resolve() / path.name, path.resolve()):
        if place.is_relative_to(top):
            return place.relative_to(top).as_posix()
    return None


def config_at(repository: Repository, sha: str, names: Sequence[str] = FILE_NAMES) -> Config | None:
    """The configuration that a commit holds; None where it has none.

    Raises ConfigError when it is wrong, GitError when it is there and not in this clone.
    """
    for name in names:
        data = file_at(repository, sha, name)
        config = None if data is None else parse_config(data, source=f"{sha[:12]}:{name}")
        if config is not None:
            return config
    return None


def waivers_at(repository: Repository, sha: str) -> tuple[Waiver, ...]:
    """The waivers that a commit holds; raises ConfigError and GitError as `config_at` does."""
    data = file_at(repository, sha, WAIVERS)
    return () if data is None else parse_waivers(data, f"{sha[:12]}:{WAIVERS}")
