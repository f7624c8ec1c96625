"""The accelerators that torch names, whatever they are: asked where the framework is installed."""

from __future__ import annotations

import importlib
from typing import Any, Optional

from .journal import Journal


def run(journal: Journal) -> None:
    """Write down each device of the type that torch runs on; none where that is the CPU."""
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError:
        return
    accelerator = getattr(torch, "accelerator", None)  # torch >= 2.6
    if accelerator is None or not accelerator.is_available():
        return
    kind = str(accelerator.current_accelerator().type)
    module = getattr(torch, kind, None)
    for index in range(accelerator.device_count()):
        properties = _properties(module, index)
        journal.write(
            "accelerator",
            index=index,
            type=kind,
            name=str(getattr(properties, "name", "") or _name(module, index) or kind),
            memory_bytes=_memory(properties),
            driver=_text(getattr(properties, "driver_version", None)),
        )


def _properties(module: Any, index: int) -> Any:
    try:
        return module.get_device_properties(index)
    except (AttributeError, RuntimeError, TypeError, NotImplementedError):
        return None


def _name(module: Any, index: int) -> str:
    try:
        return str(module.get_device_name(index))
    except (AttributeError, RuntimeError, TypeError, NotImplementedError):
        return ""


def _memory(properties: Any) -> Optional[int]:
    total = getattr(properties, "total_memory", None)
    return int(total) if isinstance(total, (int, float)) else None


def _text(value: Any) -> Optional[str]:
    return None if value is None else str(value)
