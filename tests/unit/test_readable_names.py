"""Names of any bytes made readable, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ciwm.upstream.names import raw_path, readable_path


@given(st.binary(min_size=1, max_size=20))
def test_a_readable_path_leads_back_to_its_bytes(name: bytes) -> None:
    path = name.decode("utf-8", "surrogateescape")
    assert raw_path(readable_path(path)) == path


@pytest.mark.parametrize(
    ("path", "readable"),
    [("a b/ü.py", "a b/ü.py"), ('say "x"', '"say \\"x\\""'), ("b\udcff\n", '"b\\377\\n"')],
)
def test_only_what_needs_quotes_gets_them(path: str, readable: str) -> None:
    # as `git ls-files` prints them with core.quotePath=false, and ÿ of Latin-1 in octal
    assert readable_path(path) == readable
    assert raw_path(readable) == path
