"""What the proxy knows beside emulate: tokens, planned faults, the log, and emulate's holes."""

from __future__ import annotations

import itertools
import re
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from tests.github_bed.pulls import BedPull
    from tests.github_bed.workflow_runs import StoredArtifact

Kind = Literal["job", "app", "pat"]
Permission = Literal["none", "read", "write"]
FaultKind = Literal[
    "bad_gateway",  # 502, nothing applied
    "applied_then_bad_gateway",  # GitHub did it, and the answer was lost
    "too_many_requests",  # 429 with Retry-After
    "secondary_limit",  # 403 with GitHub's words and Retry-After
    "primary_limit",  # 403, nothing remaining, reset far away
    "graphql_limit",  # 200 with an error of type RATE_LIMITED
    "bad_credentials",  # 401: the token expired
    "silence",  # no answer for `seconds`
    "hang_up",  # the connection is closed without an answer
    "another_page",  # 200 with a page that is not GitHub's, as a proxy's to sign in
]

READ_ONLY: dict[str, Permission] = dict.fromkeys(
    ("actions", "contents", "issues", "pull_requests", "checks", "statuses"), "read"
)
READ_WRITE: dict[str, Permission] = {
    **dict.fromkeys(READ_ONLY, "write"),
    "actions": "read",
    "contents": "read",
}


@dataclass(frozen=True)
class Token:
    """A token the proxy honours: whose it is, of what kind, what it permits on which repository."""

    value: str
    login: str
    kind: Kind
    permissions: dict[str, Permission]
    viewer: str  # what GraphQL calls the owner; for an app it may leave out [bot]
    repository: str = ""  # a job's own token reaches one repository; empty: all


@dataclass
class Fault:
    """Misbehaviour for the next `times` requests that match, once `after` of them went well."""

    kind: FaultKind
    times: int
    method: str
    path: re.Pattern[str]
    seconds: float
    after: int = 0


@dataclass(frozen=True)
class Exchange:
    """One request of a client and the status it got (0: no answer)."""

    method: str
    path: str
    status: int
    token: str
    body: bytes


@dataclass
class State:
    """All of it, shared by the proxy's threads; take `lock` to change it."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    tokens: dict[str, Token] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    exchanges: list[Exchange] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    shas: dict[str, str] = field(default_factory=dict)  # a real commit -> emulate's stand-in
    fork_shas: dict[str, str] = field(default_factory=dict)  # emulate's in a fork -> the real one
    statuses: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)
    annotations: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    check_apps: dict[int, str] = field(default_factory=dict)
    artifacts: dict[int, StoredArtifact] = field(default_factory=dict)
    artifact_folder: Path | None = None
    pinned: list[str] = field(default_factory=list)  # ids of issues
    reviews: dict[int, list[dict[str, str]]] = field(default_factory=dict)
    access: dict[tuple[str, str], Permission | Literal["admin"]] = field(default_factory=dict)
    reactions: dict[int, list[tuple[str, str]]] = field(default_factory=dict)  # of a comment
    listed_runs: list[dict[str, Any]] = field(default_factory=list)
    reruns: list[int] = field(default_factory=list)
    files: dict[str, dict[str, str]] = field(default_factory=dict)  # of a commit
    base_tips: dict[tuple[str, int], str] = field(default_factory=dict)  # by pull request
    pulls: dict[str, dict[int, BedPull]] = field(default_factory=dict)  # by repository, made up
    clock: datetime | None = None  # what the Date of answers says; None: the true time
    numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def violation(self, text: str) -> None:
        """Note something that GitHub would not accept, or would not say."""
        with self.lock:
            self.violations.append(text)

    def take_fault(self, method: str, path: str) -> Fault | None:
        """The fault planned for this request, used up once."""
        with self.lock:
            for fault in self.faults:
                if fault.method in {"", method} and fault.path.search(path):
                    if fault.after:
                        fault.after -= 1
                        continue
                    fault.times -= 1
                    if fault.times == 0:
                        self.faults.remove(fault)
                    return fault
        return None

    def to_upstream(self, text: bytes) -> bytes:
        """Real commit ids replaced by emulate's."""
        return _replaced(text, self.shas)

    def to_client(self, text: bytes) -> bytes:
        """Emulate's commit ids replaced by the real ones."""
        return _replaced(
            text, {**self.fork_shas, **{mine: real for real, mine in self.shas.items()}}
        )


def _replaced(text: bytes, names: dict[str, str]) -> bytes:
    if not names:
        return text
    return re.sub(
        rb"[0-9a-f]{40}",
        lambda found: names.get(found[0].decode(), found[0].decode()).encode(),
        text,
    )
