"""Posting what an untrusted run handed over: every artifact of it, or the reason why not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ciwm.errors import CiwmError, ConfigError, UsageError
from ciwm.github import archive, artifacts
from ciwm.publish import KEY, Target, Texts, publish
from ciwm.publish.hostile import handed_in, handed_in_archive
from ciwm.report.bump_markdown import comment_markdown, summary_markdown
from ciwm.report.remarks import remarks_of
from ciwm.story.receiving import received, refused
from ciwm.story.unmeasured import nothing_to_compare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from pathlib import Path

    from ciwm.actions import Runner, WorkflowRun
    from ciwm.github import Artifact, GitHub
    from ciwm.publish import Published
    from ciwm.publish.hostile import Handed
    from ciwm.records import BumpReport
    from ciwm.story.origin import Origin

NAME = "ciwm"  # of the artifact; `ciwm-LABEL` for each device of a matrix
ARTIFACTS_LIMIT = 8
_FOREIGN = "look at what the run left: it is not what ciwm writes"
_UPDATE = "update ciwm"  # to read what a newer one wrote
_LABELLED = re.compile(rf"{NAME}-([A-Za-z0-9][A-Za-z0-9._-]{{0,50}})")


@dataclass(frozen=True)
class Delivery:
    """What became of one artifact; `error` is the reason where it was refused."""

    name: str
    published: Published
    error: CiwmError | None


@dataclass(frozen=True)
class Poster:
    """Judges and posts what one run left; records of what was posted go into `folder`."""

    github: GitHub
    origin: Origin
    runner: Runner
    folder: Path

    def post_file(self, path: Path) -> tuple[Delivery, ...]:
        """Post what lies at a path."""
        if self.origin.undecided:
            return (self._undecided(),)
        return (self._post(KEY, lambda: handed_in(path)),)

    def post_run(self, run: WorkflowRun) -> tuple[Delivery, ...]:
        """Post every artifact of ours that a run left; nothing where the run posted by itself.

        One that left none (it was cancelled, or died) is told as such, so that its check ends.
        """
        if run.conclusion == "skipped":
            return (self._tell_skipped(),)
        if self.origin.undecided:
            return (self._undecided(),)
        try:
            # of an attempt that went well, jobs that went well before need not have run again
            since = None if run.conclusion == "success" else run.again_at
            found = list(handed_by(self.github, self.origin.repository, run.id, since))
        except CiwmError as error:
            if self._posted_by_itself(run.again_at):
                return ()
            return (self._refuse(KEY, error),)
        return tuple(self._post(key, take) for key, take in found)

    def _undecided(self) -> Delivery:
        """A check that ends with why; no pull request has a comment of it."""
        mend = "close all but one of them, and run its checks again"
        return self._refuse(KEY, UsageError(self.origin.undecided, mend))

    def _posted_by_itself(self, since: datetime | None) -> bool:
        """Whether a check of ours on the commit links to the very run, of its last attempt."""
        runs = self.github.check_runs(self.origin.repository, self.origin.sha)
        ours = [run for run in runs if run.external_id.startswith(f"{NAME}:")]
        return any(
            run.conclusion
            and run.details_url == self.origin.url
            and _since(run.completed_at, since)
            for run in ours
        )

    def _tell_skipped(self) -> Delivery:
        """A check that ends without an answer; what a comment said of another commit stays."""
        origin = self.origin
        report = nothing_to_compare(
            "all jobs of the run were skipped",
            repository=origin.repository,
            check_sha=origin.sha,
            run_url=origin.url,
            trust=origin.trust,
        )
        target = Target(origin.repository, None, origin.sha)
        return Delivery(KEY, self._publish(report, _texts(report), target), None)

    def _post(self, key: str, take: Callable[[], Handed]) -> Delivery:
        try:
            report = received(take(), self.origin)
            texts = _texts(report)
        except ConfigError as error:  # the base's
            return self._refuse(key, error)
        except UsageError as error:
            hint = error.hint if error.hint.startswith(_UPDATE) else _FOREIGN
            return self._refuse(key, UsageError(error.message, hint))
        except CiwmError as error:
            return self._refuse(key, error)
        return Delivery(key, self._publish(report, texts, self._target(key)), None)

    def _refuse(self, key: str, error: CiwmError) -> Delivery:
        """A check that fails and says why, so that none is left pending."""
        report = refused(error, self.origin)
        return Delivery(key, self._publish(report, _texts(report), self._target(key)), error)

    def _target(self, key: str) -> Target:
        return Target(self.origin.repository, self.origin.pull_request, self.origin.sha, key)

    def _publish(self, report: BumpReport, texts: Texts, target: Target) -> Published:
        saved = self.folder / f"{target.key}.json"
        return publish(report, texts, target, self.github, runner=self.runner, saved=saved)


def handed_by(
    github: GitHub, repository: str, run: int, since: datetime | None = None
) -> Iterator[tuple[str, Callable[[], Handed]]]:
    """The key of each artifact of ours that a run left, and how it is fetched and read.

    `since`: one made before is of an attempt that another followed, and does not count. Raises
    UsageError where there is none, or more than a run of ours leaves.
    """
    listed = [one for one in artifacts(github, repository, run) if _since(one.made_at, since)]
    keys = {one: _key(one.name) for one in listed}
    ours = [one for one in listed if keys[one]]
    if not ours:
        raise UsageError(
            f"the {'newest attempt of the ' if since else ''}run left no artifact named {NAME}",
            "its job was cancelled or failed before it had a report: see its log",
        )
    if len(ours) > ARTIFACTS_LIMIT:
        raise UsageError(f"the run left {len(ours)} artifacts; at most {ARTIFACTS_LIMIT} are")
    for one in ours:
        yield keys[one], partial(_fetched, github, repository, one)


def _since(moment: datetime | None, since: datetime | None) -> bool:
    return since is None or (moment is not None and moment >= since)


def _fetched(github: GitHub, repository: str, artifact: Artifact) -> Handed:
    return handed_in_archive(archive(github, repository, artifact))


def _texts(report: BumpReport) -> Texts:
    try:
        trusted = report.trust is not None and report.trust.trusted
        remarks = remarks_of(report) if trusted else ()
        return Texts(comment_markdown(report), summary_markdown(report), remarks)
    except Exception as error:  # as in `received`: the check has to end
        raise UsageError(
            f"the figures of the report cannot be shown: {type(error).__name__}"
        ) from error


def _key(name: str) -> str:
    """The key of an artifact's comment and check; empty for an artifact that is not ours."""
    if name == NAME:
        return KEY
    labelled = _LABELLED.fullmatch(name)
    return labelled[1] if labelled and labelled[1] != KEY else ""
