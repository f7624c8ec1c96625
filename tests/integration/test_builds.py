"""Builds: made once, shared, never half made, and failures that say what went wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.config import BuildConfig
from ciwm.errors import BuildError
from ciwm.git import Repository
from ciwm.launch import cache
from ciwm.launch.builds import build, release_builds
from tests.git_folder import GitFolder
from tests.need import missing, need

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ciwm.records import BuildRecord

ROOT = Path(__file__).parents[2]
PATIENCE_S = 30
# Says how often it ran, in a file beside the repository, which no cache can hide.
COUNTED = 'echo ran >> "$COUNT"; echo built > out.txt'


class Builder:
    """Builds revisions of one repository, and remembers the lines shown."""

    def __init__(self, folder: GitFolder) -> None:
        self.folder = folder
        self.count = folder.path.parent / "count"
        self.lines: list[str] = []

    def __call__(
        self,
        command: str | None,
        ref: str = "HEAD",
        *,
        fresh: bool = False,
        stop: threading.Event | None = None,
        on_line: Callable[[str], None] | None = None,
        **recipe: object,
    ) -> BuildRecord:
        env = {"COUNT": str(self.count)}
        config = BuildConfig.model_validate({"command": command, "env": env, **recipe})
        repository = Repository.open(self.folder.path)
        return build(
            repository,
            repository.revision(ref),
            config,
            on_line=on_line or self.lines.append,
            stop=stop,
            fresh=fresh,
        )

    @property
    def runs(self) -> int:
        return len(self.count.read_text().splitlines()) if self.count.exists() else 0


@pytest.fixture(autouse=True)
def cache_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("CIWM_CACHE_DIR", str(tmp_path / "cache"))
    yield tmp_path / "cache"
    release_builds()


@pytest.fixture
def builder(tmp_path: Path) -> Builder:
    folder = GitFolder.make(tmp_path / "repo")
    folder.commit({"a.txt": "one\n"})
    return Builder(folder)


def test_a_build_is_the_worktree_the_recipe_ran_in(builder: Builder) -> None:
    record = builder(COUNTED)
    assert (record.status, record.exit_code, record.ok) == ("built", 0, True)
    assert (Path(record.directory) / "a.txt").read_text() == "one\n"
    assert (Path(record.directory) / "out.txt").read_text() == "built\n"
    assert record.revision.sha == builder.folder.git("rev-parse", "HEAD")
    assert record.log_tail == ()
    assert not (builder.folder.path / "out.txt").exists()


def test_the_same_tree_and_recipe_are_built_once(builder: Builder) -> None:
    first = builder(COUNTED)
    second = builder(COUNTED)
    assert (second.status, builder.runs) == ("cached", 1)
    assert second.model_copy(update={"status": "built"}) == first


def test_a_commit_with_the_same_tree_shares_the_build_under_its_own_name(builder: Builder) -> None:
    first = builder(COUNTED)
    sha = builder.folder.commit({}, "no change of files")
    second = builder(COUNTED)
    assert (second.status, second.revision.sha, second.key) == ("cached", sha, first.key)


def test_another_tree_command_or_variable_is_another_build(builder: Builder) -> None:
    keys = [builder(COUNTED).key, builder(COUNTED + ";").key]
    keys.append(builder(COUNTED, env={"COUNT": str(builder.count), "FLAG": "1"}).key)
    keys.append(builder(COUNTED, pass_env=["HF_TOKEN"]).key)
    builder.folder.commit({"a.txt": "two\n"})
    keys.append(builder(COUNTED).key)
    assert len(set(keys)) == 5
    assert builder.runs == 5


def test_another_value_of_a_passed_variable_is_another_build_and_another_login_is_not(
    builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = ["FLAVOUR", "PIP_INDEX_URL"]
    seen = {}
    for flavour, index in (("1", "u:a@one"), ("2", "u:a@one"), ("1", "u:b@one"), ("1", "u:a@two")):
        monkeypatch.setenv("FLAVOUR", flavour)
        monkeypatch.setenv("PIP_INDEX_URL", f"https://{index}/simple")
        seen[flavour, index] = builder(COUNTED, pass_env=passed).key

    assert len(set(seen.values())) == 3
    assert seen["1", "u:a@one"] == seen["1", "u:b@one"]


def test_another_compiler_is_another_build_and_another_job_is_not(
    builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = builder(COUNTED)
    monkeypatch.setenv("GITHUB_RUN_ID", "2")
    assert builder(COUNTED).key == first.key
    monkeypatch.setenv("CXX", "clang++")
    assert builder(COUNTED).key != first.key


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NVCC_APPEND_FLAGS", "-lineinfo"),
        ("CPLUS_INCLUDE_PATH", "/opt/other/include"),
        ("PIP_EXTRA_INDEX_URL", "https://example.org/cu126"),
        ("UV_DEFAULT_INDEX", "https://example.org/simple"),
        ("PIP_CONSTRAINT", "old.txt"),
        ("SOC_VERSION", "ascend910b1"),
    ],
)
def test_what_compilers_and_pip_take_from_the_environment_is_part_of_a_build(
    builder: Builder, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.delenv(name, raising=False)
    first = builder(COUNTED)
    monkeypatch.setenv(name, value)
    assert builder(COUNTED).key != first.key


def test_an_upgraded_compiler_is_another_build_though_nothing_names_it(
    builder: Builder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    (tools / "gcc-12").write_text("#!/bin/sh\n# 12\n")
    (tools / "gcc-13").write_text("#!/bin/sh\n# thirteen\n")
    for tool in tools.iterdir():
        tool.chmod(0o755)
    (tools / "gcc").symlink_to("gcc-12")
    first = builder(COUNTED)
    assert builder(COUNTED).status == "cached"
    (tools / "gcc").unlink()
    (tools / "gcc").symlink_to("gcc-13")
    assert builder(COUNTED).key != first.key
    assert builder.runs == 2


@pytest.mark.parametrize(("venv", "others"), [(False, 2), ("system-site-packages", 2), (True, 1)])
def test_what_extensions_are_compiled_against_is_part_of_a_build_that_sees_it(
    builder: Builder, tmp_path: Path, venv: object, others: int
) -> None:
    """A folder with the metadata of torch, as pip leaves it, in a venv of the test's own."""
    shared = tmp_path / "shared"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", shared], check=True)
    (packages,) = shared.glob("lib/python3*/site-packages")
    recipe: dict[str, Any] = {"venv": venv, "python": str(shared / "bin" / "python")}
    (packages / "torch-2.12.0.dist-info").mkdir()
    keys = {builder(COUNTED, **recipe).key}
    (packages / "requests-2.0.dist-info").mkdir()
    keys.add(builder(COUNTED, **recipe).key)
    (packages / "torch-2.12.0.dist-info").rename(packages / "torch-2.13.0.dist-info")
    keys.add(builder(COUNTED, **recipe).key)
    assert len(keys) == others


def test_fresh_builds_anew_from_a_clean_tree(builder: Builder) -> None:
    record = builder("test ! -e out.txt; " + COUNTED)
    (Path(record.directory) / "out.txt").write_text("used")
    again = builder("test ! -e out.txt; " + COUNTED, fresh=True)
    assert (again.status, builder.runs) == ("built", 2)


def test_without_a_recipe_the_build_is_just_the_worktree(
    builder: Builder, cache_root: Path
) -> None:
    record = builder(None)
    assert record.ok
    assert Path(record.directory).parent.parent == cache_root / "worktrees"
    assert Path(record.directory, "a.txt").exists()


def test_a_failing_recipe_is_a_record_with_its_last_lines(builder: Builder) -> None:
    record = builder("seq 1 100; echo 'oops: \\033[31mred\\033[0m' >&2; false; echo never")
    assert (record.status, record.exit_code, record.ok) == ("failed", 1, False)
    assert len(record.log_tail) == 40
    assert record.log_tail[-2:] == ("100", "oops: red")
    assert "\n1\n2\n3\n" in Path(record.log).read_text()
    assert builder.lines[-1].startswith("oops: ")


def test_a_failed_build_is_not_taken_from_the_cache(builder: Builder, tmp_path: Path) -> None:
    recipe = f'echo ran >> "$COUNT"; test -e {tmp_path}/mended'
    assert builder(recipe).status == "failed"
    assert builder(recipe).status == "failed"
    (tmp_path / "mended").touch()
    assert builder(recipe).status == "built"
    assert builder.runs == 3


def test_a_recipe_that_takes_too_long_is_a_timeout(builder: Builder) -> None:
    record = builder("echo started; sleep 600", timeout_s=0.5)
    assert (record.status, record.exit_code) == ("timeout", None)
    assert record.log_tail[-1] == "started"


def test_a_stopped_build_is_interrupted_and_not_cached(builder: Builder) -> None:
    stop = threading.Event()

    def on_line(line: str) -> None:
        if line == "started":
            stop.set()

    recipe = "echo started; if [ ! -e $COUNT ]; then echo 1 > $COUNT; sleep 600; fi"
    assert builder(recipe, stop=stop, on_line=on_line).status == "interrupted"
    assert builder(recipe).status == "built"


def test_the_recipe_sees_no_secrets_but_those_it_asks_for(
    builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf-value-1234")
    monkeypatch.setenv("GITHUB_TOKEN", "gh-value-1234")
    recipe = "echo hf=$HF_TOKEN gh=$GITHUB_TOKEN; false"
    assert builder(recipe).log_tail[-1] == "hf= gh="
    asked = builder(recipe, pass_env=["HF_TOKEN", "NOT_SET"])
    assert asked.log_tail[-1] == "hf=*** gh="
    assert "hf=*** gh=" in builder.lines
    assert not any("hf-value" in line for line in builder.lines)


def test_a_venv_is_made_first_on_path_with_its_own_pip(builder: Builder) -> None:
    recipe = "echo $VIRTUAL_ENV; command -v python; command -v pip; python -m pip --version; false"
    record = builder(recipe, venv=True)
    venv = Path(record.directory).parent / "venv"
    assert record.log_tail[-4:-1] == (str(venv), f"{venv}/bin/python", f"{venv}/bin/pip")
    assert str(venv) in record.log_tail[-1]
    assert record.python == f"{venv}/bin/python"


def test_a_venv_is_made_without_uv_too(
    builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("sh", "git", "echo", "env"):
        (tools / tool).symlink_to(Path("/usr/bin") / tool)
    monkeypatch.setenv("PATH", str(tools))
    record = builder(
        "python -c 'import sys; print(sys.prefix != sys.base_prefix)'; exit 1",
        venv=True,
        python=sys.executable,
    )
    assert record.log_tail[-1] == "True"


def test_a_venv_may_see_the_packages_of_its_python(builder: Builder) -> None:
    look = (
        "python -c 'import sys; print([p for p in sys.path if p.endswith(\"-packages\")])'; false"
    )
    alone = builder(look, venv=True).log_tail[-1]
    seeing = builder(look, venv="system-site-packages").log_tail[-1]
    assert len(eval(seeing)) > len(eval(alone))  # noqa: S307  a list that our own line printed


def test_the_interpreter_is_an_absolute_path_that_keeps_its_links(
    builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mypython").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    assert builder("true", python="mypython").python == f"{tmp_path}/bin/mypython"


def test_the_recipe_may_make_the_interpreter_in_the_worktree(builder: Builder) -> None:
    recipe = f"mkdir -p .venv/bin; ln -s {sys.executable} .venv/bin/python"
    record = builder(recipe, python=".venv/bin/python")
    assert record.python == f"{record.directory}/.venv/bin/python"
    assert builder(recipe, python=".venv/bin/python").status == "cached"
    with pytest.raises(BuildError, match="did not make it"):
        builder("true", python=".venv/bin/python")


@pytest.mark.parametrize(
    ("name", "message"),
    [("absent-python", "is not on PATH"), ("/bin/false", "is not a working Python")],
)
def test_a_python_that_does_not_work_is_an_error_of_the_machine(
    builder: Builder, name: str, message: str
) -> None:
    with pytest.raises(BuildError, match=message):
        builder("true", python=name)


def test_a_recipe_that_would_install_into_a_shared_python_is_warned_of(builder: Builder) -> None:
    recipe = "true || pip install -e ."
    builder(recipe)
    assert any("base and head share" in line for line in builder.lines)
    builder.lines.clear()
    builder(recipe, venv=True)
    assert not any("base and head share" in line for line in builder.lines)


def test_a_build_whose_python_is_gone_is_made_again(builder: Builder) -> None:
    record = builder(COUNTED, venv=True)
    Path(record.python).unlink()
    assert builder(COUNTED, venv=True).status == "built"
    assert builder.runs == 2


@pytest.mark.parametrize("damage", ["record.json", "tree", "lacking.json"])
def test_a_damaged_build_is_made_again(builder: Builder, damage: str) -> None:
    entry = Path(builder(COUNTED).directory).parent
    (entry / damage).rename(entry / "moved")
    assert builder(COUNTED).status == "built"
    assert not (entry / "moved").exists()


def test_an_unreadable_or_newer_record_is_built_again(builder: Builder) -> None:
    path = Path(builder(COUNTED).directory).parent / "record.json"
    for text in ("{", json.dumps({**json.loads(path.read_text()), "schema_version": 99})):
        path.write_text(text)
        assert builder(COUNTED).status == "built"


PROGRAM = """
import json, sys
from pathlib import Path
from ciwm.config import BuildConfig
from ciwm.git import Repository
from ciwm.launch.builds import build
repository = Repository.open(Path(sys.argv[1]))
say = lambda line: print("line:", line, flush=True)
record = build(repository, repository.revision("HEAD"),
               BuildConfig.model_validate(json.loads(sys.argv[2])), on_line=say)
print("status:", record.status, flush=True)
sys.stdin.read()
"""


def job(builder: Builder, command: str, **more: object) -> subprocess.Popen[str]:
    """Another process that builds the same, and then uses the build until its stdin is closed."""
    recipe = {"command": command, "env": {"COUNT": str(builder.count)}, **more}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(builder.folder.path), json.dumps(recipe)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def lines_until(process: subprocess.Popen[str], start: str) -> list[str]:
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line.rstrip("\n"))
        if line.startswith(start):
            return lines
    raise AssertionError(f"no line {start!r} in {lines}")


def test_of_jobs_that_want_the_same_build_one_makes_it_and_the_others_wait(
    builder: Builder,
) -> None:
    recipe = "echo begun; sleep 1; " + COUNTED
    jobs = [job(builder, recipe) for _ in range(3)]
    shown = [lines_until(one, "status:") for one in jobs]
    for one in jobs:
        one.communicate("")
    assert sorted(lines[-1] for lines in shown) == [
        "status: built",
        "status: cached",
        "status: cached",
    ]
    assert builder.runs == 1
    waiting = [line for lines in shown for line in lines if "waiting for" in line]
    assert len(waiting) == 2
    assert all("used by pid" in line for line in waiting)


def test_a_job_killed_half_way_leaves_a_build_that_the_next_one_makes_anew(
    builder: Builder,
) -> None:
    hang_once = "if [ ! -e $COUNT ]; then echo 1 > $COUNT; sleep 600; fi"
    recipe = f"test ! -e half; echo begun; touch half; {hang_once}"
    first = job(builder, recipe)
    lines_until(first, "line: begun")
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert builder(recipe).status == "built"


SLOW_PYTHON = """#!/bin/sh
# the Python of a venv: some seconds where it makes one, as a busy machine takes
if [ "$2" = venv ]; then mkdir -p "$3"; exec sleep 600; fi
exec {python} "$@"
"""


@pytest.fixture
def slow_venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A Python whose venvs take for ever; without uv, which would make them itself."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "slowpython"
    python.write_text(SLOW_PYTHON.format(python=sys.executable))
    python.chmod(0o755)
    return str(python)


def test_a_stop_ends_the_making_of_a_venv_too(builder: Builder, slow_venv: str) -> None:
    stop = threading.Event()
    threading.Timer(1.0, stop.set).start()
    begun_s = time.monotonic()
    record = builder(COUNTED, venv=True, python=slow_venv, stop=stop)
    assert record.status == "interrupted"
    assert time.monotonic() - begun_s < PATIENCE_S
    assert builder.runs == 0


def test_a_job_killed_while_it_made_a_venv_leaves_no_process_behind(
    builder: Builder, slow_venv: str, cache_root: Path
) -> None:
    killed = job(builder, COUNTED, venv=True, python=slow_venv)
    until_s = time.monotonic() + PATIENCE_S
    while not list(cache_root.glob("builds/*/venv")):
        assert time.monotonic() < until_s
        time.sleep(0.05)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    while made := [line for line in processes() if "sleep 600" in line]:
        assert time.monotonic() < until_s, made
        time.sleep(0.05)


def processes() -> list[str]:
    """Command lines of what runs with this test's cache folder as its working directory's."""
    found = []
    root = os.environ["CIWM_CACHE_DIR"]
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str((entry / "cwd").readlink()).startswith(root):
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def test_a_build_in_use_by_another_job_is_not_evicted(builder: Builder) -> None:
    user = job(builder, COUNTED)
    lines_until(user, "status:")
    kept = cache.evict(["builds"], limit_bytes=0)
    assert [bool(removal.kept_because) for removal in kept] == [True]
    assert "in use" in kept[0].kept_because
    user.communicate("")
    gone = cache.evict(["builds"], limit_bytes=0)
    assert [removal.kept_because for removal in gone] == [""]
    assert not gone[0].entry.path.exists()


def test_the_cap_evicts_the_longest_unused_builds(builder: Builder, cache_root: Path) -> None:
    fill = "head -c 3000000 /dev/urandom > large; echo {}"
    records = [builder(fill.format(number), cache_limit_gib=1) for number in range(3)]
    release_builds()
    for age, record in zip((300, 100, 200), records, strict=True):
        os.utime(Path(record.directory).parent, (time.time() - age,) * 2)
    builder(fill.format("new"), cache_limit_gib=8_000_000 / 2**30)
    left = {path.name for path in (cache_root / "builds").iterdir()}
    assert Path(records[0].directory).parent.name not in left
    assert Path(records[2].directory).parent.name not in left
    assert Path(records[1].directory).parent.name in left
    assert len(left) == 2


def test_the_recipe_runs_in_the_environment_of_the_job_without_its_git_hooks_variables(
    builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(builder.folder.path / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere/index")
    record = builder("git rev-parse --show-toplevel; git status --porcelain; false")
    assert record.log_tail[-1] == record.directory


def test_a_cache_that_cannot_be_made_is_an_error_with_its_mend(
    builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("CIWM_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.raises(Exception, match="cannot make the cache folder") as raised:
        builder("true")
    assert "CIWM_CACHE_DIR" in getattr(raised.value, "hint", "")


@pytest.mark.parametrize("size", ["64k", "1m"])
def test_a_full_disk_is_an_error_of_the_machine_and_no_failed_build(
    builder: Builder, cache_root: Path, size: str
) -> None:
    cache_root.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(cache_root)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        missing("a small tmpfs cannot be mounted")
    try:
        with pytest.raises(BuildError) as raised:
            builder("head -c 2000000 /dev/zero > large")
    finally:
        release_builds()
        subprocess.run(["umount", str(cache_root)], check=True)
    assert "CIWM_CACHE_DIR" in raised.value.hint


def test_jobs_bound_the_compilers_and_what_is_stated_stays(
    builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CMAKE_BUILD_PARALLEL_LEVEL", "CARGO_BUILD_JOBS", "MAKEFLAGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MAX_JOBS", "9")
    shown = "echo $MAX_JOBS $CMAKE_BUILD_PARALLEL_LEVEL $CARGO_BUILD_JOBS $MAKEFLAGS > seen"
    one = builder(f"{COUNTED}; {shown}", jobs=3)
    assert Path(one.directory, "seen").read_text().split() == ["9", "3", "3", "-j3"]
    # how many at once is not what a build is made of
    assert builder(f"{COUNTED}; {shown}", jobs=5).status == "cached"


def test_the_peak_of_memory_is_kept(builder: Builder) -> None:
    grown = f"{sys.executable} -c 'x = bytearray(96 << 20)'"
    made = builder(grown)
    assert made.peak_rss_bytes is not None
    assert made.peak_rss_bytes > 96 << 20
    assert builder(grown).peak_rss_bytes == made.peak_rss_bytes  # of a cached one, when it was made


def test_ccache_knows_a_file_again_in_another_worktree(builder: Builder, tmp_path: Path) -> None:
    need("cc", "ccache")
    env = {"COUNT": str(builder.count), "CCACHE_DIR": str(tmp_path / "ccache")}
    recipe = "ccache cc -g -c $PWD/unit.c -o unit.o && ccache --print-stats > stats"
    builder.folder.commit({"unit.c": "int unit(void) { return 1; }\n"})
    first = builder(recipe, env=env)
    builder.folder.commit({"other.txt": "another tree\n"})
    second = builder(recipe, env=env)

    assert first.directory != second.directory
    stats = dict(
        line.split("\t") for line in Path(second.directory, "stats").read_text().splitlines()
    )
    hits = int(stats["direct_cache_hit"]) + int(stats["preprocessed_cache_hit"])
    assert (hits, int(stats["cache_miss"])) == (1, 1)
