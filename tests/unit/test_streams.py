"""What a workflow's runner may take as a command, and what becomes of writing to nobody."""

from __future__ import annotations

import io
import json
import re
from typing import TextIO, cast

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ciwm import cli
from ciwm.actions import Runner
from ciwm.errors import ENVIRONMENT, GitError
from ciwm.streams import Stream, guarded_streams, no_command, no_command_in_json

HOSTILE = st.text(st.sampled_from("::#[]a \t\n\r\u00a0\u200b."), max_size=40)


def is_command(line: str) -> bool:
    """As the runner decides: V2 commands after trimming, V1 commands anywhere."""
    return line.strip("\u200b\ufeff" + "".join(map(chr, range(33))) + "\u00a0").startswith(
        "::"
    ) or ("##[" in line)


@given(st.lists(HOSTILE, max_size=6))
def test_no_text_in_whatever_pieces_gives_the_runner_a_command(pieces: list[str]) -> None:
    sink = io.StringIO(newline="")
    stream = Stream(sink, no_command)
    for piece in pieces:
        stream.write(f"{piece}\n")
    assert not any(map(is_command, re.split(r"[\r\n]", sink.getvalue())))


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("::set-env name=A::b\n", ": :set-env name=A::b\n"),
        ("std::vector<int> ::x\n", "std::vector<int> ::x\n"),
        ("10 %\r  ::error::x\n", "10 %\r  : :error::x\n"),
        ("made ##[error]x\n", "made # #[error]x\n"),
    ],
)
def test_only_what_would_be_a_command_is_changed(given_text: str, shown: str) -> None:
    assert no_command(given_text) == shown


def test_a_line_written_in_pieces_begins_once() -> None:
    sink = io.StringIO()
    stream = Stream(sink, no_command)
    for piece in ("std", "::vector\n", "  ", "::error::x\n"):
        stream.write(piece)
    assert sink.getvalue() == "std::vector\n  : :error::x\n"


@given(st.text(st.sampled_from("#[]a:\n"), max_size=30))
def test_json_stays_the_same_json_without_a_command(value: str) -> None:
    text = no_command_in_json(json.dumps({"a": value}))
    assert json.loads(text) == {"a": value}
    assert not any(map(is_command, text.split("\n")))


@pytest.fixture
def on_a_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")


@pytest.mark.usefixtures("on_a_runner")
def test_our_own_commands_reach_the_runner_and_a_childs_do_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with guarded_streams(as_json=False), Runner().group("build"):
        click.echo("::error::forged", err=True)
        click.echo(" ::error::forged")
    seen = capsys.readouterr()
    assert seen.err == "::group::build\n: :error::forged\n::endgroup::\n"
    assert seen.out == " : :error::forged\n"


@pytest.mark.usefixtures("on_a_runner")
def test_an_error_whose_words_hold_a_command_is_only_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_arguments: object, **_options: object) -> None:
        raise GitError("git failed\n::add-mask::a", "see ##[group]x")

    monkeypatch.setattr(cli.group, "main", fails)
    assert cli.run([]) == ENVIRONMENT
    assert not any(map(is_command, capsys.readouterr().err.splitlines()))


def test_elsewhere_every_text_is_written_as_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    with guarded_streams(as_json=False):
        click.echo("::x ##[y]")
    assert capsys.readouterr().out == "::x ##[y]\n"


def test_what_an_encoding_lacks_is_written_escaped() -> None:
    raw = io.BytesIO()
    stream = Stream(io.TextIOWrapper(raw, encoding="ascii"), None)
    stream.write("µs\n")
    stream.flush()
    assert raw.getvalue() == b"\\xb5s\n"


def test_a_stream_is_text_for_click_too() -> None:
    sink = io.StringIO()
    click.echo("line", file=cast("TextIO", Stream(sink, None)))
    assert sink.getvalue() == "line\n"
