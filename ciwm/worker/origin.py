"""Where the code that ran came from: base's launches must not have loaded head's framework."""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, Iterable, List, Optional, Set

from .problem import Problem

INSTALLED = ("site-packages", "dist-packages")


def loaded_files() -> Set[str]:
    """Real paths of all imported modules and of all mapped shared libraries."""
    modules = map(_file_of, list(sys.modules.values()))
    names = {name for name in modules if isinstance(name, str)}
    return {os.path.realpath(name) for name in names | _mapped()}


def _file_of(module: Any) -> Any:
    """What a module says of its file; one that loads lazily is not asked, or it would load now."""
    try:
        return object.__getattribute__(module, "__dict__").get("__file__")
    except AttributeError:  # no module at all
        return None


def _mapped() -> Set[str]:
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            paths = (line.rstrip("\n").partition("/") for line in maps)
            return {slash + rest for _, slash, rest in paths if slash}
    except OSError:
        return set()


def check_origin(job: Dict[str, Any]) -> int:
    """How many files came from this side's build; raises Problem when one is not this side's.

    `own` are folders whose code this side may load, `foreign` maps folders it may not (the other
    side's build, the user's checkout) to what they are called.
    """
    own = [os.path.realpath(folder) for folder in [*job["own"], *_interpreter_folders()]]
    build = os.path.realpath(job["build"])
    mine = 0
    for path in sorted(loaded_files()):
        if _inside(path, [build]):
            mine += 1
        if _inside(path, own):
            continue
        whose = _owner(path, job["foreign"])
        if whose is not None:
            raise Problem(
                "invalid",
                f"this {job['side']} launch loaded {path} from {whose}, so it did not measure "
                "its own build; set [build] venv = true, or python_path to where the framework is",
            )
    return mine


def _interpreter_folders() -> List[str]:
    """This interpreter's own folders, and the worker's; both may lie inside the checkout."""
    return [sys.prefix, sys.base_prefix, os.path.dirname(__file__)]


def _owner(path: str, foreign: Dict[str, str]) -> Optional[str]:
    """The name of the foreign folder a file is in.

    What is installed there, and what is in a hidden folder (a venv, a cache of compiled kernels),
    is not the code of that side.
    """
    for folder, name in foreign.items():
        root = os.path.realpath(folder)
        if _inside(path, [root]):
            parts = path[len(root) :].split(os.sep)
            if not any(part in INSTALLED or part.startswith(".") for part in parts):
                return name
    return None


def _inside(path: str, folders: Iterable[str]) -> bool:
    return any(path.startswith(folder + os.sep) for folder in _nonempty(folders))


def _nonempty(folders: Iterable[str]) -> List[str]:
    return [folder for folder in folders if folder and folder != os.sep]
