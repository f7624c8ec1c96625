"""The check on the commit, or a commit status where checks are not permitted."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ciwm.github import Check, ForbiddenError, Status, UnreachableError
from ciwm.publish.published import Posted

if TYPE_CHECKING:
    from ciwm.github import CheckRun, GitHub
    from ciwm.github.values import StatusState

NAME = "ciwm"
SUMMARY_LIMIT_BYTES = 65_535
TITLE_LIMIT = 250
TRIES = 3
_STATES: dict[str, StatusState] = {"success": "success", "failure": "failure", "neutral": "success"}


def post_check(github: GitHub, repository: str, check: Check) -> Posted:
    """Make the commit show the check; a commit status when the token may not post checks."""
    try:
        return _put(github, repository, check)
    except ForbiddenError as refused:
        try:
            return _put_status(github, repository, check)
        except ForbiddenError:
            raise refused from None


def titled(text: str, limit: int = TITLE_LIMIT) -> str:
    """A title on one line, in which nothing is hidden: no control and no direction characters."""
    shown = "".join(
        letter if letter.isprintable() else " " if letter.isspace() else f"\\u{ord(letter):04x}"
        for letter in text[: limit + 1]
    )
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def fitted(text: str, limit: int = SUMMARY_LIMIT_BYTES) -> str:
    """A summary within GitHub's limit; cut at a line, which is said."""
    data = text.encode()
    if len(data) <= limit:
        return text
    note = "\n\n_Cut: the whole is in the comment or the step summary._"
    kept = data[: limit - len(note.encode())]
    end = kept.rfind(b"\n")
    return kept[: end if end > 0 else len(kept)].decode("utf-8", "ignore") + note


def _put(github: GitHub, repository: str, check: Check) -> Posted:
    for attempt in range(1, TRIES + 1):
        found = _ours(github, repository, check)
        if found is not None and _says(found, check):
            # one that an answer was lost of is ours just made
            done = "unchanged" if attempt == 1 else "created"
            return Posted(what="check", done=done, url=found.url)
        try:
            return _write(github, repository, check, found)
        except UnreachableError:
            if attempt == TRIES:
                raise
            time.sleep(github.patience.backoff_s * attempt)
    raise AssertionError  # the last attempt returned or raised


def _write(github: GitHub, repository: str, check: Check, found: CheckRun | None) -> Posted:
    # annotations can only be added to a run, so one that has some is superseded by a new run
    if found is not None and not found.annotations_count:
        try:
            edited = github.edit_check(repository, found.id, check)
            return Posted(what="check", done="edited", url=edited.url)
        except ForbiddenError:
            pass  # another app's: only the app that made a run may edit it
    made = github.create_check(repository, check)
    return Posted(what="check", done="created", url=made.url)


def _ours(github: GitHub, repository: str, check: Check) -> CheckRun | None:
    """The newest run that we made; a job that is named like our check is none of them."""
    runs = github.check_runs(repository, check.sha, check.name)
    return next((run for run in runs if run.external_id == check.external_id), None)


def _says(run: CheckRun, check: Check) -> bool:
    return (
        run.conclusion == check.conclusion
        and run.title == check.title
        and run.summary.replace("\r\n", "\n").rstrip() == check.summary.rstrip()
        and run.annotations_count == len(check.annotations)
    )


def _put_status(github: GitHub, repository: str, check: Check) -> Posted:
    doubt = "neutral: " if check.conclusion == "neutral" else ""  # statuses have no such state
    status = Status(
        sha=check.sha,
        context=check.name,
        state=_STATES[check.conclusion],
        description=f"{doubt}{check.title}",
        url=check.details_url,
    )
    github.create_status(repository, status)
    return Posted(what="status", done="created")
