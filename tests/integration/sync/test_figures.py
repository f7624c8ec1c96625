"""Every figure against plain git, and the promise to change nothing."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.sync.git_scene import (
    Ciwm,
    Scene,
    new_repository,
    numbered,
    publish_upstream,
)

if TYPE_CHECKING:
    from pathlib import Path

UPSTREAM, FORK = "refs/remotes/upstream/main", "HEAD"


def plain_git(scene: Scene) -> dict[str, Any]:
    """The same figures, by the commands a maintainer would type."""
    behind, ahead = scene.git("rev-list", "--left-right", "--count", f"{UPSTREAM}...{FORK}").split()
    base = scene.git("merge-base", UPSTREAM, FORK)
    cherry = scene.git("cherry", UPSTREAM, FORK).split()
    numstat = scene.git("diff", "--no-renames", "--numstat", f"{UPSTREAM}...{FORK}").splitlines()
    rows = [line.split("\t") for line in numstat]
    ours = set(scene.git("diff", "--no-renames", "--name-only", base, FORK).splitlines())
    theirs = set(scene.git("diff", "--no-renames", "--name-only", base, UPSTREAM).splitlines())
    date = "log", "-1", "--format=%ct"
    merge = ("merge-tree", "--write-tree", "--no-messages", "--name-only", FORK, UPSTREAM)
    code, merged = scene.status(*merge)
    tree, *conflicted = merged.splitlines()
    marked = [scene.status("show", f"{tree}:{path}")[1] for path in conflicted]
    return {
        "merge_base": base,
        "behind": int(behind),
        "first_parent": int(
            scene.git("rev-list", "--count", "--first-parent", f"{FORK}..{UPSTREAM}")
        ),
        "seconds": int(scene.git(*date, UPSTREAM)) - int(scene.git(*date, base)),
        "ahead": int(ahead),
        "carried": cherry.count("+"),
        "upstreamed": cherry.count("-"),
        "files": len(rows),
        "binaries": sum(row[0] == "-" for row in rows),
        "added": sum(int(row[0]) for row in rows if row[0] != "-"),
        "removed": sum(int(row[1]) for row in rows if row[1] != "-"),
        "overlap": len(ours & theirs),
        "clean": code == 0,
        "conflicted": sorted(conflicted),
        "hunks": sum(line.startswith("    assert (conflicts["clean"], conflicts["count"], conflicts["files"]) == (True, 0, [])
    assert "nothing to merge" in ciwm(fork.path, "fork").out


def test_what_the_user_configured_for_reading_does_not_change_a_figure(
    fork: Scene, ciwm: Ciwm
) -> None:
    before = reported(ciwm(fork.path, "--json").report)
    for key, value in {
        "color.ui": "always",
        "core.quotePath": "true",
        "core.splitIndex": "true",
        "diff.external": "false",
        "diff.noprefix": "true",
        "diff.renames": "copies",
        "log.date": "relative",
        "log.showSignature": "true",
        "merge.conflictStyle": "diff3",
    }.items():
        fork.git("config", key, value)
    assert reported(ciwm(fork.path, "--json").report) == before


def test_variables_of_a_hook_do_not_lead_it_astray(
    fork: Scene, ciwm: Ciwm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = reported(ciwm(fork.path, "--json").report)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path / "objects"))
    assert reported(ciwm(fork.path, "--json").report) == before
    assert not (tmp_path / "objects").exists()
