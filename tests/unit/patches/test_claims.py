"""What patch headers say of their way upstream, in the forms that are in use."""

from __future__ import annotations

import pytest

from ciwm.upstream.patch_queue.claims import read_claims

UPSTREAM = "vllm-project/vllm"


@pytest.mark.parametrize(
    ("header", "pulls"),
    [
        ("Related-PR: #123", (123,)),
        ("Related PR (if no, explain why): #123", (123,)),
        (
            "#    Related PR (if no, explain why):\n#      https://github.com/vllm-project/vllm/pull/7",
            (7,),
        ),
        ("Forwarded: https://github.com/vllm-project/vllm/pull/7\nBug: #8", (7, 8)),
        ("Upstream-Status: Submitted [https://github.com/vllm-project/vllm/pull/7]", (7,)),
        ("We need this, see https://github.com/vllm-project/vllm/pull/9#issuecomment-1.", (9,)),
        ("Origin: vllm-project/vllm#12", (12,)),
        ("See #44 in our own tracker", ()),
        ("Related-PR: https://github.com/acme/plugin/pull/3", ()),
        ("Related PR: no, vendor specific", ()),
        ("Subject: a fix (#55)", ()),
        ("", ()),
    ],
)
def test_pull_requests_of_upstream_are_found(header: str, pulls: tuple[int, ...]) -> None:
    assert read_claims(header, UPSTREAM).pulls == pulls


def test_any_repository_counts_where_upstreams_name_is_not_known() -> None:
    assert read_claims("Forwarded: https://github.com/acme/plugin/pull/3", None).pulls == (3,)


@pytest.mark.parametrize(
    ("header", "commits"),
    [
        (
            "Applied-Upstream: v0.11.0, https://github.com/o/n/commit/0123abcd4567",
            ("0123abcd4567",),
        ),
        ("Applied-Upstream: 0.11.0", ("0.11.0",)),
        ("Origin: upstream, https://github.com/o/n/commit/0123abcd4567", ("0123abcd4567",)),
        ("Origin: backport, commit:0123abcd4567", ("0123abcd4567",)),
        ("Origin: vendor, 0123abcd4567", ()),
        ("Upstream-Status: Backport [v2.6.1]", ("v2.6.1",)),
        ("Upstream-Status: Pending", ()),
        ("Fix\n\n(cherry picked from commit 0123abcd4567)", ("0123abcd4567",)),
        ("Origin: upstream,\n https://github.com/o/n/commit/0123abcd4567", ("0123abcd4567",)),
        ("Applied-Upstream: 20250101", ()),
    ],
)
def test_commits_and_releases_that_hold_it_are_found(header: str, commits: tuple[str, ...]) -> None:
    assert read_claims(header, UPSTREAM).commits == commits


@pytest.mark.parametrize(
    ("header", "refused"),
    [
        ("Forwarded: not-needed", "Forwarded: not-needed"),
        (
            "Upstream-Status: Inappropriate [oe specific]",
            "Upstream-Status: Inappropriate [oe specific]",
        ),
        ("Upstream-Status: Denied", "Upstream-Status: Denied"),
        ("Forwarded: no", ""),  # DEP-3: not sent yet
        ("Upstream-Status: Pending", ""),
        ("Forwarded: https://lists.example.org/1", ""),
    ],
)
def test_what_upstream_will_not_take_is_the_headers_own_word(header: str, refused: str) -> None:
    assert read_claims(header, UPSTREAM).refused == refused
