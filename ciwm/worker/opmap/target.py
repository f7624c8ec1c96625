"""The device that is asked about, and the plugin that brings it."""

from __future__ import annotations

import importlib
from typing import Any, List, Mapping

from ..problem import Problem
from .isolate import Limits, run_isolated

START_S = 120.0  # for a first allocation, which may load the device's libraries


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


def refuse_unusable(device: str) -> None:
    """Raise Problem where nothing can be put on the device: every operator would be in error.

    Tried in a child, since what comes after forks again.
    """
    if device.split(":", maxsplit=1)[0] == "cpu":
        return
    why: List[str] = []

    def work(_task: str, _send: Any) -> None:
        import torch

        torch.ones(1).to(device).cpu()

    def lost(_task: str, verdict: str, detail: str) -> None:
        why.append(detail if verdict == "error" else f"{verdict}: {detail}")

    run_isolated(["first tensor"], work, lambda _line: None, lost, Limits(1, 1, START_S))
    if why:
        raise Problem("failed", f"the device {device} cannot be used: {why[0]}")
