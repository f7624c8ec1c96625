"""What Inductor would make of a model's graphs: generated code, library calls, fallbacks.

Lowered, and neither scheduled nor compiled: the counts need no C++ or Triton compiler, and seconds
in place of minutes.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from typing import Any, Callable, Dict, List, Mapping, Set, Tuple

from .one_operator import in_words

# two names for one break: explain's, and that of the counters
_JUMP, _BRANCH = "generic_jump", "Data-dependent branching"
_ADDRESS = re.compile(r"\b0x[0-9a-f]+\b")
_PATH = re.compile(r"(?<![\w.])/(?:[^/\s`'\"]+/)+([^/\s`'\"]+/[^/\s`'\"]+)")  # its last two parts


class Lowered:
    """Nodes of all graphs by what becomes of them, and why a graph could not be lowered."""

    def __init__(self) -> None:
        self.graphs = 0
        self.generated = 0
        self.extern: Counter[str] = Counter()
        self.fallback: Counter[str] = Counter()
        self.failed: List[str] = []

    def take(self, operation: Any) -> None:
        """Count one operation of Inductor's intermediate representation."""
        from torch._inductor import ir

        if isinstance(operation, ir.MultiOutput):
            return  # a part of another one's result
        if isinstance(operation, ir.FallbackKernel):
            self.fallback[str(operation.op_overload or operation.python_kernel_name)] += 1
        elif isinstance(operation, ir.ExternKernel):
            name = getattr(operation, "python_kernel_name", None) or type(operation).__name__
            self.extern[str(name).replace("extern_kernels.", "")] += 1
        else:
            self.generated += 1


def has_codegen(device: str) -> bool:
    """Whether Inductor can generate code for a kind of device in this build."""
    from torch._inductor.codegen import common

    common.init_backend_registration()
    return device.split(":", maxsplit=1)[0] in common.device_codegens


def lowered(step: Callable[[Callable[[Any], Any]], None]) -> Lowered:
    """Lower every graph of a step; `step` is given what makes a model a compiled one."""
    import torch
    from torch._dynamo.backends.common import aot_autograd
    from torch._inductor.decomposition import select_decomp_table

    found = Lowered()

    def compiler(graph: Any, inputs: Any) -> Any:
        found.graphs += 1
        try:
            _lower(graph, inputs, found)
        except Exception as error:  # noqa: BLE001  whatever Inductor throws is an answer
            found.failed.append(in_words(error))
        return graph.forward

    backend = aot_autograd(
        fw_compiler=compiler, bw_compiler=compiler, decompositions=select_decomp_table()
    )
    torch._dynamo.reset()  # noqa: SLF001  there is no other way
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        step(lambda model: torch.compile(model, backend=backend))
    return found


def _lower(graph: Any, inputs: Any, found: Lowered) -> None:
    import contextlib

    from torch._guards import detect_fake_mode
    from torch._inductor.graph import GraphLowering
    from torch._inductor.virtualized import V

    mode = detect_fake_mode(inputs)
    lowering = GraphLowering(
        graph, example_inputs=inputs, shape_env=getattr(mode, "shape_env", None)
    )
    fake = contextlib.nullcontext() if mode is None else V.set_fake_mode(mode)
    with fake, V.set_graph_handler(lowering):
        lowering.run(*inputs)
    for operation in lowering.operations:
        found.take(operation)


def breaks(model: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Dict[str, Any]:
    """Graphs of a forward pass, and where and why they break, with counts."""
    import torch

    counted = torch._dynamo.utils.counters["graph_break"]  # noqa: SLF001  explain leaves out some
    torch._dynamo.reset()  # noqa: SLF001
    counted.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explained = torch._dynamo.explain(model)(*args, **kwargs)  # noqa: SLF001
    why: Counter[Tuple[str, str]] = Counter()
    for reason in explained.break_reasons:
        frame = reason.user_stack[-1] if reason.user_stack else None
        where = "" if frame is None else f"{_short(frame.filename)}:{frame.lineno} in {frame.name}"
        why[_first_line(reason.reason), where] += 1
    why += _without_graph(counted, {reason for reason, _ in why})
    return {
        "graphs": explained.graph_count,
        "breaks": [
            {"reason": reason, "where": where, "count": count}
            for (reason, where), count in why.items()
        ],
    }


def _without_graph(counted: Mapping[str, int], told: Set[str]) -> Counter[Tuple[str, str]]:
    """Breaks before which there was nothing to compile: no graph ends with them, and none tells."""
    found: Counter[Tuple[str, str]] = Counter()
    jumps = any(reason.startswith(_JUMP) for reason in told)
    for text, count in counted.items():
        reason = _first_line(text)
        if reason not in told and not (jumps and reason.startswith(_BRANCH)):
            found[reason, ""] += count
    return found


def _first_line(reason: str) -> str:
    """What broke the graph, with the explanation that follows it, without hints.

    Addresses and folders are others in every process and build, and are left out.
    """
    lines = [line.strip() for line in str(reason).splitlines()]
    kept = [line for line in lines if line and not line.startswith(("Hint", "Developer"))]
    text = " ".join(" ".join(kept[:2]).split())
    return _PATH.sub(r"\1", _ADDRESS.sub("0x…", text))[:300]


def _short(path: str) -> str:
    """The last two parts of a path: enough to find it, nothing of the machine."""
    return "/".join(path.split("/")[-2:])
