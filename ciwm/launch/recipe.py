"""A recipe run once: worktree, interpreter, `sh -ec`, and the record of how it went."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shlex
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ciwm.credentials import without_logins
from ciwm.errors import BuildError
from ciwm.launch.build_tools import cache_across_worktrees, compilers, parallel
from ciwm.launch.interpreter import Interpreter, in_venv, make_venv
from ciwm.launch.tail import failed_lines, last_lines
from ciwm.launch.worktree import check_out
from ciwm.proc import run_logged, stripped_environment
from ciwm.records import BuildRecord

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from ciwm.config import BuildConfig
    from ciwm.git import Repository
    from ciwm.launch.flock import Flock
    from ciwm.proc import Ended
    from ciwm.records.build import BuildStatus, Revision

KEY_FORMAT = 1  # raised when the layout or the meaning of a cached build changes
LACKING = "lacking.json"
VENV_TIMEOUT_S = 600
INSTALLS = re.compile(
    r"\b(pip3?|uv pip)\s+install\b(?!.*(--target|\s-t\b|--prefix))"
    r"|\bsetup\.py\s+(install|develop)\b"
)
NO_SPACE = ("No space left on device", "Disk quota exceeded")
# what changes a build's result without being in the recipe: compilers, what they look up, and
# where packages come from
BUILD_VARIABLES = re.compile(
    r"(CC|CXX|CPP|LD|AR|NVCC|CUDACXX|HIPCC)|(C|CXX|CPP|LD|NVCC|CUDA|RUST|GO|F)FLAGS"
    r"|(NVCC_(PREPEND|APPEND)|HIPCC_COMPILE|HIPCC_LINK)_FLAGS(_APPEND)?"
    r"|(CUDA|ROCM|ASCEND|ASCEND_TOOLKIT)_(HOME|PATH|HOME_PATH)|SOC_VERSION|FORCE_CUDA"
    r"|(CMAKE|TORCH|USE|SETUPTOOLS_SCM)_\w+|PYTORCH_ROCM_ARCH"
    r"|VLLM_(TARGET_DEVICE|USE_PRECOMPILED|PRECOMPILED_WHEEL_LOCATION|\w+_SRC_DIR)"
    r"|PYTHONPATH|CPATH|(C|CPLUS)_INCLUDE_PATH|LIBRARY_PATH|LD_LIBRARY_PATH|PKG_CONFIG_PATH"
    r"|(PIP|UV)_(DEFAULT_INDEX|INDEX|\w*INDEX_URL|FIND_LINKS|CONSTRAINT|OVERRIDE|PRE|PRERELEASE"
    r"|EXCLUDE_NEWER|NO_BINARY|ONLY_BINARY|TORCH_BACKEND)"
)


@dataclass(frozen=True)
class Job:
    """One build to be made, with everything its steps need.

    `python` is None when the recipe itself makes the interpreter, in the worktree. The lock of
    `directory` is held alone while the build is made.
    """

    repository: Repository
    revision: Revision
    recipe: BuildConfig
    python: Interpreter | None
    key: str
    directory: Path
    lock: Flock
    say: Callable[[str], None]
    stop: threading.Event | None

    @property
    def tree(self) -> Path:
        """The worktree, which is the build's folder."""
        return self.directory / "tree"

    @property
    def log(self) -> Path:
        """All output of checkout and recipe."""
        return self.directory / "build.log"

    @property
    def stopped(self) -> bool:
        """Whether the build was asked to stop."""
        return self.stop is not None and self.stop.is_set()

    @property
    def python_path(self) -> str:
        """The interpreter that launches must use."""
        if self.python is None:
            return str(self.tree / self.recipe.python)
        if self.recipe.venv:
            return str(self.directory / "venv" / "bin" / "python")
        return self.python.path

    def record(self, status: BuildStatus, ended: Ended | None = None) -> BuildRecord:
        """The record of this build, with the end of its log unless it went well."""
        return BuildRecord(
            revision=self.revision,
            key=self.key,
            status=status,
            duration_s=round(ended.duration_s, 3) if ended else 0.0,
            peak_rss_bytes=ended.peak_rss_bytes if ended else None,
            exit_code=ended.status if ended and status in ("built", "failed") else None,
            directory=str(self.tree),
            python=self.python_path,
            log=str(self.log),
            log_tail=self._tail(status) if self.log.exists() else (),
        )

    def _tail(self, status: BuildStatus) -> tuple[str, ...]:
        if status == "built":
            return ()
        return failed_lines(self.log) if status == "failed" else last_lines(self.log)


def recipe_environment(recipe: BuildConfig) -> dict[str, str]:
    """What a recipe's children see: ours without secrets, `pass_env` brought back, then `env`."""
    asked = {name: os.environ[name] for name in recipe.pass_env if name in os.environ}
    return stripped_environment({**asked, **recipe.env})


def build_key(tree: str, recipe: BuildConfig, python: Interpreter | None) -> str:
    """64 hex digits over what a build is made of: tree, recipe, interpreter, compilers, machine."""
    env = recipe_environment(recipe)
    made_of = {
        "format": KEY_FORMAT,
        "tree": tree,
        "command": recipe.command,
        "env": recipe.env,
        "pass_env": {name: _passed(name) for name in recipe.pass_env},
        "venv": recipe.venv,
        "python": [recipe.python, python.path if python else "", python.identity if python else ""],
        # an empty venv has none of them
        "packages": python.packages if python and recipe.venv is not True else "",
        "compilers": compilers(env) if recipe.command else [],
        "platform": [platform.machine(), *platform.libc_ver()],
        "variables": {k: without_logins(v) for k, v in env.items() if BUILD_VARIABLES.fullmatch(k)},
    }
    return hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()


def _passed(name: str) -> str | None:
    """What a variable of `pass_env` adds to the key; logins in URLs may change with every job."""
    value = os.environ.get(name)
    return None if value is None else without_logins(value)


def make(job: Job) -> BuildRecord:
    """Check out and run the recipe in an empty folder; raises BuildError, OSError."""
    job.directory.mkdir(parents=True)
    job.log.touch()
    lacks = check_out(job.repository, job.revision.sha, job.tree, lambda line: _note(job, line))
    lacking = json.dumps([asdict(lack) for lack in lacks])
    (job.directory / LACKING).write_text(lacking, encoding="utf-8")
    env = _prepared_environment(job)
    env |= parallel(job.recipe.jobs, env) | cache_across_worktrees(job.tree, env)
    if job.stopped:
        return job.record("interrupted")
    if job.recipe.command is None:
        return job.record("built")
    return _judged(job, _run(job, job.recipe.command, env))


def _note(job: Job, line: str) -> None:
    """A line of ours, to the listener and to the log."""
    with job.log.open("a", encoding="utf-8", errors="surrogateescape") as log:
        log.write(f"ciwm: {line}\n")
    job.say(f"ciwm: {line}")


def _prepared_environment(job: Job) -> dict[str, str]:
    """The recipe's environment, the venv made and activated when the recipe wants one."""
    env = recipe_environment(job.recipe)
    if job.recipe.venv and job.python is not None:
        venv = job.directory / "venv"
        seen = job.recipe.venv == "system-site-packages"
        make_venv(
            venv,
            job.python,
            system_site_packages=seen,
            env=env,
            run=lambda command: _words_of(job, command, env),
        )
        return in_venv(env, venv)
    if job.recipe.command and INSTALLS.search(job.recipe.command):
        _note(
            job,
            "warning: without [build] venv = true this recipe installs into a Python that base "
            "and head share, and the later build replaces the earlier one",
        )
    return env


def _words_of(job: Job, command: list[str], env: dict[str, str]) -> str:
    """Run a tool that makes the venv; its last words when it failed, nothing when it did not."""
    try:
        ended = _guarded(job, command, env, cwd=job.directory, timeout_s=VENV_TIMEOUT_S)
    except OSError as error:
        return str(error)
    if job.stopped or (ended.end == "exited" and ended.status == 0):
        return ""
    told = last_lines(job.log, 1) if ended.end == "exited" else ()
    return told[0] if told else f"{ended.end}, status {ended.status}"


def _run(job: Job, command: str, env: dict[str, str]) -> Ended:
    shell = shutil.which("sh", path=env.get("PATH", os.defpath)) or shutil.which("sh")
    if shell is None:
        raise BuildError("there is no sh on PATH to run [build] command with", "install dash")
    _note(job, f"sh -ec {shlex.quote(command)}")
    line = [shell, "-ec", command]
    return _guarded(job, line, env, cwd=job.tree, timeout_s=job.recipe.timeout_s)


def _guarded(
    job: Job, command: list[str], env: dict[str, str], *, cwd: Path, timeout_s: float
) -> Ended:
    return run_logged(
        command,
        log=job.log,
        cwd=cwd,
        env=env,
        timeout_s=timeout_s,
        on_line=job.say,
        stop=job.stop,
        keep_open=(job.lock.fileno,),  # when we are killed, nobody builds here before all is gone
    )


def _judged(job: Job, ended: Ended) -> BuildRecord:
    if ended.end != "exited":
        return job.record(ended.end, ended)
    if ended.status != 0:
        record = job.record("failed", ended)
        if any(word in line for word in NO_SPACE for line in record.log_tail):
            raise BuildError(
                f"the build of {job.revision.ref} ran out of disk space; its log: {job.log}",
                "make room (ciwm clean), or set CIWM_CACHE_DIR to a folder on another disk",
            )
        return record
    if not Path(job.python_path).exists():
        raise BuildError(
            f"[build] python = {job.recipe.python!r} is a path in the worktree, and the recipe of "
            f"{job.revision.ref} did not make it",
            "let the recipe make it, or give a name on PATH or an absolute path",
        )
    return job.record("built", ended)
