"""The null device's library, compiled once for a torch and kept: no Python headers, no setuptools.

One job of its own, so that what it takes (about 15 to 60 s) is nobody's time limit but its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from typing import Any, Dict, List, Mapping, Optional

from ..problem import Problem
from .stages import Emit

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "null_device.cpp")
NOT_BUILT = "the null device is not compiled yet"  # the controller compiles it, and asks again
LIBRARY, RECORD = "null_device.so", "record.json"
STANDARDS = ("c++17", "c++20")  # of torch up to 2.12, and from 2.13 on
OUTPUT_CHARACTERS = 4000


def observe(job: Mapping[str, Any], emit: Emit) -> None:
    """Tell where the library is, making it when it is not there; raises Problem when it cannot."""
    if library_in(job["cache"]) is None:
        folder = os.path.join(job["cache"], _key())
        os.makedirs(folder, exist_ok=True)
        made = _compile(folder)
        record = os.path.join(folder, RECORD)
        with open(record + ".part", "w", encoding="utf-8") as file:
            json.dump(made, file)
        os.replace(record + ".part", record)
    emit({"library": library_in(job["cache"])})


def library_in(cache: str) -> Optional[str]:
    """The library for this torch; None where it was not made yet."""
    folder = os.path.join(cache, _key())
    library = os.path.join(folder, LIBRARY)
    if not (os.path.exists(library) and os.path.exists(os.path.join(folder, RECORD))):
        return None
    os.utime(folder)  # it is used: the cache removes what nobody used for long
    return library


def _key() -> str:
    import torch

    with open(SOURCE, "rb") as file:
        source = file.read()
    parts = [torch.__version__, torch.version.git_version, platform.machine(), torch.__file__]
    return hashlib.sha256(repr(parts).encode() + source).hexdigest()[:20]


def _compile(folder: str) -> Dict[str, str]:
    import torch

    compiler = _compiler()
    if compiler is None:
        raise Problem("invalid", "there is no C++ compiler (CXX, c++, g++, clang++)")
    draft = os.path.join(folder, "%s.%d" % (LIBRARY, os.getpid()))
    root = os.path.dirname(torch.__file__)
    said = ""
    for standard in _standards(torch.__version__):
        command = [compiler, "-std=" + standard, *_arguments(root, draft)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            os.replace(draft, os.path.join(folder, LIBRARY))
            return {"compiler": compiler, "standard": standard, "torch": torch.__version__}
        said = done.stderr
        sys.stderr.write(said[-OUTPUT_CHARACTERS:])
    errors = [line for line in said.splitlines() if "error" in line]
    raise Problem("failed", "the null device does not compile: " + (errors or ["no message"])[0])


def _standards(version: str) -> List[str]:
    major, minor = (int(part) for part in version.split(".")[:2])
    return list(STANDARDS if (major, minor) < (2, 13) else reversed(STANDARDS))


def _arguments(root: str, draft: str) -> List[str]:
    import torch

    include = os.path.join(root, "include")
    library = os.path.join(root, "lib")
    abi = int(torch._C._GLIBCXX_USE_CXX11_ABI)  # noqa: SLF001  what it was built with
    return [
        "-shared",
        "-fPIC",
        "-O0",
        "-w",
        "-D_GLIBCXX_USE_CXX11_ABI=%d" % abi,
        "-isystem",
        include,
        "-isystem",
        os.path.join(include, "torch", "csrc", "api", "include"),
        "-L" + library,
        "-Wl,-rpath," + library,
        SOURCE,
        "-ltorch_cpu",
        "-lc10",
        "-o",
        draft,
    ]


def _compiler() -> Optional[str]:
    named = os.environ.get("CXX", "")
    for name in (named, "c++", "g++", "clang++"):
        found = shutil.which(name) if name else None
        if found:
            return found
    return None
