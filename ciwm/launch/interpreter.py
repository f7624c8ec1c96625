"""The Python a build belongs to: found on PATH, or in a venv made for it."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ciwm.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Mapping

PROBE_TIMEOUT_S = 60
VENV_TIMEOUT_S = 600
PROBE = (
    "import sys, sysconfig; print(sys.version.split()[0], sys.implementation.cache_tag, "
    "sysconfig.get_platform(), sys.base_prefix)"
)


@dataclass(frozen=True)
class Interpreter:
    """A Python by its absolute path (links not followed: a venv is its link), and what it is."""

    path: str
    identity: str


def find_python(name: str, search_path: str) -> Interpreter:
    """The interpreter that `[build] python` names; raises BuildError when it does not run."""
    found = shutil.which(name, path=search_path)
    if found is None:
        raise BuildError(
            f"[build] python = {name!r} is not on PATH",
            'install it, or name another in ciwm.toml: [build] python = "/path/to/python3"',
        )
    path = str(Path(found).absolute())
    try:
        done = subprocess.run(
            [path, "-I", "-c", PROBE],
            capture_output=True,
            text=True,
            timeout=PROBE_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"{path} does not run: {error}") from error
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise BuildError(f"{path} is not a working Python: {last}")
    return Interpreter(path, done.stdout.strip())


def make_venv(
    directory: Path, base: Interpreter, *, system_site_packages: bool, env: Mapping[str, str]
) -> str:
    """Make a venv with pip, by uv when it is there, else by venv; the path of its Python.

    Raises BuildError with the words of the tool that failed last.
    """
    seen = ["--system-site-packages"] if system_site_packages else []
    attempts = [[base.path, "-m", "venv", *seen, str(directory)]]
    uv = shutil.which("uv", path=env.get("PATH"))
    if uv is not None:  # --seed: without a pip of its own, the recipe's pip would be another's
        seeded = [uv, "venv", "--quiet", "--no-project", "--seed", *seen, "--python", base.path]
        attempts.insert(0, [*seeded, str(directory)])
    words = ""
    for attempt in attempts:
        words = _run(attempt, env)
        if not words:
            return str(directory / "bin" / "python")
        shutil.rmtree(directory, ignore_errors=True)
    raise BuildError(
        f"cannot make a venv with {base.path}: {words}",
        "install uv, or the venv module of that Python (Debian: apt-get install python3-venv)",
    )


def _run(command: list[str], env: Mapping[str, str]) -> str:
    """Run a tool; its last words when it failed, nothing when it did not."""
    try:
        done = subprocess.run(
            command,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=VENV_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return lines[-1] if lines else f"status {done.returncode}"


def in_venv(env: dict[str, str], venv: Path) -> dict[str, str]:
    """The environment with a venv activated."""
    path = f"{venv / 'bin'}{os.pathsep}{env.get('PATH', os.defpath)}"
    kept = {name: value for name, value in env.items() if name != "PYTHONHOME"}
    return {**kept, "PATH": path, "VIRTUAL_ENV": str(venv)}
