"""Our plain values and PyGithub's objects, one made from the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ciwm.github.values import CheckRun, Comment

if TYPE_CHECKING:
    import github.CheckRun
    import github.IssueComment

    from ciwm.github.values import Annotation, Check

ANNOTATIONS_A_REQUEST = 50


def comment_of(found: github.IssueComment.IssueComment) -> Comment:
    """A comment; its author is "ghost" where the account is gone."""
    user = found.user
    return Comment(
        id=_number(found.id),
        author=user.login if user else "ghost",  # the account is gone
        by_app=bool(user) and user.type == "Bot",
        body=found.body or "",
        url=found.html_url,
    )


def check_run_of(found: github.CheckRun.CheckRun) -> CheckRun:
    """A check run as we keep it."""
    output = found.output
    return CheckRun(
        id=_number(found.id),
        name=found.name,
        external_id=found.external_id or "",
        conclusion=found.conclusion,
        title=output.title or "",
        summary=output.summary or "",
        annotations_count=output.annotations_count or 0,
        url=found.html_url or "",
        details_url=found.details_url or "",
        completed_at=found.completed_at,
    )


def _number(value: int | None) -> int:
    """What GitHub numbers; of a page that is not GitHub's, PyGithub makes a thing without one."""
    if value is None:
        raise ValueError("it has no id")
    return value


def batches(
    annotations: tuple[Annotation, ...],
) -> tuple[tuple[Annotation, ...], list[tuple[Annotation, ...]]]:
    """The first 50, and the rest by 50."""
    size = ANNOTATIONS_A_REQUEST
    rest = range(size, len(annotations), size)
    return annotations[:size], [annotations[start : start + size] for start in rest]


def described(check: Check, annotations: tuple[Annotation, ...]) -> dict[str, Any]:
    """The fields of a completed check run, with its first annotations."""
    details = {"details_url": check.details_url} if check.details_url else {}
    return {
        "name": check.name,
        "external_id": check.external_id,
        "status": "completed",
        "conclusion": check.conclusion,
        "output": output(check, annotations),
        **details,
    }


def output(check: Check, annotations: tuple[Annotation, ...]) -> dict[str, Any]:
    """What a check run says, with annotations that are added to those it has."""
    remarks = [
        {
            "path": one.path,
            "start_line": one.start_line,
            "end_line": one.end_line,
            "annotation_level": one.level,
            "message": one.message,
            **({"title": one.title} if one.title else {}),
        }
        for one in annotations
    ]
    said: dict[str, Any] = {"title": check.title, "summary": check.summary}
    return {**said, "annotations": remarks} if remarks else said
