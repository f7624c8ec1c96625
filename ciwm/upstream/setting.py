"""What in a repository bends its history or its merges, and so must be told with the figures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ciwm.upstream.names import readable_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.git import Repository

_BUILT_IN = {"unspecified", "set", "unset", "text", "binary", "union"}


def history_notes(repository: Repository, merge_bases: Sequence[str]) -> tuple[str, ...]:
    """Replacements, grafts and several merge bases, a sentence each."""
    notes = []
    replaced = repository.lines("for-each-ref", "--format=%(refname)", "refs/replace/")
    if replaced:
        notes.append(
            f"{len(replaced)} objects are replaced here (git replace); figures follow the "
            "replacements, as git does"
        )
    if (repository.common_directory / "info/grafts").is_file():
        notes.append(
            "history is grafted here (info/grafts); figures follow the grafts, as git does"
        )
    if len(merge_bases) > 1:
        notes.append(
            f"there are {len(merge_bases)} merge bases; days and carried lines count from the one "
            f"git uses ({merge_bases[0][:12]}), the trial merge uses all of them"
        )
    return tuple(notes)


def driver_notes(repository: Repository, paths: Sequence[str]) -> tuple[str, ...]:
    """Merge drivers that attributes give to files changed on both sides."""
    if not paths:
        return ()
    asked = "".join(f"{path}\0" for path in paths).encode("utf-8", "surrogateescape")
    found = repository.run("check-attr", "--stdin", "-z", "merge", check=False, stdin=asked)
    fields = found.text.split("\0")
    named = dict(zip(fields[0::3], fields[2::3], strict=False))
    wanted = sorted({value for value in named.values() if value not in _BUILT_IN})
    return tuple(_driver_note(driver, named) for driver in wanted)


def _driver_note(driver: str, named: dict[str, str]) -> str:
    paths = [readable_path(path) for path, value in named.items() if value == driver]
    where = f"{paths[0]}" + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
    verb = "asks" if len(paths) == 1 else "ask"
    return f"{where} {verb} for the merge driver {driver}; a report runs none: merged as text"


def repository_name(repository: Repository) -> str:
    """owner/name from the URL of origin, else the name of the folder; never a credential."""
    url = repository.run("config", "--get", "remote.origin.url", check=False).text.strip()
    hosted = re.search(r"^(?:\w+://[^/]+/|[\w.-]+@[^:/]+:).*?([^/:]+/[^/]+?)(?:\.git)?/?$", url)
    if hosted and not url.startswith("file:"):
        return readable_path(hosted[1])
    folder = repository.common_directory
    if folder.name == ".git":
        folder = folder.parent
    return readable_path(folder.name.removesuffix(".git"))
