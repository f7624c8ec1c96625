"""The trusted half: whose result it is, where it goes, and by whose policy it is judged."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from ciwm.github import Check, connect
from ciwm.records.coverage import Coverage, SideCoverage
from ciwm.records.package import PackageRecord
from tests.records_examples import verdict
from tests.runs import RunBuilder, build, series
from tests.trusted_half import POLICY, SERIES, SLOWER, TrustedHalf, claimed, measured, packed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ciwm.records.package import PackageStatus
    from tests.github_bed.bed import GitHubBed

    Half = Callable[..., TrustedHalf]


@pytest.fixture
def half(github: GitHubBed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Half:
    return lambda **known: TrustedHalf(github, tmp_path, monkeypatch, **known)


def test_a_result_from_this_repository_is_posted_as_it_is_found(half: Half) -> None:
    pair = half(from_fork=False).leaves(packed(run=measured()))
    assert pair() == 0
    assert pair.comment.startswith("<!-- ciwm:bump -->\n### ✅ Merge not blocked: No slowdown")
    assert "untrusted" not in pair.comment
    assert (pair.check["name"], pair.check["conclusion"]) == ("ciwm", "success")
    assert pair.check["details_url"] == pair.event["workflow_run"]["html_url"]


def test_a_regression_from_this_repository_fails_the_check(half: Half) -> None:
    claims = claimed(verdict=verdict("regressed"), conclusion="failure", exit_code=1)
    pair = half(from_fork=False).leaves(packed(claims, measured(SLOWER)))
    assert pair() == 0
    assert pair.check["conclusion"] == "failure"
    assert "+20" in pair.comment


def test_an_unapproved_forks_result_is_neutral_and_says_whose_word_it_is(half: Half) -> None:
    pair = half().leaves(packed(run=measured()))
    assert pair() == 0
    assert pair.check["conclusion"] == "neutral"
    assert pair.check["output"]["title"].startswith("Reported by untrusted code: no slowdown")
    assert "**Reported by untrusted code** of `contributor/" in pair.comment


def test_an_approved_forks_result_counts(half: Half, github: GitHubBed) -> None:
    pair = half().leaves(packed(run=measured()))
    github.runs.review(pair.run_id, login="maintainer")
    assert pair() == 0
    assert pair.check["conclusion"] == "success"
    assert "approved by maintainer" in pair.comment
    assert "untrusted" not in pair.comment


@pytest.mark.parametrize(
    ("state", "environment"), [("rejected", "ciwm-fork"), ("approved", "documentation")]
)
def test_a_rejection_and_the_approval_of_another_environment_approve_nothing(
    half: Half, github: GitHubBed, state: str, environment: str
) -> None:
    pair = half().leaves(packed(run=measured()))
    github.runs.review(pair.run_id, state, environment)
    assert pair() == 0
    assert pair.check["conclusion"] == "neutral"


def test_the_environment_that_approves_can_be_named(half: Half, github: GitHubBed) -> None:
    pair = half().leaves(packed(run=measured()))
    github.runs.review(pair.run_id, environment="gpu")
    assert pair("--approval-environment", "gpu") == 0
    assert pair.check["conclusion"] == "success"


def test_a_publish_of_a_forks_result_takes_at_most_eight_requests(
    half: Half, github: GitHubBed
) -> None:
    pair = half().leaves(packed(run=measured()))
    assert pair() == 0
    asked = [one for one in github.exchanges if not one.path.startswith("/_blobs/")]
    assert len(asked) <= 8, [f"{one.method} {one.path}" for one in asked]


def test_the_policy_is_the_bases_as_it_is_now(half: Half, github: GitHubBed) -> None:
    pair = half(from_fork=False).leaves(packed(run=measured(1.05)))
    github.runs.write(
        "ab" * 20, {"ciwm.toml": pair.policy["ciwm.toml"] + '[gate]\nthreshold = "9%"'}
    )
    github.runs.move_base(pair.pull, "ab" * 20)
    assert pair() == 0
    assert pair.check["conclusion"] == "success"
    assert "by the policy of `main at abababababab`" in pair.comment


def test_a_base_configured_in_pyproject_is_read(half: Half) -> None:
    text = "[tool.ciwm.gate]\nthreshold_pct = 50\n"
    pair = half(from_fork=False, policy={"pyproject.toml": text})
    assert pair.leaves(packed(run=measured(SLOWER)))() == 0
    assert pair.check["conclusion"] == "success"


def test_a_base_whose_policy_cannot_be_read_blocks_in_one_line(
    half: Half, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = half(from_fork=False, policy={"ciwm.toml": "[gate]\nthresold = 3\n"})
    assert pair.leaves(packed(run=measured()))() == 2
    assert pair.check["conclusion"] == "failure"
    assert "unknown key gate.thresold" in pair.check["output"]["title"]
    assert ":ciwm.toml: unknown key" in capsys.readouterr().err


def test_a_series_that_the_plan_leaves_out_is_missing(half: Half) -> None:
    other = series("prefill")
    pair = half(from_fork=False)
    pair.leaves(packed(run=RunBuilder(family=[other]).blocks(8, 1, 1, workload="prefill").run()))
    assert pair() == 0
    assert pair.check["conclusion"] == "failure"
    assert "decode/b=1" in pair.comment
    assert "missing" in pair.comment


def test_a_report_that_comes_without_its_run_does_not_pass(half: Half) -> None:
    pair = half(from_fork=False).leaves(packed())
    assert pair() == 0
    assert pair.check["conclusion"] == "failure"
    assert "comes without a run" in pair.comment


def test_a_report_that_tells_of_no_builds_does_not_pass(half: Half) -> None:
    pair = half(from_fork=False, policy={})
    assert pair.leaves(packed(claimed(builds=())))() == 0
    assert pair.check["conclusion"] == "failure"


def test_a_head_that_does_not_build_blocks_without_a_run(half: Half) -> None:
    claims = claimed(builds=(build("base"), build("head", ok=False)), conclusion="success")
    pair = half(from_fork=False).leaves(packed(claims))
    assert pair() == 0
    assert pair.check["conclusion"] == "failure"
    assert "Head does not build" in pair.check["output"]["title"]


def test_each_device_of_a_matrix_has_a_comment_and_a_check_of_its_own(
    half: Half, github: GitHubBed
) -> None:
    pair = half(from_fork=False)
    pair.leaves(packed(run=measured()), "ciwm-h100").leaves(
        packed(run=measured(SLOWER)), "ciwm-a100"
    )
    pair.leaves({"log.txt": "not ours"}, "build-logs")
    assert pair() == 0
    checks = {one["name"]: one["conclusion"] for one in github.checks(pair.pull.head_sha)}
    assert checks == {"ciwm (a100)": "failure", "ciwm (h100)": "success"}
    assert len(github.comments(pair.pull.number)) == 2


def test_a_second_attempt_replaces_the_first(half: Half, github: GitHubBed) -> None:
    pair = half(from_fork=False).leaves(packed(run=measured(SLOWER)))
    pair.leaves(packed(run=measured()))
    assert pair() == 0
    assert pair.check["conclusion"] == "success"
    assert len(github.comments(pair.pull.number)) == 1


@pytest.mark.parametrize(
    ("begun", "conclusion", "check"),
    [
        ("2025-12-31T23:59:59Z", "failure", "success"),  # made by this attempt
        ("2026-01-01T00:00:01Z", "failure", "failure"),
        ("2026-01-01T00:00:01Z", "cancelled", "failure"),
        ("2026-01-01T00:00:01Z", "success", "success"),  # its job went well before
    ],
)
def test_what_an_earlier_attempt_left_is_no_answer_of_one_that_died(
    half: Half, begun: str, conclusion: str, check: str
) -> None:
    pair = half(from_fork=False).leaves(packed(run=measured()))
    attempt = {"run_attempt": 2, "run_started_at": begun, "conclusion": conclusion}
    pair.event["workflow_run"] |= attempt
    assert pair() == (0 if check == "success" else 2)
    assert pair.check["conclusion"] == check


def test_a_check_of_an_earlier_attempt_does_not_speak_for_one_that_died(
    half: Half, github: GitHubBed
) -> None:
    pair = half(from_fork=False)
    check = Check("ciwm", pair.pull.head_sha, "ciwm:bump", "success", "t", "s", pair.url)
    with connect(github.token, github.url) as hub:
        hub.create_check(github.repository, check)
    attempt = {"run_attempt": 2, "conclusion": "cancelled"}
    pair.event["workflow_run"] |= attempt | {"run_started_at": "2020-01-01T00:00:00Z"}
    assert pair() == 0
    assert pair.check["conclusion"] == "success"
    pair.event["workflow_run"] |= attempt | {"run_started_at": "2999-01-01T00:00:00Z"}
    assert pair() == 2
    assert pair.check["conclusion"] == "failure"


def test_a_run_that_left_nothing_fails_the_check_instead_of_leaving_it_pending(
    half: Half, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = half(from_fork=False)
    pair.event["workflow_run"]["conclusion"] = "cancelled"
    assert pair() == 2
    assert pair.check["conclusion"] == "failure"
    assert "the run left no artifact named ciwm" in capsys.readouterr().err


@pytest.mark.parametrize("conclusion", ["cancelled", "failure", "timed_out", "startup_failure"])
def test_a_run_that_posted_its_own_check_is_left_to_it_and_one_that_died_before_is_told(
    half: Half, github: GitHubBed, conclusion: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = half(from_fork=False)
    pair.event["workflow_run"]["conclusion"] = conclusion
    check = Check("ciwm", pair.pull.head_sha, "ciwm:bump", "success", "t", "s", pair.url)
    with connect(github.token, github.url) as hub:
        hub.create_check(github.repository, dataclasses.replace(check, details_url="https://o.x/1"))
        assert pair() == 2  # another run's check, of the same commit, ends nothing
        assert pair.check["conclusion"] == "failure"
        hub.create_check(github.repository, check)
    capsys.readouterr()
    assert pair() == 0
    assert "has posted its check itself" in capsys.readouterr().err
    assert [run["conclusion"] for run in github.checks(pair.pull.head_sha)] == [
        "failure",
        "success",
    ]


def test_a_run_whose_jobs_were_all_skipped_ends_its_check_and_leaves_the_comment(
    half: Half, github: GitHubBed
) -> None:
    pair = half().leaves(packed(run=measured()))
    assert pair() == 0
    before = pair.comment
    pair.event["workflow_run"]["conclusion"] = "skipped"
    assert pair() == 0
    assert pair.comment == before
    assert pair.check["conclusion"] == "neutral"
    assert "skipped" in pair.check["output"]["title"]
    assert github.comments(pair.pull.number)[0]["body"] == before


def test_a_merge_queues_run_is_judged_by_the_branch_it_waits_for(
    half: Half, github: GitHubBed
) -> None:
    pair = half(from_fork=False).leaves(packed(run=measured(SLOWER)))
    parent = "cd" * 20
    github.runs.write(parent, dict(pair.policy))
    github.runs.write(
        pair.pull.head_sha, {"ciwm.toml": "[gate]\nblock_on = []\n", "parents": parent}
    )
    branch = f"gh-readonly-queue/main/pr-7-{parent}"
    pair.event["workflow_run"] |= {"event": "merge_group", "head_branch": branch}
    assert pair() == 0
    assert pair.check["conclusion"] == "failure"
    assert f"main at {parent[:12]}" in pair.check["output"]["summary"]
    assert github.comments(pair.pull.number) == []


def test_a_push_is_judged_by_the_policy_of_its_parent_and_has_no_comment(
    half: Half, github: GitHubBed
) -> None:
    pair = half(from_fork=False).leaves(packed(run=measured(SLOWER)))
    sha, parent = pair.pull.head_sha, "cd" * 20
    loose = dict(pair.policy) | {"ciwm.toml": pair.policy["ciwm.toml"] + "[gate]\nblock_on = []\n"}
    github.runs.write(parent, dict(pair.policy))
    github.runs.write(sha, loose | {"parents": parent})
    pair.event["workflow_run"] |= {"event": "push", "head_branch": "main"}
    assert pair() == 0
    assert pair.check["conclusion"] == "failure"
    assert github.comments(pair.pull.number) == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"conclusion": "action_required"}, "nothing was run"),
        ({"head_repository": None}, "there is no pull request"),
        ({"head_branch": "gone"}, "no open pull request comes from gone"),
        ({"event": "push", "head_repository": {"full_name": "mallory/x"}}, "another repository"),
        ({"event": "issue_comment"}, "anybody can begin a run for issue_comment"),
    ],
)
def test_a_run_that_belongs_to_no_open_pull_request_is_posted_nowhere(
    half: Half,
    github: GitHubBed,
    changes: dict[str, object],
    told: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pair = half().leaves(packed(run=measured()))
    pair.event["workflow_run"] |= changes
    assert pair() == 0
    assert told in capsys.readouterr().err
    assert github.comments(pair.pull.number) == github.checks(pair.pull.head_sha) == []


def test_of_two_pull_requests_with_one_head_neither_is_left_pending(
    half: Half, github: GitHubBed, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = half().leaves(packed(run=measured()))
    github.branch("release")
    second = {"title": "Again", "head": "contributor:feature", "base": "release", "body": ""}
    path = f"/repos/{github.repository}/pulls"
    other = github.proxy.emulator.json("POST", path, second)["number"]
    assert pair() == 2
    told = f"#{pair.pull.number} and #{other} have the same head"
    assert told in capsys.readouterr().err
    assert pair.check["conclusion"] == "failure"
    assert "close all but one" in pair.check["output"]["summary"]
    assert github.comments(pair.pull.number) == github.comments(other) == []


@pytest.mark.parametrize("option", [["--pull-request", "1"], ["--sha", "a" * 40]])
def test_nobody_but_the_event_says_where_a_strangers_report_goes(
    half: Half, option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert half().leaves(packed(run=measured()))(*option) == 2
    assert "the event says it" in capsys.readouterr().err


def test_an_unpacked_artifact_can_be_named(half: Half, tmp_path: Path) -> None:
    pair = half(from_fork=False)
    folder = tmp_path / "artifact"
    for name, content in packed(run=measured(SLOWER)).items():
        assert isinstance(content, str)
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    assert pair("--from", str(folder)) == 0
    assert pair.check["conclusion"] == "failure"
    assert pair("--from", str(folder / "report.json")) == 0
    assert pair.check["conclusion"] == "failure"


def test_a_token_that_may_not_read_artifacts_is_told_the_permission(
    half: Half, github: GitHubBed, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = half(from_fork=False).leaves(packed(run=measured()))
    github.misbehave("bad_gateway", times=99, path="/artifacts")
    assert pair() == 4
    assert "error: cannot list the artifacts" in capsys.readouterr().err
    assert pair.check["conclusion"] == "failure"


@pytest.mark.parametrize("path", ["graphql", "/approvals", "/artifacts", "/zip"])
def test_an_outage_before_anything_is_known_tells_the_command_that_does_it_again(
    half: Half, github: GitHubBed, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    pair = half().leaves(packed(run=measured()))
    pair.environment.setenv("GITHUB_RUN_ID", "77")
    github.misbehave("bad_credentials", path=path)
    assert pair() == 4
    again = f"gh run rerun 77 --repo {github.repository}"
    assert f"to post it again from what the run left: {again}" in capsys.readouterr().err
    assert pair() == 0
    assert pair.check["conclusion"] == "neutral"


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("outage", "**Next:** the token is wrong, revoked or expired"),
        ("wrong base", "**Next:** did you mean threshold?"),
        ("cancelled", "**Next:** its job was cancelled or failed before it had a report"),
    ],
)
def test_a_fork_is_not_blamed_for_what_it_did_not_do(
    half: Half, github: GitHubBed, what: str, told: str
) -> None:
    pair = half()
    if what != "cancelled":
        pair.leaves(packed(run=measured()))
    if what == "outage":
        github.misbehave("bad_credentials", path="/artifacts")
    if what == "wrong base":
        github.runs.write(pair.pull.base_sha, {"ciwm.toml": "[gate]\nthresold = 3\n"})
    pair()
    assert told in pair.comment
    assert "not what ciwm writes" not in pair.comment
    assert "neutral" not in pair.comment


def test_a_benchmark_that_the_base_has_got_since_says_what_an_older_branch_does(
    half: Half,
) -> None:
    newer = {"ciwm.toml": POLICY + POLICY.replace("decode", "prefill")}
    pair = half(from_fork=False, policy=newer).leaves(packed(run=measured()))
    assert pair() == 0
    assert "bring the branch up to date where its base has it since" in pair.comment


def test_what_could_not_be_posted_is_kept_with_the_command_for_later(
    half: Half, github: GitHubBed, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = half(from_fork=False).leaves(packed(run=measured()))
    github.misbehave("primary_limit", times=99, path="/comments", seconds=3000)
    assert pair() == 0
    assert f"--pull-request {pair.pull.number}" in capsys.readouterr().err
    assert pair.check["conclusion"] == "success"


WAIVER = """\
[[waiver]]
series = "decode*"
ceiling = "25%"
reason = "checks for NaN"
author = "ines"
issue = "https://github.example/acme/engine/issues/12"
expires = {expires}
"""


@pytest.mark.parametrize(
    ("expires", "conclusion", "told"),
    [
        ("2999-12-31", "neutral", "up to 25% until 2999-12-31, by ines"),
        ("2020-12-31", "failure", "expired on 2020-12-31"),
    ],
)
def test_a_waiver_of_the_base_accepts_a_regression_until_its_day(
    half: Half, expires: str, conclusion: str, told: str
) -> None:
    files = {"ciwm.toml": POLICY, "ciwm-waivers.toml": WAIVER.format(expires=expires)}
    pair = half(from_fork=False, policy=files).leaves(packed(run=measured(SLOWER)))
    assert pair() == 0
    assert pair.check["conclusion"] == conclusion
    assert told in pair.comment


def test_a_waiver_that_is_no_longer_needed_is_named_as_removable(half: Half) -> None:
    files = {"ciwm.toml": POLICY, "ciwm-waivers.toml": WAIVER.format(expires="2999-12-31")}
    pair = half(from_fork=False, policy=files).leaves(packed(run=measured()))
    assert pair() == 0
    assert pair.check["conclusion"] == "success"
    assert "covers nothing that is slower here" in pair.comment


def test_the_family_of_the_plan_cannot_be_inflated(half: Half) -> None:
    run = RunBuilder(family=[SERIES], plan={"family_size": 10**9}).blocks(8, 0.01, 0.012).run()
    pair = half(from_fork=False).leaves(packed(run=run))
    assert pair() == 0
    assert pair.check["conclusion"] == "failure"


IMAGES = {"ciwm.toml": f"{POLICY}\n[package]\ncommand = 'make image'\n"}


def image(status: PackageStatus, shard: str = "") -> PackageRecord:
    return PackageRecord(
        side="head", status=status, image="ours:1", package_s=1, log="image.log", shard=shard
    )


def test_an_image_of_head_that_is_lost_fails_whatever_the_stages_say(half: Half) -> None:
    claims = claimed(packages=(image("packaged", "h100"), image("failed", "a100")))
    pair = half(from_fork=False, policy=IMAGES).leaves(packed(claims, measured()))
    assert pair() == 0
    assert pair.check["conclusion"] == "failure"
    assert "an image of head that could not be made or does not work" in pair.comment


@pytest.mark.parametrize(("packages", "found"), [((), "failure"), (("packaged",), "success")])
def test_a_report_that_leaves_the_image_out_does_not_pass(
    half: Half, packages: tuple[PackageStatus, ...], found: str
) -> None:
    claims = claimed(packages=tuple(map(image, packages)))
    pair = half(from_fork=False, policy=IMAGES).leaves(packed(claims, measured()))
    assert pair() == 0
    assert pair.check["conclusion"] == found
    assert ("comes without an image of head" in pair.comment) == (not packages)


def test_what_a_report_warns_of_is_told_and_no_success(half: Half) -> None:
    said = "shard a100 has no result of the stage map, and others do"
    claims = claimed(warnings=(said,), conclusion="neutral")
    pair = half(from_fork=False).leaves(packed(claims, measured()))
    assert pair() == 0
    assert pair.check["conclusion"] == "neutral"
    assert said in pair.comment


def test_the_coverage_of_each_device_is_told(half: Half) -> None:
    side = SideCoverage(files=("x",), lines=4, covered=3)
    each = tuple(Coverage(base=side, head=side, shard=label) for label in ("h100", "a100"))
    pair = half(from_fork=False).leaves(packed(claimed(coverage_by_shard=each), measured()))
    assert pair() == 0
    assert "`a100`: Tests reach 75.0% of 4 lines, as at base." in pair.comment
