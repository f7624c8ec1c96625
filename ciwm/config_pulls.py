"""The keys of [upstream] that say which pull requests are ours, and what counts as merged."""

from __future__ import annotations

import re

from pydantic import Field, field_validator

from ciwm.config_section import Section

_REPOSITORY = re.compile(r"[\w-]+/[\w.-]+", re.ASCII)
_TEAM = re.compile(r"@[\w-]+/[\w.-]+", re.ASCII)
_AUTHOR = re.compile(r"@[A-Za-z0-9][\w-]*(?:\[bot\])?|[^@\s]+@[^@\s]+", re.ASCII)


class MergeRule(Section):
    """How a merge shows upstream where GitHub says "closed": any of these suffices.

    A label on it, the login that closed it, or a line of a commit's message that begins with
    `trailer` and ends in its address or number. What GitHub itself calls merged always is.
    """

    label: str | None = None
    """The label of what was merged."""
    closed_by: str | None = None
    """The login that closes what it merged."""
    trailer: str | None = None
    """How the line of a commit's message begins that names the pull request."""

    @field_validator("*")
    @classmethod
    def _words(cls, value: str | None) -> str | None:
        if value is not None and (not value.strip() or not value.isprintable()):
            raise ValueError("must be words on one line")
        return value


# where a bot lands commits itself, GitHub sees pull requests that were closed
KNOWN_MERGE_RULES = {
    "pytorch/pytorch": MergeRule(label="Merged", trailer="Pull Request resolved:"),
}


class PullsConfig(Section):
    """`github` is upstream's owner/name there; `authors` are those whose pull requests are ours.

    An author is @login, or the mail address of their commits. With `pulls_days`, only pull requests
    made in so many days count. Comments of `bots` are no response, as those of known bots.
    """

    github: str | None = None
    """Upstream's owner/name on GitHub: its pull requests are reported then."""
    authors: tuple[str, ...] = ()
    """Whose are ours: @login, or the mail address of their commits."""
    merged: MergeRule | None = None
    """How a merge shows where GitHub says closed."""
    pulls_days: int | None = Field(default=None, ge=1, le=36_500)
    """Only pull requests made in so many days count."""
    bots: tuple[str, ...] = ()
    """Logins whose comments are no response, besides the known bots."""

    @field_validator("github")
    @classmethod
    def _repository(cls, value: str | None) -> str | None:
        if value is not None and not _REPOSITORY.fullmatch(value):
            raise ValueError(f"is upstream's owner/name on GitHub, not {value!r}")
        return value

    @field_validator("authors")
    @classmethod
    def _authors(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for author in value:
            if _TEAM.fullmatch(author):
                raise ValueError(f"{author} is a team, which a job's token cannot list: use logins")
            if not _AUTHOR.fullmatch(author):
                raise ValueError(f"an author is @login or a mail address, not {author!r}")
        return value

    @property
    def merge_rule(self) -> MergeRule:
        """The rule stated, else the known one of this upstream, else nothing but GitHub's word."""
        if self.merged is not None:
            return self.merged
        return KNOWN_MERGE_RULES.get((self.github or "").lower(), MergeRule())
