"""Loading a workload's callable, and what it may look like.

`file.py:step` is a function, called once an iteration. With a `setup` in the same file,
`state = setup(**params)` is called once, untimed, and `step(state)` is timed; without one,
`step(**params)` is. A `teardown` there is called at the end with the arguments of `step`.

`file.py:Class.step` is a method. `Class(**params)` is made once, untimed, and `.step()` is timed;
its `teardown()`, if it has one, is called at the end. An object that does its work several times a
step says how often in `calls_per_step`; times are those of one.

With an `inputs` beside the step (`inputs(state)` after a setup, `inputs(**params)` without, or a
method of the class), what it returns is gone through round by round: each call of the step gets the
next one as its last positional argument.

A step returns nothing, or a number or tensor that must be finite, or a mapping of metric to number.
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
import os
import sys
from types import ModuleType
from typing import Any, Callable, Dict, Iterator, NamedTuple, Optional, Tuple

from .problem import Problem


class Prepared(NamedTuple):
    """Steps without end, ready to be called without arguments, and what ends them."""

    steps: Iterator[Callable[[], Any]]
    teardown: Callable[[], Any]
    calls: int = 1  # of the work in one step: a time is divided by it

    @property
    def step(self) -> Callable[[], Any]:
        """The next step, for whoever calls it but once, or always with the same input."""
        return next(self.steps)


def load_module(path: str) -> ModuleType:
    """The workload's module, under its own name unless that would hide another module."""
    stem = os.path.splitext(os.path.basename(path))[0]
    name = stem if _is_free(stem, path) else "_ciwm_workload_" + stem
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Problem("failed", f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _is_free(stem: str, path: str) -> bool:
    """Whether `import stem` means this very file: its folder is last on sys.path."""
    if stem in sys.modules or not stem.isidentifier():
        return False
    try:
        spec = importlib.util.find_spec(stem)
    except (ImportError, ValueError):
        return False
    return spec is None or os.path.realpath(spec.origin or "") == os.path.realpath(path)


def prepare(module: ModuleType, name: str, params: Dict[str, Any]) -> Prepared:
    """Set a workload up for one set of parameters."""
    holder_name, _, step_name = name.rpartition(".")
    if not holder_name:
        return _prepare_function(module, _found(module, name), params)
    holder = _found(module, holder_name)
    if not isinstance(holder, type):
        raise Problem("failed", f"{holder_name} in {module.__file__} is not a class")
    made = holder(**params)
    step, inputs = _found(made, step_name), getattr(made, "inputs", None)
    teardown = getattr(made, "teardown", _nothing)
    return Prepared(_rotated(step, inputs, ()), teardown, _calls(made))


def _calls(made: Any) -> int:
    calls = getattr(made, "calls_per_step", 1)
    if not isinstance(calls, int) or isinstance(calls, bool) or calls < 1:
        raise Problem("invalid", f"calls_per_step is {calls!r}, not a count")
    return calls


def _prepare_function(module: ModuleType, step: Any, params: Dict[str, Any]) -> Prepared:
    if isinstance(step, type):
        raise Problem("failed", f"{step.__name__} is a class: name its method too, as Class.step")
    setup: Optional[Callable[..., Any]] = getattr(module, "setup", None)
    teardown: Callable[..., Any] = getattr(module, "teardown", _nothing)
    inputs: Optional[Callable[..., Any]] = getattr(module, "inputs", None)
    if setup is not None and setup is not step:
        state = setup(**params)
        return Prepared(_rotated(step, inputs, (state,)), functools.partial(teardown, state))
    if params:
        step = functools.partial(step, **params)
        inputs = functools.partial(inputs, **params) if inputs is not None else None
    return Prepared(_rotated(step, inputs, ()), functools.partial(teardown, **params))


def _rotated(step: Any, inputs: Optional[Callable[..., Any]], given: Tuple[Any, ...]) -> Any:
    """The step with each of its inputs, round by round; made beforehand, at no cost to the call."""
    if inputs is None:
        return itertools.repeat(functools.partial(step, *given) if given else step)
    each = list(inputs(*given))
    if not each:
        raise Problem("failed", "inputs gave nothing to call the step with")
    return itertools.cycle([functools.partial(step, *given, one) for one in each])


def _found(holder: Any, dotted: str) -> Any:
    found = holder
    for part in dotted.split("."):
        if not hasattr(found, part):
            where = getattr(holder, "__file__", type(holder).__name__)
            raise Problem("failed", f"there is no {dotted} in {where}")
        found = getattr(found, part)
    if not callable(found):
        raise Problem("failed", f"{dotted} is not callable")
    return found


def _nothing(*_state: Any, **_params: Any) -> None:
    """No teardown."""
