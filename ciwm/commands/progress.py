"""Progress on stderr: a live line on a terminal, plain lines and foldable groups in a CI log."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Protocol

import click

if TYPE_CHECKING:
    from collections.abc import Iterator


class Progress(Protocol):
    """Where a command says what it is doing."""

    def say(self, line: str) -> None:
        """A line worth keeping."""

    def chatter(self, line: str) -> None:
        """A line of a child's output: worth seeing, not worth keeping."""

    def group(self, title: str) -> contextlib.AbstractContextManager[None]:
        """What belongs together."""


class _Log:
    """Lines for a log; groups fold on GitHub."""

    def say(self, line: str) -> None:
        click.echo(line, err=True)

    chatter = say

    @contextlib.contextmanager
    def group(self, title: str) -> Iterator[None]:
        from ciwm.actions import Runner  # noqa: PLC0415

        with Runner().group(title):
            yield


class _Terminal:
    """Kept lines scroll; the rest is one live line under them."""

    def __init__(self) -> None:
        from rich.console import Console  # noqa: PLC0415  only on a terminal

        self._console = Console(stderr=True, highlight=False)
        # a lively spinner would take its CPU from what is being measured
        self._status = self._console.status("", refresh_per_second=1)

    def __enter__(self) -> _Terminal:  # noqa: PYI034
        self._status.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._status.stop()

    def say(self, line: str) -> None:
        self._console.print(line, markup=False)

    def chatter(self, line: str) -> None:
        from rich.text import Text  # noqa: PLC0415

        width = max(self._console.width - 4, 20)
        plain = "".join(c if c.isprintable() else " " for c in line)
        self._status.update(Text(plain[:width]))

    @contextlib.contextmanager
    def group(self, title: str) -> Iterator[None]:
        self.say(title)
        try:
            yield
        finally:
            self.chatter("measuring")


@contextlib.contextmanager
def progress() -> Iterator[Progress]:
    """Progress as stderr can show it."""
    if sys.stderr is not None and sys.stderr.isatty():
        with _Terminal() as terminal:
            yield terminal
    else:
        yield _Log()
