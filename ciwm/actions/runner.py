"""The GitHub Actions runner: what it tells a step, and what a step tells it."""

from __future__ import annotations

import os
import secrets
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ciwm.streams import Stream

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SUMMARY_LIMIT_BYTES = 1024 * 1024  # GitHub drops the whole summary of a step beyond it
_CUT = "\n\n_Cut here: a step summary may have 1 MiB._\n"


@dataclass(frozen=True)
class Runner:
    """The runner of this step; outside of Actions its messages are plain lines on stderr.

    Workflow commands go to stderr, which the runner reads as it does stdout, so that `--json`
    keeps stdout to itself. A file of the runner that cannot be written is a warning, said once.
    """

    variables: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    stream: TextIO | None = None
    _unwritable: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    @property
    def active(self) -> bool:
        """Whether this is a step of a workflow."""
        return self.variables.get("GITHUB_ACTIONS") == "true"

    def set_output(self, name: str, value: str) -> None:
        """Set an output of the step; nothing where there is no GITHUB_OUTPUT."""
        delimiter = f"ciwm_{secrets.token_hex(16)}"  # unguessable, so that no value can end early
        self._append("GITHUB_OUTPUT", f"{name}<<{delimiter}\n{value}\n{delimiter}\n")

    def add_summary(self, markdown: str) -> None:
        """Add to the step summary, cut at a line to GitHub's 1 MiB."""
        path = self._file("GITHUB_STEP_SUMMARY")
        if path is None:
            return
        text = _cut(markdown if markdown.endswith("\n") else markdown + "\n", _size_bytes(path))
        self._append("GITHUB_STEP_SUMMARY", text)

    def error(self, message: str, **properties: str | int) -> None:
        """Show an error; properties are title, file, line, endLine, col, endColumn."""
        self._show("error", message, properties)

    def warning(self, message: str, **properties: str | int) -> None:
        """Show a warning; properties as of `error`."""
        self._show("warning", message, properties)

    def notice(self, message: str, **properties: str | int) -> None:
        """Show a notice; properties as of `error`."""
        self._show("notice", message, properties)

    def add_mask(self, secret: str) -> None:
        """Have the runner replace a secret by *** in all logs from now on, line by line."""
        if self.active:
            for line in filter(None, secret.splitlines()):
                self._command("add-mask", line)

    @contextmanager
    def group(self, title: str) -> Iterator[None]:
        """Fold the log lines of the block under a title."""
        if not self.active:
            self._write(title)
            yield
            return
        self._command("group", title)
        try:
            yield
        finally:
            self._command("endgroup", "")

    @contextmanager
    def verbatim(self) -> Iterator[None]:
        """Have the runner take no commands from what the block writes: a build's, a workload's.

        It counts for the same stream only: between stdout and stderr there is no order.
        """
        if not self.active:
            yield
            return
        token = secrets.token_hex(16)
        self._command("stop-commands", token)
        try:
            yield
        finally:
            self._write(f"::{token}::")

    def _show(self, level: str, message: str, properties: Mapping[str, str | int]) -> None:
        if self.active:
            self._command(level, message, properties)
        else:
            self._write(f"{level}: {message}")

    def _command(
        self, name: str, message: str, properties: Mapping[str, str | int] | None = None
    ) -> None:
        given = ",".join(f"{key}={_property(value)}" for key, value in (properties or {}).items())
        self._write(f"::{name}{' ' + given if given else ''}::{_data(message)}")

    def _write(self, line: str) -> None:
        stream = self.stream or sys.stderr
        write = stream.command if isinstance(stream, Stream) else stream.write
        write(f"{line}\n")
        stream.flush()  # commands and a child's output share the log

    def _file(self, variable: str) -> Path | None:
        stated = self.variables.get(variable)
        return Path(stated) if stated else None

    def _append(self, variable: str, text: str) -> None:
        path = self._file(variable)
        if path is None:
            return
        try:
            with path.open("a", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
                file.write(text)
        except OSError as error:
            if variable not in self._unwritable:
                self._unwritable.add(variable)
                self.warning(f"cannot write {variable} ({path}): {error.strerror}", title="ciwm")


def _size_bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # not there yet, or what writing to it will tell


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str | int) -> str:
    return _data(str(value)).replace(":", "%3A").replace(",", "%2C")


def _cut(text: str, used: int) -> str:
    """As many whole lines as fit beside the `used` bytes, and a line that says so."""
    data = text.encode("utf-8", "backslashreplace")
    if used + len(data) <= SUMMARY_LIMIT_BYTES:
        return data.decode()
    room = SUMMARY_LIMIT_BYTES - used - len(_CUT.encode())
    if room <= 0:
        return ""
    kept = data[:room]
    end = kept.rfind(b"\n")
    return kept[: end if end >= 0 else room].decode("utf-8", "ignore") + _CUT
