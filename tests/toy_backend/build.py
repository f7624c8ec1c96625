"""Builds the toy device's library, once for a source, a torch and a compiler; `python -m` shows it.

Run under the interpreter whose torch is meant, so that it needs nothing but torch and a compiler.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_name("toy.cpp")


def library() -> Path:
    """The built library, from the cache when it is there; raises CalledProcessError."""
    import torch

    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        raise FileNotFoundError("no C++ compiler: install g++, or set CXX")
    made_of = SOURCE.read_bytes() + f"{torch.__version__} {sys.platform} {compiler}".encode()
    name = f"toy-{torch.__version__}-{hashlib.sha256(made_of).hexdigest()[:12]}.so"
    kept = _cache() / name
    if not kept.exists():
        _compile(compiler, kept)
    return kept


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    folder = Path(base, "ciwm-tests")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _compile(compiler: str, kept: Path) -> None:
    import torch
    from torch.utils import cpp_extension

    includes = [f"-isystem{path}" for path in cpp_extension.include_paths()]
    folders = [f"-L{path}" for path in cpp_extension.library_paths()]
    abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}"
    flags = ["-std=c++20", "-O1", "-g0", "-fPIC", "-shared", abi]
    # written beside the target and renamed: two sessions may build at once
    with tempfile.TemporaryDirectory(dir=kept.parent) as scratch:
        made = Path(scratch, "toy.so")
        libraries = ["-ltorch", "-ltorch_cpu", "-lc10"]
        command = [compiler, *flags, *includes, str(SOURCE), "-o", str(made), *folders, *libraries]
        subprocess.run(command, check=True)
        made.replace(kept)


if __name__ == "__main__":
    sys.stdout.write(f"{library()}\n")
