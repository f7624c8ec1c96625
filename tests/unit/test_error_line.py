"""The one line that says why a build failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ciwm.error_line import error_line, error_place
from ciwm.launch.tail import failed_lines

if TYPE_CHECKING:
    from pathlib import Path

PIP = """  error: subprocess-exited-with-error
  × Building editable for tiny (pyproject.toml) did not run successfully.
  │ exit code: 1
  ╰─> [3 lines of output]
      usage: setup.py [global_opts] cmd1 [cmd1_opts]
      error: invalid command 'bdist_wheel'
      [end of output]
  note: This error originates from a subprocess, and is likely not a problem with pip.
error: metadata-generation-failed
note: This is an issue with the package mentioned above, not pip.
hint: See above for details."""


@pytest.mark.parametrize(
    ("log", "tells"),
    [
        (PIP, "error: invalid command 'bdist_wheel'"),
        ("cc -c a.c\na.c:3:1: error: unknown type name 'x'\nmake: *** [a.o] Error 1", "a.c:3:1"),
        ("Traceback\n  x\nModuleNotFoundError: No module named 'torch'\nbye", "ModuleNotFound"),
        ("sh: 1: cmaek: not found", "sh: 1: cmaek: not found"),
        ("gcc -Werror a.c\na.o: undefined reference to `f'\ncollect2: error: ld", "a.o: undefined"),
        ("error[E0308]: mismatched types\nerror: could not compile", "error[E0308]"),
        ("src.cu(3): error: expected a ;", "src.cu(3)"),
        ("one\ntwo", "two"),
        ("0 errors, warnings: 3\nlast", "last"),
        ("", ""),
    ],
)
def test_the_first_line_that_tells_an_error_of_its_own_is_the_reason(log: str, tells: str) -> None:
    assert error_line(log.splitlines()).startswith(tells)


def test_an_error_before_the_last_lines_stands_on_top_of_them(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("a.c:1: error: x\n" + "".join(f"{n}\n" for n in range(100)))
    assert failed_lines(log, 4) == ("a.c:1: error: x", "[...]", "98", "99")
    assert failed_lines(log, 200)[0] == "a.c:1: error: x"
    assert len(failed_lines(log, 200)) == 101


PYTHON = """Traceback (most recent call last):
  File "setup.py", line 12, in <module>
    import tools.version
  File "/build/7f/tools/version.py", line 3, in <module>
    import torhc
ModuleNotFoundError: No module named 'torhc'"""


@pytest.mark.parametrize(
    ("log", "place"),
    [
        ("cc -c a.c\ncsrc/a.c:3:1: error: unknown type name 'x'", ("csrc/a.c", 3)),
        ("a.c:7: error: x", ("a.c", 7)),
        ("src/k.cu(31): error: expected a ;", ("src/k.cu", 31)),
        ("error[E0308]: mismatched types\n  --> src/lib.rs:3:5\n", ("src/lib.rs", 3)),
        (PYTHON, ("/build/7f/tools/version.py", 3)),
        ("sh: 1: cmaek: not found", None),
        ("a.o: undefined reference to `f'", None),
        ("fatal: error: 12", None),
        ("", None),
    ],
)
def test_the_place_of_an_error_is_as_its_tool_tells_it(
    log: str, place: tuple[str, int] | None
) -> None:
    assert error_place(log.splitlines()) == place
