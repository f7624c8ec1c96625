"""What each of many commits changed, path by path, from one git process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.upstream.debt import Change
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ciwm.git import Repository


def commit_changes(repository: Repository, shas: Collection[str]) -> dict[str, tuple[Change, ...]]:
    """The paths each commit changes against its parent; merges and empty commits are left out."""
    if not shas:
        return {}
    found = read(
        repository,
        *("diff-tree", "--stdin", "-r", "--raw", "--no-renames", "--no-abbrev", "--root", "-z"),
        stdin="".join(f"{sha}\n" for sha in shas).encode(),
    )
    return dict(grouped_changes(iter(found.text.split("\0")[:-1])))


def grouped_changes(fields: Iterator[str]) -> Iterator[tuple[str, tuple[Change, ...]]]:
    """Each commit id with the raw entries that follow it, from `-z` output."""
    sha, changes = "", list[Change]()
    for field in fields:
        entry = field.strip("\n")  # `log` puts a newline between a commit and its first entry
        if entry.startswith(":"):
            old_mode, new_mode, old_id, new_id, status = entry[1:].split(" ")
            submodule = "160000" in (old_mode, new_mode)
            changes.append(Change(next(fields), status[0], old_id, new_id, submodule))
            continue
        if changes:
            yield sha, tuple(changes)
        sha, changes = entry, []
    if changes:
        yield sha, tuple(changes)
