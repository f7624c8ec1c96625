"""What is done about a comment or a re-requested check, and what whoever asked is told.

Somebody may ask who GitHub says, now, may write to the repository. Neither their comment nor
their association with the repository, which both come with the event, is believed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ciwm.errors import GitHubError, UsageError
from ciwm.github.people import access_of
from ciwm.github.proposals import pull_tips
from ciwm.github.reruns import newest_run, run_again
from ciwm.report.replies import refusal
from ciwm.story.slash import USAGE, Mistake, Rerun, wish_in
from ciwm.story.waiver_proposal import Wanted, proposed

if TYPE_CHECKING:
    from datetime import date

    from ciwm.actions import Event, IssueComment, Person
    from ciwm.errors import CiwmError
    from ciwm.github import GitHub
    from ciwm.github.people import Reaction
    from ciwm.github.reruns import FoundRun
    from ciwm.story.slash import Wish

OURS = "ciwm:"  # how the external id of every check of ours begins


@dataclass(frozen=True)
class Response:
    """What was done, for the log; the reaction and the reply that the comment gets.

    `failure` is why GitHub did not let us do it, which is the job's failure too.
    """

    done: str
    reaction: Reaction | None = None
    reply: str = ""
    failure: CiwmError | None = None


@dataclass(frozen=True)
class Desk:
    """Where wishes arrive.

    `workflow` is the file whose runs measure; `pulls`, whether waivers come as pull requests of
    ours, or else as a branch, of which somebody makes one.
    """

    github: GitHub
    event: Event
    workflow: str
    today: date
    pulls: bool = False

    def respond(self) -> Response:
        """Do what the event asks, if whoever asks may; raises GitHubError and UsageError."""
        if self.event.comment is not None:
            return self._to_comment(self.event.comment)
        if self.event.check is not None and self.event.after is not None:
            return self._to_check(self.event.after)
        raise UsageError(
            "this job is for no comment and no check", "it belongs to issue_comment and check_run"
        )

    def _to_check(self, sha: str) -> Response:
        event, check = self.event, self.event.check
        if check is None or event.action != "rerequested":
            return Response(f"nothing to do for a check that is {event.action}")
        if not check.external_id.startswith(OURS):
            return Response(f"the check {check.name[:60]!r} is not ours")
        if not self._may_ask(check.asked_by):
            return Response(f"{check.asked_by.login} may not write to {event.repository}")
        return self._run_again(sha)

    def _to_comment(self, comment: IssueComment) -> Response:
        wish = wish_in(comment.body)
        if wish is None or self.event.action != "created" or not comment.on_pull_request:
            return Response("nothing is asked of ciwm")
        author = comment.author
        if author.is_app:
            return Response(f"{author.login} is an app: people ask")
        if not self._may_ask(author):
            told = f"{author.login} may not write to {self.event.repository}: nothing is done"
            return Response(told, "-1")
        try:
            return self._granted(wish, comment)
        except GitHubError as error:
            return replace(_refused(error.message, error.hint), failure=error)

    def _granted(self, wish: Wish, comment: IssueComment) -> Response:
        """The wish of somebody who may write."""
        if isinstance(wish, Mistake):
            return _refused(wish.why, "", USAGE)
        pull = pull_tips(self.github, self.event.repository, comment.number)
        if pull.state != "open":
            return _refused(f"the pull request is {pull.state}", "")
        if isinstance(wish, Rerun):
            return self._run_again(pull.head_sha)
        try:
            wanted = Wanted(wish, pull, comment, self.today, self.workflow, self.pulls)
            done, reply = proposed(self.github, self.event, wanted)
        except UsageError as error:
            return _refused(error.message, error.hint)
        return Response(done, "+1", reply)

    def _may_ask(self, person: Person) -> bool:
        """Whether the account, and not only its name, may write."""
        access = access_of(self.github, self.event.repository, person.login)
        return access.may_write and access.account == person.id

    def _run_again(self, sha: str) -> Response:
        """The newest run for a commit, again; what a fork runs needs its approval again."""
        repository = self.event.repository
        run = newest_run(self.github, repository, self.workflow, sha)
        if run is None:
            return _refused(
                f"{self.workflow} has no run for {sha[:12]}",
                "its first run comes with a push; is the input workflow the file that measures?",
            )
        waiting = _waiting(run)
        if waiting:
            return waiting
        run_again(self.github, repository, run.id)
        return Response(f"{run.url} runs again", "rocket")


def _waiting(run: FoundRun) -> Response | None:
    """What is told of a run that is not over, or that waits for somebody."""
    if run.status != "completed":
        return Response(f"{run.url} is {run.status} already", "eyes")
    if run.conclusion == "action_required":
        return _refused(
            f"the run of {run.head_sha[:12]} waits for an approval",
            "look at the change, approve it",
        )
    return None


def _refused(message: str, hint: str, usage: tuple[str, ...] = ()) -> Response:
    return Response(f"not done: {message}", "confused", refusal(message, hint, usage))
