"""The command line: what --help loads, and how each failure ends."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ciwm import cli
from ciwm.errors import BUG, ENVIRONMENT, INTERRUPTED, USAGE, VOID, IncomparableError

if TYPE_CHECKING:
    import click

HEAVY = {"torch", "numpy", "scipy", "pydantic", "github", "git", "rich", "jinja2", "requests"}
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["bench", "--help"]])
def test_help_leaves_the_heavy_packages_out(arguments: list[str]) -> None:
    program = (
        "import sys; from ciwm import cli; code = cli.run(sys.argv[1:]);"
        f"loaded = sorted({HEAVY!r} & sys.modules.keys());"
        "print(code, loaded, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert done.stderr.strip() == "0 []"
    assert done.stdout


def test_help_lists_every_verb_with_a_line(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--help"]) == 0
    shown = capfd.readouterr().out
    assert all(re.search(rf"^  {verb} +\S", shown, re.MULTILINE) for verb in cli.COMMANDS)


@pytest.mark.parametrize("verb", sorted(cli.COMMANDS))
def test_each_verb_is_there_and_explains_itself(
    verb: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.run([verb, "--help"]) == 0
    assert f"ciwm {verb}" in capfd.readouterr().out


def test_an_unknown_verb_is_a_usage_error_with_the_nearest_one(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert cli.run(["sync-raport"]) == USAGE
    assert "Did you mean sync-report?" in capfd.readouterr().err


def test_a_bad_directory_is_a_usage_error(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["-C", "/absent/folder", "schema"]) == USAGE
    assert "/absent/folder" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("raised", "code", "says"),
    [
        (IncomparableError("not the same card", "use one runner"), VOID, "hint: use one runner"),
        (KeyboardInterrupt(), INTERRUPTED, "error: interrupted"),
        (ZeroDivisionError("oops"), BUG, "ZeroDivisionError: oops"),
    ],
)
def test_each_failure_ends_in_its_exit_code(
    raised: BaseException,
    code: int,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def fails(*_arguments: object) -> click.Command:
        raise raised

    monkeypatch.setattr(cli.LazyGroup, "get_command", fails)
    assert cli.run(["schema"]) == code
    shown = capfd.readouterr()
    assert says in shown.err
    assert shown.out == ""


def test_a_bug_leaves_its_traceback_in_a_file(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fails(*_arguments: object) -> click.Command:
        raise ZeroDivisionError

    monkeypatch.setattr(cli.LazyGroup, "get_command", fails)
    assert cli.run(["schema"]) == BUG
    found = re.search(r"traceback is in (\S+);", capfd.readouterr().err)
    assert found is not None
    assert "Traceback" in Path(found[1]).read_text()
    Path(found[1]).unlink()


def test_json_prints_an_error_object_too(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["sync-report", "--json", "--no-such-option"]) == USAGE
    error = json.loads(capfd.readouterr().out)["error"]
    assert error["exit_code"] == USAGE
    assert "--no-such-option" in error["message"]


def test_a_reader_that_goes_away_is_no_error() -> None:
    done = subprocess.run(  # noqa: S602  the pipe is the point
        f"{sys.executable} -m ciwm schema | head -1",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.stdout == "{\n"
    assert done.stderr == ""


def in_shell(command: str) -> subprocess.CompletedProcess[str]:
    program = f"ciwm() {{ '{sys.executable}' -m ciwm \"$@\"; }}; {command}"
    return subprocess.run(
        ["bash", "-c", program], capture_output=True, text=True, check=False, cwd=ROOT
    )


@pytest.mark.parametrize(
    "command",
    [
        "(ciwm schema Run 2>&1; echo $? >&3) | true",
        "(ciwm schema Run 2>&-; echo $? >&3) >/dev/null",
        "(ciwm schema Run >&-; echo $? >&3)",
    ],
)
def test_a_reader_that_goes_away_does_not_change_the_exit_code(command: str) -> None:
    done = in_shell(f"exec 3>&1; {command}")
    assert done.stdout.splitlines() == ["0"]


def test_a_failure_told_to_nobody_keeps_its_exit_code() -> None:
    done = in_shell("exec 3>&1; (ciwm build no-such-revision 2>&1; echo $? >&3) | true")
    assert done.stdout.splitlines() == [str(USAGE)]
    assert in_shell("ciwm build no-such-revision 2>&-").returncode == USAGE


def test_an_answer_that_a_full_disk_swallows_ends_in_one_line_and_four() -> None:
    done = in_shell("ciwm schema Run >/dev/full")
    assert done.returncode == ENVIRONMENT
    first, *rest = done.stderr.splitlines()
    assert first == "error: cannot write standard output: No space left on device"
    assert [line[:5] for line in rest] == ["hint:"]


def without_git(tmp_path: Path, script: str | None, **variables: str) -> None:
    """`ciwm build HEAD` with a PATH on which git is this script, or is not at all."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "env").symlink_to("/usr/bin/env")
    if script is not None:
        (tools / "git").write_text(script)
        (tools / "git").chmod(0o755)
    environment = {"PATH": str(tools), "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "ciwm", "build", "HEAD"],
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == ENVIRONMENT, done.stderr
    assert done.stderr.startswith("error: git "), done.stderr
    assert len(done.stderr.splitlines()) == 2


@pytest.mark.parametrize(
    "script",
    [
        None,
        "not a program",
        "#!/no/such/interpreter\n",
        "#!/bin/sh\necho 'fatal: broken' >&2; exit 1\n",
    ],
    ids=["none", "no program", "no interpreter", "fails"],
)
# where a variable of git's has to be hidden, git is started by `env`
@pytest.mark.parametrize("variables", [{}, {"GIT_DIR": "x"}], ids=["plain", "by env"])
def test_without_a_git_that_works_one_line_says_so(
    tmp_path: Path, script: str | None, variables: dict[str, str]
) -> None:
    without_git(tmp_path, script, **variables)


def test_a_current_folder_that_was_deleted_is_one_line() -> None:
    done = in_shell(f"d=$(mktemp -d); cd $d; rmdir $d; PYTHONPATH={ROOT} ciwm sync-report")
    assert done.returncode == USAGE, done.stderr
    assert "error: -C .: No such file or directory" in done.stderr


@pytest.mark.parametrize("folder", ["~nosuchuser/x", "/sys", "/proc/x"])
def test_a_cache_folder_that_cannot_be_is_one_line(folder: str) -> None:
    done = in_shell(f"CIWM_CACHE_DIR={folder!r} ciwm clean --dry-run")
    assert done.returncode == ENVIRONMENT, done.stderr
    assert done.stderr.startswith("error: "), done.stderr
    assert folder in done.stderr
