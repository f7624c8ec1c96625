"""Replies to comments that ask something of ciwm, as Markdown; nothing in them pings anybody."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from ciwm.report.bump_parts import safe_url
from ciwm.report.detail import name, words
from ciwm.report.escape import fenced
from ciwm.waivers import FILE_NAME, as_toml

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.waivers import Waiver


def refusal(message: str, hint: str, usage: Sequence[str] = ()) -> str:
    """Why something was not done, and how it is done."""
    parts = [f"**Not done:** {words(message)}."]
    if hint:
        parts.append(f"{words(hint)}.")
    if usage:
        parts.append("\n".join(["```", *usage, "```"]))  # our own words, to be copied as they are
    return "\n\n".join(parts) + "\n"


def proposal(waivers: Sequence[Waiver], base: str, link: str) -> str:
    """A waiver that only waits to be merged, behind a link."""
    told = (
        f"Here is the waiver, on a branch of its own: **[{_kind(link)}]({link})**. Once it is "
        f"merged into {name(base)}, run this pull request's check again (`/ciwm rerun`): up to the "
        "ceiling and until the day, the regression does not block."
    )
    return f"{told}\n\n{_block(waivers)}\n"


def text_to_merge(waivers: Sequence[Waiver], base: str, why: str) -> str:
    """A waiver that somebody has to put into the file, and why we did not."""
    told = (
        f"Merge this into {name(FILE_NAME)} of {name(base)} by a pull request of its own, then "
        "run the check here again (`/ciwm rerun`). It could not be pushed for you: "
        f"{words(why)}."
    )
    return f"{told}\n\n{_block(waivers)}\n"


def compare_link(repository_url: str, base: str, branch: str) -> str:
    """The page that opens a pull request for a branch; empty where there is no safe address."""
    place = safe_url(repository_url)
    ends = f"{quote(base, safe='/')}...{quote(branch, safe='/')}"
    return f"{place}/compare/{ends}?expand=1" if place else ""


def _kind(link: str) -> str:
    return "review it and open the pull request" if "/compare/" in link else "review and merge it"


def _block(waivers: Sequence[Waiver]) -> str:
    return fenced("\n".join(map(as_toml, waivers)), "toml")
