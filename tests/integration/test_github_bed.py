"""The bed itself: that it behaves as GitHub does where our clients depend on it."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
import requests

if TYPE_CHECKING:
    from pathlib import Path

    from tests.github_bed.bed import GitHubBed
    from tests.github_bed.runner import Act

REAL = "1234567890" * 4


def ask(
    github: GitHubBed, method: str, path: str, body: object = None, token: str | None = None
) -> requests.Response:
    return requests.request(
        method,
        github.url + path,
        json=body,
        headers={"authorization": f"Bearer {github.token if token is None else token}"},
        timeout=30,
    )


def test_a_jobs_own_token_cannot_ask_who_it_is_by_rest_but_can_by_graphql(
    github: GitHubBed,
) -> None:
    refused = ask(github, "GET", "/user")
    assert (refused.status_code, refused.json()["message"]) == (
        403,
        "Resource not accessible by integration",
    )
    told = ask(github, "POST", "/graphql", {"query": "query { viewer { login } }"})
    assert told.json() == {"data": {"viewer": {"login": "github-actions[bot]"}}}


def test_a_read_only_token_reads_and_is_refused_to_write(github: GitHubBed) -> None:
    pull = github.pull_request()
    path = f"/repos/{github.repository}/issues/{pull.number}/comments"
    assert ask(github, "GET", path, token=github.read_only_token).json() == []
    refused = ask(github, "POST", path, {"body": "x"}, token=github.read_only_token)
    assert refused.status_code == 403
    assert github.comments(pull.number) == []


def test_an_unknown_field_of_a_request_is_a_violation(github: GitHubBed) -> None:
    pull = github.pull_request()
    path = f"/repos/{github.repository}/check-runs"
    ask(github, "POST", path, {"name": "x", "head_sha": pull.head_sha, "status": "done"})
    assert any("status: 'done' is not one of" in said for said in github.violations)
    github.violations.clear()


def test_a_query_the_schema_lacks_is_a_violation(github: GitHubBed) -> None:
    ask(github, "POST", "/graphql", {"query": "query { viewer { lgin } }"})
    assert any("Cannot query field 'lgin'" in said for said in github.violations)
    github.violations.clear()


def test_lists_come_in_pages_whose_links_lead_back_to_the_bed(github: GitHubBed) -> None:
    pull = github.pull_request()
    for number in range(5):
        github.comment(pull.number, f"comment {number}")
    url = f"/repos/{github.repository}/issues/{pull.number}/comments?per_page=2"
    found: list[str] = []
    while url:
        answer = ask(github, "GET", url)
        found += [one["body"] for one in answer.json()]
        url = answer.links.get("next", {}).get("url", "").removeprefix(github.url)
    assert found == [f"comment {number}" for number in range(5)]


def test_real_commit_ids_stand_in_the_answers_and_pushes_move_the_pull_request(
    github: GitHubBed,
) -> None:
    pull = github.pull_request(head_sha=REAL)
    path = f"/repos/{github.repository}/pulls/{pull.number}"
    assert ask(github, "GET", path).json()["head"]["sha"] == REAL
    moved = github.push(pull, "ab" * 20)
    assert ask(github, "GET", path).json()["head"]["sha"] == moved.head_sha == "ab" * 20
    made = {"name": "x", "head_sha": "ab" * 20}
    assert ask(github, "POST", f"/repos/{github.repository}/check-runs", made).ok
    assert [run["head_sha"] for run in github.checks("ab" * 20)] == ["ab" * 20]
    assert github.checks(REAL) == []


def test_a_check_on_an_unknown_commit_is_refused(github: GitHubBed) -> None:
    made = {"name": "x", "head_sha": "0" * 40}
    refused = ask(github, "POST", f"/repos/{github.repository}/check-runs", made)
    assert refused.status_code == 422
    assert "No commit found for SHA" in refused.json()["message"]


def test_a_pull_request_from_a_fork_names_the_fork(github: GitHubBed) -> None:
    pull = github.pull_request(from_fork=True)
    said = ask(github, "GET", f"/repos/{github.repository}/pulls/{pull.number}").json()
    assert said["head"]["repo"]["full_name"] == pull.head_repository != github.repository


def test_files_statuses_and_the_issue_of_a_pull_request_are_answered(github: GitHubBed) -> None:
    pull = github.pull_request()
    repository = f"/repos/{github.repository}"
    assert len(ask(github, "GET", f"{repository}/pulls/{pull.number}/files").json()) == 1
    issue = ask(github, "GET", f"{repository}/issues/{pull.number}").json()
    assert issue["title"] == "Sync feature"
    for state in ("pending", "failure"):
        made = ask(
            github,
            "POST",
            f"{repository}/statuses/{pull.head_sha}",
            {"state": state, "context": "ciwm"},
        )
        assert made.status_code == 201
    combined = ask(github, "GET", f"{repository}/commits/{pull.head_sha}/status").json()
    assert (combined["state"], combined["total_count"]) == ("failure", 1)
    listed = ask(github, "GET", f"{repository}/commits/{pull.head_sha}/statuses").json()
    assert [one["state"] for one in listed] == ["failure", "pending"]


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("bad_gateway", 502),
        ("too_many_requests", 429),
        ("secondary_limit", 403),
        ("primary_limit", 403),
        ("bad_credentials", 401),
        ("graphql_limit", 200),
    ],
)
def test_misbehaviour_on_order_ends_after_the_ordered_number(
    github: GitHubBed, kind: str, status: int
) -> None:
    github.misbehave(kind, times=2)  # type: ignore[arg-type]
    path = f"/repos/{github.repository}"
    assert [ask(github, "GET", path).status_code for _ in range(3)] == [status, status, 200]


def test_an_answer_lost_after_the_deed_leaves_the_deed_done(github: GitHubBed) -> None:
    pull = github.pull_request()
    github.misbehave("applied_then_bad_gateway", method="POST")
    path = f"/repos/{github.repository}/issues/{pull.number}/comments"
    assert ask(github, "POST", path, {"body": "x"}).status_code == 502
    assert [one["body"] for one in github.comments(pull.number)] == ["x"]


def checkout_of(folder: Path, workflow: str, remote_url: str) -> Path:
    """A git repository with one workflow."""
    checkout = folder / "checkout"
    file = checkout / ".github/workflows/ci.yml"
    file.parent.mkdir(parents=True)
    file.write_text(workflow, encoding="utf-8")
    git = ["git", "-C", str(checkout), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", "init", "-q", "-b", "main", str(checkout)], check=True)
    subprocess.run([*git, "remote", "add", "origin", remote_url], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "c"], check=True)
    return checkout


def test_act_runs_a_workflow_that_reaches_the_bed(
    github: GitHubBed, act: Act, tmp_path: Path
) -> None:
    checkout = checkout_of(tmp_path, WORKFLOW, github.remote_url)
    pull = github.pull_request()
    result = act(
        "pull_request",
        checkout=checkout,
        event=github.pull_request_event(pull),
        token=github.token,
        env=github.environment(),
    )
    assert result.rc == 1, result.log
    assert result.outputs == {"name": "Sync feature\nsecond line"}
    assert result.summary == "# all of it\n"
    assert [(one.level, one.message) for one in result.annotations] == [("error", "too slow")]
    assert result.annotations[0].properties == {"title": "ciwm", "file": "a.py", "line": "3"}
    assert result.jobs == {"test": "failure"}
    assert f"repository {github.repository}" in result.log


def test_act_shows_the_last_words_of_a_failing_step_however_late_it_reads(
    act: Act, tmp_path: Path
) -> None:
    checkout = checkout_of(tmp_path, HELD_UP, "https://example.org/acme/fork.git")
    result = act("push", checkout=checkout)
    assert result.rc == 1, result.log
    told = [line for line in result.log.splitlines() if line.startswith("line ")]
    assert told == [f"line {number}" for number in range(1, 101)]
    assert [one.message for one in result.annotations] == ["without a line feed"]
    assert "the step ends" not in result.log


WORKFLOW = """
name: ci
on: pull_request
jobs:
  test:
    runs-on: [self-hosted, gpu]
    steps:
      - uses: actions/checkout@v4
      - id: ask
        env:
          TOKEN: ${{ secrets.GITHUB_TOKEN }}
          NUMBER: ${{ github.event.number }}
        run: |
          test -d .git
          echo "repository $GITHUB_REPOSITORY"
          url="$GITHUB_API_URL/repos/$GITHUB_REPOSITORY/pulls/$NUMBER"
          title=$(python3 -c '
          import json, sys, urllib.request
          url, token = sys.argv[1:]
          asked = urllib.request.Request(url, headers={"authorization": "Bearer " + token})
          print(json.load(urllib.request.urlopen(asked))["title"])
          ' "$url" "$TOKEN")
          printf 'name<<END_OF_IT\\n%s\\nsecond line\\nEND_OF_IT\\n' "$title" >> "$GITHUB_OUTPUT"
          echo "# all of it" >> "$GITHUB_STEP_SUMMARY"
      - run: |
          echo "::error title=ciwm,file=a.py,line=3::too slow"
          exit 1
"""

# the runner is held still from before the step's last words until well after its end
HELD_UP = """
on: push
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - run: |
          read -r _ _ _ runner _ < /proc/$PPID/stat
          kill -STOP $runner
          setsid bash -c "sleep 1.5; kill -CONT $runner" < /dev/null > /dev/null 2>&1 &
          for number in {1..100}; do echo "line $number"; done
          printf '::error::without a line feed'
          exit 1
"""
