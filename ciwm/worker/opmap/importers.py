"""Compilers of others: what their own importers say of an exported model.

A stack that is not installed is "not installed", and one that cannot be imported beside this
PyTorch "broken"; neither says that an operator is unsupported.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import re
import warnings
from typing import Any, Callable, Dict, List, NamedTuple, Sequence

from .one_operator import in_words

Line = Dict[str, Any]


class Unsupported(Exception):  # noqa: N818  an answer, not an error
    """Operators that an importer has nothing for."""

    def __init__(self, operators: Sequence[str]) -> None:
        super().__init__(", ".join(operators))
        self.operators = sorted(set(operators))


class Stack(NamedTuple):
    """A compiler by its module and distribution, and how a program is put into it."""

    module: str
    distribution: str
    convert: Callable[[Any], None]


def _tvm(program: Any) -> None:
    from tvm.relax.frontend.torch import from_exported_program

    try:
        from_exported_program(program)
    except AssertionError as error:
        raise _listed(error) from error


def _listed(error: BaseException) -> BaseException:
    """TVM names all: `Unsupported function types ['histc.default', ...]`."""
    names = re.findall(r"'([^']+)'", str(error))
    found = "Unsupported function types" in str(error) and names
    return Unsupported(["aten." + name for name in names]) if found else error


def _torchax(program: Any) -> None:
    from torchax.export import exported_program_to_stablehlo

    try:
        exported_program_to_stablehlo(program)
    except (RuntimeError, AssertionError) as error:
        missing = _without_lowering(program)
        if missing and _is_of_lowering(error, missing):
            raise Unsupported(missing) from error
        raise


def _is_of_lowering(error: BaseException, missing: Sequence[str]) -> bool:
    """RuntimeError("No lowering found for", NAME); or of an overload, AssertionError(NAME)."""
    first = str(error.args[0]).split("\n", maxsplit=1)[0] if error.args else ""
    return first == "No lowering found for" or first in missing


def _without_lowering(program: Any) -> List[str]:
    """Every operator of the program that torchax has none for; it stops at the first itself."""
    from torchax.ops import ops_registry

    known = ops_registry.all_aten_ops
    return [
        str(target)
        for target in _targets(program)
        if target not in known and getattr(target, "overloadpacket", None) not in known
    ]


def _torch_xla(program: Any) -> None:
    from torch_xla.stablehlo import exported_program_to_stablehlo

    try:
        exported_program_to_stablehlo(program)
    except RuntimeError as error:
        raise _not_capturable(error) from error


def _not_capturable(error: BaseException) -> BaseException:
    """torch_xla names all: `... ops not capturable by Pytorch/XLA: aten::histc aten::lu`."""
    _, found, names = str(error).partition("ops not capturable by Pytorch/XLA:")
    operators = [name.replace("::", ".") for name in names.split() if "::" in name]
    return Unsupported(operators) if found and operators else error


def _tensorrt(program: Any) -> None:
    from torch_tensorrt.dynamo.conversion import DYNAMO_CONVERTERS
    from torch_tensorrt.dynamo.lowering import get_decompositions

    lowered = program.run_decompositions(get_decompositions())
    called = [node for node in lowered.graph.nodes if node.op == "call_function"]
    missing = [
        str(node.target)
        for node in called
        if _is_operator(node.target) and node not in DYNAMO_CONVERTERS
    ]
    if missing:
        raise Unsupported(missing)


STACKS: Dict[str, Stack] = {
    "StableHLO (torchax)": Stack("torchax", "torchax", _torchax),
    "StableHLO (torch_xla)": Stack("torch_xla", "torch-xla", _torch_xla),
    "TVM": Stack("tvm", "apache-tvm", _tvm),
    "TensorRT": Stack("torch_tensorrt", "torch-tensorrt", _tensorrt),
}


def imported(name: str, program: Callable[[], Any]) -> Line:
    """One line of kind `importer`: not installed, broken, imported, unsupported, or failed."""
    stack = STACKS[name]
    spec = importlib.util.find_spec(stack.module)
    if spec is None or spec.origin is None:  # a folder of that name is no package
        return _line(name, "not installed")
    version = _version(stack.distribution)
    try:
        importlib.import_module(stack.module)
    except Exception as error:  # noqa: BLE001  made for another PyTorch, say
        return _line(name, "broken", version, detail=in_words(error))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            stack.convert(program())
    except Unsupported as answer:
        return _line(name, "unsupported", version, answer.operators)
    except Exception as error:  # noqa: BLE001  whatever a stack throws is an answer
        return _line(name, "failed", version, detail=in_words(error))
    return _line(name, "imported", version)


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _line(
    stack: str, status: str, version: str = "", unsupported: Sequence[str] = (), detail: str = ""
) -> Line:
    return {
        "kind": "importer",
        "stack": stack,
        "status": status,
        "version": version,
        "unsupported": list(unsupported),
        "detail": detail,
    }


def _targets(program: Any) -> List[Any]:
    """The operators that a program calls; what is Python's own (getitem) needs no lowering."""
    called = (node.target for node in program.graph.nodes if node.op == "call_function")
    return [each for each in called if _is_operator(each)]


def _is_operator(target: Any) -> bool:
    import torch

    return isinstance(target, torch._ops.OpOverload)  # noqa: SLF001  its class has no public name
