"""Where upstream can be looked at: the address of its repository on GitHub."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ciwm.git import Repository

_HOSTED = re.compile(
    r"(?:(?:https?|ssh|git)://(?:[^/@]*@)?|[\w.-]+@)"
    r"(?P<host>[\w.-]*github[\w.-]*)(?::\d+)?[:/]"
    r"(?P<owner>[\w.-]+)/(?P<name>[\w.-]+?)(?:\.git)?/?"
)


def web_address(repository: Repository, upstream_ref: str, url: str | None = None) -> str | None:
    """`https://HOST/OWNER/NAME` of upstream; None when no URL known is one of GitHub.

    `url` is the configured one; without it the URL of the remote that `upstream_ref` names, or of
    the one called upstream.
    """
    named = upstream_ref.removeprefix("refs/remotes/").partition("/")[0]
    for candidate in (url, _url(repository, named), _url(repository, "upstream")):
        found = _HOSTED.fullmatch(candidate or "")
        if found is not None:
            return f"https://{found['host'].lower()}/{found['owner']}/{found['name']}"
    return None


def _url(repository: Repository, remote: str) -> str:
    return repository.run("config", "--get", f"remote.{remote}.url", check=False).text.strip()
