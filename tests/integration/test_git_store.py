"""Runs in an orphan branch: real repositories, real concurrent writers, real remotes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ciwm.config import Config
from ciwm.errors import ConfigError, GitError, StoreError
from ciwm.git import Repository
from ciwm.store import Store, open_store
from ciwm.story.calibrating import known_calibration
from tests.integration.git_server import git_server
from tests.records_examples import large_run, run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).parents[2]
WRITERS = 8
ADD_AND_PUSH = """
import sys
from pathlib import Path
from ciwm.git import Repository
from ciwm.store import open_store
from tests.records_examples import run
store = open_store("git:ciwm-data", Repository.open(Path(sys.argv[1])))
for number in range(2):
    store.add(run(id=f"{sys.argv[2]}-{number}"))
    if len(sys.argv) > 3:
        store.push(sys.argv[3], None)
"""


def git(folder: Path, *arguments: str, stdin: bytes = b"") -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, input=stdin, capture_output=True, check=True
    )
    return done.stdout.decode().strip()


def repository(folder: Path) -> Path:
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Tester")
    git(folder, "config", "user.email", "tester@example.org")
    (folder / "file.txt").write_text("work\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "work")
    return folder


def bare(folder: Path) -> Path:
    folder.mkdir()
    git(folder, "init", "-q", "--bare", "-b", "main")
    git(folder, "config", "uploadpack.allowFilter", "true")
    git(folder, "config", "http.receivepack", "true")
    return folder


def clone(hub: Path, folder: Path, *options: str) -> Path:
    subprocess.run(["git", "clone", "-q", *options, hub.as_uri(), str(folder)], check=True)
    return folder


def store_in(folder: Path) -> Store:
    return open_store("git:ciwm-data", Repository.open(folder))


def ids(store: Store) -> list[str]:
    return sorted(kept.id for kept in store.runs())


def finish(children: Sequence[subprocess.Popen[str]]) -> None:
    for child in children:
        _, stderr = child.communicate(timeout=240)
        assert child.returncode == 0, stderr


def writer(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", ADD_AND_PUSH, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return repository(tmp_path / "work")


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    return bare(tmp_path / "hub.git")


def commit_on(folder: Path, branch: str, files: dict[str, bytes]) -> str:
    """Put files on a branch with git's own plumbing, as a stranger would."""
    entries = [
        f"100644 blob {git(folder, 'hash-object', '-w', '--stdin', stdin=data)}\t{name}"
        for name, data in files.items()
    ]
    tree = git(folder, "mktree", stdin="\n".join(entries).encode())
    commit = git(folder, "commit-tree", tree, "-m", "someone else's")
    git(folder, "update-ref", f"refs/heads/{branch}", commit)
    return commit


def replace_file(folder: Path, path: str, data: bytes) -> str:
    """Change one file on the data branch; returns the commit."""
    blob = git(folder, "hash-object", "-w", "--stdin", stdin=data)
    index = {**os.environ, "GIT_INDEX_FILE": str(folder / ".git" / "other-index")}
    for command in (
        ["git", "read-tree", "ciwm-data"],
        ["git", "update-index", "--add", "--cacheinfo", f"100644,{blob},{path}"],
    ):
        subprocess.run(command, cwd=folder, env=index, check=True)
    tree = subprocess.run(
        ["git", "write-tree"], cwd=folder, env=index, check=True, capture_output=True, text=True
    ).stdout.strip()
    commit = git(folder, "commit-tree", tree, "-p", "ciwm-data", "-m", "changed")
    git(folder, "update-ref", "refs/heads/ciwm-data", commit)
    return commit


def test_a_run_comes_back_equal(work: Path) -> None:
    store = store_in(work)
    store.add(run())
    assert list(store.runs()) == [run()]


def test_work_tree_index_head_and_configuration_stay_as_they_are(work: Path) -> None:
    (work / "staged.txt").write_text("staged\n")
    git(work, "add", "staged.txt")
    (work / "file.txt").write_text("edited\n")

    def looks() -> tuple[str, bytes, str, str]:
        return (
            git(work, "status", "--porcelain"),
            (work / ".git" / "index").read_bytes(),
            git(work, "symbolic-ref", "HEAD"),
            (work / ".git" / "config").read_text(),
        )

    before = looks()
    store_in(work).add(run())
    assert looks() == before


def test_the_branch_shares_no_history_and_has_one_file_a_run(work: Path) -> None:
    store = store_in(work)
    path = store.add(run())
    store.add(run(id="second"))
    fingerprint = run().head.environment.fingerprint
    assert path == f"runs/2026/09/{fingerprint}/{run().id}.json"
    kept = git(work, "ls-tree", "-r", "--name-only", "ciwm-data").splitlines()
    assert sorted(kept) == sorted(
        ["README.md", "ciwm-store.json", path, f"runs/2026/09/{fingerprint}/second.json"]
    )
    assert git(work, "rev-list", "--count", "ciwm-data") == "2"
    assert git(work, "rev-list", "--count", "main", "--not", "ciwm-data") == "1"


def test_adding_the_same_run_twice_makes_one_commit(work: Path) -> None:
    store = store_in(work)
    assert store.add(run()) == store.add(run())
    assert git(work, "rev-list", "--count", "ciwm-data") == "1"


def test_another_run_of_a_known_id_is_refused(work: Path) -> None:
    store = store_in(work)
    store.add(run())
    with pytest.raises(StoreError, match="holds another run of this id"):
        store.add(run(stopped_because="another reason"))
    assert list(store.runs()) == [run()]


def test_an_id_that_would_leave_its_folder_is_refused(work: Path) -> None:
    with pytest.raises(StoreError, match="cannot name a file"):
        store_in(work).add(run(id="../../escape"))


def test_eight_processes_adding_at_once_lose_nothing(work: Path) -> None:
    finish([writer(str(work), f"writer{number}") for number in range(WRITERS)])
    expected = [f"writer{number}-{turn}" for number in range(WRITERS) for turn in range(2)]
    assert ids(store_in(work)) == sorted(expected)


def test_eight_clones_pushing_at_once_lose_nothing(tmp_path: Path, hub: Path) -> None:
    source = repository(tmp_path / "source")
    git(source, "push", "-q", str(hub), "main")
    clones = [clone(hub, tmp_path / f"clone{number}") for number in range(WRITERS)]
    finish(
        [writer(str(folder), f"writer{number}", "origin") for number, folder in enumerate(clones)]
    )
    expected = [f"writer{number}-{turn}" for number in range(WRITERS) for turn in range(2)]
    fresh = clone(hub, tmp_path / "fresh")
    assert ids(store_in(fresh)) == sorted(expected)
    assert git(hub, "fsck", "--full", "--no-dangling") == ""


def test_a_run_added_over_the_fetched_branch_continues_its_history(
    tmp_path: Path, work: Path, hub: Path
) -> None:
    store_in(work).add(run(id="first"))
    git(work, "push", "-q", str(hub), "main", "ciwm-data")
    other = clone(hub, tmp_path / "other")
    store_in(other).add(run(id="second"))
    assert ids(store_in(other)) == ["first", "second"]
    assert git(other, "rev-list", "--count", "ciwm-data") == "2"


def test_a_shallow_clone_pushes_and_stays_as_it_was(tmp_path: Path, work: Path, hub: Path) -> None:
    git(work, "commit", "-q", "--allow-empty", "-m", "more")
    store_in(work).add(run(id="first"))
    store_in(work).add(run(id="second"))
    git(work, "push", "-q", str(hub), "main", "ciwm-data")
    shallow = clone(hub, tmp_path / "shallow", "--depth=1")
    store = store_in(shallow)
    store.add(run(id="third"))
    boundary = (shallow / ".git" / "shallow").read_text()
    references = git(shallow, "for-each-ref")
    store.push("origin", None)
    assert ids(store_in(hub)) == ["first", "second", "third"]
    assert git(hub, "rev-list", "--count", "ciwm-data") == "3"
    assert (shallow / ".git" / "shallow").read_text() == boundary
    assert git(shallow, "for-each-ref") == references


def test_pushing_again_changes_nothing(work: Path, hub: Path) -> None:
    store = store_in(work)
    store.add(run())
    store.push(str(hub), None)
    tip = git(hub, "rev-parse", "ciwm-data")
    store.push(str(hub), None)
    assert git(hub, "rev-parse", "ciwm-data") == tip


def test_pushing_without_runs_touches_nothing(work: Path) -> None:
    store_in(work).push("https://unreachable.invalid/x", None)


def test_a_branch_that_was_never_fetched_is_not_an_empty_history(
    tmp_path: Path, work: Path, hub: Path
) -> None:
    store_in(work).add(run())
    git(work, "push", "-q", str(hub), "main", "ciwm-data")
    partial = clone(hub, tmp_path / "partial", "--depth=1")
    with pytest.raises(StoreError, match="neither here nor fetched") as raised:
        ids(store_in(partial))
    assert "git fetch origin ciwm-data:refs/remotes/origin/ciwm-data" in raised.value.hint
    said: list[str] = []
    known_calibration(Repository.open(partial), Config(), "python3", said.append)
    (line,) = said
    assert line.startswith("never calibrated here")
    assert "optional: ciwm bench --calibrate" in line


def test_a_repository_without_remotes_and_without_the_branch_has_no_runs(work: Path) -> None:
    assert ids(store_in(work)) == []


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"\xff\xfe", "utf-8"),
        (b'{"schema_version": 1}', "is not a valid Run"),
        (b'{"schema_version": 99}', "newer ciwm"),
        (b"[" * 100_000, "is not JSON"),
    ],
)
def test_an_unreadable_run_is_named_with_its_commit(work: Path, data: bytes, said: str) -> None:
    store = store_in(work)
    store.add(run(id="good"))
    path = store.add(run())
    commit = replace_file(work, path, data)
    with pytest.raises(StoreError, match=said) as raised:
        list(store.runs())
    assert path in raised.value.message
    assert commit[:12] in raised.value.message


def test_a_damaged_object_is_named_with_its_commit(work: Path) -> None:
    store = store_in(work)
    path = store.add(run())
    blob = git(work, "rev-parse", f"ciwm-data:{path}")
    file = work / ".git" / "objects" / blob[:2] / blob[2:]
    file.chmod(0o644)
    file.write_bytes(b"damaged")
    with pytest.raises(StoreError, match="is unreadable") as raised:
        list(store.runs())
    assert path in raised.value.message
    assert git(work, "rev-parse", "ciwm-data")[:12] in raised.value.message


def test_a_lost_object_is_an_error_and_not_one_run_less(work: Path) -> None:
    store = store_in(work)
    path = store.add(run())
    store.add(run(id="other"))
    blob = git(work, "rev-parse", f"ciwm-data:{path}")
    (work / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(StoreError, match="is unreadable"):
        list(store.runs())


def test_a_foreign_file_on_the_branch_is_refused(work: Path) -> None:
    store = store_in(work)
    store.add(run())
    commit = replace_file(work, "runs/notes.txt", b"hello\n")
    with pytest.raises(StoreError, match=r"runs/notes\.txt of branch ciwm-data") as raised:
        list(store.runs())
    assert commit[:12] in raised.value.message
    with pytest.raises(StoreError, match=r"runs/notes\.txt"):
        store.add(run(id="later"))


def test_a_branch_of_that_name_that_is_not_ours_is_left_alone(work: Path, hub: Path) -> None:
    foreign = commit_on(work, "ciwm-data", {"data.js": b"window.BENCHMARK_DATA = {}\n"})
    store = store_in(work)
    for attempt in (lambda: list(store.runs()), lambda: store.add(run())):
        with pytest.raises(StoreError, match="was not made by ciwm"):
            attempt()
    assert git(work, "rev-parse", "ciwm-data") == foreign
    git(work, "push", "-q", str(hub), "ciwm-data")
    git(work, "branch", "-q", "-D", "ciwm-data")
    store.add(run())
    with pytest.raises(StoreError, match="was not made by ciwm"):
        store.push(str(hub), None)
    assert git(hub, "rev-parse", "ciwm-data") == foreign


def test_a_store_of_a_newer_ciwm_is_refused(work: Path) -> None:
    store = store_in(work)
    store.add(run())
    replace_file(work, "ciwm-store.json", b'{"format": "ciwm-store", "version": 2}\n')
    with pytest.raises(StoreError, match="newer ciwm") as raised:
        store.add(run(id="later"))
    assert raised.value.hint == "update ciwm: pip install -U ciwm"


def test_a_checked_out_branch_is_not_moved_under_its_work_tree(work: Path) -> None:
    store = store_in(work)
    store.add(run())
    git(work, "switch", "-q", "ciwm-data")
    with pytest.raises(StoreError, match="is checked out"):
        store.add(run(id="later"))
    assert git(work, "status", "--porcelain") == ""


def test_a_protected_branch_is_told_with_the_servers_words(work: Path, hub: Path) -> None:
    hook = hub / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'GH006: Protected branch update failed' >&2\nexit 1\n")
    hook.chmod(0o755)
    store = store_in(work)
    store.add(run())
    with pytest.raises(StoreError, match="GH006: Protected branch update failed") as raised:
        store.push(hub.as_uri(), None)
    assert "is the branch protected?" in raised.value.hint
    assert ids(store) == [run().id]


def test_a_remote_that_is_not_there_is_one_clear_line(tmp_path: Path, work: Path) -> None:
    store = store_in(work)
    store.add(run())
    with pytest.raises(StoreError, match=r"cannot read ciwm-data of .*gone\.git") as raised:
        store.push(str(tmp_path / "gone.git"), None)
    assert "\n" not in raised.value.message


def test_the_remote_holding_another_run_of_the_id_is_an_error(
    tmp_path: Path, work: Path, hub: Path
) -> None:
    other = repository(tmp_path / "elsewhere")
    store_in(other).add(run())
    store_in(other).push(str(hub), None)
    store = store_in(work)
    store.add(run(stopped_because="another reason"))
    with pytest.raises(StoreError, match="holds another run of this id"):
        store.push(str(hub), None)


TOKEN = "ghs_" + "0123456789abcdefABCDEF" * 2


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log of every git command line and of its configuration variables' names."""
    record = tmp_path / "commands.log"
    record.touch()
    spy = tmp_path / "bin" / "git"
    spy.parent.mkdir()
    spy.write_text(f'#!/bin/sh\necho "$@" >> {record}\nexec {shutil.which("git")} "$@"\n')
    spy.chmod(0o755)
    monkeypatch.setenv("PATH", f"{spy.parent}:{os.environ['PATH']}")
    return record


@pytest.fixture
def everything_said(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, commands: Path
) -> Callable[[], str]:
    """Standard output and error, all log records, and all command lines, so far."""
    caplog.set_level("DEBUG")

    def said() -> str:
        output = capfd.readouterr()
        return output.out + output.err + caplog.text + commands.read_text()

    return said


def test_the_token_opens_the_remote_and_shows_nowhere(
    work: Path, hub: Path, everything_said: Callable[[], str]
) -> None:
    with git_server(hub.parent, TOKEN) as server:
        git(work, "remote", "add", "origin", f"{server.url}/hub.git")
        # what a checkout with persisted credentials leaves behind must not be sent as well
        git(work, "config", f"http.{server.url}/.extraheader", "AUTHORIZATION: basic b3RoZXI=")
        configuration = (work / ".git" / "config").read_text()
        store = store_in(work)
        store.add(run())
        store.push("origin", TOKEN)
    assert server.authorized > 0
    assert server.stray_headers == []
    assert ids(store_in(hub)) == [run().id]
    assert (work / ".git" / "config").read_text() == configuration
    said = everything_said()
    assert "push --porcelain" in said
    assert TOKEN not in said
    assert server.header.removeprefix("Basic ") not in said


def test_a_wrong_token_is_denied_in_one_line_without_the_token(work: Path, hub: Path) -> None:
    store = store_in(work)
    store.add(run())
    with git_server(hub.parent, TOKEN) as server, pytest.raises(StoreError) as raised:
        store.push(f"{server.url}/hub.git", "ghs_wrong_wrong_wrong")
    assert "access denied" in raised.value.message
    assert "contents: write" in raised.value.hint
    assert "ghs_wrong" not in raised.value.message + raised.value.hint


def test_no_token_where_one_is_needed_ends_instead_of_asking(work: Path, hub: Path) -> None:
    store = store_in(work)
    store.add(run())
    with git_server(hub.parent, TOKEN) as server, pytest.raises(StoreError, match="access denied"):
        store.push(f"{server.url}/hub.git", None)


def test_the_token_does_not_follow_a_redirection(tmp_path: Path, work: Path, hub: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    store = store_in(work)
    store.add(run())
    with (
        git_server(tmp_path / "elsewhere", "unknown") as other,
        git_server(hub.parent, TOKEN) as server,
    ):
        server.redirect_to = other.url
        with pytest.raises(StoreError, match="302"):
            store.push(f"{server.url}/hub.git", TOKEN)
        assert other.stray_headers == []
        assert other.refused == 0


def test_the_token_is_not_sent_over_plain_http(work: Path) -> None:
    store = store_in(work)
    store.add(run())
    with pytest.raises(GitError, match="is not encrypted"):
        store.push("http://git.example.org/hub.git", TOKEN)


def test_a_push_does_not_download_the_runs_already_there(
    tmp_path: Path, work: Path, hub: Path
) -> None:
    large = large_run(200, 60)
    store_in(work).add(large)
    store_in(work).push(str(hub), None)
    stored = int(git(hub, "cat-file", "-s", f"ciwm-data:{store_in(work).add(large)}"))
    other = repository(tmp_path / "other")
    store_in(other).add(run())
    with git_server(hub.parent, TOKEN) as server:
        store_in(other).push(f"{server.url}/hub.git", TOKEN)
        assert server.sent_bytes < 20_000 < stored / 5
    assert ids(store_in(hub)) == sorted([large.id, run().id])


def test_the_callers_git_variables_do_not_lead_us_astray(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = repository(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    store_in(work).add(run())
    monkeypatch.undo()
    assert "ciwm-data" in git(work, "branch", "--list", "ciwm-data")
    assert git(other, "branch", "--list", "ciwm-data") == ""


@pytest.mark.parametrize(
    "url",
    ["", "git:", "dir:", "git:-x", "git:a..b", "git:a/", "git:x.lock", "sqlite:///x", "ciwm-data"],
)
def test_a_url_that_names_no_store_is_refused(work: Path, url: str) -> None:
    with pytest.raises(ConfigError, match="names no store"):
        open_store(url, Repository.open(work))
