"""A patch taken apart: files, and the hunks of each, every one a small patch of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_RANGE = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
# in the head of a file's part: the change is one of the file as a whole
_WHOLE = re.compile(
    rb"^(?:new file|deleted file|rename |copy |GIT binary|Binary files|old mode)|^(?:---|\+\+\+) "
    rb"/dev/null",
    re.MULTILINE,
)


@dataclass
class PatchHunk:
    """One hunk with its head; `old_lines` are what it expects to find."""

    start: int
    lines: list[bytes]
    left_old: int
    left_new: int

    @property
    def old_lines(self) -> list[bytes]:
        """Context and removed lines, without their signs."""
        return [line[1:] or b"" for line in self.lines[1:] if line[:1] in (b" ", b"-", b"")]

    @property
    def text(self) -> bytes:
        """The hunk as it stands in the patch."""
        return b"\n".join(self.lines) + b"\n"


@dataclass
class FilePart:
    """What a patch does to one file."""

    head: list[bytes] = field(default_factory=list)
    hunks: list[PatchHunk] = field(default_factory=list)
    rest: list[bytes] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether it can only be applied as a whole: a new, removed, renamed or binary file."""
        return not self.hunks or _WHOLE.search(b"\n".join(self.head)) is not None

    @property
    def text(self) -> bytes:
        """The whole part."""
        head = b"".join(line + b"\n" for line in self.head)
        return head + b"".join(hunk.text for hunk in self.hunks) + b"\n".join(self.rest)

    def path(self, strip: int) -> str:
        """The file it expects (the new one of a new file), without `strip` leading folders."""
        named = [line[4:] for line in self.head if line.startswith((b"--- ", b"+++ "))]
        named = [name.split(b"\t")[0].strip() for name in named]
        real = next((name for name in named if name and name != b"/dev/null"), b"")
        if not real:
            git = re.match(rb"diff --git \S+ (\S+)$", self.head[0]) if self.head else None
            real = git[1] if git else b""
        return b"/".join(real.split(b"/")[strip:]).decode("utf-8", "surrogateescape")


def parts_of(diff: bytes) -> list[FilePart]:
    """The files of a patch; counts in hunk heads tell content from what looks like a head."""
    parts: list[FilePart] = []
    hunk: PatchHunk | None = None
    lines = diff.split(b"\n")
    for number, line in enumerate(lines):
        if hunk is not None and (hunk.left_old > 0 or hunk.left_new > 0 or line[:1] == b"\\"):
            _take(hunk, line)
            continue
        following = lines[number + 1] if number + 1 < len(lines) else b""
        if found := _RANGE.match(line):
            old, new = (int(found[index] or 1) for index in (2, 4))
            hunk = PatchHunk(int(found[1]), [line], old, new)
            (parts or [FilePart()])[-1].hunks.append(hunk)
        elif line.startswith(b"diff --git ") or _begins(line, following, parts):
            parts.append(FilePart([line]))
            hunk = None
        elif parts:
            part = parts[-1]
            (part.rest if part.hunks else part.head).append(line)
    return parts


def _begins(line: bytes, following: bytes, parts: list[FilePart]) -> bool:
    """A part without `diff --git` begins at its `---` and `+++`, or the `Index:` before them."""
    if line.startswith(b"Index: "):
        return True
    if not (line.startswith(b"--- ") and following.startswith(b"+++ ")):
        return False
    return not parts or bool(parts[-1].hunks) or any(h[:4] == b"+++ " for h in parts[-1].head)


def _take(hunk: PatchHunk, line: bytes) -> None:
    hunk.lines.append(line)
    sign = line[:1]
    hunk.left_old -= sign in (b" ", b"-", b"")
    hunk.left_new -= sign in (b" ", b"+", b"")


def shown(hunk: PatchHunk, at_most: int) -> str:
    """A hunk as text of bounded length."""
    text = hunk.text.decode("utf-8", "backslashreplace")
    return text if len(text) <= at_most else text[:at_most].rpartition("\n")[0] + "\n[...]\n"
