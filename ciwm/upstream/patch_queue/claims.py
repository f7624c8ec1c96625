"""What the header of a patch says about its way upstream.

DEP-3 (Forwarded, Applied-Upstream, Origin), Yocto's Upstream-Status, and the free forms in use:
`Related PR: #123`, `Upstream-PR: https://github.com/owner/name/pull/123`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ciwm.records.sync_patches import PatchClaims

if TYPE_CHECKING:
    from collections.abc import Iterator

_FIELD = re.compile(
    r"^[ \t#*/-]*([A-Za-z][A-Za-z -]{2,40}?)(?:[ \t]*\([^)\n]*\))?[ \t]*:[ \t]*(.*)$"
)
_ADDRESS = re.compile(r"https?://[^/\s]+/([\w.-]+/[\w.-]+)/pull/(\d+)")
_SHORT = re.compile(r"(?:([\w.-]+/[\w.-]+))?#(\d+)\b")
_COMMIT = re.compile(r"(?:/commits?/|\b)([0-9a-f]{7,64})\b")
_VERSION = re.compile(r"\bv?\d+(?:\.\d+)+[\w.+-]*")
_PICKED = re.compile(r"^\(cherry picked from commit ([0-9a-f]{7,64})\)", re.MULTILINE)
_PULL_FIELDS = {
    "related pr", "related-pr", "upstream pr", "upstream-pr", "pr", "pull request", "forwarded",
    "applied-upstream", "origin", "upstream-status", "upstream status", "bug", "bug-upstream",
    "upstream",
}  # fmt: skip
_HOLDING = {"applied-upstream", "origin", "upstream-status", "upstream status"}
_REFUSED = re.compile(r"^(?:not[- ]needed|denied|inappropriate|rejected|wontfix)", re.IGNORECASE)


def read_claims(header: str, upstream: str | None) -> PatchClaims:
    """The claims of a header; pull requests of other repositories than `upstream` do not count.

    `upstream` is owner/name, None when not known: then any repository's count.
    """
    pulls: list[int] = []
    commits = list(_PICKED.findall(header))
    refused = ""
    for name, value in _fields(header):
        if name in _PULL_FIELDS:
            pulls += _numbers(value, upstream, bare=True)
        if name in _HOLDING and _says_applied(name, value):
            commits += _commits(value)
        if name in ("forwarded", "upstream-status", "upstream status") and _REFUSED.match(value):
            refused = refused or f"{name.title()}: {value}"[:200]
    pulls += _numbers(header, upstream, bare=False)
    return PatchClaims(
        pulls=tuple(dict.fromkeys(pulls)), commits=tuple(dict.fromkeys(commits)), refused=refused
    )


def _fields(header: str) -> Iterator[tuple[str, str]]:
    """Fields with the lines that continue them; `Related PR` may have its values below it."""
    name, values = "", list[str]()
    for line in (re.sub(r"^\s?[#*/]+", "", each) for each in header.splitlines()):
        found = _FIELD.match(line)
        if found is not None and not found[2].startswith("//"):
            if name:
                yield name, " ".join(values).strip()
            name, values = found[1].strip().lower(), [found[2]]
        elif line[:1].isspace() and line.strip():
            values.append(line.strip())
        else:
            if name:
                yield name, " ".join(values).strip()
            name, values = "", []
    if name:
        yield name, " ".join(values).strip()


def _says_applied(name: str, value: str) -> bool:
    """`Origin: vendor` and `Upstream-Status: Pending` say nothing of the kind."""
    if name == "applied-upstream":
        return True
    word = value.lower()
    return word.startswith(("upstream", "backport", "accepted", "merged"))


def _commits(value: str) -> list[str]:
    without = _ADDRESS.sub(" ", value)
    shas = [sha for sha in _COMMIT.findall(without) if not sha.isdecimal()]
    return shas or _VERSION.findall(without)


def _numbers(text: str, upstream: str | None, *, bare: bool) -> list[int]:
    found = [(slug, number) for slug, number in _ADDRESS.findall(text)]
    if bare:
        found += [(slug, number) for slug, number in _SHORT.findall(_ADDRESS.sub(" ", text))]
    wanted = (upstream or "").lower()
    return [
        int(number)
        for slug, number in found
        if not slug or not wanted or slug.lower().removesuffix(".git") == wanted
    ]
