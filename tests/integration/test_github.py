"""The connection: addresses, tokens, and networks that fail, each in one line with its mend."""

from __future__ import annotations

import http.server
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from ciwm.errors import GitHubError, UsageError
from ciwm.github import (
    NotFoundError,
    Patience,
    TokenRefusedError,
    UnreachableError,
    connect,
    connect_from,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.github_bed.bed import GitHubBed

QUICK = Patience(retries=1, backoff_s=0.01, total_wait_s=1)
SECRET = "ghs_0123456789abcdefghijklmnopqrstuvwxyz"


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_nobody_listening_is_said_without_the_token(closed_port: int) -> None:
    with (
        connect(SECRET, f"http://127.0.0.1:{closed_port}", patience=QUICK) as hub,
        pytest.raises(UnreachableError, match="cannot learn whose token this is") as caught,
    ):
        hub.viewer_login()
    assert "refused" in caught.value.message
    assert "\n" not in caught.value.message
    assert SECRET not in f"{caught.value.message}{caught.value.hint}{hub!r}"


def test_a_name_that_does_not_resolve_is_said() -> None:
    with (
        connect(SECRET, "http://nowhere.invalid", patience=QUICK) as hub,
        pytest.raises(UnreachableError, match="did not answer"),
    ):
        hub.comments("a/b", 1)


def test_the_viewer_is_asked_once(github: GitHubBed) -> None:
    with connect(github.token, github.url, patience=QUICK) as hub:
        assert [hub.viewer_login(), hub.viewer_login()] == ["github-actions[bot]"] * 2
    assert [one.path for one in github.exchanges] == ["/graphql"]


def test_the_stated_graphql_address_is_used(github: GitHubBed) -> None:
    variables = {**github.environment(), "GITHUB_GRAPHQL_URL": f"{github.url}/elsewhere"}
    hub = connect_from(variables, QUICK)
    assert hub is not None
    with hub, pytest.raises(NotFoundError):
        hub.viewer_login()
    assert [one.path for one in github.exchanges] == ["/elsewhere"]
    github.violations.clear()


def test_an_address_with_a_final_slash_and_a_token_with_a_line_end_work(
    github: GitHubBed,
) -> None:
    with connect(f"{github.token}\n", f"{github.url}/", patience=QUICK) as hub:
        assert hub.viewer_login() == "github-actions[bot]"


@pytest.mark.parametrize("url", ["", "api.github.com", "ftp://x", "http://"])
def test_what_is_no_address_is_a_usage_error(url: str) -> None:
    with pytest.raises(UsageError, match="not the address"):
        connect(SECRET, url)


@pytest.mark.parametrize("token", ["two words", "tökén", "a\nb"])
def test_what_is_no_token_is_a_usage_error_that_does_not_show_it(token: str) -> None:
    with pytest.raises(UsageError, match="characters that no token has") as caught:
        connect(token)
    assert token not in caught.value.message


@pytest.mark.parametrize("variables", [{}, {"CIWM_TOKEN": "", "GITHUB_TOKEN": " "}])
def test_without_a_token_there_is_no_connection(variables: dict[str, str]) -> None:
    assert connect_from(variables) is None


def test_a_wrong_token_is_said(github: GitHubBed) -> None:
    with (
        connect(SECRET, github.url, patience=QUICK) as hub,
        pytest.raises(TokenRefusedError, match="401 Bad credentials"),
    ):
        hub.comments(github.repository, 1)


def test_a_pull_requests_head_is_read(github: GitHubBed) -> None:
    pull = github.pull_request()
    with connect(github.token, github.url, patience=QUICK) as hub:
        assert hub.head_sha(github.repository, pull.number) == pull.head_sha
        with pytest.raises(NotFoundError, match="404"):
            hub.head_sha(github.repository, 999)


def test_a_comment_that_is_gone_already_counts_as_deleted(github: GitHubBed) -> None:
    pull = github.pull_request()
    with connect(github.token, github.url, patience=QUICK) as hub:
        hub.delete_comment(github.repository, pull.number, 424242)


def test_a_patch_is_sent_again_after_an_outage(github: GitHubBed) -> None:
    pull = github.pull_request()
    comment = github.comment(pull.number, "old", login="github-actions[bot]")
    github.misbehave("applied_then_bad_gateway", method="PATCH")
    with connect(github.token, github.url, patience=QUICK) as hub:
        hub.edit_comment(github.repository, pull.number, comment, "new")
    assert [one["body"] for one in github.comments(pull.number)] == ["new"]


class _Portal(http.server.BaseHTTPRequestHandler):
    """A captive portal or a wrong address: 200, and a page instead of an API."""

    def do_POST(self) -> None:
        page = b"<html>log in, please</html>"
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def portal() -> Iterator[str]:
    with http.server.HTTPServer(("127.0.0.1", 0), _Portal) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_an_answer_that_is_no_api_is_an_error_and_not_a_login(portal: str) -> None:
    with (
        connect(SECRET, portal, patience=QUICK) as hub,
        pytest.raises(GitHubError, match="is not GitHub's"),
    ):
        hub.viewer_login()
