"""The remote a store is pushed to, and the token: never on a command line, in a file or a message.

Git is given the token through GIT_CONFIG_* variables of that one process, for that one URL.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from ciwm.errors import StoreError
from ciwm.git import token_settings, without_credentials

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.git import Repository
    from ciwm.git_process import Completed

# runs take kilobytes; of the remote's tip only the marker and the README are downloaded
_FETCH = ("--depth=1", "--filter=blob:limit=4k", "--no-tags", "--no-write-fetch-head", "--quiet")
_NAME = "ciwm"  # a path cannot name a remote that objects are left out of
_CARRIED = r"^(http\..*|core\.sshcommand|ssh\..*|credential\..*)$"
_DENIED = (
    "Authentication failed",
    "could not read Username",
    "could not read Password",
    "returned error: 401",
    "returned error: 403",
    "Permission denied",
    "Permission to ",
    "Write access to repository not granted",
)


Kind = Literal["outrun", "refused", "denied", "moved away", "unreachable"]
# git's and GitHub's words for "another push was quicker"
_OUTRUN = (
    "fetch first",
    "non-fast-forward",
    "cannot lock ref",
    "failed to update ref",
    "failed to lock",
    "reference already exists",
    "incorrect old value",
)


class RemoteError(StoreError):
    """A remote could not be read or written; `kind` says whether to try again makes sense."""

    def __init__(self, message: str, hint: str, kind: Kind) -> None:
        super().__init__(message, hint)
        self.kind = kind


@dataclass(frozen=True)
class Remote:
    """Where to push; `shown` is the URL without credentials, `settings` hold all git must know."""

    shown: str
    settings: tuple[tuple[str, str], ...] = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)

    def tip(self, scratch: Repository, branch: str) -> str | None:
        """The commit the remote's branch is at, None when it has no such branch."""
        found = self._run(scratch, "ls-remote", _NAME, f"refs/heads/{branch}")
        if found.status != 0:
            raise self._failure(f"cannot read {branch} of {self.shown}", found)
        return found.text.split("\t", 1)[0] if found.text.strip() else None

    def fetch_tip(self, scratch: Repository, branch: str) -> str | None:
        """The same, with the commit and its trees in `scratch`."""
        tip = self.tip(scratch, branch)
        if tip is None:
            return None
        refspec = f"+refs/heads/{branch}:refs/ciwm/tip"
        found = self._run(scratch, "fetch", *_FETCH, _NAME, refspec)
        if found.status != 0:
            raise self._failure(f"cannot fetch {branch} of {self.shown}", found)
        return scratch.text("rev-parse", "--verify", "refs/ciwm/tip")

    def bring(self, scratch: Repository, blobs: Sequence[str]) -> None:
        """Download files together, where one by one would be a request each.

        What does not come is downloaded when it is read, or fails there.
        """
        if blobs:
            asked = ("-c", "fetch.negotiationAlgorithm=noop", "fetch", "--no-tags", "--quiet")
            quiet = ("--no-write-fetch-head", "--recurse-submodules=no", "--filter=blob:none")
            self._run(scratch, *asked, *quiet, _NAME, *blobs)

    def read(self, scratch: Repository, blob: str, source: str) -> bytes:
        """A file's content, downloaded where it is not here; `source` names it in errors."""
        fetching = scratch.with_variables(GIT_NO_LAZY_FETCH="0")
        found = self._run(fetching, "cat-file", "blob", blob)
        if found.status != 0:
            raise self._failure(f"cannot read {source}", found)
        return found.stdout

    def push(self, scratch: Repository, commit: str, branch: str) -> None:
        """Set the remote's branch to a descendant of its tip; raises RemoteError when it is not."""
        done = self._run(
            scratch,
            "push",
            "--porcelain",
            "--no-verify",
            "--recurse-submodules=no",
            _NAME,
            f"{commit}:refs/heads/{branch}",
        )
        if done.status != 0:
            raise self._failure(f"cannot push {branch} to {self.shown}", done)

    def _run(self, scratch: Repository, *arguments: str) -> Completed:
        allowed = scratch.with_variables(GIT_ALLOW_PROTOCOL=_PROTOCOLS)
        return allowed.with_settings(self.settings).run(*arguments, check=False)

    def _failure(self, what: str, ended: Completed) -> RemoteError:
        """Git's words, without what is secret, and the mend."""
        words = self._redacted(_reason(ended))
        if any(sign in ended.stderr for sign in _DENIED):
            mend = "give the job a token that may write: permissions: { contents: write }"
            return RemoteError(f"{what}: access denied: {words}", mend, "denied")
        if "rejected]" in ended.text and any(sign in words for sign in _OUTRUN):
            return RemoteError(f"{what}: {words}", "", "outrun")
        if "rejected]" in ended.text:
            mend = "is the branch protected? let the workflow's token push to it"
            return RemoteError(f"{what}: refused: {words}", mend, "refused")
        if "unable to update url base from redirection" in ended.stderr or "error: 30" in words:
            return RemoteError(f"{what}: {words}", "set the remote's new URL", "moved away")
        mend = "is the remote's URL right, and the network up? the runs are kept here meanwhile"
        return RemoteError(f"{what}: {words}", mend, "unreachable")

    def _redacted(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return without_credentials(text)


_PROTOCOLS = "https:http:ssh:git:file"


def resolve_remote(repository: Repository, remote: str, token: str | None) -> Remote:
    """A remote's name or URL as a Remote; raises GitError rather than send a token in clear."""
    known = repository.run("remote", "get-url", "--push", "--", remote, check=False)
    url = (
        known.text.strip()
        if known.status == 0
        else repository.text("ls-remote", "--get-url", "--", remote)
    )
    settings = _carried(repository, with_token=token is not None)
    secrets: tuple[str, ...] = ()
    parts = urlsplit(url) if "://" in url else None
    if token and parts is not None and parts.scheme in ("http", "https"):
        added = token_settings(url, token)
        secrets = (
            token,
            *(value.rpartition(" ")[2] for _, value in added if value.startswith("Auth")),
        )
        settings = (*settings, *added)
    settings = ((f"remote.{_NAME}.url", url), *_OWN, *settings)
    return Remote(without_credentials(url), settings, secrets)


_OWN = (
    # the user's refs are no promise that history behind them is whole (a shallow clone)
    ("core.alternateRefsPrefixes", "refs/ciwm-none/"),
    ("gc.auto", "0"),
    ("http.lowSpeedLimit", "1"),
    ("http.lowSpeedTime", "60"),  # seconds; a server that hangs is a failure, not a wait
    ("maintenance.auto", "false"),
    ("fetch.fsckObjects", "true"),
)


def _carried(repository: Repository, *, with_token: bool) -> tuple[tuple[str, str], ...]:
    """The repository's own settings about reaching remotes (proxy, certificates, ssh)."""
    found = repository.run("config", "--local", "-z", "--get-regexp", _CARRIED, check=False)
    pairs = [entry.split("\n", 1) for entry in found.text.split("\0")[:-1]]
    return tuple(
        (pair[0], pair[1] if len(pair) > 1 else "true")
        for pair in pairs
        if not (with_token and pair[0].lower().endswith(".extraheader"))
    )


def _reason(ended: Completed) -> str:
    """The line that says why: of a push its porcelain line, else what the remote or git said."""
    for line in ended.text.splitlines():
        if line.startswith("!"):
            said = [
                words.removeprefix("remote:").strip()
                for words in ended.stderr.splitlines()
                if words.startswith("remote:") and words.removeprefix("remote:").strip()
            ]
            return " ".join([line.split("\t")[-1], *said[:3]])
    lines = [line.strip() for line in ended.stderr.splitlines() if line.strip()]
    for start in ("fatal:", "error:", "remote:"):
        for line in lines:
            if line.startswith(start):
                return line
    return lines[-1] if lines else "git says nothing"
