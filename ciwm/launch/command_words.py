"""What the words of a command workload's shell line mean: files of the workload, modules run."""

from __future__ import annotations

import posixpath
import re
import shlex
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PYTHON = re.compile(r"\{python\}|python[\d.]*")
_RUNS_NO_FILE = re.compile(r"-[A-Za-z]*[mc]")  # `-m module`, `-um module`, `-c code`
_WITH_VALUE = ("-X", "-W")


def argument_words(command: str) -> list[str]:
    """What may name a file; a bare command word is looked up on PATH, and a module in the build.

    Raises ValueError for a quote that is not closed.
    """
    found: list[str] = []
    for words in _commands(command):
        is_command = True
        for word in words:
            if not is_command or "/" in word:
                found += [word, word.partition("=")[2]]
            is_command = is_command and _is_assignment(word)
    named = (word.removeprefix("{workloads}/") for word in found)
    return [posixpath.normpath(word) for word in named if word]


def runs_module(command: str) -> bool:
    """Whether a Python in the line is told `-m` or `-c`, and so looks into its folder first."""
    return any(_module(words) is not None for words in _commands(command))


def module_files(command: str) -> list[str]:
    """What the files of the modules that the line runs are called, below some folder of a path."""
    modules = filter(None, map(_module, _commands(command)))
    names = [module.replace(".", "/") for module in modules]
    return [name + end for name in names for end in (".py", "/__main__.py")]


def _module(words: list[str]) -> str | None:
    """What the words tell a Python to run by `-m`; empty after `-c`, None when it is a script."""
    is_python, is_value = False, False
    for word, following in pairwise([*words, ""]):
        if not is_python:
            is_python = _PYTHON.fullmatch(posixpath.basename(word)) is not None
        elif _RUNS_NO_FILE.fullmatch(word):
            return following if word.endswith("m") else ""
        elif not word.startswith("-") and not is_value:
            is_python = False
        is_value = word in _WITH_VALUE
    return None


def _commands(command: str) -> Iterator[list[str]]:
    """The simple commands of a shell line."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    for word in lexer:
        if set(word) <= set("();<>|&"):
            yield words
            words = []
        else:
            words.append(word)
    yield words


def _is_assignment(word: str) -> bool:
    return word.partition("=")[0].isidentifier() and "=" in word
