"""The change that takes out waivers that are over: proposed once, and merged by somebody."""

from __future__ import annotations

import base64
from datetime import date
from typing import TYPE_CHECKING

import pytest

from ciwm.github import GitHub, connect
from ciwm.records.closing import Closing
from ciwm.story.tidying import TITLE, proposed_closing
from ciwm.waivers import as_toml, waiver_of
from tests.github_bed.state import READ_WRITE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.github_bed.bed import GitHubBed

DAY = date(2026, 1, 31)
KEPT, OVER = (
    waiver_of(series=name, ceiling="8%", reason="r", author="a", issue="#1", expires=DAY)
    for name in ("kept", "over")
)
FILE = f"# ours\n\n{as_toml(KEPT)}\n# until the rewrite\n{as_toml(OVER)}"
CLOSING = Closing(series="over", metric="*", issue="#1", expires=DAY, why="it expired")
RUN_URL = "https://github.example/acme/fork/actions/runs/7"


@pytest.fixture
def hub(github: GitHubBed) -> Iterator[GitHub]:
    content = base64.b64encode(FILE.encode()).decode()
    path = f"/repos/{github.repository}/contents/ciwm-waivers.toml"
    github.proxy.emulator.json("PUT", path, {"message": "m", "content": content})
    token = github.make_token(permissions={**READ_WRITE, "contents": "write"})
    with connect(token, github.url) as connection:
        yield connection


def pulls(github: GitHubBed) -> list[dict[str, str]]:
    found = github.proxy.emulator.json("GET", f"/repos/{github.repository}/pulls")
    return [one for one in found if one["title"] == TITLE]


def test_one_pull_request_takes_them_out_and_nothing_else(hub: GitHub, github: GitHubBed) -> None:
    for _ in range(2):
        link = proposed_closing(hub, github.repository, "main", [CLOSING], RUN_URL)
    (pull,) = pulls(github)
    assert link.endswith(f"/pull/{pull['number']}")
    assert pull["body"] == "- over *: it expired"
    path = f"/repos/{github.repository}/contents/ciwm-waivers.toml"
    head = github.proxy.emulator.call("GET", path, query=f"ref={pull['head']['ref']}")  # type: ignore[index]
    text = base64.b64decode(head.json()["content"]).decode()
    assert text == f"# ours\n\n{as_toml(KEPT)}\n"


def test_what_is_gone_already_is_nothing_to_do(hub: GitHub, github: GitHubBed) -> None:
    gone = CLOSING.model_copy(update={"series": "gone"})
    assert proposed_closing(hub, github.repository, "main", [gone], RUN_URL) == ""
    assert pulls(github) == []


def test_where_no_pull_request_may_be_opened_the_page_that_opens_one_is_named(
    hub: GitHub, github: GitHubBed
) -> None:
    github.misbehave("bad_gateway", times=9, method="POST", path="/pulls$")
    link = proposed_closing(hub, github.repository, "main", [CLOSING], RUN_URL)
    assert link.startswith("https://github.example/acme/fork/compare/main...ciwm/close-waivers-")
    assert pulls(github) == []
