"""Commits that stand in for others: the same trees, right above one common parent.

To find the merge base, git walks the commits of both sides, in a fork with a long past thousands of
them for each merge. Where the base is known, stand-ins spare that, and merge the same.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ciwm.upstream.mainline.answers import FOR_A_MOMENT
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.git import Repository

_SIGNED = "ciwm <ciwm@localhost> 0 +0000"


def stand_ins(scratch: Repository, base: str, commits: Sequence[str]) -> list[str]:
    """A child of a stand-in for `base` for each commit; written to the scratch objects."""
    root_tree, *trees = _trees(scratch, [base, *commits])
    (root,) = _written(scratch, [f"tree {root_tree}\n"])
    return _written(scratch, [f"tree {tree}\nparent {root}\n" for tree in trees])


def _trees(scratch: Repository, commits: Sequence[str]) -> list[str]:
    asked = "".join(f"{sha}\n" for sha in commits).encode()
    walk = ("rev-list", "--no-walk=unsorted", "--format=%H %T", "--stdin")
    lines = read(scratch, *walk, stdin=asked).text.split("\n")[1::2]
    trees = dict(line.split(" ") for line in lines)
    return [trees[sha] for sha in commits]


def _written(scratch: Repository, heads: Sequence[str]) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="ciwm-commits-") as folder:
        names = []
        for number, head in enumerate(heads):
            path = Path(folder, str(number))
            path.write_text(f"{head}author {_SIGNED}\ncommitter {_SIGNED}\n\nstand-in\n")
            names.append(f"{path}\n")
        write = ("hash-object", "-t", "commit", "-w", "--stdin-paths")
        return read(scratch, *FOR_A_MOMENT, *write, stdin="".join(names).encode()).text.split()
