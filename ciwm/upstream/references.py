"""Which upstream commit a downstream commit says, or seems, to be."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ciwm.upstream.names import readable_text
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ciwm.git import Repository

ALIKE = 0.5  # of the words of both subjects in common
_PICKED = re.compile(r"^\(cherry picked from commit ([0-9a-f]{7,64})\)\s*$", re.MULTILINE)
_NUMBER = re.compile(r"(?:/pull/|#)(\d+)\b")
_OWN = re.compile(r"\(#\d+\)\s*$")
_SENT = re.compile(r"cherry.?pick|back.?port|\bport(?:ed|ing|s)?\b|upstream", re.IGNORECASE)
_MERGED = re.compile(rb"\(#(\d+)\)|^\S+ Merge pull request #(\d+)")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Landed:
    """What upstream merged: subjects by sha, and shas by the number of their pull request."""

    subjects: dict[str, str] = field(default_factory=dict)
    numbers: dict[int, str] = field(default_factory=dict)

    def match(self, message: str) -> str:
        """The sentence that says which of them a commit message stands for; empty for none.

        Fork and upstream number their pull requests apart, so that a number alone says little: the
        line it is in has to speak of upstream, or the two subjects have to be alike.
        """
        subject = message.partition("\n")[0]
        if subject.startswith("Revert"):
            return ""
        for picked in _PICKED.findall(message):
            sha = next((each for each in self.subjects if each.startswith(picked)), None)
            if sha is not None:
                return f"says it was picked from upstream's {sha[:12]}"
        said = said_numbers(message)
        for number in map(int, _NUMBER.findall(message)):
            sha = self.numbers.get(number)
            if sha is not None and (number in said or self._alike(subject, sha)):
                return f"upstream merged PR #{number} as {sha[:12]}"
        return ""

    def _alike(self, subject: str, sha: str) -> bool:
        ours, theirs = _words(subject), _words(self.subjects[sha])
        return len(ours & theirs) >= ALIKE * max(1, len(ours | theirs))


def said_numbers(message: str) -> set[int]:
    """Numbers of pull requests in lines that speak of upstream, or of a cherry-pick.

    One in brackets at the end of a line is the downstream's own.
    """
    lines = (_OWN.sub("", line) for line in message.splitlines() if _SENT.search(line))
    return {int(number) for line in lines for number in _NUMBER.findall(line)}


def _words(subject: str) -> set[str]:
    return set(_WORD.findall(re.sub(r"\(#\d+\)", "", subject).casefold()))


def landed(repository: Repository, tip: str, messages: Iterable[str]) -> Landed:
    """Of all that upstream ever merged, what one of these messages may mean."""
    told = "\n".join(messages)
    picked = tuple(set(_PICKED.findall(told)))
    numbers = {number.encode() for number in _NUMBER.findall(told)}
    found = Landed()
    if not numbers and not picked:
        return found
    walk = read(repository, "log", "--no-show-signature", "--format=%H %s", tip)
    prefixes = tuple(prefix.encode() for prefix in picked)
    for line in walk.stdout.split(b"\n"):
        # the last number is the pull request's, others may be issues
        named = _MERGED.findall(line) if b"#" in line else []
        number = next(filter(None, named[-1])) if named else b""
        if number in numbers or line.startswith(prefixes):
            sha, _, subject = line.decode("utf-8", "surrogateescape").partition(" ")
            found.subjects[sha] = readable_text(subject)
            if number:
                found.numbers.setdefault(int(number), sha)
    return found


def texts(repository: Repository, shas: Sequence[str], form: str) -> list[tuple[str, str]]:
    """Part of each commit's message (%s, %B), in order."""
    if not shas:
        return []
    asked = "".join(f"{sha}\n" for sha in shas).encode()
    walk = ("rev-list", "--no-walk=unsorted", "--stdin", "--encoding=UTF-8")
    found = read(repository, *walk, f"--format={form}%x00", stdin=asked)
    parts = (part.lstrip("\n") for part in found.text.split("\0")[:-1])
    heads = (part.partition("\n") for part in parts)
    return [(head.removeprefix("commit "), readable_text(text)) for head, _, text in heads]
