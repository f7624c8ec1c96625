"""Values, dataclasses, registries, entry points and operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.drift.bed import drifted, told

if TYPE_CHECKING:
    from tests.integration.drift.bed import Bed

ENUM = "import enum\nclass Mode(enum.Enum):\n    RAW = 'raw'\n    OTHER = 1\n"
CONFIG = (
    "from dataclasses import dataclass\n"
    "@dataclass\n"
    "class Config:\n"
    "    size: int = 1\n"
    "    n: int = 2\n"
)


def test_an_enum_member_with_another_value_is_soft(bed: Bed) -> None:
    plugin = "from engine.a import Mode\nprint(Mode.RAW)\n"
    [found] = drifted(bed, {"a.py": ENUM}, {"a.py": ENUM.replace("'raw'", "'RAW'")}, plugin)
    assert (found.kind, found.severity) == ("enum member changed", "soft")
    assert found.detail == "was 'raw', is 'RAW'"


def test_a_member_nobody_reads_may_change(bed: Bed) -> None:
    plugin = "from engine.a import Mode\nprint(Mode.RAW)\n"
    assert drifted(bed, {"a.py": ENUM}, {"a.py": ENUM.replace("= 1", "= 2")}, plugin) == []


def test_a_field_that_is_read_and_has_another_default_is_soft(bed: Bed) -> None:
    plugin = "from engine.a import Config\ndef f(c: Config):\n    return c.size\n"
    found = drifted(bed, {"a.py": CONFIG}, {"a.py": CONFIG.replace("= 1", "= 8")}, plugin)
    assert told(found) == [("dataclass field changed", "soft", "engine.a.Config.size")]


def test_a_dataclass_of_the_plugin_that_python_would_refuse_is_hard(bed: Bed) -> None:
    old = "from dataclasses import dataclass\n@dataclass\nclass Config:\n    size: int\n"
    new = old.replace("int", "int = 1")
    plugin = (
        "from dataclasses import dataclass\nfrom engine.a import Config\n"
        "@dataclass\nclass Mine(Config):\n    own: int\n"
    )
    one_file = new.replace("Config", "C") + plugin.split("\n", 2)[2].replace("Config", "C")
    with pytest.raises(TypeError, match="non-default argument 'own'"):
        exec(one_file, {})  # noqa: S102  Python's own opinion
    [found] = drifted(bed, {"a.py": old}, {"a.py": new}, plugin)
    assert (found.kind, found.severity) == ("dataclass field changed", "hard")
    assert found.use == "plug/code.py:4"
    assert "own" in found.detail


def test_setting_a_field_that_is_gone_has_no_effect(bed: Bed) -> None:
    plugin = "from engine.a import Config\ndef f(c: Config):\n    c.size = 3\n"
    [found] = drifted(bed, {"a.py": CONFIG}, {"a.py": CONFIG.replace("size", "width")}, plugin)
    assert (found.kind, found.severity) == ("removed", "hard")
    assert "no effect" in found.detail


REGISTRY = (
    "class Registry:\n    def register(self, name, cls):\n        self.names[name] = cls\n"
    "    def load(self, name):\n        return self.names[name]\nREGISTRY = Registry()\n"
)


def test_a_registry_that_does_otherwise_with_what_is_registered_is_soft(bed: Bed) -> None:
    plugin = "from engine.a import REGISTRY\nREGISTRY.register('mine', 'plug.code:Mine')\n"
    new = REGISTRY.replace("return self", "assert name\n        return self")
    [found] = drifted(bed, {"a.py": REGISTRY}, {"a.py": new}, plugin)
    assert (found.kind, found.severity) == ("registry changed", "soft")
    assert (found.use, found.upstream) == ("plug/code.py:2", "engine/a.py:4")
    assert "Registry.load" in found.detail
    assert found.commit is not None


def test_a_decorator_that_registers_counts_as_a_registration(bed: Bed) -> None:
    plugin = "from engine.a import register\n@register('mine')\nclass Mine: ...\n"
    old = "def register(name):\n    return lambda cls: cls\n"
    drifted(bed, {"a.py": old}, {"a.py": old}, plugin)
    surface = bed.report().surface
    assert surface is not None
    assert surface.registrations >= 1


def test_an_entry_point_group_that_upstream_no_longer_loads_is_hard(bed: Bed) -> None:
    bed.release("before", {"a.py": "GROUP = 'engine.plugins'\n"})
    setup = (
        "from setuptools import setup\n"
        "setup(entry_points={'engine.plugins': ['x = plug:x'], 'console_scripts': []})\n"
    )
    bed.use({"setup.py": setup, "pyproject.toml": '[project.entry-points."engine.plugins"]\n'})
    bed.release("after", {"a.py": "GROUP = 'engine.extensions'\n"})
    found = bed.only()
    assert (found.severity, found.symbol) == ("hard", "entry point group engine.plugins")
    assert found.before == "engine/a.py:1"


NATIVE = (
    "- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
    "- func: gone(Tensor self) -> Tensor\n"
    "- func: grown(Tensor self) -> Tensor\n"
    "- func: turned(Tensor self, int dim) -> Tensor\n"
)
NEXT = (
    "- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
    "- func: grown(Tensor self, bool fast=False) -> Tensor\n"
    "- func: turned(Tensor self, int[] dim) -> Tensor\n"
)


def test_operators_are_compared_by_their_schemas(bed: Bed) -> None:
    plugin = (
        "import torch\nlib = torch.library.Library('aten', 'IMPL')\n"
        "def add(): ...\n"
        "lib.impl('gone', add)\nTABLE = (('add.Tensor', add), ('grown', add))\n"
        "torch.library.register_fake('aten::turned')\n"
    )
    files: dict[str, str | None] = {"native_functions.yaml": NEXT}
    found = drifted(bed, {"native_functions.yaml": NATIVE, "a.py": ""}, files, plugin)
    assert [(f.kind, f.severity, f.symbol, f.use) for f in found] == [
        ("removed", "hard", "operator gone", "plug/code.py:4"),
        ("operator schema changed", "hard", "operator turned", "plug/code.py:6"),
        ("operator schema changed", "soft", "operator grown", "plug/code.py:5"),
    ]
    assert found[1].before == "engine/native_functions.yaml:4"
    assert found[1].after == "engine/native_functions.yaml:3"


def test_operators_of_cpp_sources_are_compared_too(bed: Bed) -> None:
    schema = 'ops.def(\n  "norm(Tensor! out, Tensor input, "\n  "float eps) -> ()");\n'
    bed.release("before", {"a.py": "", "csrc/ops.cpp": f'{schema}ops.def("old() -> ()");\n'})
    native = 'TORCH_LIBRARY_IMPL(engine, NPU, m) {\n  m.impl("old", &old);\n}\n'
    bed.use({"csrc/mine.cpp": native, "plug/code.py": "import torch\ntorch.ops._C.norm(1, 2, 3)\n"})
    bed.release("after", {"csrc/ops.cpp": schema.replace("float eps", "float eps, bool q")})
    assert [(f.kind, f.symbol, f.use) for f in bed.findings()] == [
        ("removed", "operator old", "csrc/mine.cpp:2"),
        ("operator schema changed", "operator norm", "plug/code.py:2"),
    ]
