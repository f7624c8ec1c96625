"""`ciwm pipeline` against a server that answers as GitHub's documentation says of its two paths."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from ciwm.cli import run as ciwm
from ciwm.records import parse_record
from ciwm.records.pipeline import PipelineFigures
from ciwm.story.pipeline import stage_of

if TYPE_CHECKING:
    from collections.abc import Iterator


def step(name: str, conclusion: str = "success") -> dict[str, Any]:
    return {"name": name, "status": "completed", "conclusion": conclusion, "number": 1}


def job(name: str, minutes: int, conclusion: str = "success", *steps: Any) -> dict[str, Any]:
    return {
        "name": name,
        "conclusion": conclusion,
        "started_at": "2026-05-04T09:00:00Z",
        "completed_at": f"2026-05-04T09:{minutes:02}:00Z",
        "steps": list(steps),
    }


def run(
    number: int, workflow: str, minutes: int, conclusion: str, *jobs: Any
) -> tuple[dict[str, Any], list[Any]]:
    said = {
        "id": number,
        "name": workflow,
        "path": f".github/workflows/{workflow}.yml",
        "status": "completed",
        "conclusion": conclusion,
        "run_started_at": "2026-05-04T09:00:00Z",
        "updated_at": f"2026-05-04T09:{minutes:02}:00Z",
    }
    return said, list(jobs)


@contextmanager
def github(*runs: Any, page: int | None = None) -> Iterator[tuple[str, list[str]]]:
    """A server with these runs, the newest first, and the paths that it was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            url = urlsplit(self.path)
            query = {key: values[0] for key, values in parse_qs(url.query).items()}
            size = page or int(query["per_page"])
            begin = (int(query.get("page", 1)) - 1) * size
            if url.path.endswith("/jobs"):
                wanted = int(url.path.split("/")[-2])
                jobs = next(jobs for said, jobs in runs if said["id"] == wanted)
                body: Any = {"total_count": len(jobs), "jobs": jobs[begin : begin + size]}
            else:
                body = {"workflow_runs": [said for said, _ in runs[begin : begin + size]]}
            data = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CIWM_TOKEN", "token-of-a-test")
    monkeypatch.setenv("GITHUB_REPOSITORY", "ours/fork")


SUCCESS = [
    run(n, "CI", 10 * n, "success", job("build", 2 * n), job("unit tests", n)) for n in (1, 2, 3)
]
BROKEN = [
    run(
        4,
        "CI",
        1,
        "failure",
        job("build", 1),
        job("test (3.12)", 1, "failure", step("Install"), step("Run pytest", "failure")),
    ),
    run(
        5,
        "CI",
        1,
        "failure",
        # the step tells more than the job's name
        job("test (3.12)", 1, "failure", step("Build wheel", "failure"), step("Run pytest")),
    ),
    run(6, "CI", 59, "cancelled"),
    run(7, "images", 5, "success", job("docker", 5)),
]


def test_success_duration_and_the_stage_of_failures_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with github(*BROKEN, *SUCCESS) as (url, asked):
        monkeypatch.setenv("GITHUB_API_URL", url)
        assert ciwm(["pipeline", "--json", "--branch", "main"]) == 0
    found = parse_record(capsys.readouterr().out, PipelineFigures, "figures")

    assert (found.repository, found.branch, found.asked, found.found) == (
        "ours/fork",
        "main",
        50,
        7,
    )
    ci, images = found.workflows
    assert (ci.workflow, ci.runs, ci.failed, ci.left_out) == ("CI", 5, 2, 1)
    assert ci.success_pct == 60
    # of 10, 20 and 30 minutes
    assert (ci.p50_s, ci.p90_s) == (1200, 1680)
    assert ci.failures == {"test": 1, "build": 1}
    stages = {one.stage: one for one in ci.stages}
    assert (stages["build"].jobs, stages["build"].failed) == (4, 0)
    assert stages["build"].p50_s == 180  # of 1, 2, 4 and 6 minutes
    assert (stages["test"].jobs, stages["test"].failed) == (5, 2)
    assert [one.stage for one in images.stages] == ["package"]
    assert "branch=main" in asked[0]
    assert len(asked) == 1 + 7


def test_the_table_is_for_people(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with github(*BROKEN, *SUCCESS) as (url, _):
        monkeypatch.setenv("GITHUB_API_URL", url)
        assert ciwm(["pipeline"]) == 0
    told = capsys.readouterr().out
    assert "CI: 2 failed: 1 in test, 1 in build" in told
    assert "GitHub has 7 runs of the 50 asked for" in told
    (row,) = [line for line in told.splitlines() if line.startswith("CI  ")]
    assert row.split() == [
        "CI",
        "5",
        "(+1)",
        "60",
        "%",
        "20",
        "min",
        "0",
        "s",
        "28",
        "min",
        "0",
        "s",
    ]


def test_pages_are_read_until_there_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [run(n, "CI", 1, "success", job("build", 1)) for n in range(1, 251)]
    with github(*many) as (url, asked):
        monkeypatch.setenv("GITHUB_API_URL", url)
        assert ciwm(["pipeline", "--runs", "120", "--json"]) == 0
    lists = [path for path in asked if "/jobs" not in path]
    assert len(lists) == 2
    assert len(asked) == 2 + 120


def test_all_jobs_of_a_large_matrix_count(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = [job(f"test ({n})", 1) for n in range(119)]
    jobs.append(job("test (119)", 1, "failure", step("Run pytest", "failure")))
    with github(run(1, "CI", 9, "failure", *jobs)) as (url, _):
        monkeypatch.setenv("GITHUB_API_URL", url)
        assert ciwm(["pipeline", "--json"]) == 0
    found = parse_record(capsys.readouterr().out, PipelineFigures, "figures")
    (stage,) = found.workflows[0].stages
    assert (stage.jobs, stage.failed) == (120, 1)
    assert found.workflows[0].failures == {"test": 1}


def test_a_branch_is_asked_for_by_its_whole_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with github(*SUCCESS) as (url, asked):
        monkeypatch.setenv("GITHUB_API_URL", url)
        assert ciwm(["pipeline", "--branch", "fix/a&b#12", "--json"]) == 0
    assert parse_qs(urlsplit(asked[0]).query)["branch"] == ["fix/a&b#12"]


def test_what_cannot_be_asked_or_read_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ciwm(["pipeline", "--repository", "nonsense"]) == 2
    assert "not a repository: 'nonsense'" in capsys.readouterr().err
    broken = run(1, "CI", 1, "success", {"name": "build"})
    with github(broken) as (url, _):
        monkeypatch.setenv("GITHUB_API_URL", url)
        assert ciwm(["pipeline"]) == 4
    assert "the answer is not GitHub's" in capsys.readouterr().err
    monkeypatch.delenv("CIWM_TOKEN")
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    assert ciwm(["pipeline"]) == 2
    assert "there is no token" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("names", "stage"),
    [
        (("Build wheel", "test"), "build"),
        ((None, "test (3.12, ubuntu)"), "test"),
        (("Run pytest", "build"), "test"),
        (("docker build and push",), "package"),
        (("Set up job", "lint"), "other"),
        (("latest-news",), "other"),  # no whole word of it
    ],
)
def test_a_stage_is_told_by_whole_words_of_step_and_job(names: Any, stage: str) -> None:
    assert stage_of(*names) == stage
