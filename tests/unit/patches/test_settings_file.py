"""Settings written as git reads them."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from ciwm.upstream.quiet import Setting, as_file

if TYPE_CHECKING:
    from pathlib import Path

ODD = 'a "b" \\c\td\ne # f ; g  '


def test_git_reads_back_what_was_written(tmp_path: Path) -> None:
    settings = [
        Setting("diff.renamelimit", "3"),
        Setting("merge.conflictstyle", "diff3"),
        Setting('remote.we"ird.na\\me.url', ODD),
        Setting("remote.plain.promisor", None),
        Setting("core.attributesfile", "/tmp/café"),
        Setting("empty.value", ""),
    ]
    (file := tmp_path / "config").write_bytes(as_file(settings))
    asked = ["git", "config", "-z", "--list", "--file", str(file)]
    listed = subprocess.run(asked, capture_output=True, check=True).stdout.decode()
    parts = [entry.partition("\n") for entry in listed.split("\0")[:-1]]
    assert [Setting(name, value if sign else None) for name, sign, value in parts] == settings
