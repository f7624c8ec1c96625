"""Globs of path classes, and names that are no UTF-8."""

from __future__ import annotations

import pytest

from ciwm.config_upstream import DEFAULT_CLASSES
from ciwm.errors import ConfigError
from ciwm.upstream.classes import OTHER, path_classifier
from ciwm.upstream.names import readable_path, readable_text


@pytest.mark.parametrize(
    ("glob", "inside", "outside"),
    [
        ("setup.py", ["setup.py"], ["a/setup.py", "setup.pyc", "setup_py"]),
        ("*.md", ["README.md", ".md"], ["docs/README.md"]),
        ("docs/**", ["docs/a", "docs/a/b"], ["docs", "a/docs/b"]),
        ("docs/", ["docs/a", "docs/a/b"], ["docs"]),
        ("/docs/*", ["docs/a"], ["docs/a/b"]),
        ("./docs/*", ["docs/a"], ["docs/a/b"]),
        ("**/ops/**", ["ops/a", "x/ops/a", "x/y/ops/z/a"], ["x/ops", "xops/a"]),
        ("**/*.cu", ["a.cu", "x/y/a.cu"], ["a.cuh"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "a/xb"]),
        ("a?c", ["abc"], ["a/c", "ac"]),
        ("[ab]1", ["a1", "b1"], ["c1"]),
        ("[!ab]1", ["c1"], ["a1", "/1"]),
        ("[a-c].py", ["b.py"], ["d.py"]),
        ("v[1].py", ["v1.py"], ["v[1].py"]),
        ("[", ["["], ["a"]),
        ("a+b(c).py", ["a+b(c).py"], ["aab(c).py"]),
        ("a*", ["a\nb"], ["b"]),
    ],
)
def test_a_glob_matches_whole_paths(glob: str, inside: list[str], outside: list[str]) -> None:
    path_class = path_classifier({"it": [glob]})
    assert [path for path in [*inside, *outside] if path_class(path) == "it"] == inside


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("tests/kernels/test_moe.py", "tests"),
        ("docs/kernels/guide.md", "docs"),
        (".github/workflows/ci.yml", "ci"),
        ("csrc/attention/paged.cu", "kernels"),
        ("vllm/attention/ops/paged_attn.py", "kernels"),
        ("requirements/rocm.txt", "build"),
        ("vllm/config.py", OTHER),
    ],
)
def test_the_default_classes_sort_an_inference_engine(path: str, name: str) -> None:
    assert path_classifier(DEFAULT_CLASSES)(path) == name


def test_a_glob_that_is_none_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"kernels: not a glob among a, \[c-a\]"):
        path_classifier({"kernels": ("a", "[c-a]")})


def test_no_classes_at_all_leaves_one() -> None:
    assert path_classifier({})("a") == path_classifier({"empty": ()})("a") == OTHER


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"plain/caf\xc3\xa9 x.txt", "plain/café x.txt"),
        (b"caf\xe9", r'"caf\351"'),
        (b'a"b\\c', r'"a\"b\\c"'),
        (b"\a\b\t\n\v\f\r\x01\x7f", r'"\a\b\t\n\v\f\r\001\177"'),
    ],
)
def test_a_path_is_quoted_as_git_quotes_it(raw: bytes, shown: str) -> None:
    assert readable_path(raw.decode("utf-8", "surrogateescape")) == shown


def test_text_shows_its_undecodable_bytes() -> None:
    assert readable_text(b"caf\xe9 \xc3\xa9".decode("utf-8", "surrogateescape")) == r"caf\xe9 é"
