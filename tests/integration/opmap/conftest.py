"""A folder with workloads, observed by the real worker under the real torch.

The null device's library takes long to compile: one folder of the user's cache keeps it for all
sessions, by the torch and the source it is of.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.opmap.observe import Observed, Site, observe, observe_all
from ciwm.opmap.subjects import INTERPRETER, Subject
from tests.need import missing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

KEPT = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "ciwm-tests" / "map"


@dataclass
class Bed:
    """Workload files, and where they are observed."""

    folder: Path
    site: Site

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def subject(self, name: str, phase: str | None = None, **changes: Any) -> Subject:
        """`file.py:build` as a subject of its own name."""
        file, _, called = name.partition(":")
        fields: dict[str, Any] = {"id": name, "workload": name, "file": file, "callable": called}
        return Subject(**{**fields, "phase": phase, **changes})

    def observe(
        self, stage: str, subject: Subject, options: Mapping[str, Any] | None = None
    ) -> Observed:
        return observe(stage, subject, self.site, options)

    def observe_all(
        self, stage: str, subjects: Sequence[Subject], options: Mapping[str, Any] | None = None
    ) -> dict[str, Observed]:
        return observe_all(stage, subjects, self.site, options)


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The null device's library, compiled at most once for this torch."""
    if shutil.which("c++") is None and shutil.which("g++") is None:
        missing("there is no C++ compiler")
    folder = tmp_path_factory.mktemp("build")
    seen = observe("build", INTERPRETER, site_in(folder, timeout_s=300))
    assert seen.problem is None, seen.problem
    return str(seen.lines[0]["library"])


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory, library: str) -> Bed:
    """A folder for all tests of a file: they may share what was observed."""
    assert library
    folder = tmp_path_factory.mktemp("map")
    (folder / "w").mkdir()
    return Bed(folder / "w", site_in(folder, folder / "w"))


@pytest.fixture
def cache(tmp_path: Path, library: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own, with the library that is kept for all."""
    assert library
    folder = tmp_path / "cache"
    folder.mkdir()
    (folder / "extensions").symlink_to(KEPT, target_is_directory=True)
    monkeypatch.setenv("CIWM_CACHE_DIR", str(folder))
    return folder


def site_in(folder: Path, root: Path | None = None, timeout_s: float = 120) -> Site:
    KEPT.mkdir(parents=True, exist_ok=True)
    return Site(
        python=sys.executable,
        root=root or folder,
        python_path=(),
        directory=folder,
        cache=KEPT,
        timeout_s=timeout_s,
        stop=threading.Event(),
    )
