"""What a recipe's compilers are told: how many at once, and where a cache of theirs may look.

Neither is part of what a build is made of, so another value of one is not another build.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# what pip-built extensions (torch, vLLM), CMake, cargo and make take their parallelism from
PARALLEL = ("MAX_JOBS", "CMAKE_BUILD_PARALLEL_LEVEL", "CARGO_BUILD_JOBS")


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
