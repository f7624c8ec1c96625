"""The lines that head has and base has not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ciwm.errors import GitError

if TYPE_CHECKING:
    from ciwm.git import Repository

_SETTINGS = (
    *("-U0", "-M", "--diff-filter=AMR", "--submodule=short"),
    *("--no-ext-diff", "--no-color", "--no-textconv"),
)
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


def changed_lines(repository: Repository, base: str, head: str) -> dict[str, set[int]]:
    """Line numbers in head that it added or edited, by path; renamed files by their new one.

    Raises GitError when the two cannot be compared.
    """
    top = repository.from_top()
    named = top.run("diff", "--name-only", "-z", "--diff-filter=AMR", "-M", base, head).text
    found: dict[str, set[int]] = {}
    paths = [path for path in named.split("\0") if path]
    # one command: git begins each file's part with a line that no changed line looks like
    text = top.run("diff", *_SETTINGS, base, head).stdout.decode("utf-8", "replace")
    parts = re.split(r"^diff --git .*$", text, flags=re.MULTILINE)[1:]
    if len(paths) != len(parts):
        raise GitError(f"git shows {len(parts)} of {len(paths)} changed files")
    for path, part in zip(paths, parts, strict=True):
        lines = found.setdefault(path, set())
        for start, count in _HUNK.findall(part):
            lines.update(range(int(start), int(start) + int(count or 1)))
    return found
