"""The null device where there is no compiler: the same records, by Python alone, with less to see.

Torch makes tensors of the device without memory; the memory is a CPU tensor kept by the identity of
their storage. They always look contiguous, so that a view of a view is one of a copy: values are
right, a write through such a view is lost, and strides and copies of layouts are not seen.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Dict, List, Optional, Set

from .null_cells import CELLS

LIMITS = (
    "seen without the compiled device: no strides, no copies of layouts, no composites, no modules "
    "in the backward pass; a workload that writes through a view of a view may go wrong"
)
STRUCTURAL = "S"


class PythonDevice:
    """A PrivateUse1 backend in Python; one in a process."""

    def __init__(self, name: str) -> None:
        import torch
        from torch.utils import backend_registration

        backend_registration._setup_privateuseone_for_python_backend(name)  # noqa: SLF001
        self._torch = torch
        self._name = name
        self._memory: Dict[int, Any] = {}
        self._seen: Counter[str] = Counter()
        self._broken: Dict[str, str] = {}
        self._allowed: Optional[Set[str]] = None
        self._recording = False
        self._part, self._module = "forward", ""
        self._fallback = torch.library.Library("_", "IMPL")
        self._fallback.fallback(self._leaf, "PrivateUse1")
        self._aten = torch.library.Library("aten", "IMPL")
        self._register()

    # ---- what observers ask of a device

    def record(self, on: bool) -> None:  # noqa: FBT001  as the library has it
        """Begin or end writing down."""
        self._recording = on

    def load(self, ops: List[str]) -> List[str]:
        """Stand for kernels of a target; the answer is those that could not be stood for."""
        from .facts import known_operators
        from .manifest import MISSING, row

        known, left = set(known_operators()), []
        for op in ops:
            if op not in known or not op.startswith("aten::"):
                continue
            if row(op, "PrivateUse1")[0] == "kernel" or _returns_view(op):
                continue
            if row(op, "CPU")[0] == MISSING:
                left.append(op)
            else:
                self._aten.impl(op[6:], self._native(op), "PrivateUse1")
        return left

    def note_native(self, op: str) -> None:
        """Write down a kernel of the target that somebody else computed."""
        self._note("N", op, "")

    def restrict_to(self, ops: List[str]) -> None:
        """Refuse all other operators from now on."""
        self._allowed = set(ops)

    def unrestrict(self) -> None:
        """Refuse nothing any more."""
        self._allowed = None

    def set_part(self, name: str) -> None:
        """What runs now."""
        self._part = name

    def set_module(self, name: str) -> None:
        """The module that runs now."""
        self._module = " ".join(name.split())

    def take(self) -> List[str]:
        """Everything seen since the last time, as the library tells it."""
        lines = ["%s\t%d" % item for item in self._seen.items()]
        lines += ["B\t%s\t%s" % item for item in self._broken.items()]
        self._seen.clear()
        self._broken.clear()
        return lines

    # ---- tensors

    def _make(self, memory: Any) -> Any:
        made = self._torch._C._acc.create_empty_tensor(tuple(memory.shape), memory.dtype)  # noqa: SLF001
        self._memory[made.untyped_storage()._cdata] = memory  # noqa: SLF001  its only identity
        return made

    def _is_ours(self, value: Any) -> bool:
        return isinstance(value, self._torch.Tensor) and value.device.type == self._name

    def _host(self, value: Any) -> Any:
        if self._is_ours(value):
            memory = self._memory[value.untyped_storage()._cdata]  # noqa: SLF001
            return memory if memory.shape == value.shape else memory.reshape(value.shape)
        if isinstance(value, self._torch.device) and value.type == self._name:
            return self._torch.device("cpu")
        return value

    # ---- operators

    def _note(self, kind: str, op: str, spec: str) -> None:
        if self._recording:
            self._seen[f"{kind}\t{op}\t{self._part}\t{self._module}\t{spec}"] += 1
        if kind in "LH" and self._allowed is not None and op not in self._allowed:
            raise NotImplementedError("null device: no kernel for " + op)

    def _leaf(self, op: Any, *args: Any, **kwargs: Any) -> Any:
        name = op.name()
        self._note("L", name, self._spec(args, kwargs))
        try:
            return self._compute(op, args, kwargs)
        except Exception as error:
            self._broken[name] = str(error).split("\n")[0].replace("\t", " ")
            raise

    def _native(self, name: str) -> Any:
        from .facts import operator

        op = operator(name)

        def run(*args: Any, **kwargs: Any) -> Any:
            self._note("N", name, self._spec(args, kwargs))
            return self._compute(op, args, kwargs)

        return run

    def _compute(self, op: Any, args: Any, kwargs: Any) -> Any:
        """On the CPU; what is written in place comes back as the tensor that was given."""
        from torch.utils._pytree import tree_leaves, tree_map

        given = [one for one in tree_leaves((args, kwargs)) if self._is_ours(one)]
        hosts = {id(one): self._host(one) for one in given}  # kept, or an id would be another's
        there = {id(hosts[id(one)]): one for one in given}

        def host(value: Any) -> Any:
            return hosts[id(value)] if id(value) in hosts else self._host(value)

        host_args, host_kwargs = tree_map(host, (args, kwargs))
        with self._torch.no_grad():
            result = op(*host_args, **host_kwargs)

        def back(value: Any) -> Any:
            if not isinstance(value, self._torch.Tensor):
                return value
            if id(value) not in there:
                return self._make(value)
            ours = there[id(value)]
            if ours.shape != value.shape:  # an empty `out`, which the operator gave its size
                ours.data = self._make(value)
            return ours

        return tree_map(back, result)

    def _spec(self, args: Any, kwargs: Any) -> str:
        from torch.utils._pytree import tree_leaves

        names = {"float32": "Float", "int64": "Long", "bool": "Bool", "float64": "Double"}
        told = []
        for one in tree_leaves((args, kwargs)):
            if isinstance(one, self._torch.Tensor):
                dtype = str(one.dtype).split(".")[-1]
                told.append("%s[%s]" % (names.get(dtype, dtype), ",".join(map(str, one.shape))))
        return " ".join(told)

    def _register(self) -> None:
        """The structural kernels, and those that throw without a device's own."""
        for name in (
            "empty.memory_format",
            "empty_strided",
            "_copy_from",
            "_copy_from_and_resize",
            "_local_scalar_dense",
            "as_strided",
            "view",
            "_reshape_alias",
            "convolution_overrideable",
            "convolution_backward_overrideable",
            "histc",
            "unfold",
        ):
            run = getattr(self, "_op_" + name.split(".")[0].lstrip("_"))
            self._aten.impl(name, run, "PrivateUse1")
        for name, compute in CELLS.items():
            self._aten.impl(name, self._cell(name, compute), "PrivateUse1")

    def _cell(self, name: str, compute: Any) -> Any:
        def run(*args: Any) -> Any:
            self._note("H", "aten::" + name, self._spec(args, {}))
            return self._compute(compute, args, {})

        return run

    def _op_empty(self, size: Any, dtype: Any = None, *_rest: Any, **_options: Any) -> Any:
        self._note(STRUCTURAL, "aten::empty.memory_format", "")
        return self._make(self._torch.empty(size, dtype=dtype, device="cpu"))

    def _op_empty_strided(self, size: Any, _stride: Any, dtype: Any = None, **_options: Any) -> Any:
        self._note(STRUCTURAL, "aten::empty_strided", "")
        return self._make(self._torch.empty(size, dtype=dtype, device="cpu"))

    def _op_copy_from(self, source: Any, to: Any, *_rest: Any, **_options: Any) -> Any:
        self._note(STRUCTURAL, "aten::_copy_from", "")
        self._host(to).copy_(self._host(source))
        return to

    _op_copy_from_and_resize = _op_copy_from

    def _op_local_scalar_dense(self, tensor: Any) -> Any:
        self._note(STRUCTURAL, "aten::_local_scalar_dense", "")
        return self._host(tensor).item()

    def _op_as_strided(self, tensor: Any, size: Any, stride: Any, offset: Any = None) -> Any:
        """Of the contiguous layout that the tensor shows; a copy where its memory is another."""
        self._note(STRUCTURAL, "aten::as_strided", "")
        memory = self._host(tensor).contiguous()
        start = memory.storage_offset() + (offset or 0)
        return self._make(memory.as_strided(size, stride, start))

    def _op_view(self, tensor: Any, size: Any) -> Any:
        self._note(STRUCTURAL, "aten::view", "")
        return self._make(self._host(tensor).reshape(size))

    def _op_reshape_alias(self, tensor: Any, size: Any, _stride: Any) -> Any:
        self._note(STRUCTURAL, "aten::_reshape_alias", "")
        return self._make(self._host(tensor).reshape(size))

    def _op_unfold(self, tensor: Any, *args: Any) -> Any:
        self._note(STRUCTURAL, "aten::unfold", "")
        return self._make(self._host(tensor).unfold(*args))

    def _op_histc(self, tensor: Any, *args: Any, **bounds: Any) -> Any:
        """Of integers the CPU has no kernel, so no fallback helps."""
        integral = not tensor.is_floating_point()
        self._note("H" if integral else "L", "aten::histc", self._spec((tensor,), {}))
        memory = self._host(tensor)
        if integral:
            self._broken["aten::histc"] = "the CPU has no kernel for integers"
            memory = memory.double()
        return self._make(self._torch.histc(memory, *args, **bounds).to(tensor.dtype))

    def _op_convolution_overrideable(self, *args: Any) -> Any:
        self._note("H", "aten::convolution_overrideable", self._spec(args, {}))
        return self._compute(self._torch.ops.aten.convolution.default, args, {})

    def _op_convolution_backward_overrideable(self, *args: Any) -> Any:
        self._note("H", "aten::convolution_backward_overrideable", self._spec(args, {}))
        gradient, tensor, weight, stride, padding, dilation, transposed, output, groups, mask = args
        bias = [weight.shape[1] * groups if transposed else weight.shape[0]]
        rest = (stride, padding, dilation, transposed, output, groups, mask)
        operator = self._torch.ops.aten.convolution_backward.default
        return self._compute(operator, (gradient, tensor, weight, bias, *rest), {})


def _returns_view(op: str) -> bool:
    from .facts import operator

    returns = operator(op)._schema.returns  # noqa: SLF001  torch's only word on it
    return any(one.alias_info is not None and not one.alias_info.is_write for one in returns)
