"""Whose pull requests are ours: logins, and mail addresses turned into logins.

GitHub's search knows no mail address. The commits of an address upstream name pull requests in
their subjects, and GitHub names the login that opened those.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.github.pull_answer import GHOST
from ciwm.upstream.culprits import pull_request
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ciwm.git import Repository

EVIDENCE = 5  # pull requests looked at for one mail address
_NOREPLY = re.compile(r"(?:\d+\+)?([A-Za-z0-9][\w-]*(?:\[bot\])?)@users\.noreply\.github\.com")


@dataclass(frozen=True)
class Authors:
    """The logins known from the start, and the mail addresses whose login is to be found."""

    logins: tuple[str, ...]
    mails: tuple[str, ...]


def authors(declared: Iterable[str]) -> Authors:
    """The authors of the configuration; GitHub's own addresses hold their login."""
    logins, mails = [], []
    for author in declared:
        noreply = _NOREPLY.fullmatch(author)
        if author.startswith("@"):
            logins.append(author[1:])
        elif noreply:
            logins.append(noreply[1])
        else:
            mails.append(author.lower())
    return Authors(_distinct(logins), _distinct(mails))


def evidence(repository: Repository, upstream: str, mails: Sequence[str]) -> dict[str, list[int]]:
    """The newest pull requests that upstream's commits of each mail address name."""
    found: dict[str, list[int]] = {mail: [] for mail in mails}
    if not mails:
        return found
    wanted = [f"--author=<{mail}>" for mail in mails]
    form = ("--encoding=UTF-8", "--format=%ae%x00%s")
    walk = ("rev-list", "--fixed-strings", "--regexp-ignore-case")
    for line in read(repository, *walk, *wanted, *form, upstream).text.split("\n"):
        mail, _, subject = line.partition("\0")  # `commit SHA` lines in between have no mail
        number = pull_request(subject)
        numbers = found.get(mail.lower())
        if number is not None and numbers is not None and len(numbers) < EVIDENCE:
            numbers.append(number)
    return found


def logins_of(
    evidence: Mapping[str, Sequence[int]], opened_by: Mapping[int, str]
) -> dict[str, str]:
    """The login that opened most of the pull requests of each mail address; at least half."""
    found = {}
    for mail, numbers in evidence.items():
        names = [opened_by[number] for number in numbers if number in opened_by]
        people = Counter(name for name in names if name != GHOST and not name.endswith("[bot]"))
        if people:
            login, count = people.most_common(1)[0]
            if 2 * count >= len(names):
                found[mail] = login
    return found


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Each name once, whatever its case; GitHub does not tell @Jane from @jane."""
    return tuple({name.lower(): name for name in names}.values())
