"""ciwm.toml, or [tool.ciwm] of pyproject.toml: what the user declares, checked to the last key."""

from __future__ import annotations

import difflib
import re
import sys
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from ciwm.config_pulls import MergeRule, PullsConfig
from ciwm.config_section import Section, with_percent
from ciwm.config_sync import BudgetConfig, HygieneConfig, RatingConfig, SyncConfig
from ciwm.errors import ConfigError
from ciwm.gate_config import BlockOn, GateConfig, OnDoubt, SeriesRule

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Phase = Literal[
    "train",
    "finetune",
    "prefill",
    "decode",
    "generate",
    "serve",
    "preprocess",
    "collective",
    "operator",
]
Scalar = str | int | float | bool

__all__ = [
    "BlockOn",
    "BuildConfig",
    "Config",
    "GateConfig",
    "MetricConfig",
    "OnDoubt",
    "Phase",
    "PinConfig",
    "Scalar",
    "SeriesRule",
    "StoreConfig",
    "UpstreamConfig",
    "WorkloadConfig",
    "find_config",
    "parse_config",
    "read_config",
]

FILE_NAMES = ("ciwm.toml", "pyproject.toml")
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
    package: str | None = None
    pattern: str | None = None
    submodule: str | None = None
    revision: str | None = None
    folder: str | None = None

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
    url: str | None = None
    branch: str = "main"
    style: Literal["fork", "plugin", "patches"] | None = None
    synced_to: str | None = None
    classes: dict[str, tuple[str, ...]] = DEFAULT_CLASSES
    repository: str | None = None
    package: str | tuple[str, ...] = ()
    pin: PinConfig | None = None
    pins: dict[str, PinConfig] = {}
    patches: str | None = None

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


class BuildConfig(Section):
    """The recipe; run by `sh -ec` in the worktree of the revision.

    Secrets of the job do not reach it, but for the variables named in `pass_env`; a private index
    whose URL holds a password is one. A relative
    `python` with a slash (".venv/bin/python") is one that the recipe makes in the worktree.
    """

    command: str | None = None
    env: dict[str, str] = {}
    pass_env: tuple[str, ...] = ()
    timeout_s: float = Field(default=5400, gt=0)
    venv: bool | Literal["system-site-packages"] = False
    python: str = "python3"
    python_path: tuple[str, ...] = (".",)
    cache_limit_gib: float = Field(default=20, gt=0)

    @field_validator("command", "python")
    @classmethod
    def _one_argument(cls, value: str | None) -> str | None:
        if value is not None and (not value.strip() or "\0" in value):
            raise ValueError("must not be empty or hold a NUL character")
        return value

    @field_validator("env")
    @classmethod
    def _variables(cls, value: dict[str, str]) -> dict[str, str]:
        for name, text in value.items():
            if not re.fullmatch(r"[^=\0]+", name) or "\0" in text:
                raise ValueError(f"{name!r} cannot be an environment variable with that value")
        return value


class MetricConfig(Section):
    """Unit and direction are stated, never guessed."""

    unit: str
    better: Literal["lower", "higher"]
    threshold_pct: float | None = Field(default=None, gt=0)
    threshold_abs: float | None = Field(default=None, gt=0)  # in `unit`; compares differences

    @model_validator(mode="before")
    @classmethod
    def _threshold(cls, data: Any) -> Any:
        return with_percent(data)

    @model_validator(mode="after")
    def _one_threshold(self) -> MetricConfig:
        if self.threshold_pct is not None and self.threshold_abs is not None:
            raise ValueError("state threshold or threshold_abs, not both")
        return self


STEP_TIME = MetricConfig(unit="s", better="lower")


class WorkloadConfig(Section):
    """What is measured: a Python callable timed by the worker, or a command that reports itself.

    `files` are globs of the workload's own files besides the one named in `python`/`command`.
    `imports_build` is false where a `python` workload's own process loads nothing of the build, as
    when it starts the build's programs: then nobody checks that the two sides ran different code.
    """

    id: str
    phase: Phase | None = None
    python: str | None = None
    command: str | None = None
    format: Literal["samples-json"] = "samples-json"
    files: tuple[str, ...] = ()
    devices: int = Field(default=1, ge=1)
    params: dict[str, tuple[Scalar, ...]] = {}
    metrics: dict[str, MetricConfig] = {}
    iterations: int = Field(default=60, ge=1)
    warmup_iterations: int = Field(default=3, ge=0)
    warmup_s: float = Field(default=0.5, ge=0)
    timeout_s: float = Field(default=900, gt=0)
    imports_build: bool = True

    @field_validator("id")
    @classmethod
    def _plain_id(cls, value: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", value):
            raise ValueError("use letters, digits, '.', '_' and '-' (at most 100)")
        return value

    @model_validator(mode="after")
    def _one_kind(self) -> WorkloadConfig:
        if (self.python is None) == (self.command is None):
            raise ValueError("state exactly one of python = 'file.py:callable' and command = '...'")
        if self.python is not None and not re.fullmatch(r"[^:]+\.py:[A-Za-z_][\w.]*", self.python):
            raise ValueError("python is 'file.py:callable'")
        if self.command is not None and not self.metrics:
            raise ValueError("a command workload states metrics = { name = { unit, better } }")
        return self

    @property
    def declared_metrics(self) -> dict[str, MetricConfig]:
        """The metrics of each series; a timed callable without any has step_time in seconds."""
        return self.metrics or {"step_time": STEP_TIME}


class StoreConfig(Section):
    """Where runs are kept: `git:BRANCH`, or `dir:PATH`."""

    url: str = "git:ciwm-data"


class Config(Section):
    """All of it; every table is optional."""

    upstream: UpstreamConfig = UpstreamConfig()
    build: BuildConfig = BuildConfig()
    workload: tuple[WorkloadConfig, ...] = ()
    gate: GateConfig = GateConfig()
    sync: SyncConfig = SyncConfig()
    store: StoreConfig = StoreConfig()

    @model_validator(mode="after")
    def _distinct(self) -> Config:
        ids = [workload.id for workload in self.workload]
        twice = sorted({name for name in ids if ids.count(name) > 1})
        if twice:
            raise ValueError(f"workload id used twice: {', '.join(twice)}")
        return self


def find_config(root: Path) -> Config:
    """The configuration of a checkout: ciwm.toml, else [tool.ciwm], else all defaults."""
    for name in FILE_NAMES:
        path = root / name
        if path.is_file():
            config = parse_config(path.read_bytes(), source=str(path))
            if config is not None:
                return config
    return Config()


def read_config(path: Path) -> Config:
    """The configuration in a file the user named; raises ConfigError when there is none."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    config = parse_config(data, source=str(path))
    if config is None:
        raise ConfigError(f"{path} has no [tool.ciwm] table")
    return config


def parse_config(data: bytes, source: str) -> Config | None:
    """The configuration in a TOML text; None for a pyproject.toml without [tool.ciwm]."""
    try:
        table: Any = tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{source} is not TOML: {error}") from error
    if source.endswith("pyproject.toml"):
        table = table.get("tool", {}).get("ciwm")
        if table is None:
            return None
    try:
        return Config.model_validate(table)
    except ValidationError as error:
        raise _explained(error, source) from error


def _explained(error: ValidationError, source: str) -> ConfigError:
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "(top level)"
    if first["type"] == "extra_forbidden":
        return ConfigError(f"{source}: unknown key {where}", _suggestion(str(first["loc"][-1])))
    return ConfigError(f"{source}: {where}: {first['msg'].removeprefix('Value error, ')}")


def _suggestion(key: str) -> str:
    sections = (
        Config,
        UpstreamConfig,
        PinConfig,
        MergeRule,
        BuildConfig,
        WorkloadConfig,
        MetricConfig,
        GateConfig,
        SeriesRule,
        StoreConfig,
        SyncConfig,
        BudgetConfig,
        HygieneConfig,
        RatingConfig,
    )
    known = {name for section in sections for name in section.model_fields}
    close = difflib.get_close_matches(key, known, n=1)
    return f"did you mean {close[0]}?" if close else ""
