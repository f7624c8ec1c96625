"""Methods the plugin overrides, and functions it puts in place of upstream's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.drift.bed import drifted, told

if TYPE_CHECKING:
    from tests.integration.drift.bed import Bed

BASE = "class A:\n    def go(self, x):\n        return x\n"
MINE = "from engine.a import A\nclass Mine(A):\n    def go(self, x):\n        return 2 * x\n"
SUPER = (
    "from engine.a import A\nclass Mine(A):\n    def go(self, x):\n        return super().go(x)\n"
)


def test_an_optional_parameter_that_upstream_passes_breaks_the_override(bed: Bed) -> None:
    new = "class A:\n    def go(self, x, fast=False):\n        return x\n"
    caller = "def drive(a):\n    return a.go(1, fast=True)\n"
    [found] = drifted(bed, {"a.py": BASE}, {"a.py": new + caller}, MINE)
    assert (found.kind, found.severity) == ("override signature", "hard")
    assert (found.symbol, found.upstream) == ("engine.a.A.go", "engine/a.py:2")
    assert found.use == "plug/code.py:3"
    assert "fast" in found.detail
    assert "engine/a.py:5" in found.detail


def test_one_that_nobody_in_upstream_passes_yet_is_soft(bed: Bed) -> None:
    new = (
        "class A:\n"
        "    def go(self, x, fast=False):\n"
        "        return x\n"
        "def drive(a): return a.go(1)\n"
    )
    [found] = drifted(bed, {"a.py": BASE}, {"a.py": new}, MINE)
    assert (found.kind, found.severity) == ("override signature", "soft")


def test_one_whose_callers_are_not_in_upstream_is_hard(bed: Bed) -> None:
    new = BASE.replace("x)", "x, *, fast=False)", 1)
    [found] = drifted(bed, {"a.py": BASE}, {"a.py": new}, MINE)
    assert (found.kind, found.severity) == ("override signature", "hard")


def test_an_override_that_takes_anything_accepts_new_parameters(bed: Bed) -> None:
    plugin = (
        "from engine.a import A\n"
        "class Mine(A):\n"
        "    def go(self, *args, **kwargs):\n"
        "        return super().go(*args, **kwargs)\n"
    )
    new = BASE.replace("x)", "x, fast=False)", 1)
    assert drifted(bed, {"a.py": BASE}, {"a.py": new}, plugin) == []


def test_what_the_override_did_not_accept_at_the_pin_either_is_not_news(bed: Bed) -> None:
    old = "class A:\n    def go(self, x, y=1):\n        return x\n"
    new = "class A:\n    def go(self, x, y=1):\n        return x\n    z = 1\n"
    assert drifted(bed, {"a.py": old}, {"a.py": new}, MINE) == []


def test_a_parameter_upstream_no_longer_passes_breaks_an_override_that_needs_it(bed: Bed) -> None:
    old = "class A:\n    def go(self, x, meta):\n        return x\n"
    plugin = (
        "from engine.a import A\nclass Mine(A):\n    def go(self, x, meta):\n        return 1\n"
    )
    [found] = drifted(bed, {"a.py": old}, {"a.py": BASE}, plugin)
    assert (found.kind, found.severity) == ("override signature", "hard")
    assert found.detail.startswith("upstream no longer passes meta")


def test_a_method_that_became_a_property_breaks_its_override(bed: Bed) -> None:
    new = "class A:\n    @property\n    def go(self):\n        return 1\n"
    plugin = "from engine.a import A\nclass Mine(A):\n    def go(self):\n        return 1\n"
    old = "class A:\n    def go(self):\n        return 1\n"
    found = drifted(bed, {"a.py": old}, {"a.py": new}, plugin)
    assert told(found) == [("override signature", "hard", "engine.a.A.go")]


def test_an_override_without_an_original_is_orphaned(bed: Bed) -> None:
    [found] = drifted(bed, {"a.py": BASE}, {"a.py": "class A:\n    pass\n"}, MINE)
    assert (found.kind, found.severity) == ("orphaned override", "soft")
    assert (found.before, found.upstream) == ("engine/a.py:2", "engine/a.py:1")
    assert "nothing in upstream names go now" in found.detail


def test_one_that_calls_super_fails(bed: Bed) -> None:
    found = drifted(bed, {"a.py": BASE}, {"a.py": "class A:\n    pass\n"}, SUPER)
    assert ("orphaned override", "hard", "engine.a.A.go") in told(found)


def test_a_changed_body_makes_a_copy_stale_but_not_one_that_calls_super(bed: Bed) -> None:
    new = BASE.replace("return x", "return x + 1")
    [found] = drifted(bed, {"a.py": BASE}, {"a.py": new}, MINE)
    assert (found.kind, found.severity) == ("overridden body changed", "soft")
    bed.use({"plug/code.py": SUPER}, pin=bed.upstream.git("rev-parse", "HEAD~1"))
    assert bed.findings() == []


def test_comments_docstrings_layout_and_annotations_are_no_change_of_a_body(bed: Bed) -> None:
    new = (
        "class A:\n"
        "    # so\n"
        '    def go(self, x: "int") -> int:\n'
        '        """Doc."""\n'
        "        return (\n"
        "            x\n"
        "        )\n"
    )
    assert drifted(bed, {"a.py": BASE}, {"a.py": new}, MINE) == []


def test_every_commit_that_changed_the_body_is_named_newest_first(bed: Bed) -> None:
    bed.release("before", {"a.py": BASE})
    bed.use({"plug/code.py": MINE})
    bed.release("One (#1)", {"a.py": BASE.replace("return x", "return x + 1")})
    bed.release("Elsewhere (#2)", {"a.py": BASE.replace("return x", "return x + 1") + "y = 1\n"})
    bed.release("Three (#3)", {"a.py": BASE.replace("return x", "return x + 3")})
    found = bed.only()
    assert found.commit is not None
    assert [found.commit.pr, *(each.pr for each in found.other_commits)] == [3, 1]


def test_an_override_that_upstream_deletes_changes_what_the_plugin_inherits(bed: Bed) -> None:
    old = (
        "class Top:\n"
        "    def go(self):\n"
        "        return 1\n"
        "class A(Top):\n"
        "    def go(self):\n"
        "        return 2\n"
    )
    new = "class Top:\n    def go(self):\n        return 1\nclass A(Top):\n    pass\n"
    [found] = drifted(
        bed, {"a.py": old}, {"a.py": new}, "from engine.a import A\nclass Mine(A):\n    pass\n"
    )
    assert (found.kind, found.symbol) == ("upstream deleted an override", "engine.a.A.go")
    assert (found.before, found.after) == ("engine/a.py:5", "engine/a.py:2")


def test_overrides_reach_through_the_plugin_s_own_classes(bed: Bed) -> None:
    bed.release("before", {"a.py": BASE})
    bed.use(
        {
            "plug/middle.py": "from engine.a import A\nclass Middle(A):\n    pass\n",
            "plug/code.py": "from plug.middle import Middle\n"
            "class Mine(Middle):\n    def go(self, x): return 1\n",
        }
    )
    bed.release("after", {"a.py": "class A:\n    pass\n"})
    assert (bed.only().kind, bed.only().use) == ("orphaned override", "plug/code.py:3")


def test_a_class_made_inside_a_function_overrides_too(bed: Bed) -> None:
    plugin = (
        "def make():\n"
        "    from engine.a import A\n"
        "    class Mine(A):\n"
        "        def go(self, x): return 1\n"
        "    return Mine\n"
    )
    [found] = drifted(bed, {"a.py": BASE}, {"a.py": "class A:\n    pass\n"}, plugin)
    assert (found.kind, found.use) == ("orphaned override", "plug/code.py:4")


PATCH = "import engine.a\ndef mine(x):\n    return 0\nengine.a.run = mine\n"
RUN = "def run(x):\n    return x\n"


def test_a_patch_of_something_that_is_gone_has_no_effect(bed: Bed) -> None:
    [found] = drifted(bed, {"a.py": RUN}, {"a.py": ""}, PATCH)
    assert (found.kind, found.severity, found.use) == ("removed", "hard", "plug/code.py:4")
    assert "no effect" in found.detail


def test_a_patch_of_a_changed_body_may_be_stale(bed: Bed) -> None:
    [found] = drifted(bed, {"a.py": RUN}, {"a.py": RUN.replace("return x", "return -x")}, PATCH)
    assert (found.kind, found.severity) == ("patched body changed", "soft")


def test_a_patch_that_lacks_a_new_parameter_no_longer_stands_in(bed: Bed) -> None:
    new = "def run(x, fast=False):\n    return x\ndef drive(): return run(1, fast=True)\n"
    [found] = drifted(bed, {"a.py": RUN}, {"a.py": new}, PATCH)
    assert (found.kind, found.severity) == ("patch signature", "hard")


def test_a_patch_of_what_is_only_re_exported_now_is_bypassed(bed: Bed) -> None:
    [found] = drifted(bed, {"a.py": RUN}, {"a.py": "from .b import run\n", "b.py": RUN}, PATCH)
    assert (found.kind, found.severity, found.mend) == ("moved", "soft", "patch engine.b.run")


def test_setattr_and_class_attributes_are_patches_as_well(bed: Bed) -> None:
    plugin = (
        "import engine.a as a\nfrom engine.a import A\ndef mine(self, x): return 0\n"
        "setattr(a, 'run', mine)\nA.go = mine\n"
    )
    new = {"a.py": "class A:\n    pass\n"}
    found = drifted(bed, {"a.py": BASE + RUN}, new, plugin)
    assert {(each.symbol, each.use) for each in found} == {
        ("engine.a.run", "plug/code.py:4"),
        ("engine.a.A.go", "plug/code.py:5"),
    }


def test_a_mock_of_something_gone_fails_and_one_of_a_changed_body_does_not_matter(bed: Bed) -> None:
    bed.release("before", {"a.py": RUN + "def walk(): return 1\n"})
    test = (
        "from unittest.mock import patch\n"
        "@patch('engine.a.run')\n"
        "@patch('engine.a.walk')\n"
        "def test_it(a, b): ...\n"
    )
    bed.use({"tests/test_it.py": test})
    bed.release("after", {"a.py": "def walk(): return 2\n"})
    found = bed.only()
    assert (found.symbol, found.severity, found.in_tests) == ("engine.a.run", "hard", True)


@pytest.mark.parametrize(
    ("original", "ours", "call", "expected"),
    [
        ("x", "y", "", ("soft", "has the former name of x, which goes well by position only")),
        ("x", "y", "base.run(x=1)", ("hard", "has the former name of x")),
        ("y, x", "y, own=None", "", ("hard", "lacks the required parameter x")),
        ("y, x=None", "y, **rest", "", ("soft", "takes x by keyword only")),
        ("y, x=None", "y, **rest", "base.run(1, 2)", ("hard", "takes x by keyword only")),
        ("y, x=None", "y", "", ("hard", "lacks the optional parameter x")),
    ],
)
def test_an_override_that_takes_it_in_one_way_breaks_where_the_other_is_used(
    bed: Bed, original: str, ours: str, call: str, expected: tuple[str, str]
) -> None:
    old = {"a.py": "class Base:\n    def run(self, y): pass\n"}
    new = {"a.py": f"class Base:\n    def run(self, {original}): pass\n", "b.py": f"{call}\n"}
    plugin = f"from engine.a import Base\nclass Ours(Base):\n    def run(self, {ours}): pass\n"
    [found] = drifted(bed, old, new, plugin)
    assert (found.kind, found.severity) == ("override signature", expected[0])
    assert found.detail.startswith(expected[1])


@pytest.mark.parametrize(
    ("old", "new", "what"), [("@property\n    ", "", "method"), ("", "@property\n    ", "property")]
)
def test_a_property_that_becomes_a_method_or_the_reverse(
    bed: Bed, old: str, new: str, what: str
) -> None:
    upstream = [{"a.py": f"class Base:\n    {each}def run(self): pass\n"} for each in (old, new)]
    plugin = f"from engine.a import Base\nclass Ours(Base):\n    {old}def run(self): pass\n"
    [found] = drifted(bed, upstream[0], upstream[1], plugin)
    assert (found.severity, found.detail) == ("hard", f"the original is a {what} now")
