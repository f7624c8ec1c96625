"""A recipe's compilers: which they are, how many run at once, where a cache of theirs may look.

Only the first is part of what a build is made of: another value of the others is no other build.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# what pip-built extensions (torch, vLLM), CMake, cargo and make take their parallelism from
PARALLEL = ("MAX_JOBS", "CMAKE_BUILD_PARALLEL_LEVEL", "CARGO_BUILD_JOBS")
COMPILERS = (
    *("cc", "c++", "gcc", "g++", "clang", "clang++", "ld", "nvcc", "hipcc", "icx", "icpx"),
    *("rustc", "go"),
)
NAMED_BY = ("CC", "CXX", "LD", "NVCC", "CUDACXX", "HIPCC")
# where build systems look for toolkits that are not on PATH
TOOLKITS = (("CUDA_HOME", "/usr/local/cuda"), ("CUDA_PATH", ""), ("ROCM_PATH", "/opt/rocm"))


def compilers(env: Mapping[str, str]) -> list[str]:
    """The compilers that a recipe can find, each by what an upgrade of it changes.

    All of a name along PATH count, for the first may be a wrapper such as ccache. They are not
    asked for their versions: a dozen processes, for every build that the cache has already.
    """
    found = {told for path in _candidates(env) if (told := _told(path))}
    return sorted(found)


def _candidates(env: Mapping[str, str]) -> Iterator[Path]:
    roots = (env.get(name) or usual for name, usual in TOOLKITS)
    toolkits = [f"{root}/bin" for root in roots if root]
    for folder in (*env.get("PATH", os.defpath).split(os.pathsep), *toolkits):
        yield from (Path(folder, name) for name in COMPILERS)
    for name in NAMED_BY:
        words = env.get(name, "").split()
        if words and (found := shutil.which(words[0], path=env.get("PATH"))):
            yield Path(found)


def _told(path: Path) -> str:
    """A file by its real path, size and time; empty where there is none."""
    try:
        real = path.resolve()
        known = real.stat()
    except (OSError, RuntimeError):  # a loop of links
        return ""
    return f"{real} {known.st_size} {known.st_mtime_ns}"


def parallel(jobs: int | None, env: Mapping[str, str]) -> dict[str, str]:
    """The variables that bound parallel compilation; those that are set stay as they are."""
    if jobs is None:
        return {}
    wanted = {**dict.fromkeys(PARALLEL, str(jobs)), "MAKEFLAGS": f"-j{jobs}"}
    return {name: value for name, value in wanted.items() if name not in env}


def cache_across_worktrees(tree: Path, env: Mapping[str, str]) -> dict[str, str]:
    """What lets ccache know a file again in another worktree, where ccache is on the PATH.

    Whether it is used at all is the recipe's affair (its compilers, `CMAKE_CXX_COMPILER_LAUNCHER`,
    a PATH with ccache's links); its own settings, and sccache's, pass through.
    """
    if shutil.which("ccache", path=env.get("PATH")) is None:
        return {}
    wanted = {"CCACHE_BASEDIR": str(tree), "CCACHE_NOHASHDIR": "1"}
    return {name: value for name, value in wanted.items() if name not in env}
