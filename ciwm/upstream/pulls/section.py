"""The pull request part of a sync report: ours upstream, and the incoming ones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ciwm.github.pull_reader import PullReader
from ciwm.records.sync_pulls import Pulls
from ciwm.upstream.pulls.authors import authors
from ciwm.upstream.pulls.cache import PullShelf
from ciwm.upstream.pulls.endings import settled
from ciwm.upstream.pulls.figures import figures
from ciwm.upstream.pulls.incoming import Incoming, Merge, Ours, incoming
from ciwm.upstream.pulls.landed import landed
from ciwm.upstream.pulls.own import OwnPulls, OwnQuestion, own_pulls

if TYPE_CHECKING:
    from datetime import datetime

    from ciwm.config import UpstreamConfig
    from ciwm.git import Repository
    from ciwm.github import GitHub
    from ciwm.records.sync_pulls import PullRequest
    from ciwm.upstream.pulls.endings import Settled

SKEW = timedelta(minutes=5)
_HOSTED = re.compile(r"(?:https://|ssh://git@|git@)github\.com[:/]([\w-]+/[\w.-]+?)(?:\.git)?/?$")


@dataclass(frozen=True)
class PullsQuestion:
    """What is needed for the section; `hub` is None when GitHub is not to be asked, and `why`.

    `api_url` is the address of the API whose answers the cache holds.
    """

    repository: Repository
    merge: Merge
    config: UpstreamConfig
    hub: GitHub | None
    api_url: str
    now: datetime
    why: str = ""


def pulls_section(asked: PullsQuestion) -> Pulls:
    """Our pull requests and the incoming ones; what GitHub does not tell ends in the notes.

    Raises GitError for a history that cannot be read.
    """
    own, fields = OwnPulls(), dict[str, Any]()
    if asked.config.github and asked.config.authors:
        own, fields = _own(asked)
    else:
        fields["notes"] = [_undeclared(asked.config)]
    coming = _incoming(asked, own)
    notes = (*fields.pop("notes"), *coming.notes)
    return Pulls(**fields, incoming=coming.listed, incoming_count=coming.total, notes=notes)


def _undeclared(config: UpstreamConfig) -> str:
    key = "authors" if config.github else "github"
    return f"how our pull requests fare is not known: [upstream] {key} is not set"


def _own(asked: PullsQuestion) -> tuple[OwnPulls, dict[str, Any]]:
    """Our pull requests, and the fields of the record that they fill."""
    github = asked.config.github or ""
    shelf = PullShelf(asked.api_url, github)
    reader = PullReader(asked.hub, github, asked.config.bots) if asked.hub else None
    question = OwnQuestion(
        asked.repository, asked.merge.upstream, asked.config, shelf, reader, asked.why
    )
    own = own_pulls(question)
    fields: dict[str, Any] = {"repository": github, "authors": own.logins}
    if reader is not None:
        fields |= {"requests": reader.requests, "points": reader.points}
        own.notes += _skew(reader, asked.now)
    if own.read_at is not None:
        fields |= _counted(asked, own, own.read_at)
    fields["notes"] = [*_state(own, asked.now), *own.notes, *shelf.notes]
    return own, fields


def _counted(asked: PullsQuestion, own: OwnPulls, read_at: datetime) -> dict[str, Any]:
    days = asked.config.pulls_days
    since = read_at - timedelta(days=days) if days else None
    counted = [pull for pull in own.pulls.values() if since is None or pull.created_at >= since]
    return {
        "since": since,
        "read_at": read_at,
        "from_cache": bool(own.stale),
        **figures(_settled(asked, counted), read_at),
    }


def _settled(asked: PullsQuestion, pulls: list[PullRequest]) -> list[Settled]:
    """What became of each; commits are searched only where the rule says they may tell."""
    rule, found = asked.config.merge_rule, {}
    closed = [pull.created_at for pull in pulls if pull.state == "closed"]
    if rule.trailer and closed:
        upstream, github = asked.merge.upstream, asked.config.github or ""
        found = landed(asked.repository, upstream, rule.trailer, github, min(closed))
    return [settled(pull, rule, found) for pull in pulls]


def _state(own: OwnPulls, now: datetime) -> list[str]:
    """Why our pull requests are old or unknown."""
    if own.read_at is None:
        why = own.stale or "no author of [upstream] authors is known by login"
        return [f"how our pull requests fare is not known: {why}; none are kept from earlier"]
    if not own.stale:
        return []
    age = f"{_age(now - own.read_at)} old, of {own.read_at:%Y-%m-%d %H:%M} UTC"
    return [f"our pull requests are from the cache ({age}): {own.stale}"]


def _skew(reader: PullReader, now: datetime) -> list[str]:
    difference = reader.at - now
    if not reader.points or abs(difference) <= SKEW:
        return []
    which = "behind" if difference > timedelta(0) else "ahead of"
    return [
        f"this machine's clock is {_age(abs(difference))} {which} GitHub's; days count by GitHub's"
    ]


def _age(age: timedelta) -> str:
    hours = max(0.0, age.total_seconds() / 3600)
    if hours < 1:
        return f"{hours * 60:.0f} minutes"
    return f"{hours:.1f} hours" if hours < 48 else f"{hours / 24:.1f} days"  # noqa: PLR2004


def _incoming(asked: PullsQuestion, own: OwnPulls) -> Incoming:
    declared = authors(asked.config.authors)
    mails = {mail.lower() for mail in asked.config.authors if not mail.startswith("@")}
    ours = Ours(mails | set(declared.mails), set(own.pulls), _site(asked))
    return incoming(asked.repository, asked.merge, ours)


def _site(asked: PullsQuestion) -> str | None:
    """The repository's pages: as configured, else where the upstream remote is on github.com."""
    if asked.config.github:
        server = asked.api_url.removesuffix("/api/v3").replace("//api.github.com", "//github.com")
        return f"{server}/{asked.config.github}"
    remote = f"remote.{asked.config.remote or 'upstream'}.url"
    found = asked.repository.run("config", "--get", remote, check=False)
    hosted = _HOSTED.fullmatch(asked.config.url or found.text.strip())
    return f"https://github.com/{hosted[1]}" if hosted else None
