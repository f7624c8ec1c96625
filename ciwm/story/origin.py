"""Where an untrusted run comes from, as GitHub says it, and the policy its base has.

Everything here is from the event and the API; nothing is from a file that the run wrote, and
nothing of the pull request is checked out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ciwm.config import FILE_NAMES, Config, parse_config
from ciwm.errors import UsageError
from ciwm.github import approvals, first_parent, open_pulls
from ciwm.records import Trust
from ciwm.waivers import FILE_NAME as WAIVERS
from ciwm.waivers import Waiver, parse_waivers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.actions import Event, WorkflowRun
    from ciwm.github import GitHub, OpenPull, Tip

ENVIRONMENT = "ciwm-fork"  # whose reviewers approve a fork's run
POLICY_FILES = (*FILE_NAMES, WAIVERS)
_FOR_PULLS = ("pull_request", "pull_request_target", "pull_request_review")
_QUEUE = re.compile(r"gh-readonly-queue/(.+)/pr-\d+-[0-9a-f]{40,64}")
_NOT_RUN = ("action_required", "stale")  # somebody has to approve it first
# what takes write access to begin; a comment, an issue or a fork is anybody's
_BY_WRITERS = (
    "create",
    "deployment",
    "merge_group",
    "push",
    "release",
    "repository_dispatch",
    "schedule",
    "workflow_dispatch",
)


@dataclass(frozen=True)
class Origin:
    """A run's commit and pull request, its base's policy, and whose code it ran.

    `undecided`: why it cannot be told which pull request was run; the check ends all the same.
    """

    repository: str
    sha: str
    pull_request: int | None
    url: str | None
    event: str
    policy: Tip
    policy_name: str
    trust: Trust
    undecided: str = ""

    @property
    def config(self) -> Config:
        """The configuration of the base; raises ConfigError when it cannot be read."""
        for name in FILE_NAMES:
            text = self.policy.files.get(name)
            if text is not None:
                config = parse_config(text.encode(), source=f"{self.policy_name}:{name}")
                if config is not None:
                    return config
        return Config()

    @property
    def waivers(self) -> tuple[Waiver, ...]:
        """The waivers of the base; raises ConfigError when they cannot be read."""
        text = self.policy.files.get(WAIVERS)
        return () if text is None else parse_waivers(text.encode(), f"{self.policy_name}:{WAIVERS}")


@dataclass(frozen=True)
class Nothing:
    """Why nothing is to be posted."""

    reason: str


def origin_of(github: GitHub, event: Event, environment: str = ENVIRONMENT) -> Origin | Nothing:
    """Whose run a workflow_run job is for; raises UsageError and GitHubError.

    A fork's run lists no pull request: it is found by branch and repository, and must be at the
    very commit that was run. `environment` is the one whose reviewers approve a fork's run.
    """
    run = event.workflow_run
    if run is None:
        raise UsageError("this is no workflow_run job", "name the report: ciwm publish REPORT")
    if run.conclusion in _NOT_RUN:
        return Nothing(f"the run ended as {run.conclusion}: nothing was run")
    asked = _Asked(github, event.repository, run, environment)
    return asked.of_pull() if run.event in _FOR_PULLS else asked.of_commit()


@dataclass(frozen=True)
class _Asked:
    """One run that is asked about."""

    github: GitHub
    repository: str
    run: WorkflowRun
    environment: str

    def of_pull(self) -> Origin | Nothing:
        run, theirs = self.run, self.run.head_repository
        if run.head_branch is None or theirs is None:
            return Nothing("the branch or the fork of the run is gone: there is no pull request")
        listed = open_pulls(self.github, self.repository, run.head_branch, POLICY_FILES)
        pulls = [one for one in listed if _same(one.head_repository, theirs)]
        found = [one for one in pulls if one.head_sha == run.head_sha]
        if not found:
            return Nothing(_gone(pulls, run))
        pull = found[0]
        if len(found) > 1 and pull.base is not None:
            return self._one_of_several(found, pull.base, theirs)
        if pull.base is None:
            return Nothing(f"the base branch {pull.base_ref} of #{pull.number} is gone")
        policy = _named(pull.base_ref, pull.base)
        trust = self._trust(theirs, policy)
        return self._origin("pull request", pull.base, policy, trust, pull.number)

    def _one_of_several(self, found: Sequence[OpenPull], base: Tip, theirs: str) -> Origin:
        """A run of one of several pull requests; of a fork's GitHub does not say which."""
        numbers = " and ".join(f"#{number}" for number in sorted(one.number for one in found))
        why = f"{numbers} have the same head, and which of them was run cannot be told"
        policy = _named(found[0].base_ref, base)
        origin = self._origin("pull request", base, policy, self._trust(theirs, policy))
        return replace(origin, undecided=why)

    def of_commit(self) -> Origin | Nothing:
        """A push, a schedule, a merge queue: only somebody with write access can begin it."""
        run = self.run
        if run.event not in _BY_WRITERS:
            return Nothing(f"anybody can begin a run for {run.event}: its result is not posted")
        if not _same(run.head_repository, self.repository):
            return Nothing(f"a run for {run.event} of another repository is not posted here")
        parent = first_parent(self.github, self.repository, run.head_sha, POLICY_FILES)
        queued = _QUEUE.fullmatch(run.head_branch or "")
        policy = _named(queued[1] if queued else "its first parent", parent)
        trust = Trust(source="repository", repository=self.repository, policy=policy)
        return self._origin(run.event.replace("_", " "), parent, policy, trust)

    def _origin(
        self, event: str, base: Tip, policy: str, trust: Trust, number: int | None = None
    ) -> Origin:
        return Origin(
            repository=self.repository,
            sha=self.run.head_sha,
            pull_request=number,
            url=self.run.url,
            event=event,
            policy=base,
            policy_name=policy,
            trust=trust,
        )

    def _trust(self, theirs: str, policy: str) -> Trust:
        if _same(theirs, self.repository):
            return Trust(source="repository", repository=theirs, policy=policy)
        for one in approvals(self.github, self.repository, self.run.id):
            if one.state == "approved" and self.environment in one.environments:
                who = one.reviewer
                return Trust(
                    source="approved fork", repository=theirs, approved_by=who, policy=policy
                )
        return Trust(source="fork", repository=theirs, policy=policy)


def _gone(pulls: Sequence[OpenPull], run: WorkflowRun) -> str:
    if not pulls:
        return f"no open pull request comes from {run.head_branch} of {run.head_repository}"
    numbers = ", ".join(f"#{one.number}" for one in pulls)
    return f"{numbers} was pushed to since {run.head_sha[:12]} was run: a newer run reports"


def _named(ref: str, tip: Tip) -> str:
    return f"{ref} at {tip.sha[:12]}"


def _same(one: str | None, other: str | None) -> bool:
    """Whether two names mean one repository: GitHub does not tell them apart by case."""
    return one is not None and other is not None and one.casefold() == other.casefold()
