"""What oneDNN and oneMKL say they did: their verbose lines, caught while a step runs."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
from collections import Counter
from typing import Any, Dict, Iterator, List, Tuple

_MKL = re.compile(r"^MKL_VERBOSE (\w+)\(.*?\) ([\d.]+)(ns|us|ms|s) ")
_TO_US = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}


@contextlib.contextmanager
def said() -> Iterator[List[str]]:
    """The verbose lines of both libraries during the block; empty where they are not built in."""
    import torch

    lines: List[str] = []
    verbose = getattr(torch._C, "_verbose", None)  # noqa: SLF001  torch.backends wraps only this
    switches = [
        switch
        for switch in ("mkldnn_set_verbose", "mkl_set_verbose")
        if verbose is not None and hasattr(verbose, switch)
    ]
    sys.stdout.flush()
    kept = os.dup(1)  # they print to standard output, below Python
    with tempfile.TemporaryFile() as caught:
        os.dup2(caught.fileno(), 1)
        try:
            _switch(verbose, switches, 1)
            yield lines
        finally:
            _switch(verbose, switches, 0)
            sys.stdout.flush()
            os.dup2(kept, 1)
            os.close(kept)
            caught.seek(0)
            text = caught.read().decode("utf-8", "replace")
            lines += text.splitlines()
            sys.stdout.write("".join(_not_ours(text)))  # what the workload printed stays in its log


def _not_ours(text: str) -> List[str]:
    """The lines that are no library's."""
    ours = ("onednn_verbose", "dnnl_verbose", "MKL_VERBOSE")
    return [line for line in text.splitlines(keepends=True) if not line.startswith(ours)]


def _switch(verbose: Any, switches: List[str], level: int) -> None:
    for name in switches:
        getattr(verbose, name)(level)


def counted(lines: List[str]) -> List[Dict[str, Any]]:
    """Calls and time in us by library and primitive, from verbose lines."""
    calls: Counter[Tuple[str, str]] = Counter()
    time_us: Counter[Tuple[str, str]] = Counter()
    for line in lines:
        found = _onednn(line) or _mkl(line)
        if found is not None:
            library, primitive, spent = found
            calls[library, primitive] += 1
            time_us[library, primitive] += spent
    return [
        {"library": key[0], "primitive": key[1], "calls": calls[key], "time_us": time_us[key]}
        for key in calls
    ]


def _onednn(line: str) -> Any:
    """`onednn_verbose,v1,primitive,exec,cpu,matmul,brg:avx2,...,0.0229` ends with its ms."""
    parts = line.split(",")
    if parts[0] not in ("onednn_verbose", "dnnl_verbose") or "exec" not in parts:
        return None
    at = parts.index("exec")
    try:
        return "oneDNN", f"{parts[at + 2]} {parts[at + 3]}", float(parts[-1]) * 1e3
    except (IndexError, ValueError):
        return None


def _mkl(line: str) -> Any:
    found = _MKL.match(line)
    if found is None:
        return None
    return "oneMKL", found[1], float(found[2]) * _TO_US[found[3]]
