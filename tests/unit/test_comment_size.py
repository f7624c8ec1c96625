"""The size ladder: whatever the report and the limit, the comment fits, the answer first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ciwm.report.bump_markdown import (
    COMMENT_LIMIT,
    SUMMARY_LIMIT,
    comment_markdown,
    summary_markdown,
)
from tests import records_examples as examples
from tests.golden.cases import forty_wrong

if TYPE_CHECKING:
    from ciwm.records import BumpReport

MIB = 1 << 20


def huge(text: str, times: int) -> BumpReport:
    """Everything there can be, so many times, each name and message this text."""
    rows = tuple(
        examples.series_verdict("regressed", f"{text}{number}", reason=text, unit=text)
        for number in range(times)
    )
    file = examples.conflicts(1).files[0]
    many = tuple(file.model_copy(update={"path": text, "kind": text}) for _ in range(times))
    return examples.bump(
        headline=text,
        run_summary=text,
        verdict=examples.verdict(series=rows, problems=(text,) * times, reason=text),
        sync=examples.sync(
            conflicts={"clean": False, "count": times, "hunks": 2 * times, "files": many},
            notes=(text,) * times,
        ),
        builds=(
            examples.failed_build("base").model_copy(update={"log_tail": (text,) * times}),
            examples.failed_build().model_copy(update={"log_tail": (text,) * times}),
        ),
        stages=tuple(
            examples.stage("store", "failed", message=text, hint=text) for _ in range(times)
        ),
    )


@given(limit=st.integers(0, 70_000))
@settings(deadline=None, max_examples=60)
def test_any_limit_is_kept(limit: int) -> None:
    assert len(comment_markdown(forty_wrong(), limit).encode()) <= limit


@pytest.mark.parametrize(
    ("text", "times"),
    [("x", 3000), ("<|`_@\x07\u202e" * 40, 500), ("𝕏é" * 5000, 300), ("\n# " * 1000, 500)],
)
def test_a_report_of_any_size_fits_and_starts_with_the_answer(text: str, times: int) -> None:
    report = huge(text, times)
    comment, summary = comment_markdown(report), summary_markdown(report)
    assert len(comment.encode()) <= COMMENT_LIMIT < 65_536
    assert len(summary.encode()) <= SUMMARY_LIMIT < MIB
    for shown in (comment, summary):
        assert shown.startswith("### ❌ Merge blocked: ")
        assert any(line.startswith("**Next:**") for line in shown.splitlines()[:5])
        assert examples.RUN_URL in shown


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "https://evil.example/) [x](https://evil.example",
        "https://evil.example/<script>",
        "https://evil.example/a b",
        "https://evil.example/" + "a" * 1000,
        "file:///etc/passwd",
    ],
)
def test_a_link_that_is_no_plain_url_is_left_out(url: str) -> None:
    comment = comment_markdown(examples.bump(run_url=url))
    assert "](" not in comment
    assert "evil" not in comment


@pytest.mark.parametrize("sha", ["--upload-pack=touch x", "$(touch x)", "a; touch x", "a\nb"])
def test_no_command_to_paste_holds_what_a_shell_or_git_would_obey(sha: str) -> None:
    head = examples.revision().model_copy(update={"sha": sha})
    comment = comment_markdown(examples.bump(head=head))
    commands = comment.split("```sh\n")[1].split("\n```")[0].splitlines()
    assert commands == ["ciwm sync-report upstream/main"]
