"""`ciwm publish --issue`: one issue, kept up to date, whoever wrote the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ciwm.cli import run
from ciwm.records import Trust
from tests.records_examples import bump
from tests.safe_markdown import check_safe
from tests.trusted_half import archive, packed

if TYPE_CHECKING:
    from pathlib import Path

    from tests.github_bed.bed import GitHubBed

RUN = 4242


@pytest.fixture
def job(github: GitHubBed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The second job of a scheduled run."""
    event = {"repository": {"full_name": github.repository}, "schedule": "0 3 * * *"}
    variables = {
        **github.environment(),
        "GITHUB_EVENT_NAME": "schedule",
        "GITHUB_EVENT_PATH": str(github.write_event(event, tmp_path)),
        "GITHUB_RUN_ID": str(RUN),
        "GITHUB_SERVER_URL": "https://github.example",
    }
    for name in ("CIWM_TOKEN", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


def issues(github: GitHubBed) -> list[dict[str, Any]]:
    path = f"/repos/{github.repository}/issues?state=all"
    return [one for one in github.proxy.emulator.json("GET", path) if "pull_request" not in one]


def left(github: GitHubBed, **changes: Any) -> None:
    """What the job that measures left."""
    report = bump(pull_request=None, **changes)
    github.runs.leave(RUN, archive(packed(report)), "ciwm-bump-preview")


@pytest.mark.usefixtures("job")
def test_the_first_report_opens_an_issue_and_pins_it(github: GitHubBed) -> None:
    left(github, headline="The newest upstream does not merge: conflicts in 2 files")
    assert run(["publish", "--issue"]) == 0
    (issue,) = issues(github)
    assert issue["title"] == "Upstream bump preview"
    assert issue["body"].startswith(
        "<!-- ciwm:bump-preview -->\n### ❌ Failed: The newest upstream"
    )
    assert [label["name"] for label in issue["labels"]] == ["ciwm"]
    assert github.runs.pinned == [issue["node_id"]]
    check_safe(issue["body"], "https://github.example")


@pytest.mark.usefixtures("job")
def test_later_reports_edit_it_in_place_and_an_equal_one_sends_nothing(github: GitHubBed) -> None:
    left(github)
    assert run(["publish", "--issue"]) == 0
    left(github, headline="All is well", conclusion="success")
    assert run(["publish", "--issue"]) == 0
    (issue,) = issues(github)
    assert "All is well" in issue["body"]
    github.exchanges.clear()
    assert run(["publish", "--issue"]) == 0
    assert {one.method for one in github.exchanges if one.path != "/graphql"} == {"GET"}


@pytest.mark.usefixtures("job")
def test_a_report_cannot_say_itself_whose_word_it_is(github: GitHubBed) -> None:
    left(github, trust=Trust(source="approved fork", policy="main", approved_by="ines"))
    assert run(["publish", "--issue"]) == 0
    (issue,) = issues(github)
    assert "approved by" not in issue["body"]


@pytest.mark.usefixtures("job")
def test_an_issue_with_our_marker_by_somebody_else_is_left_alone(github: GitHubBed) -> None:
    body = {"title": "x", "body": "<!-- ciwm:bump-preview -->\nforged", "labels": ["ciwm"]}
    github.proxy.emulator.json("POST", f"/repos/{github.repository}/issues", body, "mallory")
    left(github)
    assert run(["publish", "--issue"]) == 0
    assert len(issues(github)) == 2
    assert any(one["body"].endswith("forged") for one in issues(github))


@pytest.mark.usefixtures("job")
def test_an_issue_that_was_made_before_a_502_is_not_made_twice(github: GitHubBed) -> None:
    left(github)
    github.misbehave("applied_then_bad_gateway", method="POST", path="/issues$")
    assert run(["publish", "--issue"]) == 0
    assert len(issues(github)) == 1


@pytest.mark.usefixtures("job")
def test_a_fourth_pin_is_a_warning(github: GitHubBed, capsys: pytest.CaptureFixture[str]) -> None:
    github.runs.pinned.extend(["a", "b", "c"])
    left(github)
    assert run(["publish", "--issue"]) == 0
    assert len(issues(github)) == 1
    assert "the issue is not pinned" in capsys.readouterr().err


def test_a_token_without_the_permission_is_a_warning_and_with_require_an_error(
    github: GitHubBed, job: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    left(github)
    job.setenv("GITHUB_TOKEN", github.read_only_token)
    assert run(["publish", "--issue"]) == 0
    assert "issues: write" in capsys.readouterr().err
    assert run(["publish", "--issue", "--require"]) == 4


@pytest.mark.usefixtures("job")
def test_a_run_without_the_artifact_and_a_hostile_one_are_one_line(
    github: GitHubBed, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["publish", "--issue"]) == 2
    assert "left no artifact named ciwm-bump-preview" in capsys.readouterr().err
    github.runs.leave(RUN, b"PK nonsense", "ciwm-bump-preview")
    assert run(["publish", "--issue"]) == 2
    assert "the artifact cannot be unpacked" in capsys.readouterr().err
    assert issues(github) == []
