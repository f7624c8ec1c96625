"""[build] of the configuration: the recipe, and the interpreter of builds and launches."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, field_validator

from ciwm.config_section import Section

LONGEST_ARGUMENT_BYTES = 2**17  # of execve on Linux, its final NUL included


class BuildConfig(Section):
    """The recipe; run by `sh -ec` in the worktree of the revision.

    Secrets of the job do not reach it, but for the variables named in `pass_env`; a private index
    whose URL holds a password is one. Another value of one is another build, and so are other
    compilers on PATH, and another torch (or what else extensions are compiled against) in the
    `python` that the recipe sees. A relative `python` with a slash (".venv/bin/python") is one
    that the recipe makes in the worktree.
    """

    command: str | None = None
    """The recipe, for `sh -ec`. Without one the worktree is used as it is."""
    env: dict[str, str] = {}
    """Variables for the recipe."""
    pass_env: tuple[str, ...] = ()
    """Variables of the job that reach it although they look like secrets."""
    jobs: int | None = Field(default=None, ge=1)
    """Compilers at once (MAX_JOBS, CMAKE_BUILD_PARALLEL_LEVEL, ...) where nothing else says so."""
    timeout_s: float = Field(default=5400, gt=0)
    """Seconds after which the build is stopped."""
    venv: bool | Literal["system-site-packages"] = False
    """A venv of its own, empty, or with the packages of `python` ("system-site-packages")."""
    python: str = "python3"
    """The interpreter of build and launches: a name on PATH, or a path (see above)."""
    python_path: tuple[str, ...] = (".",)
    """Folders of the build that launches import from, before all others."""
    cache_limit_gib: float = Field(default=20, gt=0)
    """Builds least recently used are removed beyond this size (GiB)."""

    @field_validator("command", "python")
    @classmethod
    def _one_argument(cls, value: str | None) -> str | None:
        if value is not None and (not value.strip() or "\0" in value):
            raise ValueError("must not be empty or hold a NUL character")
        if value is not None and len(value.encode("utf-8", "replace")) >= LONGEST_ARGUMENT_BYTES:
            raise ValueError(
                "is longer than the 128 KiB that Linux hands to a process: put it into a script "
                "of the repository, and run that"
            )
        return value

    @field_validator("env")
    @classmethod
    def _variables(cls, value: dict[str, str]) -> dict[str, str]:
        for name, text in value.items():
            if not re.fullmatch(r"[^=\0]+", name) or "\0" in text:
                raise ValueError(f"{name!r} cannot be an environment variable with that value")
        return value
