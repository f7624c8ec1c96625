"""Test coverage in a bump's report: from the build trees, or from files that are named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from ciwm.cli import run
from ciwm.coverage import changed_lines, compared, read_coverage
from ciwm.git import Repository
from ciwm.records import BumpReport, read_record
from ciwm.report.bump_markdown import comment_markdown

if TYPE_CHECKING:
    from pathlib import Path

# the recipe runs the tests under a coverage tool of its own: here, what it would leave
RECIPE = f"{sys.executable} cover.py"
COVER = """\
import json, pathlib
lines = pathlib.Path("pkg/a.py").read_text().splitlines()
missed = [n for n, line in enumerate(lines, 1) if "missed" in line]
hit = [n for n in range(1, len(lines) + 1) if n not in missed]
files = {str(pathlib.Path("pkg/a.py").resolve()): {"executed_lines": hit, "missing_lines": missed}}
pathlib.Path("coverage.json").write_text(json.dumps({"files": files}))
"""
CONFIG = f"""\
[build]
command = "{RECIPE}"
[coverage]
files = ["coverage.json"]
"""


def git(path: Path, *arguments: str) -> str:
    command = ["git", "-C", str(path), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    done = subprocess.run([*command, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("GITHUB_EVENT_NAME", "GITHUB_TOKEN", "CIWM_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CIWM_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "checkout"
    (path / "pkg").mkdir(parents=True)
    git(tmp_path, "init", "-q", "-b", "main", str(path))
    for name, text in {"ciwm.toml": CONFIG, "cover.py": COVER, "pkg/a.py": "one\ntwo\n"}.items():
        (path / name).write_text(text)
    git(path, "add", "-A")
    git(path, "commit", "-q", "-m", "base")
    (path / "pkg/a.py").write_text("one\ntwo\nthree\nmissed 4\nmissed 5\nsix\nmissed 7\nfin\n")
    git(path, "commit", "-q", "-am", "head")
    monkeypatch.chdir(path)
    return path


def report(out: Path, *arguments: str) -> BumpReport:
    told = ("ci", "--base", "HEAD^", "--head", "HEAD", "--no-fetch", "--out", str(out))
    assert run([*told, *arguments]) == 0
    return read_record(out / "report.json", BumpReport)


def test_the_delta_and_the_uncovered_changed_lines_come_from_both_build_trees(
    checkout: Path, tmp_path: Path
) -> None:
    assert checkout.is_dir()
    found = report(tmp_path / "out")
    assert found.coverage is not None
    assert found.coverage.problems == ()
    assert (found.coverage.changed, found.coverage.changed_covered) == (6, 3)
    text = comment_markdown(found)
    assert "Tests reach 62.5% of 8 lines, **−37.5 points** against base (100.0%)." in text
    assert "**3 of 6 changed lines** that tests could reach are not tested" in text
    assert "- `pkg/a.py`: 4–5, 7" in text


def test_named_files_take_the_place_of_configured_ones(checkout: Path, tmp_path: Path) -> None:
    lcov = tmp_path / "head.info"
    lcov.write_text("SF:pkg/a.py\nDA:1,1\nDA:3,0\nend_of_record\n")
    found = report(tmp_path / "out", "--coverage-head", str(lcov))
    assert found.coverage is not None
    assert found.coverage.head is not None
    assert (found.coverage.head.lines, found.coverage.head.files) == (2, ("head.info",))
    assert [one.ranges for one in found.coverage.uncovered] == [((3, 3),)]
    assert checkout.is_dir()


def test_a_side_without_its_file_is_said_and_blocks_nothing(checkout: Path, tmp_path: Path) -> None:
    (checkout / "cover.py").write_text("pass\n")
    (checkout / "note").write_text("x")
    git(checkout, "add", "-A")
    git(checkout, "commit", "-q", "-m", "no coverage any more")
    found = report(tmp_path / "out")
    assert found.conclusion == "success"
    assert found.coverage is not None
    (problem,) = found.coverage.problems
    assert problem == ("coverage of head: no file of head matches [coverage] files (coverage.json)")
    assert problem.replace("[", "&#91;").replace("]", "&#93;") in comment_markdown(found)


def test_a_damaged_file_is_said(checkout: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.xml"
    bad.write_text("<coverage")
    found = report(tmp_path / "out", "--coverage-base", str(bad))
    assert found.coverage is not None
    assert found.coverage.base is None
    assert "is no coverage file" in found.coverage.problems[0]
    assert "(base: unknown)" in comment_markdown(found)
    assert checkout.is_dir()


def test_changed_lines_are_gits_whatever_files_are_called(checkout: Path) -> None:
    odd = 'a "b"\tc\nü.py'
    (checkout / odd).write_text("1\n")
    (checkout / "binary").write_bytes(bytes(range(256)))
    git(checkout, "add", "-A")
    git(checkout, "commit", "-q", "-m", "odd")
    (checkout / odd).write_text("1\ndiff --git a/x b/x\n@@ -1 +1,9 @@\n")
    (checkout / "binary").write_bytes(bytes(range(255)))
    git(checkout, "mv", "pkg/a.py", "pkg/moved.py")
    (checkout / "pkg/moved.py").write_text(
        "one\ntwo\nthree\nmissed 4\nmissed 5\nSIX\nmissed 7\nfin\n"
    )
    git(checkout, "add", "-A")
    git(checkout, "commit", "-q", "-m", "edit")
    found = changed_lines(Repository.open(checkout), "HEAD^", "HEAD")
    assert found == {odd: {2, 3}, "binary": set(), "pkg/moved.py": {6}}


def test_without_coverage_nothing_is_said(checkout: Path, tmp_path: Path) -> None:
    (checkout / "ciwm.toml").write_text('[build]\ncommand = "true"\n')
    git(checkout, "commit", "-q", "-am", "none")
    git(checkout, "commit", "-q", "--allow-empty", "-m", "none")
    found = report(tmp_path / "out")
    assert found.coverage is None
    assert "coverage" not in comment_markdown(found)
    assert json.loads((tmp_path / "out" / "report.json").read_text())["coverage"] is None


SCRIPT = """\
def reached(x):
    if x:
        return 1
    return 2


def never():
    return 3


reached(True)
"""


def test_what_coverage_py_itself_writes_reads_the_same_in_all_its_formats(tmp_path: Path) -> None:
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / "script.py").write_text(SCRIPT)

    def coverage(*arguments: str) -> str:
        command = [sys.executable, "-m", "coverage", *arguments]
        environment = {**os.environ, "COVERAGE_FILE": str(tmp_path / "data"), "COVERAGE_RCFILE": ""}
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
        )
        return done.stdout

    coverage("run", "--source=src", "src/script.py")
    total = float(coverage("report", "--format=total", "--precision=2"))
    for kind in ("json", "xml", "lcov"):
        coverage(kind, "-o", f"out.{kind}")
        hits = read_coverage([tmp_path / f"out.{kind}"])
        found = compared(None, hits, {"src/script.py": {4, 8}}, tracked=["src/script.py"], files={})
        assert found.head is not None
        assert found.head.pct == pytest.approx(total, abs=0.005), kind
        assert [one.ranges for one in found.uncovered] == [((4, 4), (8, 8))], kind
