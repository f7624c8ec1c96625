"""How `ciwm ci` ends where the job, the event or the disk is not what it should be."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ciwm.cli import run
from ciwm.errors import BUG, ENVIRONMENT, INTERRUPTED, OK, USAGE
from ciwm.records import BumpReport, read_record
from ciwm.report.bump_markdown import comment_markdown
from tests.fork import new_fork

if TYPE_CHECKING:
    from tests.fork import Fork

ROOT = Path(__file__).parents[2]
Done = subprocess.CompletedProcess[str]


class Job:
    """A push to a fork, and what a step of its workflow has in its environment."""

    def __init__(self, folder: Path) -> None:
        self.fork: Fork = new_fork(folder)
        self.path = self.fork.repository.path
        self.out = folder / "out"
        self.event = folder / "event.json"
        self.variables = {
            **{name: os.environ[name] for name in ("PATH", "HOME")},
            "PYTHONPATH": str(ROOT),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_NAME": "push",
            "GITHUB_EVENT_PATH": str(self.event),
            "GITHUB_OUTPUT": str(folder / "outputs"),
        }

    def pushed(self, before: str, after: str, ref: str, *options: str) -> Done:
        """`ciwm ci` for the push of a ref."""
        repository = {"full_name": "acme/fork"}
        payload = {"before": before, "after": after, "ref": ref, "repository": repository}
        self.event.write_text(json.dumps(payload))
        return self.run("--no-fetch", "--out", str(self.out), *options)

    def run(self, *options: str) -> Done:
        """`ciwm ci` with these options."""
        return subprocess.run(
            [sys.executable, "-m", "ciwm", "-C", str(self.path), "ci", *options],
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def report(self) -> BumpReport:
        """What was told."""
        return read_record(self.out / "report.json", BumpReport)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


def test_the_push_of_an_annotated_tag_is_about_the_commit_it_names(job: Job) -> None:
    repository = job.fork.repository
    sha = job.fork.commit({"a.py": "x = 1\n"}).sha
    repository.run(
        *("-c", "user.name=t", "-c", "user.email=t@example.org"),
        *("tag", "--annotate", "--message=v1", "v1", sha),
    )
    tag = repository.text("rev-parse", "refs/tags/v1")
    assert tag != sha
    done = job.pushed("0" * 40, tag, "refs/tags/v1")
    assert job.report.check_sha == sha, done.stderr
    assert job.report.head is not None
    assert job.report.head.sha == sha


def test_a_deleted_branch_is_nothing_to_compare(job: Job) -> None:
    sha = job.fork.repository.commit("HEAD")
    done = job.pushed(sha, "0" * 40, "refs/heads/old")
    assert done.returncode == OK, done.stderr
    assert job.report.headline == "Nothing to compare: refs/heads/old was deleted"
    assert job.report.check_sha is None
    assert "error" not in done.stderr


@pytest.mark.parametrize(
    ("name", "value"), [("CIWM_TOKEN", "two words"), ("GITHUB_API_URL", "no address")]
)
def test_a_token_or_address_that_cannot_be_is_a_warning(job: Job, name: str, value: str) -> None:
    sha = job.fork.repository.commit("HEAD")
    job.variables.update({"CIWM_TOKEN": "a-token", name: value})
    done = job.pushed(sha, sha, "refs/heads/main")
    assert (done.returncode, job.report.exit_code) == (OK, OK), done.stderr
    assert "::warning title=ciwm::nothing was posted: " in done.stderr


def test_a_folder_that_cannot_be_made_is_one_line_before_anything_is_done(job: Job) -> None:
    for place in ("/proc/x", str(job.event / "below")):
        job.event.touch()
        done = job.run("--base", "HEAD", "--head", "HEAD", "--out", place)
        assert done.returncode in (USAGE, ENVIRONMENT)
        assert done.stderr.startswith("error: "), done.stderr


def test_a_missing_runner_temp_is_one_line(job: Job) -> None:
    del job.variables["GITHUB_EVENT_NAME"]
    job.variables["RUNNER_TEMP"] = "/no/such/folder"
    done = job.run("--base", "HEAD", "--head", "HEAD")
    assert done.returncode == ENVIRONMENT
    assert done.stderr.startswith("error: cannot write /no/such/folder: "), done.stderr


def test_a_job_cancelled_while_it_builds_says_so_and_begins_nothing_more(job: Job) -> None:
    (job.path / "ciwm.toml").write_text('[build]\ncommand = "touch $MARK; sleep 60"\n')
    mark = job.path / "mark"
    job.variables["MARK"] = str(mark)
    command = [sys.executable, "-m", "ciwm", "-C", str(job.path), "ci", "--no-fetch", "--json"]
    revisions = ("--base", "HEAD", "--head", "HEAD", "--out", str(job.out))
    environment = {**job.variables, "GITHUB_EVENT_NAME": ""}
    with subprocess.Popen([*command, *revisions], env=environment, stdout=subprocess.PIPE) as step:
        while not mark.exists() and step.poll() is None:
            time.sleep(0.02)
        step.send_signal(signal.SIGINT)
        step.communicate(timeout=60)
    assert step.returncode == INTERRUPTED
    stages = {stage.name: stage for stage in job.report.stages}
    assert stages["build"].status == "interrupted"
    assert stages["build"].message == "the job was cancelled while it built"
    assert "gate" not in stages
    assert "left no message" not in comment_markdown(job.report)


def test_a_typo_in_heads_configuration_is_a_report_that_names_side_key_and_mend(job: Job) -> None:
    head = job.fork.commit({"ciwm.toml": "[gate]\nthresold = 3\n"})
    del job.variables["GITHUB_EVENT_NAME"]
    done = job.run("--no-fetch", "--base", "main", "--head", head.sha, "--out", str(job.out))
    assert done.returncode == USAGE, done.stderr
    report = job.report
    assert (report.exit_code, report.conclusion) == (USAGE, "failure")
    assert f"head's {head.sha[:12]}:ciwm.toml: unknown key gate.thresold" in report.headline
    assert report.stages[0].hint == "mend head's configuration (did you mean threshold?)"
    assert "thresold" in (job.out / "comment.md").read_text()


def test_a_sync_cost_asked_for_without_an_upstream_is_no_pass(job: Job) -> None:
    del job.variables["GITHUB_EVENT_NAME"]
    sides = ("--no-fetch", "--base", "main", "--head", "main", "--out", str(job.out))
    done = job.run(*sides, "--only", "sync")
    assert done.returncode == ENVIRONMENT, done.stdout
    assert "Sync failed (no upstream is configured" in done.stdout
    assert "Next: name upstream" in done.stdout
    assert "no upstream is configured" in (job.out / "comment.md").read_text()


def test_a_skipped_stage_says_why_in_the_comment(job: Job) -> None:
    del job.variables["GITHUB_EVENT_NAME"]
    job.run("--no-fetch", "--base", "main", "--head", "main", "--out", str(job.out))
    assert "skipped: sync (no upstream is configured" in (job.out / "comment.md").read_text()


@pytest.mark.parametrize(
    ("raised", "told", "code"),
    [
        (KeyError("abc"), "this is a bug in ciwm: KeyError: 'abc'", BUG),
        (OSError(28, "No space left on device"), "No space left on device", ENVIRONMENT),
    ],
)
def test_what_nobody_foresaw_in_a_stage_ends_the_check_and_loses_no_other_stage(
    job: Job, monkeypatch: pytest.MonkeyPatch, raised: Exception, told: str, code: int
) -> None:
    for name, value in job.variables.items():
        monkeypatch.setenv(name, value)

    def breaks(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr("ciwm.story.telling.sync_cost", breaks)
    before, after = (job.fork.commit({"a.txt": text}).sha for text in ("before", "after"))
    payload = {"before": before, "after": after, "ref": "refs/heads/main"}
    job.event.write_text(json.dumps({**payload, "repository": {"full_name": "acme/fork"}}))
    where = ["-C", str(job.path), "ci", "--no-fetch", "--upstream", before, "--out", str(job.out)]
    assert run(where) == code
    (failed,) = (stage for stage in job.report.stages if stage.status == "failed")
    assert failed.name == "sync"
    assert told in failed.message
    assert [build.status for build in job.report.builds] == ["built", "built"]
    assert job.report.conclusion == "failure"
    assert told in comment_markdown(job.report).replace("&#39;", "'")
