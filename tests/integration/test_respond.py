"""`ciwm respond`: who may ask in a comment, what is done, and what whoever asked is told."""

from __future__ import annotations

import base64
import json
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.cli import run
from ciwm.waivers import parse_waivers
from tests.github_bed.emulator import MAINTAINER
from tests.github_bed.state import READ_WRITE
from tests.runs import RunBuilder, series
from tests.trusted_half import POLICY, SLOWER, archive, measured, packed

if TYPE_CHECKING:
    from pathlib import Path

    from tests.github_bed.bed import GitHubBed, Pull

TODAY = datetime.now(timezone.utc).date()


class Desk:
    """A pull request on which people comment, and the job that answers."""

    def __init__(self, bed: GitHubBed, folder: Path, environment: pytest.MonkeyPatch) -> None:
        self.bed, self.folder, self.environment = bed, folder, environment
        self.pull: Pull = bed.pull_request(from_fork=True)
        self.grant(actions="write", contents="write")
        bed.may(MAINTAINER, "write")
        environment.delenv("CIWM_TOKEN", raising=False)
        environment.setenv("GITHUB_RUN_ID", "1")
        environment.setenv("RUNNER_TEMP", str(folder))
        bed.exchanges.clear()

    def grant(self, **more: Any) -> None:
        """The permissions of the job's token, beside those of the bed's usual one."""
        token = self.bed.make_token(permissions={**READ_WRITE, **more})
        for name, value in self.bed.environment(token).items():
            self.environment.setenv(name, value)

    def __call__(self, body: str, login: str = MAINTAINER, **changes: Any) -> int:
        event = self.bed.comment_event(self.pull.number, body, login)
        return self.event("issue_comment", {**event, **changes})

    def event(self, name: str, event: dict[str, Any], *arguments: str) -> int:
        self.comment = event.get("comment", {}).get("id", 0)
        self.environment.setenv("GITHUB_EVENT_NAME", name)
        path = self.bed.write_event(event, self.folder)
        self.environment.setenv("GITHUB_EVENT_PATH", str(path))
        self.bed.exchanges.clear()
        return run(["respond", *arguments])

    @property
    def reactions(self) -> list[str]:
        return self.bed.reactions(self.comment)

    @property
    def replies(self) -> list[str]:
        found = self.bed.comments(self.pull.number)
        return [one["body"] for one in found if one["user"]["login"] != MAINTAINER]

    @property
    def reply(self) -> str:
        (found,) = [body for body in self.replies if f"ciwm:reply-{self.comment}" in body]
        return found

    @property
    def sent(self) -> list[str]:
        """What was asked of GitHub that changes something."""
        return [one.method for one in self.bed.exchanges if one.method != "GET"]

    def file(self, branch: str) -> str:
        """The waivers on a branch."""
        path = f"/repos/{self.bed.repository}/contents/ciwm-waivers.toml"
        found = self.bed.proxy.emulator.call("GET", path, query=f"ref={branch}")
        assert found.ok, found.text
        return base64.b64decode(found.json()["content"]).decode()


@pytest.fixture
def desk(github: GitHubBed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(github, tmp_path, monkeypatch)


def test_rerun_runs_the_newest_run_of_the_head_again(desk: Desk) -> None:
    desk.bed.runs.list(desk.pull, event="push")
    old = desk.bed.runs.list(desk.pull)
    newest = desk.bed.runs.list(desk.pull, conclusion="failure")
    assert old["id"] < newest["id"]
    assert desk("/ciwm rerun\nthe machine was busy") == 0
    assert desk.bed.proxy.state.reruns == [newest["id"]]
    assert desk.reactions == ["rocket"]
    assert desk.replies == []


@pytest.mark.parametrize("access", ["read", "none"])
def test_somebody_who_may_not_write_moves_nothing_whatever_the_payload_says(
    desk: Desk, access: Any
) -> None:
    desk.bed.runs.list(desk.pull)
    desk.bed.may("mallory", access)
    assert desk("/ciwm rerun", "mallory") == 0  # its payload says OWNER
    assert desk.bed.proxy.state.reruns == []
    assert desk.reactions == ["-1"]
    assert desk.sent == ["POST"]  # the reaction: no reply that could be used to flood


def test_a_name_that_another_account_has_now_is_nobody(desk: Desk) -> None:
    desk.bed.runs.list(desk.pull)
    event = desk.bed.comment_event(desk.pull.number, "/ciwm rerun")
    event["comment"]["user"]["id"] += 1
    assert desk.event("issue_comment", event) == 0
    assert desk.bed.proxy.state.reruns == []
    assert desk.reactions == ["-1"]


def test_an_app_is_not_obeyed(desk: Desk) -> None:
    event = desk.bed.comment_event(desk.pull.number, "/ciwm rerun", "ciwm[bot]")
    assert desk.event("issue_comment", event) == 0
    assert desk.sent == []


@pytest.mark.parametrize(
    "body",
    [
        "nice",
        "> /ciwm rerun",
        "look:\n/ciwm rerun",
        "```\n/ciwm rerun\n```",
        "<!--\n/ciwm rerun\n-->",
        " /ciwm rerun",
        "/ciwmrerun",
        "/CIWM rerun",
    ],
)
def test_only_a_first_line_that_is_a_command_asks_anything(desk: Desk, body: str) -> None:
    desk.bed.runs.list(desk.pull)
    assert desk(body) == 0
    assert desk.bed.exchanges == []


def test_an_edited_or_deleted_comment_and_one_on_an_issue_ask_nothing(desk: Desk) -> None:
    for action in ("edited", "deleted"):
        assert desk("/ciwm rerun", action=action) == 0
        assert desk.bed.exchanges == []
    assert desk("/ciwm rerun", issue={"number": 5}) == 0
    assert desk.bed.exchanges == []


def test_a_run_that_is_not_over_is_left_running(desk: Desk) -> None:
    desk.bed.runs.list(desk.pull, status="in_progress", conclusion=None)
    assert desk("/ciwm rerun") == 0
    assert (desk.reactions, desk.replies) == (["eyes"], [])


def test_a_run_that_waits_for_an_approval_is_not_approved_by_it(desk: Desk) -> None:
    desk.bed.runs.list(desk.pull, conclusion="action_required")
    assert desk("/ciwm rerun") == 0
    assert desk.bed.proxy.state.reruns == []
    assert "waits for an approval" in desk.reply


def test_a_head_without_a_run_and_a_closed_pull_request_are_said(desk: Desk) -> None:
    old = desk.pull
    desk.bed.runs.list(old)
    desk.bed.push(old)
    assert desk("/ciwm rerun") == 0
    assert "has no run for" in desk.reply
    assert desk.reactions == ["confused"]
    path = f"/repos/{desk.bed.repository}/pulls/{old.number}"
    desk.bed.proxy.emulator.json("PATCH", path, {"state": "closed"})
    assert desk("/ciwm rerun") == 0
    assert "the pull request is closed" in desk.reply


def test_a_run_that_github_will_not_run_again_fails_the_job_and_says_why(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.bed.runs.list(desk.pull, too_old=True)
    assert desk("/ciwm rerun") == 4
    assert "created over a month ago" in capsys.readouterr().err
    assert "created over a month ago" in desk.reply


def test_a_token_that_may_not_run_anything_is_told_the_permission(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.grant()
    desk.bed.runs.list(desk.pull)
    assert desk("/ciwm rerun") == 4
    assert "permissions: {actions: write}" in capsys.readouterr().err
    assert "actions: write" in desk.reply


def test_a_mistake_gets_the_usage_and_pings_nobody(desk: Desk) -> None:
    for body in ("/ciwm", "/ciwm @org/team <b>", "/ciwm rerun all", "/ciwm waive", "/ciwm waive x"):
        assert desk(body) == 0
        assert desk.reactions == ["confused"]
        assert "/ciwm waive SERIES" in desk.reply
        assert "@org/team" not in desk.reply
        assert "<b>" not in desk.reply


def test_a_waiver_is_put_on_a_branch_of_its_own_with_everything_it_needs(desk: Desk) -> None:
    body = "/ciwm waive `decode/b=1` ceiling=8% the sampler   checks for NaN\nmore talk"
    assert desk(body) == 0
    branch = f"ciwm/waive-{desk.comment}"
    (waiver,) = parse_waivers(desk.file(branch).encode(), "f")
    assert (waiver.series, waiver.metric, waiver.ceiling_pct) == ("decode/b=1", "*", 8.0)
    assert waiver.reason == "the sampler checks for NaN"
    assert waiver.author == f"@{MAINTAINER}"
    assert waiver.issue.endswith(f"#issuecomment-{desk.comment}")
    assert waiver.expires == TODAY + timedelta(days=60)
    assert f"/compare/main...{branch}?expand=1" in desk.reply
    assert 'series = "decode/b=1"' in desk.reply
    assert desk.reactions == ["+1"]


def test_what_stands_in_the_file_already_stays(desk: Desk) -> None:
    path = f"/repos/{desk.bed.repository}/contents/ciwm-waivers.toml"
    text = "# ours\n"
    content = base64.b64encode(text.encode()).decode()
    put = {"message": "m", "content": content, "branch": "main"}
    desk.bed.proxy.emulator.json("PUT", path, put)
    assert desk("/ciwm waive x ceiling=8% r") == 0
    assert desk.file(f"ciwm/waive-{desk.comment}").startswith("# ours\n\n[[waiver]]\n")
    assert desk.file("main") == text


def test_the_job_run_again_proposes_nothing_twice(desk: Desk) -> None:
    event = desk.bed.comment_event(desk.pull.number, "/ciwm waive x ceiling=8% r")
    for _ in range(2):
        assert desk.event("issue_comment", event, "--open-pull-request") == 0
    assert len(desk.replies) == 1
    assert desk.reactions == ["+1"]
    pulls = desk.bed.proxy.emulator.json("GET", f"/repos/{desk.bed.repository}/pulls")
    ours = [one for one in pulls if one["head"]["ref"] == f"ciwm/waive-{desk.comment}"]
    assert len(ours) == 1
    assert ours[0]["title"] == f"Accept a regression of x until {TODAY + timedelta(days=60)}"
    assert f"/pull/{ours[0]['number']}" in desk.reply


def test_without_the_right_to_push_the_reply_holds_the_text(desk: Desk) -> None:
    desk.grant()
    assert desk('/ciwm waive "x y" ceiling=8% expires=2099-01-01 r') == 0
    assert "is not within 366 days" in desk.reply
    day = TODAY + timedelta(days=9)
    assert desk(f'/ciwm waive "x y" ceiling=8% expires={day} issue=#7 r') == 0
    assert "It could not be pushed for you" in desk.reply
    assert "contents: write" not in desk.reply.partition("```")[2]
    (waiver,) = parse_waivers(desk.reply.partition("```toml\n")[2].partition("```")[0].encode(), "")
    assert (waiver.series, waiver.issue, waiver.expires) == ("x y", "#7", day)


def test_the_ceiling_is_what_the_newest_run_saw_judged_again(desk: Desk) -> None:
    desk.bed.runs.write(desk.pull.base_sha, {"ciwm.toml": POLICY})
    listed = desk.bed.runs.list(desk.pull, conclusion="failure")
    desk.bed.runs.leave(listed["id"], archive(packed(run=measured(SLOWER))))
    assert desk("/ciwm waive decode it is worth it") == 0
    (waiver,) = parse_waivers(desk.file(f"ciwm/waive-{desk.comment}").encode(), "f")
    assert (waiver.series, waiver.metric) == ("decode/b=1", "step_time")
    assert waiver.ceiling_pct == 21.0  # 20 % and one more
    assert desk("/ciwm waive load it is worth it") == 0
    assert "did not regress in the newest run" in desk.reply
    assert "decode/b=1" in desk.reply


def test_a_series_that_a_run_named_is_no_word_in_the_commits_message(desk: Desk) -> None:
    evil = "decode/b=2\n\nfixes #1 @everyone\n\nCo-authored-by: x <x@example.org>"
    found = RunBuilder(family=[series(evil)]).blocks(8, 0.01, 0.012).run()
    listed = desk.bed.runs.list(desk.pull)
    desk.bed.runs.leave(listed["id"], archive(packed(run=found)))
    assert desk("/ciwm waive decode/b=2* slow") == 0
    (put,) = [one for one in desk.bed.exchanges if one.method == "PUT"]
    message = json.loads(put.body)["message"]
    assert message.splitlines()[0].startswith("Accept a regression of 1 series until")
    assert "fixes" not in message
    assert "Co-authored" not in message


def test_without_a_run_the_ceiling_has_to_be_stated(desk: Desk) -> None:
    desk.bed.runs.list(desk.pull, workflow="other.yml")
    desk.bed.runs.list(desk.bed.pull_request("second"))
    assert desk("/ciwm waive x r") == 0
    assert "tells the ceiling" in desk.reply
    assert "ceiling=8%" in desk.reply


def test_a_file_on_the_base_that_cannot_be_read_is_said(desk: Desk) -> None:
    path = f"/repos/{desk.bed.repository}/contents/ciwm-waivers.toml"
    content = base64.b64encode(b"[[waiver").decode()
    desk.bed.proxy.emulator.json("PUT", path, {"message": "m", "content": content})
    assert desk("/ciwm waive x ceiling=8% r") == 0
    assert "ciwm-waivers.toml is not TOML" in desk.reply


@pytest.mark.parametrize("outage", ["bad_gateway", "secondary_limit", "bad_credentials"])
def test_an_outage_fails_the_job_and_moves_nothing(desk: Desk, outage: Any) -> None:
    desk.bed.runs.list(desk.pull)
    desk.environment.setattr("ciwm.github.api.Patience", _hasty)
    desk.bed.misbehave(outage, times=99, path="/permission", seconds=3000)
    assert desk("/ciwm rerun") == 4
    assert desk.bed.proxy.state.reruns == []
    assert desk.sent == []


def _hasty() -> Any:
    from ciwm.github import Patience  # noqa: PLC0415

    return Patience(retries=1, backoff_s=0.01, total_wait_s=1)


def rerequested(desk: Desk, **check: Any) -> dict[str, Any]:
    """The payload of a check that somebody asks for again."""
    repository = desk.bed.push_event("", "")["repository"]
    user = desk.bed.proxy.json("GET", f"/users/{MAINTAINER}", None)
    known = {"name": "ciwm", "external_id": "ciwm:bump", "head_sha": desk.pull.head_sha}
    return {
        "action": "rerequested",
        "check_run": {**known, "pull_requests": [], **check},
        "repository": repository,
        "sender": user,
    }


def test_a_check_that_is_asked_for_again_runs_again(desk: Desk) -> None:
    listed = desk.bed.runs.list(desk.pull)
    assert desk.event("check_run", rerequested(desk)) == 0
    assert desk.bed.proxy.state.reruns == [listed["id"]]


def test_a_check_that_is_not_ours_and_a_stranger_run_nothing(desk: Desk) -> None:
    desk.bed.runs.list(desk.pull)
    assert desk.event("check_run", rerequested(desk, external_id="")) == 0
    assert desk.event("check_run", {**rerequested(desk), "action": "completed"}) == 0
    assert desk.bed.exchanges == []
    desk.bed.may(MAINTAINER, "read")
    assert desk.event("check_run", rerequested(desk)) == 0
    assert desk.bed.proxy.state.reruns == []


def test_what_was_done_can_be_read_by_a_program(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.bed.runs.list(desk.pull)
    event = desk.bed.comment_event(desk.pull.number, "/ciwm rerun")
    assert desk.event("issue_comment", event, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["reaction"] == "rocket"


def test_another_event_is_one_line(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    event = desk.bed.push_event("0" * 40, "1" * 40)
    assert desk.event("push", event) == 2
    assert "for no comment and no check" in capsys.readouterr().err
