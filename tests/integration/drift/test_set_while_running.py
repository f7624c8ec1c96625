"""Names that no definition shows and that are there all the same are not called removed."""

from __future__ import annotations

from textwrap import dedent, indent
from typing import TYPE_CHECKING

import pytest

from tests.integration.drift.bed import drifted, told

if TYPE_CHECKING:
    from tests.integration.drift.bed import Bed

IN_A_CLASS = {
    "under a computed name": """
        def __init__(self, **given):
            for key, value in given.items():
                setattr(self, key, value)
        """,
    "as buffers under computed names": """
        def __init__(self, **given):
            for key, value in given.items():
                self.register_buffer(key, value)
        """,
    "in the dictionary of an object": """
        def __init__(self, **given):
            self.__dict__.update(given)
        """,
    "by the setter of object": """
        def __init__(self):
            object.__setattr__(self, "x", 1)
        """,
    "behind a star": """
        def __init__(self):
            (first, [second, *self.x]) = 1, [2]
        """,
    "in a function within": """
        def __init__(self):
            def load():
                self.x = 1
            load()
        """,
    "on an object that was just made": """
        @classmethod
        def make(cls):
            made = cls.__new__(cls)
            made.x = 1
            return made
        """,
    "on itself by another name": """
        def __init__(self):
            this = self
            this.x = 1
        """,
    "in a slot": '__slots__ = ("x",)\n',
}
IN_A_MODULE = {
    "by a walrus": "if (x := 3): pass\n",
    "by a pattern": "match [3]:\n    case [x]: pass\n",
    "by the rest of a pattern": "match {}:\n    case {**x}: pass\n",
    "behind a star": "a, *x = [1, 2]\n",
    "among its globals": "for name in ('x',):\n    globals()[name] = 1\n",
    "in a function": "def load():\n    global x\n    x = 1\n",
    "by setattr": "import sys\nsetattr(sys.modules[__name__], 'x', 1)\n",
    "by another object in its place": "import sys\nsys.modules[__name__] = object()\n",
}


@pytest.mark.parametrize("how", IN_A_CLASS)
def test_an_attribute_that_a_class_sets_while_running_is_not_removed(bed: Bed, how: str) -> None:
    old = {"a.py": "class Base:\n    def __init__(self):\n        self.x = 1\n"}
    new = {"a.py": f"class Base:\n{indent(dedent(IN_A_CLASS[how]), '    ')}"}
    plugin = """
    from engine.a import Base
    class Ours(Base):
        def run(self):
            return self.x
    """
    assert told(drifted(bed, old, new, dedent(plugin))) == []


@pytest.mark.parametrize("how", IN_A_MODULE)
def test_a_name_that_a_module_binds_while_running_is_not_removed(bed: Bed, how: str) -> None:
    plugin = "from engine.a import x\n"
    assert told(drifted(bed, {"a.py": "x = 1\n"}, {"a.py": IN_A_MODULE[how]}, plugin)) == []


def test_what_is_set_under_other_names_hides_no_removal(bed: Bed) -> None:
    old = {"a.py": "class Base:\n    def __init__(self):\n        self.x = self.y = 1\nz = 1\n"}
    new = {
        "a.py": "class Base:\n    def __init__(self, other):\n"
        "        setattr(self, 'y', 1)\n        setattr(other, 'x', 1)\n        other.x = 1\n"
        "globals()['w'] = 1\n"
    }
    plugin = "from engine.a import Base, z\nclass Ours(Base):\n    def f(self):\n        self.x\n"
    assert told(drifted(bed, old, new, plugin)) == [
        ("removed", "hard", "engine.a.Base.x"),
        ("removed", "hard", "engine.a.z"),
    ]


def test_what_is_put_on_a_class_after_its_body_is_its_own(bed: Bed) -> None:
    old = {"a.py": "class Base:\n    x = 1\n    def f(self): pass\n"}
    new = {"a.py": "class Base: pass\nBase.x = 1\ndef f(self): pass\nsetattr(Base, 'f', f)\n"}
    plugin = "from engine.a import Base\nBase.x\nBase().f()\n"
    assert told(drifted(bed, old, new, plugin)) == []


@pytest.mark.parametrize("has", ["def __getattr__(cls, name): return 1", "x = 1"])
def test_a_class_has_what_its_metaclass_gives_it(bed: Bed, has: str) -> None:
    new = {"a.py": f"class Meta(type):\n    {has}\nclass Base(metaclass=Meta): pass\n"}
    old = {"a.py": "class Base:\n    x = 1\n"}
    assert told(drifted(bed, old, new, "from engine.a import Base\nBase.x\n")) == []


@pytest.mark.parametrize("name", ["fast.pyx", "fast.cpython-311-x86_64-linux-gnu.so"])
def test_a_module_that_is_compiled_now_is_not_removed(bed: Bed, name: str) -> None:
    old = {"fast.py": "def run(x): pass\n"}
    new = {"fast.py": None, name: "cpdef run(x): pass\n"}
    assert told(drifted(bed, old, new, "from engine.fast import run\n")) == []
