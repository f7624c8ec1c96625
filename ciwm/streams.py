"""The standard streams, so that neither their reader nor what is written can do harm.

A reader that goes away, a full disk or a closed stream never ends what we are doing: what a stream
could not take is remembered, and the rest is dropped. In a step of a workflow, no text we pass on
(a build's line, a commit's subject, a path) is a command to the runner: it takes `::name` at the
begin of a line, after any space, and `##[name]` anywhere.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import sys
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_BLANK = r"[^\S\r\n]|[\u200b\ufeff]"
_COMMAND = re.compile(rf"((?:^|(?<=[\r\n]))(?:{_BLANK})*):(?=:)")
_BLANKS = re.compile(rf"(?:{_BLANK})*")


class Stream:
    """A text stream that never fails; `failure` is the first error other than a reader gone."""

    def __init__(self, plain: TextIO, clean: Callable[[str, bool], str] | None) -> None:
        self.plain = plain
        self.failure: OSError | None = None
        self._clean = clean
        self._lost = False
        self._at_start = True

    def write(self, text: str) -> int:
        """Write a text, or drop it when an earlier one could not be written."""
        if not isinstance(text, str):
            raise TypeError(f"a text is written here, not {type(text).__name__}")
        self._write(self._cleaned(text))
        return len(text)

    def command(self, line: str) -> None:
        """Write a line of our own that the runner shall take as a command."""
        self._write(line if self._at_start else f"\n{line}")
        self._at_start = True

    def flush(self) -> None:
        """Hand on what is buffered."""
        with self._guarded():
            self.plain.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)

    def _write(self, text: str) -> None:
        if not self._lost:
            with self._guarded():
                self.plain.write(self._encodable(text))

    def _cleaned(self, text: str) -> str:
        if self._clean is None or not text:
            return text
        cleaned = self._clean(text, self._at_start)
        end = max(text.rfind("\n"), text.rfind("\r"))
        begun = self._at_start or end >= 0
        self._at_start = begun and _BLANKS.fullmatch(text, end + 1) is not None
        return cleaned

    def _encodable(self, text: str) -> str:
        encoding = self.plain.encoding or "utf-8"
        try:
            text.encode(encoding, self.plain.errors or "strict")
        except UnicodeError:
            return text.encode(encoding, "backslashreplace").decode(encoding)
        return text

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno != errno.EPIPE and not self._lost:
                self.failure = error
            self._lost = True
            self._drop()

    def _drop(self) -> None:
        """Let what is buffered, and all that comes, go nowhere: at exit it is tried again."""
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.plain.fileno())
            os.close(nowhere)


def no_command(text: str, at_start: bool = True) -> str:  # noqa: FBT001, FBT002  see Stream
    """A text in which the runner finds no command, as `: :` and `# #[`."""
    marked = text if at_start else f".{text}"
    return _COMMAND.sub(r"\1: ", marked)[0 if at_start else 1 :].replace("##[", "# #[")


def no_command_in_json(text: str, _at_start: bool = True) -> str:  # noqa: FBT001, FBT002
    """The same JSON, in which the runner finds no command; no line of JSON begins with `::`."""
    return text.replace("##[", "#\\u0023[")


@contextlib.contextmanager
def guarded_streams(*, as_json: bool) -> Iterator[Stream | None]:
    """Make stdout and stderr streams that never fail for the block; gives stdout's.

    `as_json`: what is written to stdout is JSON, and has to stay the same JSON.
    """
    before = sys.stdout, sys.stderr
    out, err = (None if one is None else Stream(one, _cleaner(one)) for one in before)
    if out is not None and as_json and _cleaner(out.plain) is not None:
        out = Stream(out.plain, no_command_in_json)
    sys.stdout, sys.stderr = cast("TextIO", out), cast("TextIO", err)
    try:
        yield out
    finally:
        for stream in (out, err):
            if stream is not None:
                stream.flush()
        sys.stdout, sys.stderr = before


def _cleaner(stream: TextIO) -> Callable[[str, bool], str] | None:
    """What the runner must not see as a command; None where it does not read the stream."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return None
    with contextlib.suppress(OSError, ValueError):
        if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            return None
    return no_command


def open_closed_streams() -> None:
    """Open what the caller closed (`2>&-`) on nothing, so that no file of ours takes its place."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
