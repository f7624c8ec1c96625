"""Reading our pull requests: from GitHub what changed, from the cache what did not."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from ciwm.errors import GitHubError
from ciwm.github.pull_slice import Slice
from ciwm.records.sync_pulls import PullCache
from ciwm.upstream.pulls.authors import authors, evidence, logins_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from ciwm.config_pulls import PullsConfig
    from ciwm.git import Repository
    from ciwm.github.pull_reader import PullReader
    from ciwm.records.sync_pulls import PullRequest
    from ciwm.upstream.pulls.cache import PullShelf

# a change may reach the index of GitHub's search late
OVERLAP = timedelta(hours=1)


@dataclass
class OwnPulls:
    """Our pull requests; `read_at` is the moment they are known at, None when they are not.

    `stale` says why (some of) it is from the cache alone, or why there is nothing.
    """

    logins: tuple[str, ...] = ()
    pulls: dict[int, PullRequest] = field(default_factory=dict)
    read_at: datetime | None = None
    stale: str = ""
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class OwnQuestion:
    """What is needed to read them; `reader` is None when GitHub is not to be asked, and `why`."""

    repository: Repository
    upstream: str
    config: PullsConfig
    shelf: PullShelf
    reader: PullReader | None
    why: str = ""


def own_pulls(asked: OwnQuestion) -> OwnPulls:
    """All pull requests of the configured authors; GitHub's failures end in the cache or a word."""
    own = OwnPulls(stale=asked.why)
    reader = asked.reader
    try:
        own.logins = _logins(asked, own.notes)
    except GitHubError as error:
        reader, own.stale = None, _line(error)
        own.logins = _known_logins(asked, own.notes)
    kept: list[PullCache] = []
    for login in own.logins:
        known = asked.shelf.author(login)
        if reader is not None:
            try:
                known = refreshed(reader, login, known)
                asked.shelf.keep_author(login, known)
            except GitHubError as error:
                reader, own.stale = None, _line(error)
        if known is None:
            return OwnPulls(own.logins, stale=own.stale, notes=own.notes)
        own.notes += _gaps(login, known)
        kept.append(known)
    own.read_at = min((one.read_at for one in kept), default=None)
    own.pulls = {pull.number: pull for one in kept for pull in one.pulls}
    return own


def refreshed(reader: PullReader, login: str, known: PullCache | None) -> PullCache:
    """An author's pull requests as they are now; where some are known, only what changed is read.

    Raises GitHubError. Where the count is not GitHub's afterwards, all are read anew.
    """
    if known is not None:
        changed = reader.of_author(login, Slice("updated", start=known.read_at - OVERLAP))
        pulls = {**known.by_number, **changed.pulls}
        if len(pulls) + known.unread == changed.expected and not changed.unread:
            return PullCache(read_at=reader.at, pulls=tuple(pulls.values()), unread=known.unread)
    found = reader.of_author(login, Slice("created"))
    unread = max(0, found.expected - len(found.pulls))
    return PullCache(read_at=reader.at, pulls=tuple(found.pulls.values()), unread=unread)


def _gaps(login: str, known: PullCache) -> list[str]:
    if known.unread:
        told = len(known.pulls)
        counted = f"GitHub counts {told + known.unread:,} pull requests of @{login}"
        return [f"{counted} and told {told:,}: the others are left out"]
    if not known.pulls:
        return [f"@{login} has no pull requests there that this token may see"]
    return []


def _line(error: GitHubError) -> str:
    return f"{error.message} ({error.hint})" if error.hint else error.message


def _logins(asked: OwnQuestion, notes: list[str]) -> tuple[str, ...]:
    """The authors' logins; asks GitHub what the repository is, and whose the mail addresses are."""
    if asked.reader is None:
        return _known_logins(asked, notes)
    declared, known = authors(asked.config.authors), asked.shelf.logins()
    unknown = [mail for mail in declared.mails if mail not in known]
    named = evidence(asked.repository, asked.upstream, unknown)
    numbers = {number for some in named.values() for number in some}
    learnt = logins_of(named, asked.reader.facts(numbers).authors)
    if learnt:
        asked.shelf.keep_logins({**known, **learnt})
    return _together(declared.logins, declared.mails, {**known, **learnt}, notes)


def _known_logins(asked: OwnQuestion, notes: list[str]) -> tuple[str, ...]:
    declared = authors(asked.config.authors)
    return _together(declared.logins, declared.mails, asked.shelf.logins(), notes)


def _together(
    logins: Sequence[str], mails: Sequence[str], known: dict[str, str], notes: list[str]
) -> tuple[str, ...]:
    lost = [mail for mail in mails if mail not in known]
    if lost:
        notes.append(
            f"no login was found for {', '.join(lost)}: add the @login to [upstream] authors"
        )
    together = [*logins, *(known[mail] for mail in mails if mail in known)]
    return tuple({login.lower(): login for login in together}.values())
