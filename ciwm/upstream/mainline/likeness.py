"""Which contents git could take for a renamed file: asked of git's own rename detection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.upstream.mainline.steps import REGULAR
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ciwm.git import Repository
    from ciwm.upstream.mainline.steps import Entry

# A merge asks for half; less is asked here, as attributes can sway the count a little.
SIMILARITY = "-C40%"


def resembling(
    scratch: Repository, sources: Collection[Entry], targets: Collection[Entry]
) -> set[str]:
    """The contents among `targets` that resemble one of `sources`.

    Copies are asked for, and among all pairs: each target stands for itself, whatever others there
    are. `scratch` writes its objects to a temporary store.
    """
    if not sources or not targets:
        return set()
    old = {f"source{number}": entry for number, entry in enumerate(sorted(sources))}
    new = {f"target{number}": entry for number, entry in enumerate(sorted(targets))}
    found = read(
        scratch,
        *("diff-tree", "-r", "--raw", "--no-abbrev", "-z", SIMILARITY, "--find-copies-harder"),
        *("-l0", _tree(scratch, old), _tree(scratch, old | new)),
    )
    fields = iter(found.text.split("\0")[:-1])
    copies = set()
    for field in fields:
        *_, blob, status = field.split(" ")
        next(fields)
        if status[0] in "CR":
            next(fields)
            copies.add(blob)
    return copies


def _tree(scratch: Repository, entries: Mapping[str, Entry]) -> str:
    listed = "".join(
        f"{entry.mode} blob {entry.blob}\t{name}\0"
        for name, entry in entries.items()
        if entry.mode in REGULAR
    )
    return read(scratch, "mktree", "-z", "--missing", stdin=listed.encode()).text.strip()
