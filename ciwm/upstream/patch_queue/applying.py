"""`git apply` on an index of our own: what fits, where, and which hunks do not.

No work tree is touched: git applies to an index in a temporary folder, in a scratch repository.
"""

from __future__ import annotations

import re
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ciwm.upstream.patch_queue.diffs import FilePart, parts_of
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ciwm.git import Repository
    from ciwm.git_process import Completed
    from ciwm.records.sync_patches import PatchFit
    from ciwm.upstream.patch_queue.diffs import PatchHunk
    from ciwm.upstream.patch_queue.files import Patch

FUZZ = 2  # context lines that may be ignored at each end, as `patch` and quilt do
CONTEXT = 3
_PLAIN = ("-c", "core.splitIndex=false", "-c", "core.fsmonitor=false")
_APPLY = ("apply", "--cached", "-v", "--whitespace=nowarn", "--no-ignore-whitespace")
_OFFSET = re.compile(r"\(offset (-?\d+) lines?\)")


@dataclass(frozen=True)
class Fit:
    """How a patch went on."""

    fits: PatchFit
    offset_lines: int = 0
    fuzz: int = 0
    message: str = ""


@dataclass(frozen=True)
class Refused:
    """A hunk, or a file as a whole (with so many hunks), that did not go on, and the reason."""

    part: FilePart
    number: int
    hunk: PatchHunk | None
    hunks: int
    reason: str


@dataclass(frozen=True)
class Tree:
    """An index that holds a tree, and changes with every patch that is applied."""

    repository: Repository

    def apply(self, patch: Patch) -> Fit:
        """Apply it if it can be, exactly, then elsewhere, then with fuzz; or see that it is there.

        A patch that fails changes nothing.
        """
        done = self._try(patch)
        if done.status == 0:
            offset = _offset(done)
            return Fit("offset" if offset else "applies", offset)
        refusal = done
        if self.holds(patch.diff, patch):
            return Fit("upstream")
        for fuzz in range(1, FUZZ + 1):
            done = self._try(patch, f"-C{CONTEXT - fuzz}")
            if done.status == 0:
                return Fit("fuzz", _offset(done), fuzz)
        return Fit("fails", message=_reason(refusal))

    def _try(self, patch: Patch, *options: str) -> Completed:
        reverse = ("--reverse",) if patch.reverse else ()
        return self._git(f"-p{patch.strip}", *reverse, *options, diff=patch.diff)

    def holds(self, diff: bytes, patch: Patch) -> bool:
        """Whether a diff could be taken out again: then it is all there."""
        back = () if patch.reverse else ("--reverse",)
        return self._git("--check", f"-p{patch.strip}", *back, diff=diff).status == 0

    def apply_in_part(self, patch: Patch) -> tuple[list[Refused], int]:
        """Apply the hunks that go on one by one; those that do not, and how many are there already.

        Those that are there are neither applied nor refused.
        """
        refused: list[Refused] = []
        there = 0
        for part in parts_of(patch.diff):
            if not part.is_whole and not self.has(path := part.path(patch.strip)):
                gone = f"{path}: does not exist"
                refused.append(Refused(part, 0, None, len(part.hunks), gone))
                continue
            for number, hunk, diff in _pieces(part):
                done = self._git(
                    *(f"-p{patch.strip}", f"-C{CONTEXT - FUZZ}", "--recount"),
                    *(("--reverse",) if patch.reverse else ()),
                    diff=diff,
                )
                if done.status == 0:
                    continue
                if self.holds(diff, patch):
                    there += 1 if hunk else max(1, len(part.hunks))
                else:
                    size = 1 if hunk else max(1, len(part.hunks))
                    refused.append(Refused(part, number, hunk, size, _reason(done)))
        return refused, there

    def has(self, path: str) -> bool:
        """Whether the tree holds a file."""
        found = self.repository.run("ls-files", "-z", "--", f":(top,literal){path}", check=False)
        return found.stdout == path.encode("utf-8", "surrogateescape") + b"\0"

    def written(self) -> str:
        """The id of the tree as it is now."""
        return read(self.repository, *_PLAIN, "write-tree", "--missing-ok").text.strip()

    def _git(self, *options: str, diff: bytes) -> Completed:
        return self.repository.run(*_PLAIN, *_APPLY, *options, "-", check=False, stdin=diff)


def _pieces(part: FilePart) -> Iterator[tuple[int, PatchHunk | None, bytes]]:
    if part.is_whole:
        yield 0, None, part.text
        return
    head = b"".join(line + b"\n" for line in part.head)
    for number, hunk in enumerate(part.hunks, start=1):
        yield number, hunk, head + hunk.text


@contextmanager
def tree_of(repository: Repository, commit: str) -> Iterator[Tree]:
    """The tree of a commit, in an index that is gone at the end."""
    with tempfile.TemporaryDirectory(prefix="ciwm-index-") as folder:
        indexed = repository.with_variables(GIT_INDEX_FILE=str(Path(folder, "index")))
        read(indexed, *_PLAIN, "read-tree", commit)
        yield Tree(indexed)


def _offset(done: Completed) -> int:
    """The largest distance from where a hunk said it belongs."""
    return max((abs(int(lines)) for lines in _OFFSET.findall(done.stderr)), default=0)


def _reason(done: Completed) -> str:
    """Git's first complaint that says why, not only that."""
    lines = [line.rstrip("\n") for line in done.stderr.splitlines()]
    errors = [line[len("error: ") :] for line in lines if line.startswith("error: ")]
    fatal = [line.removeprefix("fatal: ") for line in lines if line.startswith("fatal: ")]
    telling = [line for line in errors if not line.startswith(("patch failed", "while searching"))]
    return (telling or errors or fatal or ["git apply refuses it"])[0]
