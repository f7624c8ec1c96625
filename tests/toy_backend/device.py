"""The toy device as a plugin: `import` it with its library's path in TOY_LIBRARY.

TOY_DEFECTS names kernels to replace by wrong ones (see wrong_kernels.py), TOY_REFUSE operators
that have neither kernel nor fallback, TOY_WITHOUT native kernels to leave out (mul.out); all
separated by commas.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import types
from pathlib import Path

import torch


def _module() -> types.ModuleType:
    """`torch.toy`, as far as torch asks for it."""
    module = types.ModuleType("torch.toy")
    answers: dict[str, object] = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "synchronize": lambda *_: None,
        "_is_in_bad_fork": lambda: False,
        "manual_seed_all": lambda _seed: None,
        "get_amp_supported_dtype": lambda: [torch.bfloat16],
    }
    for name, answer in answers.items():
        setattr(module, name, answer)
    return module


def _named(variable: str) -> list[str]:
    return [name for name in os.environ.get(variable, "").split(",") if name]


def _wrong_kernels() -> types.ModuleType:
    """The module beside this file, whatever this one was imported as."""
    path = Path(__file__).with_name("wrong_kernels.py")
    spec = importlib.util.spec_from_file_location("toy_wrong_kernels", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


torch.ops.load_library(os.environ["TOY_LIBRARY"])
torch.utils.rename_privateuse1_backend("toy")
torch._register_device_module("toy", _module())
torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
for _operator in _named("TOY_REFUSE"):
    torch.ops.toy.refuse(_operator)
_defects = _named("TOY_DEFECTS")
if _defects:
    _library = _wrong_kernels().plant(_defects)  # it lives as long as its registrations do


def take_fallbacks() -> dict[str, int]:
    """Operators that fell back since the last call, with counts: the device's own books."""
    lines = torch.ops.toy.take_fallbacks().splitlines()
    return {name: int(count) for name, count in (line.rsplit(" ", 1) for line in lines)}
