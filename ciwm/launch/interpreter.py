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
    from collections.abc import Callable, Mapping

PROBE_TIMEOUT_S = 60
# what extensions are compiled against: another release of one has other headers or another ABI
BUILT_AGAINST = (
    *("torch", "torch_npu", "triton", "pytorch_triton", "jax", "jaxlib", "tensorflow"),
    *("numpy", "cython", "pybind11", "nanobind"),
)
PROBE = f"""
import os, site, sys, sysconfig
print(sys.version.split()[0], sys.implementation.cache_tag, sysconfig.get_platform(),
      sys.base_prefix)
folders = {{*sys.path, site.getusersitepackages()}}
names = {{name for folder in folders if os.path.isdir(folder) for name in os.listdir(folder)}}
print(*sorted(name for name in names if name.endswith(".dist-info")
              and name.partition("-")[0].lower() in {BUILT_AGAINST!r}))
"""


@dataclass(frozen=True)
class Interpreter:
    """A Python by its absolute path (links not followed: a venv is its link), and what it is.

    `packages` are those installed in it that extensions are compiled against, with versions.
    """

    path: str
    identity: str
    packages: str = ""


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
    identity, _, packages = done.stdout.strip().partition("\n")
    return Interpreter(path, identity, packages)


def make_venv(
    directory: Path,
    base: Interpreter,
    *,
    system_site_packages: bool,
    env: Mapping[str, str],
    run: Callable[[list[str]], str],
) -> None:
    """Make a venv with pip, by uv when it is there, else by venv.

    `run` runs a tool, and returns its last words when it failed and nothing when it did not.
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
        words = run(attempt)
        if not words:
            return
        shutil.rmtree(directory, ignore_errors=True)
    raise BuildError(
        f"cannot make a venv with {base.path}: {words}",
        "install uv, or the venv module of that Python (Debian: apt-get install python3-venv)",
    )


def in_venv(env: dict[str, str], venv: Path) -> dict[str, str]:
    """The environment with a venv activated."""
    path = f"{venv / 'bin'}{os.pathsep}{env.get('PATH', os.defpath)}"
    kept = {name: value for name, value in env.items() if name != "PYTHONHOME"}
    return {**kept, "PATH": path, "VIRTUAL_ENV": str(venv)}
