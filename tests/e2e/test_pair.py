"""The reusable workflows, run by `act`: a fork's pull request is measured, judged again, posted."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.demo.repositories import BASE, HEAD
from tests.e2e.conftest import ROOT, Downstream, git

if TYPE_CHECKING:
    from tests.github_bed.bed import GitHubBed, Pull
    from tests.github_bed.runner import Act, ActResult

ACTIONS = Path(__file__).parent / "actions"
CHECKOUT = "actions/checkout@08c6903cd8c0fde910a37f88322edcfb5dd907a8"
DOWNLOAD = "actions/download-artifact@d3f86a106a0bac45b974a628896c90dbdf5c8093"
UPLOAD = "actions/upload-artifact@ea165f8d65b6e75b540449e92b4886f43607fa02"
CALLERS = {
    "compare.yml": """\
on: [pull_request, merge_group]
permissions: {}
jobs:
  compare:
    permissions: {contents: read}
    uses: ./.github/workflows/pull-request.yml
    with:
      executable: ${{ vars.EXECUTABLE }}
""",
    "post.yml": """\
on:
  workflow_run: {workflows: [compare], types: [completed]}
permissions: {}
jobs:
  post:
    permissions: {actions: read, checks: write, contents: read, pull-requests: write}
    uses: ./.github/workflows/publish.yml
    with:
      executable: ${{ vars.EXECUTABLE }}
""",
}
PREVIEW = """\
on:
  schedule: [{cron: "0 3 * * *"}]
permissions: {}
jobs:
  preview:
    permissions: {actions: read, contents: read, issues: write}
    uses: ./.github/workflows/bump-preview.yml
    with:
      executable: ${{ vars.EXECUTABLE }}
"""


@dataclass(frozen=True)
class Pair:
    """Both halves in one downstream; what the first packs lies in `artifacts`."""

    act: Act
    downstream: Downstream
    github: GitHubBed
    executable: Path
    artifacts: Path

    def __call__(self, name: str, event: dict[str, Any], token: str) -> ActResult:
        environment = {
            **self.github.environment(token),
            "CIWM_SOURCES": str(ROOT),
            "ARTIFACTS": str(self.artifacts),
            "DOWNSTREAM": str(self.downstream.path),
        }
        return self.act(
            name,
            checkout=self.downstream.path,
            event=event,
            token=token,
            env=environment,
            actions={
                CHECKOUT: ACTIONS / "checkout",
                UPLOAD: ACTIONS / "upload-artifact",
                DOWNLOAD: ACTIONS / "download-artifact",
            },
            arguments=("--var", f"EXECUTABLE={self.executable}"),
        )

    def measure(self, pull: Pull) -> ActResult:
        """The untrusted half: a read-only token."""
        event = self.github.pull_request_event(pull)
        return self("pull_request", event, self.github.read_only_token)

    def publish(self, event: dict[str, Any]) -> ActResult:
        """The trusted half, for the run of the event."""
        return self("workflow_run", event, self.github.token)


@pytest.fixture
def pair(
    act: Act, downstream: Downstream, github: GitHubBed, executable: Path, tmp_path: Path
) -> Pair:
    workflows = downstream.path / ".github" / "workflows"
    git(downstream.path, "switch", "-q", BASE)
    for name in ("pull-request.yml", "publish.yml"):
        (workflows / name).write_bytes((ROOT / ".github" / "workflows" / name).read_bytes())
    for name, text in CALLERS.items():
        (workflows / name).write_text(text)
    downstream.commit("Measure forks as well")
    artifacts = tmp_path / "artifacts"
    artifacts.mkdir()
    github.runs.keep_in(artifacts)
    return Pair(act, downstream, github, executable, artifacts)


def opened(pair: Pair) -> Pull:
    """A contributor's pull request with the slower head, checked out as GitHub tests it."""
    path = pair.downstream.path
    base_sha = git(path, "rev-parse", BASE)
    pull = pair.github.pull_request(
        HEAD, head_sha=git(path, "rev-parse", HEAD), base_sha=base_sha, from_fork=True
    )
    pair.github.runs.write(base_sha, {"ciwm.toml": git(path, "show", f"{BASE}:ciwm.toml")})
    pair.downstream.check_out_merge(HEAD)
    (path / ".github" / "workflows" / "ciwm.yml").unlink()  # the plain action's, not wanted here
    return pull


def test_a_forks_pull_request_is_measured_without_rights_and_posted_by_the_trusted_half(
    pair: Pair, github: GitHubBed
) -> None:
    pull = opened(pair)
    measured = pair.measure(pull)
    assert measured.outputs["exit-code"] == "1", measured.log
    assert "decode-rmsnorm" in measured.summary
    assert github.comments(pull.number) == github.checks(pull.head_sha) == []
    assert not [one for one in github.exchanges if one.method != "GET"]
    with zipfile.ZipFile(pair.artifacts / "ciwm.zip") as packed:
        assert sorted(packed.namelist()) == ["report.json", "run/run.json"]

    posted = pair.publish(github.runs.event(pull, conclusion="failure"))
    assert posted.rc == 0, posted.log
    (comment,) = github.comments(pull.number)
    assert "**Reported by untrusted code**" in comment["body"]
    assert "regressed" in comment["body"]
    (check,) = github.checks(pull.head_sha)
    assert check["conclusion"] == "neutral"

    approved = github.runs.event(pull, conclusion="failure")
    github.runs.review(approved["workflow_run"]["id"])
    assert pair.publish(approved).rc == 0
    (check,) = github.checks(pull.head_sha)
    assert check["conclusion"] == "failure"
    (edited,) = github.comments(pull.number)
    assert edited["id"] == comment["id"]
    assert "untrusted" not in edited["body"]


def test_the_runs_of_two_devices_are_merged_and_posted_as_one(
    pair: Pair, github: GitHubBed
) -> None:
    callers = pair.downstream.path / ".github" / "workflows"
    devices = [{"label": label, "runs-on": "ubuntu-latest"} for label in ("big", "small")]
    with_devices = f"    with:\n      devices: '{json.dumps(devices)}'\n"
    (callers / "compare.yml").write_text(
        CALLERS["compare.yml"].replace("    with:\n", with_devices)
    )
    pair.downstream.commit("Measure on two devices")
    pull = opened(pair)
    measured = pair.measure(pull)
    assert (pair.artifacts / "ciwm.zip").is_file(), measured.log
    with zipfile.ZipFile(pair.artifacts / "ciwm.zip") as packed:
        report = json.loads(packed.read("report.json"))
        run = json.loads(packed.read("run/run.json"))
    assert [shard["label"] for shard in run["plan"]["shards"]] == ["big", "small"], measured.log
    assert run["plan"]["family_size"] == len(run["plan"]["family"])
    named = {one["series"].rpartition("@")[2] for one in report["verdict"]["series"]}
    assert named == {"big", "small"}
    assert "@small" in measured.summary

    posted = pair.publish(github.runs.event(pull, conclusion="failure"))
    assert posted.rc == 0, posted.log
    (comment,) = github.comments(pull.number)
    assert "@small" in comment["body"]
    (check,) = github.checks(pull.head_sha)
    assert check["name"] == "ciwm"


def test_the_preview_measures_with_a_read_only_token_and_keeps_one_issue(
    pair: Pair, github: GitHubBed
) -> None:
    workflows = pair.downstream.path / ".github" / "workflows"
    for path in workflows.iterdir():
        path.unlink()
    (workflows / "preview.yml").write_text(PREVIEW)
    text = (ROOT / ".github" / "workflows" / "bump-preview.yml").read_text()
    (workflows / "bump-preview.yml").write_text(text)
    pair.downstream.commit("Preview every night")
    done = pair("schedule", {"schedule": "0 3 * * *"}, github.token)
    assert "conflicts in 1 file" in done.summary, done.log
    assert "block of 48" in done.summary
    (issue,) = github.proxy.emulator.json("GET", f"/repos/{github.repository}/issues")
    assert "The newest upstream does not merge: conflicts in 1 file" in issue["body"]
    assert "block of 48" in issue["body"]
