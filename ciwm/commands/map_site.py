"""Where `ciwm map` observes: the work tree as it is, or the build of a revision."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import threading

    from ciwm.config import Config
    from ciwm.opmap.observe import Site


@dataclass(frozen=True)
class Place:
    """The configuration of a checkout, its root, and its name where it is a repository."""

    root: Path
    config: Config
    name: str
    revision: str


def place_of(config_file: Path | None) -> Place:
    """The checkout we are in; a folder that is no repository will do."""
    from ciwm.config import find_config, read_config  # noqa: PLC0415
    from ciwm.errors import GitError, UsageError  # noqa: PLC0415
    from ciwm.git import Repository  # noqa: PLC0415

    root, name, revision = Path.cwd(), Path.cwd().name, ""
    try:
        repository = Repository.open(Path.cwd())
        root = repository.root or repository.path
        name = root.name
        revision = repository.revision("HEAD").sha
    except (GitError, UsageError):
        pass  # the map is of files; who keeps them does not matter
    config = read_config(config_file) if config_file else find_config(root)
    return Place(root, config, name, revision)


def python_of(place: Place, stated: str | None) -> str:
    """The interpreter that was named, else [build] python, from the checkout's root."""
    named = os.path.expanduser(stated or place.config.build.python)  # noqa: PTH111  may be no path
    if stated is None and "/" in named and not named.startswith("/"):
        return str(place.root / named)
    return named


def work_tree_site(
    place: Place, python: str | None, directory: Path, stop: threading.Event
) -> Site:
    """Observe the work tree as it is, under the interpreter named or configured."""
    from ciwm.launch.cache import kind_directory  # noqa: PLC0415
    from ciwm.launch.interpreter import find_python  # noqa: PLC0415
    from ciwm.opmap.observe import Site  # noqa: PLC0415

    build = place.config.build
    found = find_python(python_of(place, python), os.environ.get("PATH", os.defpath))
    return Site(
        python=found.path,
        root=place.root,
        python_path=tuple(place.root / entry for entry in build.python_path),
        directory=directory,
        cache=kind_directory("extensions"),
        timeout_s=place.config.map.timeout_s,
        stop=stop,
    )


def built_site(place: Place, rev: str, directory: Path, stop: threading.Event) -> Site:
    """Observe the build of a revision, with its own workload files; raises BuildError."""
    from ciwm.errors import BuildError  # noqa: PLC0415
    from ciwm.git import Repository  # noqa: PLC0415
    from ciwm.launch.builds import build  # noqa: PLC0415
    from ciwm.launch.cache import kind_directory  # noqa: PLC0415
    from ciwm.opmap.observe import Site  # noqa: PLC0415

    repository = Repository.open(place.root)
    recipe = place.config.build
    record = build(repository, repository.revision(rev), recipe, on_line=say, stop=stop)
    if not record.ok:
        raise BuildError(f"{rev} does not build: {record.status}", f"its log is {record.log}")
    return Site(
        python=record.python,
        root=Path(record.directory),
        python_path=tuple(Path(record.directory, entry) for entry in recipe.python_path),
        directory=directory,
        cache=kind_directory("extensions"),
        timeout_s=place.config.map.timeout_s,
        stop=stop,
    )


def revision_of(place: Place, rev: str | None) -> str:
    """The commit that is mapped: what a name stands for, else HEAD; empty without a repository."""
    from ciwm.git import Repository  # noqa: PLC0415

    return Repository.open(place.root).revision(rev).sha if rev else place.revision


def refuse_unwritable(path: Path) -> None:
    """Raise EnvironmentFailure for a file that could not be written later."""
    from ciwm.launch.files import refuse_unwritable_folder  # noqa: PLC0415

    refuse_unwritable_folder(path.absolute().parent)


def write(path: Path | None, text: str) -> None:
    """Write a file that was asked for, all or nothing."""
    from ciwm.launch.files import make_folder, write_atomically  # noqa: PLC0415

    if path is not None:
        make_folder(path.absolute().parent)
        write_atomically(path, text)


def say(line: Any) -> None:
    """A line of progress."""
    click.echo(line, err=True)
