"""Conditions that keep code from running at the target."""

from __future__ import annotations

import ast

import pytest

from ciwm.upstream.drift.guards import branch_guards


@pytest.mark.parametrize(
    ("test", "body", "orelse"),
    [
        ("version_is('1.0')", True, False),
        ("not version_is('1.0')", False, True),
        ("engine.__version__ == '1.0'", True, False),
        ("engine.__version__ != '1.0'", False, True),
        ("Version(engine.__version__) >= Version('1.0')", True, True),
        ("TYPE_CHECKING", True, False),
        ("typing.TYPE_CHECKING", True, False),
        ("hasattr(engine, 'run')", True, False),
        ("not hasattr(engine, 'run')", False, True),
        ("fast and size > 1", False, False),
    ],
)
def test_each_branch_is_guarded_or_not(test: str, *, body: bool, orelse: bool) -> None:
    guards = branch_guards(ast.parse(test, mode="eval").body)
    assert tuple(map(bool, guards)) == (body, orelse)
