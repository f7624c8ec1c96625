"""Merging single files, thousands of them in a process: as commits of one file each.

Git merges a file the same whatever else is in the tree, as long as all three sides have it under
the same path. That is for the caller to make sure of.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ciwm.git import Repository
from ciwm.upstream.mainline.answers import conflicting_paths
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.upstream.mainline.steps import Entry

MERGES_AT_ONCE = 400
_SIGNED = "ciwm <ciwm@localhost> 0 +0000"


class LoneFile(NamedTuple):
    """One path, with what it holds on three sides."""

    path: str
    base: Entry
    ours: Entry
    theirs: Entry


def conflicting_files(repository: Repository, files: Sequence[LoneFile]) -> set[LoneFile]:
    """Those files that git cannot merge without a conflict; writes to temporary stores."""
    found: set[LoneFile] = set()
    for start in range(0, len(files), MERGES_AT_ONCE):
        part = files[start : start + MERGES_AT_ONCE]
        with repository.scratch_objects() as scratch:
            commits = _commits(scratch, part)
            asked = "".join(f"{ours} {theirs}\n" for ours, theirs in commits).encode()
            answers = conflicting_paths(scratch, asked)
        found.update(file for file, paths in zip(part, answers, strict=True) if paths)
    return found


def _commits(scratch: Repository, files: Sequence[LoneFile]) -> list[tuple[str, str]]:
    """A commit of our side and one of theirs for each file, both children of the base's.

    Written in an empty repository that borrows the objects: fast-import updates refs.
    """
    form = scratch.run("rev-parse", "--show-object-format", check=False).text.strip() or "sha1"
    with tempfile.TemporaryDirectory(prefix="ciwm-import-") as folder:
        plain = Repository(Path(folder))
        plain.run("init", "--quiet", "--bare", "--template=", f"--object-format={form}", ".")
        bare = scratch.with_variables(GIT_DIR=folder)
        marks = Path(folder, "marks")
        stream = b"".join(_imported(number, file) for number, file in enumerate(files))
        read(bare, "fast-import", "--quiet", f"--export-marks={marks}", stdin=stream)
        lines = (line.split(" ") for line in marks.read_text(encoding="ascii").splitlines())
        ids = {int(mark[1:]): sha for mark, sha in lines}
    return [(ids[3 * number + 2], ids[3 * number + 3]) for number in range(len(files))]


def _imported(number: int, file: LoneFile) -> bytes:
    base = 3 * number + 1
    commits = ((base, file.base, ""), (base + 1, file.ours, base), (base + 2, file.theirs, base))
    return b"".join(_commit(mark, file.path, entry, parent) for mark, entry, parent in commits)


def _commit(mark: int, path: str, entry: Entry, parent: int | str) -> bytes:
    head = f"commit refs/heads/{mark}\nmark :{mark}\ncommitter {_SIGNED}\ndata 0\n"
    comes_from = f"from :{parent}\n" if parent else ""
    quoted = path.encode("utf-8", "surrogateescape").replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    change = b'M %b %b "%b"\n' % (
        entry.mode.encode(),
        entry.blob.encode(),
        quoted.replace(b"\n", b"\\n"),
    )
    return (head + comes_from).encode() + change + b"\n"
