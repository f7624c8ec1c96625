"""What a step tells the runner, as GitHub documents its files and commands."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ciwm.actions import SUMMARY_LIMIT_BYTES, Runner

if TYPE_CHECKING:
    from pathlib import Path


def read_outputs(text: str) -> dict[str, str]:
    """GITHUB_OUTPUT as the runner reads it: name<<DELIMITER, lines, DELIMITER."""
    found, lines = {}, iter(text.split("\n"))
    for line in lines:
        if "<<" not in line:
            continue
        name, delimiter = line.split("<<", 1)
        value = []
        for inner in lines:
            if inner == delimiter:
                break
            value.append(inner)
        found[name] = "\n".join(value)
    return found


def unescaped(text: str) -> str:
    for code, character in (("%0A", "\n"), ("%0D", "\r"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, character)
    return text


def runner(folder: Path, **variables: str) -> Runner:
    files = {name: str(folder / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    return Runner({"GITHUB_ACTIONS": "true", **files, **variables}, io.StringIO())


def said(of: Runner) -> str:
    assert isinstance(of.stream, io.StringIO)
    return of.stream.getvalue()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_comes_out_of_an_output_as_it_went_in(tmp_path: Path, value: str) -> None:
    here = runner(tmp_path)
    (tmp_path / "GITHUB_OUTPUT").unlink(missing_ok=True)
    here.set_output("before", "1")
    here.set_output("value", value)
    here.set_output("after", "2")
    text = (tmp_path / "GITHUB_OUTPUT").read_bytes().decode()
    assert read_outputs(text) == {"before": "1", "value": value, "after": "2"}


def test_a_value_cannot_end_its_output_early_by_a_known_delimiter(tmp_path: Path) -> None:
    here = runner(tmp_path)
    here.set_output("one", "x")
    seen = (tmp_path / "GITHUB_OUTPUT").read_text().splitlines()[-1]
    here.set_output("two", f"y\n{seen}\nthree<<E\nforged\nE")
    assert set(read_outputs((tmp_path / "GITHUB_OUTPUT").read_text())) == {"one", "two"}


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(codec="ascii")))
def test_any_message_and_title_stay_one_command(message: str, title: str) -> None:
    here = Runner({"GITHUB_ACTIONS": "true"}, io.StringIO())
    here.error(message, title=title, line=3)
    line, rest = said(here).split("\n", 1)
    assert rest == ""
    found = re.fullmatch(r"::error title=([^:,]*),line=3::(.*)", line, re.DOTALL)
    assert found is not None
    assert (unescaped(found[1]), unescaped(found[2])) == (title, message)


def test_outside_of_actions_messages_are_plain_lines_and_nothing_is_masked() -> None:
    here = Runner({}, io.StringIO())
    here.warning("slow", title="ciwm")
    here.add_mask("secret")
    with here.group("build"), here.verbatim():
        here.notice("built")
    here.set_output("x", "y")
    here.add_summary("z")
    assert said(here) == "warning: slow\nbuild\nnotice: built\n"


def test_groups_and_verbatim_blocks_are_closed_when_the_block_fails(tmp_path: Path) -> None:
    here = runner(tmp_path)

    def fail() -> None:
        with here.group("build"), here.verbatim():
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    opened, stopped, resumed, closed = said(here).splitlines()
    token = stopped.removeprefix("::stop-commands::")
    assert (opened, resumed, closed) == ("::group::build", f"::{token}::", "::endgroup::")
    assert len(token) >= 32


def test_each_line_of_a_secret_is_masked(tmp_path: Path) -> None:
    here = runner(tmp_path)
    here.add_mask("one\n\ntwo%")
    assert said(here) == "::add-mask::one\n::add-mask::two%25\n"


def test_a_summary_over_the_limit_is_cut_at_a_line_and_says_so(tmp_path: Path) -> None:
    here, path = runner(tmp_path), tmp_path / "GITHUB_STEP_SUMMARY"
    path.write_text("already here\n", encoding="utf-8")
    here.add_summary("é" * 99 + "\n" + ("x" * 99 + "\n") * 11_000)
    data = path.read_bytes()
    assert SUMMARY_LIMIT_BYTES - 200 < len(data) <= SUMMARY_LIMIT_BYTES
    first, second, *middle, blank, note, end = data.decode().split("\n")
    assert (first, second, blank, end) == ("already here", "é" * 99, "", "")
    assert set(middle) == {"x" * 99}
    assert note.startswith("_Cut here")
    here.add_summary("no room " * 40)
    assert path.read_bytes() == data


def test_a_summary_that_just_fits_is_whole(tmp_path: Path) -> None:
    here = runner(tmp_path)
    here.add_summary("x" * (SUMMARY_LIMIT_BYTES - 1))
    assert (tmp_path / "GITHUB_STEP_SUMMARY").stat().st_size == SUMMARY_LIMIT_BYTES


def test_an_unwritable_file_of_the_runner_is_one_warning(tmp_path: Path) -> None:
    here = runner(tmp_path, GITHUB_OUTPUT=str(tmp_path / "no" / "such"))
    here.set_output("x", "y")
    here.set_output("x", "z")
    (line,) = said(here).splitlines()
    assert line.startswith("::warning title=ciwm::cannot write GITHUB_OUTPUT")


def test_a_summary_that_is_a_folder_is_one_warning(tmp_path: Path) -> None:
    here = runner(tmp_path, GITHUB_STEP_SUMMARY=str(tmp_path))
    here.add_summary("# x")
    assert "cannot write GITHUB_STEP_SUMMARY" in said(here)
