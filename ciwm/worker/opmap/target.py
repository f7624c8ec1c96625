"""The device that is asked about, and the plugin that brings it."""

from __future__ import annotations

import importlib
from typing import Any, Mapping

from ..problem import Problem


def load_plugins(options: Mapping[str, Any]) -> None:
    """Import what registers the device (`imports`); PyTorch loads installed plugins by itself.

    Raises Problem for one that cannot be imported.
    """
    for name in options.get("imports", ()):
        try:
            importlib.import_module(name)
        except Exception as error:
            words = f"{type(error).__name__}: {error}"
            raise Problem(
                "failed", f"cannot import {name}, which brings the device: {words}"
            ) from error


def device_of(options: Mapping[str, Any]) -> str:
    """The device's name; `auto` is this build's accelerator, or the CPU where it has none.

    The device itself is not touched: a context made here would be useless in a forked child.
    """
    import torch

    stated = str(options.get("device") or "auto")
    if stated != "auto":
        try:
            return str(torch.device(stated))
        except RuntimeError:
            raise Problem("invalid", f"this PyTorch knows no device {stated!r}") from None
    accelerator = getattr(torch, "accelerator", None)
    found = accelerator.current_accelerator() if accelerator is not None else None
    return "cpu" if found is None else str(found.type)
