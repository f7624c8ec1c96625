"""Git, and nothing but git: one repository, its commands, and what each failure means.

GitPython's command runner starts the processes; git itself does the work.
"""

from __future__ import annotations

import base64
import os
import re
import shlex
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ciwm.errors import GitError, UsageError
from ciwm.git_process import Completed, execute, last_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ciwm.records.build import Revision

_FULL_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_INHERITED = {"GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "GIT_SSL_NO_VERIFY", "GIT_EXEC_PATH"}
_ALWAYS = {
    "GIT_TERMINAL_PROMPT": "0",  # a question nobody answers would hang a CI job
    "GIT_NO_LAZY_FETCH": "1",  # nothing is fetched unasked (git >= 2.44; older: see `lazy_fetch`)
    "GIT_OPTIONAL_LOCKS": "0",  # reading never rewrites the index
    "LC_ALL": "C",
    "LANGUAGE": "C",
}
_SAID_ONCE = ("version", "common_directory", "root")
_ELSEWHERE = {"GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE"}


def _hidden_variables(ours: Mapping[str, str]) -> list[str]:
    """GIT_* variables of the caller (a hook, say) that would redirect our commands."""
    kept = {*_INHERITED, *_ALWAYS, *ours}
    return [
        name
        for name in os.environ
        if name.startswith("GIT_") and not name.startswith("GIT_CONFIG_") and name not in kept
    ]


def _settings_outside() -> str:
    """How many settings the caller's environment holds; git itself complains of no number."""
    said = os.environ.get("GIT_CONFIG_COUNT", "")
    return said if said.isdecimal() else "0"


@dataclass(frozen=True)
class Repository:
    """A repository and the folder commands run in; `variables` are added to git's environment."""

    path: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path) -> Repository:
        """The repository that holds `path`; raises GitError when there is none."""
        if not path.is_dir():
            raise GitError(f"{path} is not a directory")
        repository = cls(path)
        found = repository.run("rev-parse", "--git-dir", check=False)
        if found.status != 0:
            raise _not_a_repository(path, found.stderr)
        return repository

    def with_variables(self, **variables: str) -> Repository:
        """The same repository with more environment variables."""
        made = Repository(self.path, {**self.variables, **variables})
        return made if _ELSEWHERE & variables.keys() else self._telling(made)

    def with_settings(
        self, settings: Sequence[tuple[str, str]], *, keep: bool = False
    ) -> Repository:
        """The same repository with settings for our own commands, read from no file.

        They travel in the environment, so that a secret is on no command line. With `keep`, those
        that the environment holds already stay.
        """
        before = int(self.variables.get("GIT_CONFIG_COUNT", _settings_outside())) if keep else 0
        variables = {"GIT_CONFIG_COUNT": str(before + len(settings))}
        for index, (key, value) in enumerate(settings, start=before):
            variables[f"GIT_CONFIG_KEY_{index}"] = key
            variables[f"GIT_CONFIG_VALUE_{index}"] = value
        return self.with_variables(**variables)

    def without_fetching(self) -> Repository:
        """The same repository, from which no git version fetches a missing object by itself.

        GIT_NO_LAZY_FETCH came with git 2.44. With no protocol allowed, older ones fail instead of
        fetching, and say which object they lack.
        """
        return self.with_variables(GIT_ALLOW_PROTOCOL="none")

    @contextmanager
    def scratch_objects(self) -> Iterator[Repository]:
        """The same repository with new objects going to a temporary store, removed at the end."""
        store = self.path / self.text("rev-parse", "--git-path", "objects")
        with tempfile.TemporaryDirectory(
            prefix="ciwm-objects-",
            ignore_cleanup_errors=True,  # a git that we were stopped in may still write there
        ) as folder:
            yield self.with_variables(
                GIT_OBJECT_DIRECTORY=folder,
                GIT_ALTERNATE_OBJECT_DIRECTORIES=as_listed(str(store.resolve())),
            )

    def run(self, *arguments: str, check: bool = True, stdin: bytes | None = None) -> Completed:
        """Run one git command; with `check`, a non-zero status raises GitError with git's words."""
        environment = {**_ALWAYS, **self.variables}
        completed = execute([*self._command(), *arguments], self.path, environment, stdin)
        if check and completed.status != 0:
            raise GitError(
                f"git {arguments[0]} failed in {self.path} (status {completed.status}): "
                f"{last_words(completed.stderr)}"
            )
        return completed

    def text(self, *arguments: str) -> str:
        """Standard output of a git command that must succeed, without the final newline."""
        return self.run(*arguments).text.removesuffix("\n")

    def lines(self, *arguments: str) -> list[str]:
        """Standard output of a git command that must succeed, by newline."""
        return self.run(*arguments).text.split("\n")[:-1]

    def fields(self, *arguments: str) -> list[str]:
        """Standard output of a `-z` git command that must succeed, by NUL."""
        return self.run(*arguments).text.split("\0")[:-1]

    @cached_property
    def version(self) -> tuple[int, ...]:
        """Git's version, as (2, 39, 5)."""
        match = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", self.text("version"))
        if match is None:
            raise GitError("cannot read the version of git")
        return tuple(int(part or 0) for part in match.groups())

    @cached_property
    def common_directory(self) -> Path:
        """The .git directory shared by all worktrees, absolute."""
        return (self.path / self.text("rev-parse", "--git-common-dir")).resolve()

    @cached_property
    def root(self) -> Path | None:
        """The top folder of the checkout, absolute; None when there is none (a bare clone)."""
        found = self.run("rev-parse", "--show-toplevel", check=False)
        return self.path / found.text.removesuffix("\n") if found.status == 0 else None

    def from_top(self) -> Repository:
        """The same repository with commands run in its top folder.

        Below it, some commands (merge-tree is one) give paths relative to the folder they run in.
        """
        return self._telling(Repository(self.root or self.common_directory, self.variables))

    @property
    def is_shallow(self) -> bool:
        """Whether history was cut off."""
        return self.text("rev-parse", "--is-shallow-repository") == "true"

    @property
    def is_partial(self) -> bool:
        """Whether objects were left out on purpose (a promisor remote)."""
        found = self.run(
            "config",
            "--get-regexp",
            r"^(remote\..*\.promisor|extensions\.partialclone)$",
            check=False,
        )
        return found.status == 0

    def commit(self, revision: str) -> str:
        """The full sha a revision means; raises UsageError when it means no commit."""
        found = self.run(
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            f"{revision}^{{commit}}",
            check=False,
        )
        sha = found.text.strip()
        if found.status != 0 or not _FULL_SHA.fullmatch(sha):
            raise UsageError(f"no such revision: {revision}", self._near(revision))
        return sha

    def tree(self, sha: str) -> str:
        """The tree id of a commit."""
        return self.text("rev-parse", "--verify", f"{sha}^{{tree}}")

    def revision(self, ref: str) -> Revision:
        """A revision by name, with the commit and tree it means; raises UsageError."""
        from ciwm.records.build import Revision  # noqa: PLC0415  pydantic is slow to load

        sha = self.commit(ref)
        return Revision(ref=ref, sha=sha, tree=self.tree(sha))

    def _near(self, revision: str) -> str:
        if self.run("rev-parse", "--verify", "--quiet", "HEAD", check=False).status != 0:
            return "this branch has no commit yet"
        remote = revision.split("/", 1)[0]
        if "/" in revision and remote not in self.lines("remote"):
            return f"there is no remote {remote}: git remote add {remote} URL && git fetch {remote}"
        if "/" in revision:
            return f"fetch it first: git fetch {remote}"
        return "see: git branch --all, git tag"

    def _telling(self, other: Repository) -> Repository:
        """The other, another view of this repository, knowing what git said once already."""
        other.__dict__.update({k: v for k, v in self.__dict__.items() if k in _SAID_ONCE})
        return other

    def _command(self) -> list[str]:
        unset = [part for name in _hidden_variables(self.variables) for part in ("-u", name)]
        return [*(["env", *unset] if unset else []), "git", "-c", "core.quotePath=false"]


def as_listed(path: str) -> str:
    """A path as an item of git's lists of object folders, quoted where it has to be.

    Items are parted by colons in a variable, by newlines in a file.
    """
    if not re.search(r'[:\n]|^"', path):
        return path
    escaped = re.sub(r'(["\\])', r"\\\1", path).replace("\n", "\\n")
    return f'"{escaped}"'


def token_settings(url: str, token: str) -> tuple[tuple[str, str], ...]:
    """Settings that send a token to this URL alone: no other header, no helper, no redirection.

    Raises GitError for a URL that would send it in clear over a network.
    """
    parts = urlsplit(url)
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise GitError(
            f"{without_credentials(url)} is not encrypted, and the token would be readable",
            "use the https URL of the remote",
        )
    basic = base64.b64encode(f"x-access-token:{token}".encode()).decode()
    return (
        (f"http.{url}.extraHeader", ""),  # empty: forget what a checkout may have left
        (f"http.{url}.extraHeader", f"Authorization: Basic {basic}"),
        ("credential.helper", ""),
        ("http.followRedirects", "false"),  # the header would follow to the other host
    )


def without_credentials(text: str) -> str:
    """A text whose URLs have lost their user and password."""
    return re.sub(r"(?<=://)[^/@\s]+@", "", text)


def _not_a_repository(path: Path, stderr: str) -> GitError:
    if "dubious ownership" in stderr:
        named = re.search(r"in repository at '(.+)'", stderr)  # the top folder, not one below it
        top = named[1] if named else path
        return GitError(
            f"git refuses {top}: it belongs to another user",
            f"git config --global --add safe.directory {shlex.quote(str(top))}",
        )
    if "not a git repository" not in stderr:
        return GitError(
            f"git does not work in {path}: {last_words(stderr)}",
            "see that `git status` works there",
        )
    return GitError(
        f"{path} is not inside a git repository", "run ciwm in a checkout, or use -C DIR"
    )
