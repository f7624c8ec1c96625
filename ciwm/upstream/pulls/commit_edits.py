"""What commits changed in some files, hunk by hunk, from one `git diff-tree`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ciwm.upstream.pulls.base_lines import Edit
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ciwm.git import Repository

AT_ONCE = 128  # paths of one git command
_PATCH = (
    *("-p", "-U0", "--no-color", "--no-ext-diff", "--no-textconv"),
    *("--src-prefix=a/", "--dst-prefix=b/"),
)
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_C_NAMES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}


class Step(NamedTuple):
    """A commit, and the state it is compared with."""

    sha: str
    parent: str


@dataclass
class FileEdits:
    """What one commit did to one file."""

    edits: list[Edit] = field(default_factory=list)

    @property
    def added(self) -> int:
        """Lines added."""
        return sum(edit.added for edit in self.edits)

    @property
    def removed(self) -> int:
        """Lines removed."""
        return sum(edit.removed for edit in self.edits)


def commit_edits(
    repository: Repository, steps: Sequence[Step], paths: Sequence[str], *, contents: bool = True
) -> Iterator[tuple[str, dict[str, FileEdits]]]:
    """Each step's sha with its edits by path, in the order given; none for what it left alone.

    Binaries have no edits, and nothing has without `contents`. Raises MissingObjectError where
    contents are not here. A step comes once for every AT_ONCE paths.
    """
    literal = repository.with_variables(GIT_LITERAL_PATHSPECS="1")
    asked = "".join(f"{step.sha} {step.parent}\n" for step in steps).encode()
    form = ("diff-tree", "--stdin", "-r", "--raw", "--no-renames", *(_PATCH if contents else ()))
    for start in range(0, len(paths), AT_ONCE):
        done = read(literal, *form, "--", *paths[start : start + AT_ONCE], stdin=asked)
        yield from _parsed(done.text.split("\n"))


def _parsed(lines: list[str]) -> Iterator[tuple[str, dict[str, FileEdits]]]:
    files: dict[str, FileEdits] = {}
    sha, path, index = "", "", 0
    while index < len(lines):
        line = lines[index]
        index += 1
        hunk = _HUNK.match(line)
        if hunk:
            start, removed, added = (int(number or 1) for number in hunk.groups())
            files[path].edits.append(Edit(start, removed, added))
            index = _after(lines, index, removed + added)
        elif line.startswith(":"):
            files.setdefault(_unquoted(line.partition("\t")[2]), FileEdits())
        elif line.startswith(("--- a/", '--- "a/', "+++ b/", '+++ "b/')):
            path = _unquoted(line[4:].removesuffix("\t"))[2:]
        elif _COMMIT.fullmatch(line):
            if files:
                yield sha, files
            sha, files = line, {}
    if files:
        yield sha, files


def _after(lines: list[str], index: int, count: int) -> int:
    """Past so many lines of a hunk, and the remarks on a missing final newline among them."""
    while count:
        count -= not lines[index].startswith("\\")
        index += 1
    return index


def _unquoted(path: str) -> str:
    """A path as it is, from git's C-style quotes."""
    if not path.startswith('"'):
        return path
    body = path[1:-1].encode("utf-8", "surrogateescape").decode("latin-1")
    plain = re.sub(r"\\([0-7]{3}|.)", _character, body)
    return plain.encode("latin-1").decode("utf-8", "surrogateescape")


def _character(found: re.Match[str]) -> str:
    sign = found[1]
    return chr(int(sign, 8) if len(sign) > 1 else _C_NAMES[sign])
