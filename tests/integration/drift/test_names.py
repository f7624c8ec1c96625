"""Names that are gone at the target, and names that only seem to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.drift.bed import drifted, told

if TYPE_CHECKING:
    from tests.integration.drift.bed import Bed

FUNCTION = "def run(x):\n    return x\n"


def test_an_imported_function_that_is_gone_is_removed(bed: Bed) -> None:
    [found] = drifted(
        bed, {"a.py": f"\n{FUNCTION}"}, {"a.py": "y = 1\n"}, "\nfrom engine.a import run\n"
    )
    assert (found.kind, found.severity, found.symbol) == ("removed", "hard", "engine.a.run")
    assert (found.upstream, found.before, found.after) == ("engine/a.py:2", "engine/a.py:2", "")
    assert found.use == "plug/code.py:2"
    assert found.commit is not None
    assert (found.commit.subject, found.commit.pr) == ("Change it (#42)", 42)
    assert "engine.a.run" in found.mend


def test_one_that_went_to_another_module_is_moved(bed: Bed) -> None:
    [found] = drifted(
        bed, {"a.py": FUNCTION}, {"a.py": "", "b.py": f"\n\n{FUNCTION}"}, "from engine.a import run"
    )
    assert (found.kind, found.upstream) == ("moved", "engine/b.py:3")
    assert found.mend == "import engine.b.run"


def test_a_move_that_leaves_a_re_export_behind_is_no_finding(bed: Bed) -> None:
    new = {"a.py": "from .b import run\n", "b.py": FUNCTION}
    assert drifted(bed, {"a.py": FUNCTION}, new, "from engine.a import run\nrun(1)\n") == []


def test_a_re_export_for_type_checkers_alone_does_not_help_at_run_time(bed: Bed) -> None:
    hidden = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .b import run\n"
    old = {"a.py": "from .b import run\n", "b.py": FUNCTION}
    [found] = drifted(bed, old, {"a.py": hidden}, "from engine.a import run\n")
    assert (found.kind, found.symbol, found.upstream) == ("moved", "engine.a.run", "engine/b.py:1")


@pytest.mark.parametrize(
    ("exports", "gone"),
    [("", True), ("__all__ = ['run']\n", False), ("__all__ = ['other']\nother = 1\n", True)],
)
def test_star_imports_bring_what_all_says_else_what_is_public(
    bed: Bed, exports: str, *, gone: bool
) -> None:
    old = {"a.py": "from .b import *\n", "b.py": FUNCTION}
    new = {"b.py": f"{exports}{FUNCTION if exports else 'def _run(x): return x'}"}
    found = drifted(bed, old, new, "from engine.a import run\n")
    assert bool(found) is gone


def test_a_lazy_import_in_a_function_counts(bed: Bed) -> None:
    plugin = "def later():\n    from engine.a import run\n    return run\n"
    [found] = drifted(bed, {"a.py": FUNCTION}, {"a.py": ""}, plugin)
    assert (found.use, found.guard) == ("plug/code.py:2", "")


def test_an_attribute_chain_is_followed_through_modules_and_classes(bed: Bed) -> None:
    old = {"deep/__init__.py": "", "deep/a.py": "class A:\n    class B:\n        size = 1\n"}
    plugin = "import engine.deep.a as here\nprint(here.A.B.size)\n"
    [found] = drifted(bed, old, {"deep/a.py": "class A:\n    class B:\n        pass\n"}, plugin)
    assert (found.symbol, found.upstream) == ("engine.deep.a.A.B.size", "engine/deep/a.py:3")


def test_attributes_of_annotated_parameters_and_made_objects_are_followed(bed: Bed) -> None:
    config = "class Inner:\n    size: int = 1\nclass Config:\n    inner: 'Inner | None' = None\n"
    plugin = (
        "from engine.a import Config\n"
        "def one(config: Config):\n    return config.inner.size\n"
        "def two():\n    config = Config()\n    part = config.inner\n    return part.size\n"
    )
    [found] = drifted(bed, {"a.py": config}, {"a.py": config.replace("size", "width")}, plugin)
    assert (found.symbol, found.use_count) == ("engine.a.Inner.size", 2)
    assert found.uses == ("plug/code.py:3", "plug/code.py:7")


def test_a_parameter_that_hides_a_module_is_not_that_module(bed: Bed) -> None:
    plugin = "from engine import a\ndef f(a):\n    return a.run\n"
    assert drifted(bed, {"a.py": FUNCTION}, {"a.py": ""}, plugin) == []


def test_inherited_attributes_are_looked_up_in_the_order_of_python(bed: Bed) -> None:
    old = "class Left:\n    pass\nclass Right:\n    def __init__(self):\n        self.size = 1\n"
    plugin = (
        "from engine.a import Left, Right\nclass Mine(Left, Right):\n"
        "    def f(self):\n        return self.size\n"
    )
    [found] = drifted(bed, {"a.py": old}, {"a.py": old.replace("size", "length")}, plugin)
    assert (found.kind, found.symbol) == ("removed", "engine.a.Right.size")


def test_what_moved_up_to_a_base_is_still_there(bed: Bed) -> None:
    old = "class Base:\n    pass\nclass A(Base):\n    def go(self):\n        return 1\n"
    new = "class Base:\n    def go(self):\n        return 1\nclass A(Base):\n    pass\n"
    plugin = "from engine.a import A\nclass Mine(A):\n    def f(self):\n        return self.go()\n"
    found = drifted(bed, {"a.py": old}, {"a.py": new}, plugin)
    assert told(found) == [("upstream deleted an override", "soft", "engine.a.A.go")] or not found


def test_a_class_that_makes_attributes_on_demand_is_not_judged(bed: Bed) -> None:
    old = "class A:\n    size = 1\n"
    new = "class A:\n    def __getattr__(self, name):\n        return 1\n"
    plugin = "from engine.a import A\ndef f(a: A):\n    return a.size\n"
    assert drifted(bed, {"a.py": old}, {"a.py": new}, plugin) == []
    assert any("on demand" in spot.what for spot in bed.report().unseen) is False


def test_a_name_that_a_lazy_module_no_longer_lists_is_gone(bed: Bed) -> None:
    lazy = "_NAMES = {'run': '.b', 'walk': '.b'}\ndef __getattr__(name):\n    return _NAMES[name]\n"
    plugin = "from engine.a import run, walk\n"
    found = drifted(bed, {"a.py": lazy}, {"a.py": lazy.replace("'run': '.b', ", "")}, plugin)
    assert told(found) == [("removed", "hard", "engine.a.run")]


def test_an_enum_that_became_a_literal_has_no_members_any_more(bed: Bed) -> None:
    old = "import enum\nclass Mode(enum.Enum):\n    RAW = 'raw'\n"
    new = "from typing import Literal\nMode = Literal['raw']\n"
    plugin = "from engine.a import Mode\nprint(Mode.RAW)\n"
    found = drifted(bed, {"a.py": old}, {"a.py": new}, plugin)
    assert told(found) == [("removed", "hard", "engine.a.Mode.RAW")]


def test_a_narrowed_name_may_be_the_class_it_was_narrowed_to(bed: Bed) -> None:
    old = "class A:\n    size = 1\nclass B:\n    size = 1\n"
    plugin = (
        "from engine.a import A, B\ndef f(a: A):\n    assert isinstance(a, B)\n    return a.size\n"
    )
    new = {"a.py": "class A:\n    pass\nclass B:\n    size = 1\n"}
    assert drifted(bed, {"a.py": old}, new, plugin) == []


def test_a_name_in_an_except_clause_or_version_branch_is_soft_and_says_why(bed: Bed) -> None:
    plugin = (
        "try:\n    from engine.a import run\nexcept ImportError:\n    run = None\n"
        "if version_is('1'):\n    from engine.a import walk\n"
        "else:\n    from engine.a import jump\n"
        "import engine.a\nprint(getattr(engine.a, 'hop', None))\n"
    )
    old = {"a.py": "run = walk = jump = hop = 1\n"}
    found = {each.symbol[9:]: each for each in drifted(bed, old, {"a.py": ""}, plugin)}
    assert found["run"].severity == "soft"
    assert "except" in found["run"].guard
    assert found["walk"].severity == "soft"
    assert "version_is('1')" in found["walk"].guard
    assert found["hop"].severity == "soft"
    assert (found["jump"].severity, found["jump"].guard) == ("hard", "")


def test_an_alternative_that_works_at_the_target_is_enough_for_what_follows(bed: Bed) -> None:
    plugin = (
        "try:\n    from engine.b import run\nexcept ImportError:\n    from engine.a import run\n"
        "run(1)\n"
    )
    new = {"a.py": "", "b.py": FUNCTION}
    found = drifted(bed, {"a.py": FUNCTION}, new, plugin)
    assert [(each.severity, each.use) for each in found] == [("soft", "plug/code.py:4")]


def test_a_dotted_string_names_something_too(bed: Bed) -> None:
    plugin = (
        "WORKER = 'engine.a.Worker'\nREGISTRY = {'x': 'engine.a:Worker'}\nTEXT = 'engine.a b'\n"
    )
    found = drifted(bed, {"a.py": "class Worker: pass\n"}, {"a.py": ""}, plugin)
    assert [(each.symbol, each.use_count) for each in found] == [("engine.a.Worker", 2)]


def test_a_module_that_is_gone_is_named_with_each_thing_imported_from_it(bed: Bed) -> None:
    plugin = "import engine.a\nfrom engine.a import run\n"
    found = drifted(bed, {"a.py": FUNCTION, "x.py": ""}, {"a.py": None}, plugin)
    assert {each.symbol for each in found} == {"engine.a", "engine.a.run"}
    assert all(each.commit and each.commit.pr == 42 for each in found)


def test_uses_of_the_plugin_s_own_re_exports_are_followed(bed: Bed) -> None:
    bed.release("before", {"a.py": "class A:\n    size = 1\n"})
    bed.use(
        {
            "plug/names.py": "from engine.a import A\n",
            "plug/code.py": "from .names import A\nA.size\n",
        }
    )
    bed.release("after", {"a.py": "class A:\n    pass\n"})
    found = bed.only()
    assert (found.symbol, found.use) == ("engine.a.A.size", "plug/code.py:2")


def test_nothing_is_said_of_what_the_pin_did_not_have_either(bed: Bed) -> None:
    bed.release("before", {"a.py": ""})
    bed.use({"plug/code.py": "from engine.a import missing\n"})
    bed.release("after", {"a.py": "x = 1\n"})
    report = bed.report()
    assert report.drift == ()
    spots = {spot.what: spot for spot in report.unseen}
    assert spots["imports that the pin does not have either"].examples == ("plug/code.py:1",)


@pytest.mark.parametrize(
    "init", ["from . import a\n", "from engine import a\n", "from . import a as a\n"]
)
def test_a_package_that_imports_its_own_module_hides_nothing_of_it(bed: Bed, init: str) -> None:
    old = {"__init__.py": init, "a.py": f"{FUNCTION}def kept(): pass\n"}
    plugin = "import engine.a\nfrom engine.a import kept, run\nengine.a.run(1)\n"
    [found] = drifted(bed, old, {"a.py": "def kept(): pass\n"}, plugin)
    assert (found.kind, found.severity, found.symbol) == ("removed", "hard", "engine.a.run")
    assert found.uses == ("plug/code.py:2", "plug/code.py:3")


def test_a_function_named_like_its_module_is_what_the_package_has(bed: Bed) -> None:
    old = {"__init__.py": "from .run import run\n", "run.py": FUNCTION}
    new = {"run.py": "def run(x, y):\n    return x\n"}
    [found] = drifted(bed, old, new, "import engine\nengine.run(1)\n")
    assert (found.kind, found.symbol) == ("call no longer binds", "engine.run.run")
