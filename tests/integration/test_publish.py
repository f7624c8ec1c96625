"""Publishing to the bed's GitHub: one comment, one check, whatever the day is like."""

from __future__ import annotations

import io
import json
import shlex
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.actions import Runner
from ciwm.cli import run
from ciwm.errors import UsageError
from ciwm.github import Annotation, GitHub, Patience, connect
from ciwm.publish import Published, Target, Texts, publish
from ciwm.publish.sticky import BODY_LIMIT, marker
from ciwm.report.bump_markdown import comment_markdown
from tests.records_examples import bump

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ciwm.github.values import Comment
    from ciwm.records import BumpReport
    from tests.github_bed.bed import GitHubBed, Pull

QUICK = Patience(retries=2, backoff_s=0.05, total_wait_s=5)
IMPATIENT = Patience(retries=2, backoff_s=0.05, total_wait_s=5, timeout_s=1)


class Poster:
    """Publishes to one pull request of the bed, as a job does."""

    def __init__(self, bed: GitHubBed, folder: Path) -> None:
        self.bed = bed
        self.pull: Pull = bed.pull_request()
        self.saved = folder / "out" / "report.json"
        self.log = io.StringIO()
        self.patience = QUICK
        self.opened: list[GitHub] = []
        self.variables = {"GITHUB_ACTIONS": "true"}
        for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"):
            self.variables[name] = str(folder / name)
        bed.exchanges.clear()

    def __call__(
        self,
        text: str = "all is well",
        *,
        token: str | None = None,
        annotations: tuple[Annotation, ...] = (),
        key: str = "bump",
        **changes: object,
    ) -> Published:
        hub = connect(token or self.bed.token, self.bed.url, patience=self.patience)
        self.opened.append(hub)
        target = Target(self.bed.repository, self.pull.number, self.pull.head_sha, key)
        texts = Texts(text, f"# {text}", annotations)
        runner = Runner(self.variables, self.log)
        return publish(bump(**changes), texts, target, hub, runner=runner, saved=self.saved)

    @property
    def bodies(self) -> list[str]:
        return [one["body"] for one in self.bed.comments(self.pull.number)]

    @property
    def sent(self) -> list[str]:
        return [f"{one.method} {one.status}" for one in self.bed.exchanges]


@pytest.fixture
def post(github: GitHubBed, tmp_path: Path) -> Iterator[Poster]:
    poster = Poster(github, tmp_path)
    yield poster
    for hub in poster.opened:
        hub.close()


def body(text: str, key: str = "bump") -> str:
    return f"{marker(key)}\n{text}"


def test_a_first_publish_leaves_one_comment_and_one_check_in_at_most_eight_requests(
    post: Poster, github: GitHubBed
) -> None:
    done = post("slower by 12 %", conclusion="failure", headline="decode is 12 % slower")
    assert [(one.what, one.done) for one in done.posted] == [
        ("check", "created"),
        ("comment", "created"),
    ]
    assert done.problems == ()
    assert post.bodies == [body("slower by 12 %")]
    (check,) = github.checks(post.pull.head_sha)
    assert (check["name"], check["status"], check["conclusion"]) == (
        "ciwm",
        "completed",
        "failure",
    )
    assert check["output"]["title"] == "decode is 12 % slower"
    assert check["output"]["summary"] == "slower by 12 %"
    assert len(post.sent) <= 8


def test_the_same_report_again_sends_nothing_but_questions(post: Poster) -> None:
    post()
    before = len(post.sent)
    again = post()
    assert [one.done for one in again.posted] == ["unchanged", "unchanged"]
    asked = post.bed.exchanges[before:]
    assert {one.method for one in asked if one.path != "/graphql"} == {"GET"}


def test_a_new_report_edits_the_same_comment_and_the_same_check(
    post: Poster, github: GitHubBed
) -> None:
    post("bad", conclusion="failure")
    first = github.comments(post.pull.number)[0]["id"]
    post("good", conclusion="success")
    assert [(one["id"], one["body"]) for one in github.comments(post.pull.number)] == [
        (first, body("good"))
    ]
    assert [run["conclusion"] for run in github.checks(post.pull.head_sha)] == ["success"]


def test_the_comment_is_found_on_the_third_page(post: Poster, github: GitHubBed) -> None:
    for number in range(205):
        github.comment(post.pull.number, f"talk {number}")
    github.comment(post.pull.number, body("old"), login="github-actions[bot]")
    post("new")
    assert [text for text in post.bodies if text.startswith("<!--")] == [body("new")]
    assert len(post.bodies) == 206
    assert len(post.sent) <= 8


def test_a_marker_in_anothers_comment_is_left_alone(post: Poster, github: GitHubBed) -> None:
    github.comment(post.pull.number, body("forged"), login="mallory")
    post("real")
    assert post.bodies == [body("forged"), body("real")]


def test_a_marker_that_does_not_begin_our_comment_is_not_ours_to_edit(
    post: Poster, github: GitHubBed
) -> None:
    quoted = f"> {body('quoted')}"
    github.comment(post.pull.number, quoted, login="github-actions[bot]")
    post("real")
    assert post.bodies == [quoted, body("real")]


def test_a_comment_that_is_deleted_meanwhile_is_made_anew(
    post: Poster, monkeypatch: pytest.MonkeyPatch
) -> None:
    post("one")
    listed = GitHub.comments

    def then_deleted(hub: GitHub, repository: str, number: int) -> tuple[Comment, ...]:
        found = listed(hub, repository, number)
        for one in found:
            hub.delete_comment(repository, number, one.id)
        return found

    monkeypatch.setattr(GitHub, "comments", then_deleted)
    assert post("two").problems == ()
    assert post.bodies == [body("two")]


def test_two_keys_have_two_comments_and_two_checks(post: Poster, github: GitHubBed) -> None:
    post("h100", key="h100")
    post("a100", key="a100")
    post("h100 again", key="h100")
    assert post.bodies == [body("h100 again", "h100"), body("a100", "a100")]
    assert [
        (run["name"], run["output"]["summary"]) for run in github.checks(post.pull.head_sha)
    ] == [("ciwm (h100)", "h100 again"), ("ciwm (a100)", "a100")]


def test_a_post_that_was_applied_before_a_502_is_not_sent_twice(
    post: Poster, github: GitHubBed
) -> None:
    github.misbehave("applied_then_bad_gateway", method="POST", path="/comments$")
    github.misbehave("applied_then_bad_gateway", method="POST", path="/check-runs$")
    done = post("once")
    assert [one.done for one in done.posted] == ["created", "created"]
    assert post.bodies == [body("once")]
    assert len(github.checks(post.pull.head_sha)) == 1


def test_a_post_that_was_not_applied_is_sent_again(post: Poster, github: GitHubBed) -> None:
    github.misbehave("bad_gateway", method="POST", path="/comments$")
    github.misbehave("hang_up", method="POST", path="/check-runs$")
    assert post("once").problems == ()
    assert post.bodies == [body("once")]
    assert len(github.checks(post.pull.head_sha)) == 1


def test_duplicates_of_ours_are_removed_and_the_oldest_kept(
    post: Poster, github: GitHubBed
) -> None:
    ids = [
        github.comment(post.pull.number, body(text), login="github-actions[bot]")
        for text in ("first", "second", "third")
    ]
    done = post("last")
    assert [one.removed for one in done.posted if one.what == "comment"] == [2]
    assert [(one["id"], one["body"]) for one in github.comments(post.pull.number)] == [
        (ids[0], body("last"))
    ]


def test_a_duplicate_that_cannot_be_removed_costs_nothing_else(
    post: Poster, github: GitHubBed
) -> None:
    for text in ("first", "second"):
        github.comment(post.pull.number, body(text), login="github-actions[bot]")
    github.misbehave("bad_gateway", times=9, method="DELETE")
    done = post("last")
    assert done.problems == ()
    assert post.bodies == [body("last"), body("second")]
    github.behave()
    post("last")
    assert post.bodies == [body("last")]


def test_an_apps_own_comment_is_known_where_graphql_leaves_out_bot(
    post: Poster, github: GitHubBed
) -> None:
    app = github.make_token(kind="app", login="ciwm[bot]", viewer="ciwm")
    post("one", token=app)
    post("two", token=app)
    assert post.bodies == [body("two")]


@pytest.mark.parametrize("kind", ["bad_gateway", "hang_up", "silence"])
def test_reading_goes_on_after_a_moments_outage(post: Poster, github: GitHubBed, kind: str) -> None:
    post.patience = IMPATIENT
    github.misbehave(kind, method="GET", seconds=2)  # type: ignore[arg-type]
    assert post().problems == ()


@pytest.mark.parametrize("path", ["/check-runs$", "/comments$", "/check-runs", "/comments"])
def test_a_page_that_is_not_githubs_is_a_warning_and_the_rest_is_posted(
    post: Poster, github: GitHubBed, path: str
) -> None:
    github.misbehave("another_page", times=9, path=path, method="POST" if "$" in path else "GET")
    published = post()
    (problem,) = published.problems
    assert "the answer is not GitHub's" in problem.message
    assert len(published.posted) == 1
    assert published.command is not None


@pytest.mark.parametrize("kind", ["secondary_limit", "too_many_requests"])
def test_a_short_rate_limit_is_waited_for(post: Poster, github: GitHubBed, kind: str) -> None:
    github.misbehave(kind, method="POST", path="/comments$", seconds=1)  # type: ignore[arg-type]
    assert post("in the end").problems == ()
    assert post.bodies == [body("in the end")]


@pytest.mark.parametrize("kind", ["secondary_limit", "too_many_requests", "primary_limit"])
def test_a_long_rate_limit_is_a_warning_at_once_and_the_rest_is_posted(
    post: Poster, github: GitHubBed, kind: str
) -> None:
    github.misbehave(kind, times=50, path="/comments", seconds=3000)  # type: ignore[arg-type]
    done = post()
    assert [one.what for one in done.posted] == ["check"]
    (problem,) = done.problems
    assert problem.what == "comment"
    assert "rate limit is used up until" in problem.message
    assert len([one for one in post.bed.exchanges if "/comments" in one.path]) == 1


def test_a_rate_limit_of_graphql_which_comes_as_a_200_is_seen(
    post: Poster, github: GitHubBed
) -> None:
    github.comment(post.pull.number, body("old"), login="github-actions[bot]")
    github.misbehave("graphql_limit", path="/graphql", seconds=3000)
    (problem,) = post().problems
    assert "learn whose token this is" in problem.message
    assert "rate limit" in problem.message
    assert post.bodies == [body("old")]


def test_a_read_only_token_is_a_warning_with_the_permission_and_a_command_for_later(
    post: Poster,
    github: GitHubBed,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    done = post("late", token=github.read_only_token)
    assert done.posted == ()
    assert [one.what for one in done.problems] == ["check", "comment"]
    assert "403 Resource not accessible by integration" in done.problems[0].message
    assert "permissions: {checks: write}" in done.problems[0].hint
    assert "permissions: {pull-requests: write}" in done.problems[1].hint
    assert "::warning title=ciwm::" in post.log.getvalue()
    assert github.read_only_token not in post.log.getvalue()
    assert post.bodies == []
    assert done.command is not None
    assert f"post it later: {done.command}" in post.log.getvalue()
    program, *arguments = shlex.split(done.command)
    monkeypatch.chdir("/")
    for name, value in github.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    assert (program, run(arguments)) == ("ciwm", 0), capsys.readouterr().err
    assert post.bodies == [body(comment_markdown(bump()))]
    assert len(github.checks(post.pull.head_sha)) == 1


def test_an_expired_token_is_named_and_never_shown(post: Poster, github: GitHubBed) -> None:
    github.expire(github.token)
    done = post()
    assert done.posted == ()
    assert "401 Bad credentials" in done.problems[0].message
    assert "CIWM_TOKEN" in done.problems[0].hint
    assert github.token not in done.model_dump_json() + post.log.getvalue()


def test_a_token_that_expires_between_check_and_comment_loses_only_the_comment(
    post: Poster, github: GitHubBed
) -> None:
    github.misbehave("bad_credentials", times=9, path="/comments|/graphql")
    done = post()
    assert [one.what for one in done.posted] == ["check"]
    assert [one.what for one in done.problems] == ["comment"]


def test_github_down_is_warnings_and_a_saved_report(post: Poster, github: GitHubBed) -> None:
    github.misbehave("bad_gateway", times=1000)
    done = post()
    assert done.posted == ()
    assert {one.what for one in done.problems} == {"check", "comment"}
    assert all("GitHub answered 502" in one.message for one in done.problems)
    assert json.loads(post.saved.read_text())["headline"] == bump().headline


@pytest.mark.parametrize(
    ("outage", "key"),
    [
        ("bad_gateway", "bump"),
        ("hang_up", "h100"),
        ("secondary_limit", "h100"),
        ("bad_credentials", "bump"),  # an app's token is over in an hour, a bench may not be
    ],
)
def test_what_an_outage_left_unposted_is_posted_once_by_the_command_that_was_told(
    post: Poster, github: GitHubBed, monkeypatch: pytest.MonkeyPatch, outage: str, key: str
) -> None:
    post.patience = Patience(retries=1, backoff_s=0.01, total_wait_s=1, timeout_s=1)
    kind: Any = outage
    github.misbehave(kind, times=1000, method="POST", path="s$", seconds=3000)
    done = post("late", key=key)
    assert done.problems
    github.behave()
    assert done.command is not None
    _, *arguments = shlex.split(done.command)
    for name, value in github.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.delenv("CIWM_TOKEN", raising=False)
    for _ in range(2):
        assert run(arguments) == 0
    assert post.bodies == [body(comment_markdown(bump()), key)]
    names = [check["name"] for check in github.checks(post.pull.head_sha)]
    assert names == ["ciwm" if key == "bump" else f"ciwm ({key})"]


def test_without_a_token_one_warning_says_so(github: GitHubBed, tmp_path: Path) -> None:
    log = io.StringIO()
    saved = tmp_path / "r.json"
    done = publish(
        bump(),
        Texts("x", "y"),
        Target(github.repository, 1, "a" * 40),
        None,
        runner=Runner({}, log),
        saved=saved,
    )
    assert len(done.problems) == 1
    assert log.getvalue().startswith("warning: nothing was posted: there is no token")
    assert saved.is_file()
    assert github.exchanges == []


def test_where_checks_are_not_permitted_a_status_is_posted(post: Poster, github: GitHubBed) -> None:
    person = github.make_token(kind="pat", login="maintainer")
    done = post(
        token=person, conclusion="neutral", headline="x" * 200, run_url="https://r.example/1"
    )
    assert [one.what for one in done.posted] == ["status", "comment"]
    (status,) = github.statuses(post.pull.head_sha)
    assert (status["context"], status["state"]) == ("ciwm", "success")
    assert status["description"].startswith("neutral: xxx")
    assert len(status["description"]) == 140
    assert status["target_url"] == "https://r.example/1"


def test_two_devices_have_two_statuses(post: Poster, github: GitHubBed) -> None:
    person = github.make_token(kind="pat", login="maintainer")
    for key in ("h100", "a100"):
        post(token=person, key=key)
    found = [one["context"] for one in github.statuses(post.pull.head_sha)]
    assert found == ["ciwm (a100)", "ciwm (h100)"]


def test_annotations_are_sent_by_fifty_and_a_rerun_does_not_pile_them_up(
    post: Poster, github: GitHubBed
) -> None:
    remarks = tuple(
        Annotation("a.py", number, number, "warning", f"slow {number}") for number in range(1, 121)
    )
    post(annotations=remarks)
    (first,) = github.checks(post.pull.head_sha)
    assert [one["start_line"] for one in first["annotations"]] == list(range(1, 121))
    assert len(post.sent) <= 8
    post("other", annotations=remarks[:1])
    runs = github.checks(post.pull.head_sha)
    assert [len(run["annotations"]) for run in runs] == [120, 1]


def test_a_job_that_is_named_like_our_check_is_not_edited(post: Poster, github: GitHubBed) -> None:
    with connect(github.token, github.url, patience=QUICK) as hub:
        repository = hub._repository(github.repository)
        repository.create_check_run("ciwm", post.pull.head_sha, status="in_progress")
    post()
    with connect(github.token, github.url, patience=QUICK) as hub:  # the job is run again
        repository = hub._repository(github.repository)
        repository.create_check_run("ciwm", post.pull.head_sha, status="in_progress")
    post("again")
    assert [
        (run["status"], run["output"]["summary"]) for run in github.checks(post.pull.head_sha)
    ] == [("in_progress", None), ("completed", "again"), ("in_progress", None)]


def test_another_apps_check_of_our_name_is_left_and_ours_is_made(
    post: Poster, github: GitHubBed
) -> None:
    app = github.make_token(kind="app", login="ciwm[bot]")
    post("theirs", token=app)
    post("ours")
    assert [run["output"]["summary"] for run in github.checks(post.pull.head_sha)] == [
        "theirs",
        "ours",
    ]
    assert post.bodies == [body("theirs"), body("ours")]


def test_a_comment_longer_than_githubs_limit_is_never_sent(post: Poster) -> None:
    done = post("x" * BODY_LIMIT)
    assert [one.what for one in done.problems] == ["comment"]
    assert str(BODY_LIMIT) in done.problems[0].message
    assert post.bodies == []
    assert "POST 422" not in post.sent


def test_a_check_summary_is_cut_at_a_line_within_githubs_bytes(
    post: Poster, github: GitHubBed
) -> None:
    line = "ß" * 80  # 161 bytes with its end; 500 of them are 40,500 characters, 80,500 bytes
    assert post("\n".join([line] * 500)).problems == ()
    (check,) = github.checks(post.pull.head_sha)
    summary = check["output"]["summary"]
    assert len(summary.encode()) <= 65_535
    *lines, blank, note = summary.split("\n")
    assert (set(lines), blank) == ({line}, "")
    assert note.startswith("_Cut")


def test_outputs_and_summary_reach_the_runner(post: Poster, tmp_path: Path) -> None:
    post("read me", conclusion="success", exit_code=0)
    assert (tmp_path / "GITHUB_STEP_SUMMARY").read_text() == "# read me\n"
    outputs = (tmp_path / "GITHUB_OUTPUT").read_text()
    assert [line.split("<<")[0] for line in outputs.splitlines() if "<<" in line] == [
        "outcome",
        "conclusion",
        "exit-code",
        "needs-confirmation",
        "report",
    ]


def test_a_report_that_cannot_be_kept_is_posted_and_a_warning(post: Poster, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    post.saved = tmp_path / "file" / "report.json"
    published = post()
    assert [one.what for one in published.posted] == ["check", "comment"]
    assert published.report is None
    assert "::warning title=ciwm::the report is not kept: cannot write" in post.log.getvalue()
    assert "MiB free" not in post.log.getvalue()  # a file is in the way


def test_files_of_the_runner_that_cannot_be_written_cost_one_warning_each(
    post: Poster, tmp_path: Path
) -> None:
    for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"):
        post.variables[name] = str(tmp_path / "absent" / name)
    assert [one.what for one in post().posted] == ["check", "comment"]
    warnings = [line for line in post.log.getvalue().splitlines() if "cannot write" in line]
    assert len(warnings) == 2


def test_a_connection_that_cannot_be_is_a_warning_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        connect("not a token")
    published = publish(
        bump(),
        Texts("x", "y"),
        Target("acme/fork", 1),
        None,
        runner=Runner({}, io.StringIO()),
        saved=tmp_path / "report.json",
        refused=refused.value,
    )
    assert [one.message for one in published.problems] == [
        f"nothing was posted: {refused.value.message}"
    ]
    assert (tmp_path / "report.json").exists()


# the command


@pytest.fixture
def report_file(post: Poster, tmp_path: Path) -> Path:
    path = tmp_path / "report.json"
    report: BumpReport = bump(
        repository=post.bed.repository,
        pull_request=post.pull.number,
        check_sha=post.pull.head_sha,
    )
    path.write_text(report.to_json(), encoding="utf-8")
    return path


@pytest.fixture
def job(github: GitHubBed, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("CIWM_TOKEN", "GITHUB_ACTIONS", "GITHUB_EVENT_NAME", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in github.environment().items():
        monkeypatch.setenv(name, value)
    return monkeypatch


@pytest.mark.usefixtures("job")
def test_the_command_posts_where_the_report_says(
    post: Poster, report_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["publish", str(report_file)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in out] == ["check created", "comment created"]
    assert len(post.bodies) == 1


@pytest.mark.usefixtures("job")
def test_a_report_of_a_commit_that_is_no_longer_the_head_leaves_the_comment_to_a_newer_run(
    post: Poster, report_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = post.pull.head_sha
    post.pull = post.bed.push(post.pull)
    post("of the newer head")
    assert run(["publish", str(report_file)]) == 0
    assert post.bodies == [body("of the newer head")]
    assert [check["status"] for check in post.bed.checks(old)] == ["completed"]
    assert f"was pushed to since {old[:12]} was tested" in capsys.readouterr().err


def test_the_command_prefers_ciwm_token_and_json_is_all_of_stdout(
    post: Poster,
    github: GitHubBed,
    report_file: Path,
    job: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    job.setenv("CIWM_TOKEN", github.make_token(kind="app", login="ciwm[bot]"))
    assert run(["publish", str(report_file), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [one["what"] for one in said["posted"]] == ["check", "comment"]
    assert github.comments(post.pull.number)[0]["user"]["login"] == "ciwm[bot]"


def test_require_turns_a_warning_into_the_exit_code_of_the_environment(
    github: GitHubBed,
    report_file: Path,
    job: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    job.setenv("GITHUB_TOKEN", github.read_only_token)
    assert run(["publish", str(report_file)]) == 0
    assert run(["publish", str(report_file), "--require"]) == 4
    assert "error: cannot post the check" in capsys.readouterr().err


@pytest.mark.usefixtures("job")
def test_from_is_for_a_workflow_run_job(
    report_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["publish", "--from", str(report_file)]) == 2
    assert "--from is for a workflow_run job" in capsys.readouterr().err


@pytest.mark.usefixtures("job")
def test_without_a_report_the_argument_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["publish"]) == 2
    assert "Missing argument 'REPORT'" in capsys.readouterr().err


def test_a_title_hides_nothing_and_is_one_line(post: Poster, github: GitHubBed) -> None:
    post(headline="slower\n::error::x\u202egpj.exe")
    (check,) = github.checks(post.pull.head_sha)
    assert check["output"]["title"] == "slower ::error::x\\u202egpj.exe"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--sha", "abc"], "not a full commit id: abc"),
        (["--repository", "nonsense"], "not a repository on GitHub: nonsense"),
        (["--pull-request", "0"], "'--pull-request'"),
    ],
)
@pytest.mark.usefixtures("job")
def test_a_wrong_argument_is_one_clear_line(
    report_file: Path, arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["publish", str(report_file), *arguments]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.usefixtures("job")
def test_a_report_that_names_no_place_asks_for_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.json"
    path.write_text(bump(pull_request=None, check_sha=None).to_json(), encoding="utf-8")
    assert run(["publish", str(path)]) == 2
    assert "--pull-request" in capsys.readouterr().err


@pytest.mark.usefixtures("job")
def test_an_unknown_pull_request_is_said(
    report_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["publish", str(report_file), "--pull-request", "999"]) == 0
    err = capsys.readouterr().err
    assert "999: GitHub answered 404" in err
