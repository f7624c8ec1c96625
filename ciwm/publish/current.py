"""Whether a report is still about what the pull request holds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ciwm.errors import GitHubError

if TYPE_CHECKING:
    from ciwm.actions import Runner
    from ciwm.github import GitHub
    from ciwm.publish.posting import Target


def still_current(github: GitHub | None, target: Target, runner: Runner) -> Target:
    """The target, without its comment where the pull request was pushed to since.

    The check belongs to the commit; of two runs, the one that began first may end last.
    """
    number, sha = target.pull_request, target.sha
    if github is None or number is None or sha is None:
        return target
    try:
        head = github.head_sha(target.repository, number)
    except GitHubError:
        return target  # posting will say what is wrong
    if head == sha:
        return target
    told = (
        f"#{number} was pushed to since {sha[:12]} was tested: the comment is left to a newer run"
    )
    runner.notice(told, title="ciwm")
    return replace(target, pull_request=None)
