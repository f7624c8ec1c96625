"""Remarks beside the change, from the log of a build that failed."""

from __future__ import annotations

import pytest

from ciwm.records.sync_drift import Finding
from ciwm.report.remarks import build_remarks, drift_remarks
from tests.records_examples import build, bump, failed_build, sync

DIRECTORY = failed_build().directory


def test_the_first_error_of_heads_build_is_a_remark_on_its_line() -> None:
    (remark,) = build_remarks(bump(builds=(build("base"), failed_build())))
    assert (remark.path, remark.start_line, remark.level) == (
        "csrc/cache_kernels.cpp",
        214,
        "failure",
    )
    assert "no member 'block_stride'" in remark.message


def test_a_base_that_does_not_build_is_no_remark_on_the_change() -> None:
    assert build_remarks(bump(builds=(failed_build("base"), build("head")))) == ()


@pytest.mark.parametrize(
    ("line", "path"),
    [
        (f"{DIRECTORY}/csrc/a.cpp:3:1: error: x", "csrc/a.cpp"),
        ("./csrc/a.cpp:3:1: error: x", "csrc/a.cpp"),
        ("/usr/include/stdio.h:3:1: error: x", None),
        ("../../etc/passwd:3:1: error: x", None),
        (f"{DIRECTORY}/venv/lib/python3.12/site-packages/torch/x.h:3:1: error: x", None),
        ("a.c:99999999999:1: error: x", None),
        ("a.c:0: error: x", None),
        ("a\u202e.c:1: error: x", None),
    ],
)
def test_only_files_of_the_repository_are_remarked_on(line: str, path: str | None) -> None:
    broken = failed_build().model_copy(update={"log_tail": (line,)})
    found = [remark.path for remark in build_remarks(bump(builds=(build("base"), broken)))]
    assert found == ([path] if path else [])


def drift(symbol: str, use: str, severity: str = "hard") -> Finding:
    return Finding.model_validate(
        {
            "kind": "removed",
            "severity": severity,
            "symbol": symbol,
            "upstream": "engine/a.py:3",
            "use": use,
            "detail": "it is gone",
            "mend": "use engine.a.go",
        }
    )


def test_a_new_use_of_what_upstream_removed_is_a_remark_on_its_line() -> None:
    base = sync(drift=(drift("engine.a.run", "plug/old.py:7"),))
    head = sync(
        drift=(
            drift("engine.a.run", "plug/old.py:9"),  # moved by two lines
            drift("engine.a.run", "plug/new.py:4"),
            drift("engine.a.walk", "plug/new.py:5", "soft"),
            drift("engine.a.run", "/usr/lib/python3/x.py:5"),
            drift("engine.a.run", "plug/new.py"),
        )
    )
    (remark,) = drift_remarks(bump(sync=head, sync_base=base))
    assert (remark.path, remark.start_line, remark.level) == ("plug/new.py", 4, "warning")
    assert remark.message == "engine.a.run: it is gone\nuse engine.a.go"


def test_without_a_base_to_compare_with_nothing_is_new() -> None:
    head = sync(drift=(drift("engine.a.run", "plug/new.py:4"),))
    assert drift_remarks(bump(sync=head)) == ()
