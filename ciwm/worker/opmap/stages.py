"""Which stages there are, and where each is observed; a stage is imported when it is asked for."""

from __future__ import annotations

import importlib
from typing import Any, Callable, Dict, Mapping

from ..problem import Problem

Emit = Callable[[Dict[str, Any]], None]
Observer = Callable[[Mapping[str, Any], Emit], None]

# stage -> module of this package with `observe(job, emit)`
STAGES = {
    "build": "building",
    "census": "census",
    "communication": "communication",
    "compile": "compile_paths",
    "correctness": "correctness",
    "facts": "facts",
    "fallback": "fallback",
    "ghost": "ghost",
    "intensity": "intensity",
    "manifest": "manifest",
    "probe": "probe",
    "prove": "prove",
    "sweep": "sweep",
}


def observer(stage: str) -> Observer:
    """The observer of a stage; raises Problem for an unknown one."""
    if stage not in STAGES:
        raise Problem("invalid", f"there is no map stage {stage}; this worker has {list(STAGES)}")
    module = importlib.import_module("." + STAGES[stage], __package__)
    found: Observer = module.observe
    return found
