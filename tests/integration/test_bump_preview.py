"""`ciwm bump-preview`: the newest upstream merged on trial, told as it is."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from ciwm.cli import run
from ciwm.demo.repositories import make_example
from ciwm.records import BumpReport, read_record

if TYPE_CHECKING:
    from pathlib import Path


def git(path: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=path, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def fork(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The embedded fork, whose block size conflicts with upstream's."""
    path = make_example(tmp_path / "example").fork.path
    for name in ("GITHUB_EVENT_NAME", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(path)
    return path


def report(folder: Path) -> BumpReport:
    return read_record(folder / "report.json", BumpReport)


def without_workloads(fork: Path) -> None:
    """One commit before the conflict, and nothing to measure."""
    git(fork, "switch", "-q", "--detach", "main~1")
    text = (fork / "ciwm.toml").read_text()
    (fork / "ciwm.toml").write_text(text[: text.index("[[workload]]")])
    git(fork, "commit", "-qam", "Nothing to measure")


def test_an_upstream_that_conflicts_is_a_no_with_its_culprit_named(
    fork: Path, tmp_path: Path
) -> None:
    assert run(["bump-preview", "--out", str(tmp_path / "out"), "--culprits", "30"]) == 1
    told = report(tmp_path / "out")
    assert told.conclusion == "failure"
    assert told.headline == "The newest upstream does not merge: conflicts in 1 file"
    assert told.sync_base is not None
    assert told.sync_base.conflicts is not None
    (culprit,) = told.sync_base.conflicts.culprits
    assert culprit.subject == "matmul: block of 48 suits the new CI machines (#4)"
    assert git(fork, "status", "--short") == ""


def test_an_upstream_that_merges_is_built_and_is_no_branch(fork: Path, tmp_path: Path) -> None:
    without_workloads(fork)
    head, branches = git(fork, "rev-parse", "HEAD"), git(fork, "for-each-ref", "refs/heads")
    assert run(["bump-preview", "--out", str(tmp_path / "out")]) == 0
    told = report(tmp_path / "out")
    assert [build.ok for build in told.builds] == [True, True]
    merged = git(fork, "rev-parse", "refs/ciwm/preview")
    assert told.head is not None
    assert told.head.sha == merged
    parents = git(fork, "rev-list", "--parents", "-n1", merged).split()[1:]
    assert parents == [head, git(fork, "rev-parse", "upstream/main")]
    # git itself merges the same tree
    git(fork, "merge", "-q", "--no-edit", "upstream/main")
    assert git(fork, "rev-parse", "HEAD^{tree}") == git(fork, "rev-parse", f"{merged}^{{tree}}")
    assert git(fork, "for-each-ref", "refs/heads") == branches


def test_an_upstream_that_is_merged_already_builds_nothing(fork: Path, tmp_path: Path) -> None:
    git(fork, "switch", "-q", "sync/upstream")
    assert run(["bump-preview", "--out", str(tmp_path / "out")]) == 0
    told = report(tmp_path / "out")
    assert told.builds == ()
    assert told.headline.endswith("Up to date with upstream")


def test_an_upstream_that_breaks_the_build_is_a_no(fork: Path, tmp_path: Path) -> None:
    without_workloads(fork)
    upstream = tmp_path / "example" / "upstream"
    kernel = upstream / "tiny" / "kernel.c"
    kernel.write_text(kernel.read_text() + "\nint broken(void) { return 1 }\n")
    git(upstream, "commit", "-qam", "A semicolon less")
    assert run(["bump-preview", "--out", str(tmp_path / "out")]) == 1
    assert "Head does not build" in report(tmp_path / "out").headline


@pytest.mark.usefixtures("fork")
def test_no_upstream_and_an_unknown_one_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["bump-preview", "--upstream", "upstream/nope"]) == 2
    assert "no such revision: upstream/nope" in capsys.readouterr().err
    git(tmp_path / "example" / "fork", "rm", "-q", "ciwm.toml")
    git(tmp_path / "example" / "fork", "commit", "-qm", "No configuration")
    git(tmp_path / "example" / "fork", "remote", "remove", "upstream")
    assert run(["bump-preview"]) == 2
    assert "no upstream is configured" in capsys.readouterr().err


PLUGIN = """\
[upstream]
style = "plugin"
repository = "../engine"
package = "engine"
pin = {pin}
[build]
command = "true"
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plugin made for v1.2.0 of an engine, which has removed what it uses in v1.3.0."""
    for name in ("GITHUB_EVENT_NAME", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CIWM_CACHE_DIR", str(tmp_path / "cache"))
    for name, value in (("NAME", "Ines"), ("EMAIL", "ines@example.org")):
        monkeypatch.setenv(f"GIT_AUTHOR_{name}", value)
        monkeypatch.setenv(f"GIT_COMMITTER_{name}", value)
    for name in ("engine", "plugin"):
        git(tmp_path, "init", "-q", "-b", "main", name)
    engine, folder = tmp_path / "engine", tmp_path / "plugin"
    (engine / "engine").mkdir()
    for tag, text in (("v1.2.0", "def run(x): ...\n"), ("v1.3.0", "def go(x): ...\n")):
        (engine / "engine" / "a.py").write_text(text)
        git(engine, "add", "-A")
        git(engine, "commit", "-q", "-m", f"release {tag}")
        git(engine, "tag", tag)
    git(engine, "commit", "-q", "--allow-empty", "-m", "after it")
    (folder / "plug").mkdir()
    (folder / "plug" / "__init__.py").write_text("from engine.a import run\n")
    monkeypatch.chdir(folder)
    return folder


def pinned(plugin: Path, pin: str, **files: str) -> None:
    """A commit of the plugin with its pin."""
    (plugin / "ciwm.toml").write_text(PLUGIN.format(pin=pin))
    for name, text in files.items():
        (plugin / name.replace("__", ".")).write_text(text)
    git(plugin, "add", "-A")
    git(plugin, "commit", "-q", "-m", "plugin")


@pytest.mark.parametrize(
    ("pin", "name", "texts"),
    [
        (
            '{ file = "pin.txt" }',
            "pin__txt",
            ("# OLD, say\nOLD  # main\n", "# OLD, say\nNEW  # main\n"),
        ),
        ('{ file = "pin.txt" }', "pin__txt", ("v1.2.0\n", "v1.3.0\n")),
        (
            '{ file = "r.txt", package = "engine" }',
            "r__txt",
            ("a==1.2.0\nEngine[all] == 1.2.0 ; x\n", "a==1.2.0\nEngine[all] == 1.3.0 ; x\n"),
        ),
        (
            '{ file = "p.toml", package = "engine" }',
            "p__toml",
            (
                'version = "1.2.0"\ndependencies = ["engine==1.2.0"]\n',
                'version = "1.2.0"\ndependencies = ["engine==1.3.0"]\n',
            ),
        ),
        (
            '{ file = "c.yaml", pattern = "engine: ([0-9a-f]+)" }',
            "c__yaml",
            ("engine: OLD\nmine: OLD\nengine: OLD", "engine: NEW\nmine: OLD\nengine: NEW"),
        ),
    ],
)
def test_a_plugins_pin_moves_to_the_newest_upstream_in_its_own_words(
    plugin: Path, tmp_path: Path, pin: str, name: str, texts: tuple[str, str]
) -> None:
    text, moved = texts
    engine = tmp_path / "engine"
    old, new = git(engine, "rev-parse", "v1.2.0"), git(engine, "rev-parse", "main")
    pinned(plugin, pin, **{name: text.replace("OLD", old)})
    assert run(["bump-preview", "--out", str(tmp_path / "out")]) == 0
    told = report(tmp_path / "out")
    head = git(plugin, "rev-parse", "refs/ciwm/preview")
    assert told.head is not None
    assert told.head.sha == head
    path = name.replace("__", ".")
    assert git(plugin, "diff", "--name-only", "HEAD", head) == path
    shown = git(plugin, "show", f"{head}:{path}")
    assert shown == moved.replace("OLD", old).replace("NEW", new).strip()
    assert told.sync is not None
    assert told.sync.behind.commits == 0
    assert told.headline.endswith("which break 1 thing of what the plugin uses")
    assert git(plugin, "status", "--short") == ""


def test_a_submodule_that_is_the_pin_moves_too(plugin: Path, tmp_path: Path) -> None:
    engine = tmp_path / "engine"
    git(plugin, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(engine), "dep")
    git(plugin / "dep", "checkout", "-q", "v1.2.0")
    pinned(plugin, '{ submodule = "dep" }')
    assert run(["bump-preview", "--out", str(tmp_path / "out")]) == 0
    listed = git(plugin, "ls-tree", "refs/ciwm/preview", "dep")
    assert listed.split()[:3] == ["160000", "commit", git(engine, "rev-parse", "main")]
    assert git(plugin / "dep", "rev-parse", "HEAD") == git(engine, "rev-parse", "v1.2.0")


def test_a_pin_that_is_at_the_newest_already_builds_nothing(plugin: Path, tmp_path: Path) -> None:
    pinned(plugin, '{ file = "pin.txt" }', pin__txt="v1.3.0\n")
    assert run(["bump-preview", "--out", str(tmp_path / "out")]) == 0
    told = report(tmp_path / "out")
    assert told.builds == ()
    assert told.headline.endswith("Up to date with upstream")


@pytest.mark.parametrize(
    ("pin", "files", "said"),
    [
        ('{ revision = "v1.2.0" }', {}, "the pin is no file and no submodule"),
        (
            '{ file = "uv.lock", package = "engine" }',
            {"uv__lock": '[[package]]\nname = "engine"\nversion = "1.2.0"\n'},
            "uv.lock is written by its tool",
        ),
        ('{ file = "none.txt" }', {}, "has no file none.txt"),
    ],
)
def test_a_pin_that_cannot_be_moved_is_one_line(
    plugin: Path, capsys: pytest.CaptureFixture[str], pin: str, files: dict[str, str], said: str
) -> None:
    pinned(plugin, pin, **files)
    assert run(["bump-preview"]) == 2
    assert said in capsys.readouterr().err
