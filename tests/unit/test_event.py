"""Events that are not what GitHub sends, and the few things its examples do not show."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.actions import read_event
from ciwm.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

SHA, OTHER = "a1" * 20, "b2" * 20
HERE = {"full_name": "acme/engine", "default_branch": "trunk"}


def pull(head_repository: object = None, **changes: Any) -> dict[str, Any]:
    said = {
        "number": 7,
        "head": {"sha": SHA, "ref": "f", "repo": head_repository},
        "base": {"sha": OTHER, "ref": "trunk", "repo": HERE},
    }
    return {"action": "opened", "repository": HERE, "pull_request": {**said, **changes}}


def variables(folder: Path, name: str, payload: object, **more: str) -> dict[str, str]:
    path = folder / "event.json"
    path.write_text(payload if isinstance(payload, str) else json.dumps(payload), encoding="utf-8")
    return {"GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": str(path), **more}


@pytest.mark.parametrize(
    ("repository", "from_fork"),
    [
        (HERE, False),
        ({"full_name": "mallory/engine", "fork": True}, True),
        (None, True),  # the fork was deleted
        ({**HERE, "fork": True}, False),  # a downstream is a fork itself: that says nothing
    ],
)
def test_a_pull_request_is_from_a_fork_when_its_head_is_in_another_repository(
    tmp_path: Path, repository: object, *, from_fork: bool
) -> None:
    event = read_event(variables(tmp_path, "pull_request", pull(repository)))
    assert event.pull_request is not None
    assert event.pull_request.from_fork is from_fork


def test_the_runs_address_and_the_repository_come_from_the_environment_where_needed(
    tmp_path: Path,
) -> None:
    event = read_event(
        variables(
            tmp_path,
            "schedule",
            {"schedule": "0 3 * * *"},
            GITHUB_REPOSITORY="acme/engine",
            GITHUB_SERVER_URL="https://ghe.example",
            GITHUB_RUN_ID="42",
            GITHUB_REF="refs/heads/trunk",
        )
    )
    assert (event.repository, event.ref) == ("acme/engine", "refs/heads/trunk")
    assert event.run_url == "https://ghe.example/acme/engine/actions/runs/42"
    assert event.pull_request is None
    assert (event.before, event.after, event.default_branch) == (None, None, None)


@pytest.mark.parametrize(
    ("name", "payload", "told"),
    [
        ("pull_request", "{", "is not JSON"),
        ("pull_request", "[" * 100_000, "is not JSON"),
        ("pull_request", [], "is not an object"),
        ("pull_request", {"repository": HERE}, "pull_request is missing or malformed"),
        ("pull_request", pull(number="7"), "pull_request.number is missing or malformed"),
        ("pull_request", pull(number=True), "pull_request.number is missing or malformed"),
        ("pull_request", pull(head={"sha": "--help"}), "pull_request.head.sha is missing or"),
        ("pull_request", pull(base=None), "pull_request.base.sha is missing or malformed"),
        ("push", {"repository": HERE, "after": SHA}, "the push event is not GitHub's: before"),
        ("push", {"before": SHA, "after": SHA}, "repository.full_name is missing"),
        ("merge_group", {"repository": HERE}, "merge_group.base_sha is missing"),
        ("push", {"repository": {"full_name": "a/b/../c"}, "before": SHA}, "before|after"),
    ],
)
def test_a_malformed_event_is_one_line_that_names_the_part(
    tmp_path: Path, name: str, payload: object, told: str
) -> None:
    with pytest.raises(UsageError, match=told) as caught:
        read_event(variables(tmp_path, name, payload))
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "GITHUB_EVENT_NAME is not set"),
        ({"GITHUB_EVENT_NAME": "push"}, "GITHUB_EVENT_PATH is not set"),
        ({"GITHUB_EVENT_NAME": "push", "GITHUB_EVENT_PATH": "/no/such"}, "No such file"),
    ],
)
def test_no_event_is_said(given: dict[str, str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        read_event(given)
