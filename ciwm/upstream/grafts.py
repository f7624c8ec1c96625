"""Other parents for some commits, in a scratch repository that borrows the user's objects.

It has the same objects, settings and replacements; nothing of it reaches the user's repository.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ciwm.git import Repository
from ciwm.upstream.objects import raw_objects
from ciwm.upstream.quiet import as_file, without_drivers
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_REPLACED = "refs/replace/"
_GRAFTS = "refs/ciwm-grafts/"
_NO_OTHER_SETTINGS = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_COUNT": "0",
    "GIT_CONFIG_PARAMETERS": "",
}


@contextmanager
def grafted(repository: Repository, parents: Mapping[str, Sequence[str]]) -> Iterator[Repository]:
    """The repository with other parents for the given commits, and without merge drivers.

    Itself where it has neither. `repository` runs in its top folder, so that attributes are found
    where they were.
    """
    if not parents and not without_drivers(repository):
        yield repository
        return
    with borrowing(repository) as scratch:
        yield _with_replacements(scratch, repository, parents)


@contextmanager
def borrowing(repository: Repository) -> Iterator[Repository]:
    """An empty scratch repository that has the objects and settings of another; gone at the end.

    Merge drivers are left out.
    """
    with tempfile.TemporaryDirectory(prefix="ciwm-scratch-") as folder:
        yield _borrowed(repository, Path(folder))


def _borrowed(repository: Repository, folder: Path) -> Repository:
    form = repository.text("rev-parse", "--show-object-format")
    objects = repository.path / repository.text("rev-parse", "--git-path", "objects")
    # by itself: a GIT_WORK_TREE among the variables forbids a bare one
    plain = Repository(folder)
    plain.run("init", "--quiet", "--bare", "--template=", f"--object-format={form}", ".")
    (folder / "objects/info").mkdir(exist_ok=True)
    (folder / "objects/info/alternates").write_text(f"{_quoted(str(objects.resolve()))}\n")
    variables = {"GIT_DIR": str(folder), "GIT_REPLACE_REF_BASE": _GRAFTS}
    variables |= _settings(repository, folder)
    if repository.root is not None:
        variables["GIT_WORK_TREE"] = str(repository.root)
    return repository.with_variables(**variables)


def _settings(repository: Repository, folder: Path) -> dict[str, str]:
    """Give a scratch repository the settings and attributes of another; variables it needs."""
    common = repository.common_directory
    if (attributes := common / "info/attributes").is_file():
        (folder / "info").mkdir(exist_ok=True)
        (folder / "info/attributes").write_bytes(attributes.read_bytes())
    settings = without_drivers(repository)
    if not settings:
        config = str(folder / "config")
        repository.run("config", "--file", config, "include.path", str(common / "config"))
        return {}
    with (folder / "config").open("ab") as file:
        file.write(as_file(settings))
    return _NO_OTHER_SETTINGS


def _quoted(path: str) -> str:
    """A line of info/alternates: in quotes where it would be read as a quoted or commented one."""
    if not path.startswith(("#", '"')) and "\n" not in path:
        return path
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _with_replacements(
    scratch: Repository, original: Repository, parents: Mapping[str, Sequence[str]]
) -> Repository:
    """Our grafts under a name of their own: refs/replace/ stays what the user made it."""
    named = "--format=%(refname) %(objectname)"
    kept = dict(line.split(" ") for line in original.lines("for-each-ref", named, _REPLACED))
    commits = raw_objects(original, parents)
    made = _commits(scratch, [_with_parents(raw, parents[sha]) for sha, raw in commits.items()])
    grafts = {ref.replace(_REPLACED, _GRAFTS, 1): sha for ref, sha in kept.items()}
    grafts |= {f"{_GRAFTS}{sha}": new for sha, new in zip(commits, made, strict=True)}
    updates = "".join(f"update {ref} {sha}\n" for ref, sha in (kept | grafts).items())
    read(scratch, "update-ref", "--stdin", stdin=updates.encode())
    return scratch


def _with_parents(raw: bytes, parents: Sequence[str]) -> bytes:
    """A commit object with other parents; a signature of the old one is no use, and no harm."""
    head, separator, message = raw.partition(b"\n\n")
    tree, *rest = head.split(b"\n")
    named = [b"parent " + parent.encode() for parent in parents]
    others = [line for line in rest if not line.startswith(b"parent ")]
    return b"\n".join([tree, *named, *others]) + separator + message


def _commits(scratch: Repository, contents: Sequence[bytes]) -> list[str]:
    """Write commit objects, and return their ids in order."""
    with tempfile.TemporaryDirectory(prefix="ciwm-commits-") as folder:
        paths = []
        for number, content in enumerate(contents):
            path = Path(folder, str(number))
            path.write_bytes(content)
            paths.append(f"{path}\n")
        # what is odd about an old commit (a time zone, say) is none of our business
        write = ("hash-object", "-t", "commit", "-w", "--literally", "--stdin-paths")
        return read(scratch, *write, stdin="".join(paths).encode()).text.split()
