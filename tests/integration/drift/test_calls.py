"""Calls that bind at the pin, and what becomes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.drift.bed import drifted, told

if TYPE_CHECKING:
    from tests.integration.drift.bed import Bed

DATACLASS = "from dataclasses import dataclass, field\n@dataclass\nclass C:\n"


@pytest.mark.parametrize(
    ("old", "new", "call"),
    [
        ("def f(a, b=1): ...", "def f(a): ...", "f(1, b=2)"),
        ("def f(a): ...", "def f(a, b): ...", "f(1)"),
        ("def f(a): ...", "def f(a, *, b): ...", "f(1)"),
        ("def f(a, b): ...", "def f(a): ...", "f(1, 2)"),
        ("def f(a, b): ...", "def f(x, b): ...", "f(b=1, a=2)"),
        ("def f(a, b): ...", "def f(b, a=1): ...", "f(1, b=2)"),
        ("def f(a, b): ...", "def f(a, /, b): ...", "f(a=1, b=2)"),
        ("class f:\n    def __init__(self, a): ...", "class f:\n    pass", "f(1)"),
        (f"{DATACLASS}    a: int\nf = C", f"{DATACLASS}    a: int\n    b: int\nf = C", "f(1)"),
        (f"{DATACLASS}    a: int\nf = C", f"{DATACLASS}    z: int\nf = C", "f(a=1)"),
    ],
)
def test_a_call_that_python_would_refuse_at_the_target_is_hard(
    bed: Bed, old: str, new: str, call: str
) -> None:
    for source in (old, new):  # Python itself is the second opinion
        names: dict[str, object] = {}
        exec(source, names)  # noqa: S102  the test's own text
        if source is old:
            eval(call, names)  # noqa: S307
        else:
            with pytest.raises(TypeError):
                eval(call, names)  # noqa: S307
    found = drifted(bed, {"a.py": old}, {"a.py": new}, f"from engine.a import f\n{call}\n")
    assert [(each.kind, each.severity) for each in found] == [("call no longer binds", "hard")]
    assert found[0].use == "plug/code.py:2"


@pytest.mark.parametrize(
    ("old", "new", "call"),
    [
        ("def f(a): ...", "def f(a, b=1): ...", "f(1)"),
        ("def f(a, b): ...", "def f(a, *rest): ...", "f(1, 2)"),
        ("def f(a, b): ...", "def f(a, c): ...", "f(1, 2)"),
        ("def f(a, b=1): ...", "def f(a, **more): ...", "f(1, b=2)"),
        ("def f(a): ...", "def f(a, b): ...", "f(*[1, 2])"),
        ("def f(a): ...", "def f(a, b): ...", "f(1, **{'b': 2})"),
        (f"{DATACLASS}    a: int\nf = C", f"{DATACLASS}    a: int\n    b: int = 1\nf = C", "f(1)"),
        (
            f"{DATACLASS}    a: int\nf = C",
            f"{DATACLASS}    a: int\n    b: int = field(init=False)\nf = C",
            "f(1)",
        ),
        ("def f(a, b=1): ...", "def f(a, *, b=1): ...", "f(1, b=2)"),
    ],
)
def test_a_call_that_still_binds_is_no_finding(bed: Bed, old: str, new: str, call: str) -> None:
    assert drifted(bed, {"a.py": old}, {"a.py": new}, f"from engine.a import f\n{call}\n") == []


def test_a_required_field_behind_field_without_a_default_must_be_given(bed: Bed) -> None:
    old = f"{DATACLASS}    a: int\n"
    new = f"{DATACLASS}    a: int\n    b: list = field(repr=False)\n"
    [found] = drifted(bed, {"a.py": old}, {"a.py": new}, "from engine.a import C\nC(1)\n")
    assert found.detail == "missing a required argument: 'b'"


def test_methods_are_bound_without_self_and_constructors_through_super(bed: Bed) -> None:
    old = (
        "class A:\n    def __init__(self, x): ...\n    def go(self, y): ...\n"
        "    @staticmethod\n    def still(z): ...\n    @classmethod\n    def made(cls, w): ...\n"
    )
    plugin = (
        "from engine.a import A\nclass Mine(A):\n"
        "    def __init__(self):\n        super().__init__(1)\n        self.go(2)\n"
        "A.still(3)\nA.made(4)\n"
    )
    new = old.replace("x):", "x, n):").replace("y):", "y, n):")
    new = new.replace("z):", "z, n):").replace("w):", "w, n):")
    found = drifted(bed, {"a.py": old}, {"a.py": new}, plugin)
    calls = {each.symbol: each.use for each in found if each.kind == "call no longer binds"}
    assert calls == {
        "engine.a.A": "plug/code.py:4",
        "engine.a.A.go": "plug/code.py:5",
        "engine.a.A.still": "plug/code.py:6",
        "engine.a.A.made": "plug/code.py:7",
    }


def test_a_positional_argument_that_means_something_else_is_hard(bed: Bed) -> None:
    [found] = drifted(
        bed,
        {"a.py": "def f(size, step=1): ..."},
        {"a.py": "def f(step=1, size=2): ..."},
        "from engine.a import f\nf(8)\n",
    )
    assert (found.kind, found.severity) == ("call no longer binds", "hard")
    assert found.detail == "argument 1 was size and is step"


def test_a_default_that_the_call_relies_on_is_soft_and_one_it_gives_is_nothing(bed: Bed) -> None:
    found = drifted(
        bed,
        {"a.py": "def f(a, mode='fast'): ...\ndef g(a, mode='fast'): ..."},
        {"a.py": "def f(a, mode='safe'): ...\ndef g(a, mode='safe'): ..."},
        "from engine.a import f, g\nf(1)\ng(1, mode='fast')\n",
    )
    assert told(found) == [("default changed", "soft", "engine.a.f(mode)")]
    assert found[0].detail == "mode was 'fast' by default and is 'safe'"


def test_overloads_are_stubs_and_branches_are_alternatives(bed: Bed) -> None:
    old = "def f(a, b): ...\n"
    new = (
        "from typing import overload\n@overload\ndef f(a: int): ...\n"
        "@overload\ndef f(a: str): ...\n"
        "def f(a, b=1): ...\n"
    )
    branches = (
        "import sys\n"
        "if sys.version_info > (3, 12):\n"
        "    def g(a): ...\n"
        "else:\n"
        "    def g(a, b): ...\n"
    )
    old_g = "def g(a, b): ...\n"
    found = drifted(
        bed,
        {"a.py": old + old_g},
        {"a.py": new + branches},
        "from engine.a import f, g\nf(1, 2)\ng(1, 2)\n",
    )
    assert found == []


def test_a_torch_module_is_called_by_its_forward(bed: Bed) -> None:
    old = "import torch.nn as nn\nclass Layer(nn.Module):\n    def forward(self, x, meta): ...\n"
    plugin = (
        "from engine.a import Layer\nclass Model:\n    def __init__(self):\n"
        "        self.layer = Layer()\n    def run(self, x):\n        return self.layer(x, None)\n"
    )
    found = drifted(bed, {"a.py": old}, {"a.py": old.replace("x, meta", "x")}, plugin)
    assert [(f.kind, f.use) for f in found] == [("call no longer binds", "plug/code.py:6")]


def test_a_decorator_that_is_new_may_give_the_argument_that_is_new(bed: Bed) -> None:
    old = {"a.py": "def run(x): pass\n"}
    new = {"a.py": "import click\n@click.pass_context\ndef run(context, x): pass\n"}
    [found] = drifted(bed, old, new, "from engine.a import run\nrun(1)\n")
    assert (found.kind, found.severity) == ("call no longer binds", "soft")
    assert found.detail == (
        "missing a required argument: 'x', unless @click.pass_context, which is new, sees to it"
    )


@pytest.mark.parametrize("decorator", ["functools.lru_cache(maxsize=None)", "torch.no_grad()"])
def test_a_decorator_that_passes_arguments_on_excuses_nothing(bed: Bed, decorator: str) -> None:
    new = {"a.py": f"import functools, torch\n@{decorator}\ndef run(x, y): pass\n"}
    [found] = drifted(
        bed, {"a.py": "def run(x): pass\n"}, new, "from engine.a import run\nrun(1)\n"
    )
    assert (found.kind, found.severity) == ("call no longer binds", "hard")


def test_a_decorator_that_was_there_before_excuses_nothing(bed: Bed) -> None:
    sources = (f"@wrapped\ndef run({given}): pass\n" for given in ("x", "x, y"))
    old, new = ({"a.py": f"def wrapped(f): return f\n{source}"} for source in sources)
    [found] = drifted(bed, old, new, "from engine.a import run\nrun(1)\n")
    assert (found.kind, found.severity) == ("call no longer binds", "hard")
