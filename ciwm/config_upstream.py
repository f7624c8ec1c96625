"""[upstream] of the configuration: where upstream is, and at which of its states we stand."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import field_validator, model_validator

from ciwm.config_pulls import PullsConfig
from ciwm.config_section import Section

DEFAULT_CLASSES: dict[str, tuple[str, ...]] = {
    "tests": ("tests/**", "test/**", "**/tests/**", "**/test_*.py", "**/*_test.*"),
    "docs": ("docs/**", "**/*.md", "**/*.rst"),
    "ci": (
        ".github/**",
        ".buildkite/**",
        ".gitlab-ci.yml",
        ".ci/**",
        "**/Dockerfile*",
        "docker/**",
    ),
    "kernels": (
        "csrc/**",
        "**/csrc/**",
        "kernels/**",
        "**/kernels/**",
        "**/ops/**",
        "**/*.cu",
        "**/*.cuh",
        "**/*.hip",
    ),
    "build": (
        "CMakeLists.txt",
        "**/CMakeLists.txt",
        "cmake/**",
        "setup.py",
        "setup.cfg",
        "pyproject.toml",
        "requirements*.txt",
        "requirements/**",
    ),
}


class PinConfig(Section):
    """Where a plugin says which upstream it is made for.

    `file` holds a commit, tag or version; or it is searched for the requirement of a `package`, or
    for a `pattern` with one group. `submodule` is a path, `revision` names the commit itself, and
    `folder` is an unpacked source distribution.
    """

    file: str | None = None
    """A file of ours that holds the commit, tag or version, or a requirement of `package`."""
    package: str | None = None
    """The requirement to look for in `file`."""
    pattern: str | None = None
    """What to look for in `file` instead: a regular expression with one group."""
    submodule: str | None = None
    """The path of a submodule: the pin is its commit."""
    revision: str | None = None
    """The commit, tag or version itself."""
    folder: str | None = None
    """A folder with an unpacked source distribution."""

    @model_validator(mode="after")
    def _one_place(self) -> PinConfig:
        places = (self.file, self.submodule, self.revision, self.folder)
        if sum(place is not None for place in places) != 1:
            raise ValueError("state exactly one of file, submodule, revision and folder")
        if self.file is None and (self.package or self.pattern):
            raise ValueError("package and pattern say what to look for in file: state the file")
        if self.package and self.pattern:
            raise ValueError("state package or pattern, not both")
        return self

    @field_validator("pattern")
    @classmethod
    def _one_group(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                groups = re.compile(value).groups
            except re.error as error:
                raise ValueError(f"not a regular expression: {error.msg}") from error
            if groups != 1:
                raise ValueError("pattern needs exactly one group: what it holds is the pin")
        return value


class UpstreamConfig(PullsConfig):
    """Where upstream is, and how its files are grouped into path classes (first match wins).

    `synced_to` names the upstream commit whose work a squashed sync brought: git cannot know.
    For a plugin: `repository` is a local clone of upstream (or an unpacked source distribution of
    the target), `package` what it is imported by, and `pin` (or several, by name, in `pins`) the
    upstream the plugin is made for. `patches` is the folder of a patch queue for the pinned
    upstream.
    """

    remote: str | None = None
    """The git remote that is upstream. Without it and `url`: the remote named upstream."""
    url: str | None = None
    """Upstream's address, where no remote has it; `ciwm ci` fetches it, `sync-report` does not."""
    branch: str = "main"
    """Its branch. Not stated: main, else master, else the remote's HEAD."""
    style: Literal["fork", "plugin", "patches"] | None = None
    """What this repository is; found out where not stated."""
    synced_to: str | None = None
    """The upstream commit whose work a squashed sync brought: git cannot know."""
    classes: dict[str, tuple[str, ...]] = DEFAULT_CLASSES
    """Path classes by name, as globs; the first that matches counts. Replaces the defaults."""
    repository: str | None = None
    """A clone of upstream, or an unpacked source distribution of the target."""
    package: str | tuple[str, ...] = ()
    """Plugins: the name or names upstream is imported by."""
    pin: PinConfig | None = None
    """Plugins and patch queues: where the upstream this is made for is stated."""
    pins: dict[str, PinConfig] = {}
    """Several pins by name (a main and a release lane), instead of `pin`."""
    patches: str | None = None
    """Patch queues: the folder of the patches."""

    @model_validator(mode="after")
    def _pin_or_pins(self) -> UpstreamConfig:
        if self.pin is not None and self.pins:
            raise ValueError("state pin, or several by name in pins, not both")
        return self

    @property
    def lanes(self) -> dict[str, PinConfig]:
        """The pins by name; a single one is called pin."""
        return self.pins or ({"pin": self.pin} if self.pin is not None else {})

    @property
    def packages(self) -> tuple[str, ...]:
        """The names upstream is imported by; empty when not stated."""
        return (self.package,) if isinstance(self.package, str) else self.package
