"""Upstream changes that touch the files a plugin uses, beside its pull requests upstream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.integration.drift.bed import CONFIG, Bed

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

GITHUB = 'github = "acme/engine"\n'
PLUGIN = {
    "plug/code.py": (
        "from engine import start\n"
        "from engine.worker import Worker\n"
        "class Mine(Worker):\n"
        "    def load(self): ...\n"
    )
}
BEFORE = {
    "__init__.py": "from engine.main import start\n",
    "main.py": "def start(): ...\n",
    "worker.py": "from engine.base import Base\nclass Worker(Base): ...\n",
    "base.py": "class Base:\n    def load(self): ...\n",
    "other.py": "x = 1\n",
}


def test_changes_of_files_that_define_what_a_plugin_uses_are_told(bed: Bed) -> None:
    bed.config = CONFIG + GITHUB
    bed.release("before", dict(BEFORE))
    bed.use(dict(PLUGIN))
    bed.release("Nothing of ours (#1)", {"other.py": "x = 2\n"})
    bed.release("What is started (#2)", {"main.py": "def start(): return 1\n"})
    base = bed.release("Far up (#3)", {"base.py": "class Base:\n    def load(self): return 2\n"})
    report = bed.report("--offline")
    assert report.surface is not None
    files = ("base.py", "main.py", "worker.py")
    assert report.surface.upstream_files == tuple(f"engine/{name}" for name in files)
    assert report.pulls is not None
    told = {one.number: (one.files, one.overlap_lines) for one in report.pulls.incoming}
    assert told == {2: (("engine/main.py",), None), 3: (("engine/base.py",), None)}
    assert base in [one.sha for one in report.pulls.incoming]
    assert "authors is not set" in "".join(report.pulls.notes)


def test_where_upstream_is_a_folder_there_are_none(
    bed: Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    for name, text in (("old", "def start(): ...\n"), ("new", "def start(x): ...\n")):
        folder = tmp_path / name / "engine"
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(text)
    bed.config = (
        f'[upstream]\nrepository = "../new"\npackage = "engine"\n{GITHUB}'
        'authors = ["@jane"]\npin = { folder = "../old" }\n'
    )
    bed.use({"plug/code.py": "from engine import start\nstart()\n"})
    report = bed.report()
    assert [each.symbol for each in report.drift] == ["engine.start"]
    assert report.pulls is not None
    assert (report.pulls.incoming, report.pulls.incoming_count) == ((), 0)
    assert "there is no token" in "".join(report.pulls.notes)
