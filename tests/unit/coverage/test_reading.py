"""The three kinds of coverage files, and what is none of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from ciwm.coverage import read_coverage
from ciwm.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

PYTHON = json.dumps(
    {
        "meta": {"format": 3, "version": "7.6"},
        "files": {
            "src/a.py": {"executed_lines": [1, 2], "missing_lines": [5], "excluded_lines": [9]},
            "src/b.py": {"executed_lines": [], "missing_lines": []},
        },
        "totals": {},
    }
)
COBERTURA = """<?xml version="1.0" ?>
<!DOCTYPE coverage SYSTEM "http://cobertura.example/xml/coverage-04.dtd">
<coverage line-rate="0.5"><sources><source>/build/src</source></sources><packages>
<package><classes><class filename="a.py"><methods><method>
<lines><line number="1" hits="9"/></lines></method></methods>
<lines><line number="1" hits="3"/><line number="2" hits="0"/></lines></class>
<class filename="a.py"><lines><line number="2" hits="1"/><line number="3" hits="0"/></lines></class>
</classes></package></packages></coverage>
"""
LCOV = """TN:
SF:/build/csrc/ops.cpp
FN:1,f
DA:1,5
DA:2,0,hash
end_of_record
SF:csrc/other.cpp
DA:7,0
end_of_record
"""


def written(folder: Path, text: str, name: str = "coverage") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        (PYTHON, {"src/a.py": {1: True, 2: True, 5: False}, "src/b.py": {}}),
        (COBERTURA, {"/build/src/a.py": {1: True, 2: True, 3: False}}),
        (LCOV, {"/build/csrc/ops.cpp": {1: True, 2: False}, "csrc/other.cpp": {7: False}}),
        ("\ufeff" + PYTHON, {"src/a.py": {1: True, 2: True, 5: False}, "src/b.py": {}}),
    ],
)
def test_each_kind_is_known_by_its_content(
    tmp_path: Path, text: str, hits: dict[str, dict[int, bool]]
) -> None:
    assert read_coverage([written(tmp_path, text)]) == hits


def test_a_line_that_one_of_several_files_reached_is_reached(tmp_path: Path) -> None:
    one = written(tmp_path, "SF:a\nDA:1,0\nDA:2,1\nend_of_record\n", "one")
    other = written(tmp_path, "SF:a\nDA:1,1\nDA:2,0\nDA:3,0\nend_of_record\n", "other")
    assert read_coverage([one, other]) == {"a": {1: True, 2: True, 3: False}}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '{"files": []}',
        '{"files": {"a": {}}}',
        '{"files": {"a": {"executed_lines": ["x"], "missing_lines": []}}}',
        '{"files": {}}',
        "<coverage>",
        "<coverage/>",
        '<!DOCTYPE a [<!ENTITY b "c">]><coverage>&b;</coverage>',
        "<a><class><lines><line/></lines></class></a>",
        "SF:a\nDA:one,1\n",
        "hello",
        "[" * 9,
        '{"a":' * 50_000,
    ],
)
def test_what_is_none_is_one_line(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UsageError, match=r"is no coverage file: |tells of no line") as caught:
        read_coverage([path])
    assert "\n" not in caught.value.message
    assert str(path) in caught.value.message


def test_bytes_that_are_no_text_and_no_file_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / "bytes"
    path.write_bytes(b"SF:\xff\n")
    with pytest.raises(UsageError, match="is no coverage file"):
        read_coverage([path])
    with pytest.raises(UsageError, match="cannot read"):
        read_coverage([tmp_path / "none"])
