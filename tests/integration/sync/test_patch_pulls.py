"""Patches whose headers name pull requests, with the bed's GitHub to tell what became of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.sync.git_scene import Ciwm, numbered
from tests.integration.sync.patch_scene import CONFIG, PatchScene, patch_scene
from tests.integration.sync.pulls_scene import NOW, closed, merged, waiting

if TYPE_CHECKING:
    from pathlib import Path

    from tests.github_bed.bed import GitHubBed


@pytest.fixture
def scene(tmp_path: Path, github: GitHubBed, monkeypatch: pytest.MonkeyPatch) -> PatchScene:
    """Four patches: their PRs are merged elsewhere, open, closed, and unheard of."""
    for name, word in github.environment().items():
        monkeypatch.setenv(name, word)
    github.make_up([merged(11), waiting(12), closed(13)], clock=NOW)
    found = patch_scene(tmp_path)
    patches = [
        found.patch(f"One\nRelated-PR: #{number}", **{f"own{number}__py": "x\n"})
        for number in (11, 12, 13, 14)
    ]
    found.queue(*patches, config=f'{CONFIG}github = "{github.repository}"\n')
    found.upstream_moves("on", a__txt=numbered(1, 40, l5="five"))
    return found


def advice(scene: PatchScene, ciwm: Ciwm, *options: str) -> list[tuple[str, str]]:
    patches = scene.report(ciwm, *options)["patches"]["patches"]
    return [(patch["advice"], patch["reason"]) for patch in patches]


def test_what_became_of_a_pull_request_decides_about_its_patch(
    scene: PatchScene, ciwm: Ciwm, monkeypatch: pytest.MonkeyPatch, github: GitHubBed
) -> None:
    known = [
        ("wait", "PR #11 is merged, but not seen in the target: it goes at a later bump"),
        ("wait", "PR #12 is open"),
        ("yours", "PR #13 was closed: yours for ever"),
    ]
    absent = ("unknown", "upstream has no PR #14: is the header right?")
    assert advice(scene, ciwm) == [*known, absent]
    asked = len(github.exchanges)
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    monkeypatch.delenv("CIWM_TOKEN", raising=False)
    unknown = ("unknown", "state of PR #14 unknown: needs a token")
    assert advice(scene, ciwm, "--offline") == [*known, unknown], "from the cache"
    assert len(github.exchanges) == asked
    assert any("may be out of date" in note for note in scene.report(ciwm, "--offline")["notes"])


def test_without_the_pull_requests_every_state_is_unknown(scene: PatchScene, ciwm: Ciwm) -> None:
    assert {each for each, _ in advice(scene, ciwm, "--no-pulls")} == {"unknown"}
