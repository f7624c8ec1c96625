"""A small upstream and a plugin for it, as real repositories, and `ciwm sync-report` on both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm import cli
from ciwm.records import SyncReport, parse_record
from tests.integration.sync.git_scene import Scene, new_repository

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pytest

    from ciwm.records.sync_drift import Finding

CONFIG = """[upstream]
style = "plugin"
repository = "../upstream"
package = "engine"
pin = { file = ".upstream-commit" }
"""


@dataclass
class Bed:
    """Upstream's package is called engine, the plugin's is called plug."""

    root: Path
    upstream: Scene
    plugin: Scene
    capsys: pytest.CaptureFixture[str]
    config: str = CONFIG

    def release(self, subject: str, files: Mapping[str, str | bytes | None]) -> str:
        """Commit files of upstream's package (None: removed); the new commit."""
        for name, content in files.items():
            if content is None:
                self.upstream.git("rm", "-q", f"engine/{name}")
            else:
                self.upstream.write(f"engine/{name}", content)
        self.upstream.git("add", "--all")
        self.upstream.clock += 3600
        self.upstream.git("commit", "-q", "--allow-empty", "-m", subject)
        return self.upstream.git("rev-parse", "HEAD")

    def use(self, files: Mapping[str, str | bytes], pin: str | None = None) -> None:
        """Commit files of the plugin, pinned to upstream's present commit."""
        for name, content in files.items():
            self.plugin.write(name, content)
        self.plugin.write("plug/__init__.py", b"")
        self.plugin.write(".upstream-commit", pin or self.upstream.git("rev-parse", "HEAD"))
        self.plugin.write("ciwm.toml", self.config)
        self.plugin.git("add", "--all")
        self.plugin.git("commit", "-q", "-m", "plugin")

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Exit code, standard output and standard error of `ciwm sync-report`."""
        code = cli.run(["-C", str(self.plugin.path), "sync-report", *arguments])
        said = self.capsys.readouterr()
        return code, said.out, said.err

    def report(self, *arguments: str) -> SyncReport:
        """The record that `ciwm sync-report --json` prints."""
        code, out, err = self.run("--json", *arguments)
        assert code == 0, err
        return parse_record(out, SyncReport, source="stdout")

    def findings(self, *arguments: str) -> list[Finding]:
        """What drifted."""
        return list(self.report(*arguments).drift)

    def only(self, *arguments: str) -> Finding:
        """The one finding there is."""
        found = self.findings(*arguments)
        assert len(found) == 1, [(f.kind, f.symbol, f.use) for f in found]
        return found[0]


def drifted(
    bed: Bed, old: Mapping[str, str], new: Mapping[str, str | None], plugin: str
) -> list[Finding]:
    """What drifts under plug/code.py when upstream goes from the old files to the new ones."""
    bed.release("before", dict(old))
    bed.use({"plug/code.py": plugin})
    bed.release("Change it (#42)", dict(new))
    return bed.findings()


def told(findings: list[Finding]) -> list[tuple[str, str, str]]:
    """Kind, severity and symbol of each finding."""
    return [(each.kind, each.severity, each.symbol) for each in findings]


def new_bed(root: Path, capsys: pytest.CaptureFixture[str]) -> Bed:
    """An upstream with an empty package, and an empty plugin."""
    bed = Bed(root, new_repository(root / "upstream"), new_repository(root / "plugin"), capsys)
    bed.release("first", {"__init__.py": ""})
    return bed
