"""The workload's own calls, played on the device and on the CPU.

Of an operator that is not PyTorch's own only the CPU's kernel is known to be right, and in the
dtype of the call: it may compute nothing that makes sense in another.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from .calls import ATEN, Call, Captured
from .isolate import Limits, run_isolated
from .judge import Judged, same
from .one_operator import all_of, in_words
from .tally import Tally, line_of
from .tensors import described, of_map, placed, results_in, sway, tensors_in, wider
from .tolerances import free_indices

CPUS, DEVICES = "cpu", "device"
NEAR = 0.05  # of the largest element: so far an operator may round that float64 says nothing of


def replay(
    captured: Captured, device: str, emit: Callable[[Dict[str, Any]], None], limits: Limits
) -> None:
    """Play the kept calls on the device, an operator a task; a line of kind `check` for each."""
    told: Dict[str, str] = {}
    where: Dict[str, str] = {}  # whose kernel an operator's task is in

    def work(task: str, send: Callable[[Dict[str, Any]], None]) -> None:
        import warnings

        warnings.simplefilter("ignore")
        tally = Tally()
        dtype = ""

        def enter(kernel: str) -> None:
            send({"task": task, "kernel": kernel})

        for call in captured.calls[task]:
            text = described((list(call.args), call.kwargs))
            send({"task": task, "begun": text})
            dtype = dtype or _dtype(call)
            tally.add("workload", _check(call, device, enter), text)
        if tally.worst is not None:
            send({"task": task, **line_of(task, dtype, "forward", tally)})

    def passed(line: Dict[str, Any]) -> None:
        task = line.pop("task")
        if "begun" in line:
            told[task] = line["begun"]
        elif "kernel" in line:
            where[task] = line["kernel"]
        else:
            emit(line)

    def lost(task: str, verdict: str, detail: str) -> None:
        tally = Tally()
        if where.get(task) == CPUS:  # what ended it says nothing of the device
            verdict, detail = "untestable", f"{verdict} in the CPU's kernel: {detail}"
        tally.add("workload", Judged(verdict, 0.0, 0.0, detail), told.get(task, ""))
        emit(line_of(task, _dtype(captured.calls[task][0]), "forward", tally))

    tasks = [name for name, calls in captured.calls.items() if calls]
    run_isolated(tasks, work, passed, lost, limits)


def _dtype(call: Call) -> str:
    for tensor in tensors_in((call.args, call.kwargs)):
        if tensor.is_floating_point():
            return str(tensor.dtype).split(".")[-1]
    return "int64"


class _Untestable(Exception):  # noqa: N818  no error of anybody's
    """Why a call has no result to compare with."""


def _check(call: Call, device: str, enter: Callable[[str], None]) -> Judged:
    """One verdict on all that a call returns and writes; `enter` is told whose kernel runs."""
    translated = _for_any_device(call)
    if translated is None:
        return Judged("untestable", 0.0, 0.0, "an operator of the CPU alone")
    enter(CPUS)
    try:
        low = _reference(translated)
    except _Untestable as why:
        return Judged("untestable", 0.0, 0.0, str(why))
    enter(DEVICES)
    try:
        made, _ = _run(translated, device, exact=False)
    except Exception as error:  # noqa: BLE001  whatever a device throws is a verdict
        return Judged("error", 0.0, 0.0, in_words(error))
    enter(CPUS)
    if not _is_atens(translated):
        try:
            return _check_own(translated, made, low)
        except Exception as error:  # noqa: BLE001  a layout that knows no equality: no fault of its
            return Judged("untestable", 0.0, 0.0, "it cannot be compared: " + in_words(error))
    exact = _exact(translated, low)
    base = call.overload._schema.name.split("::")[1]  # noqa: SLF001  there is no other name for it
    ties = free_indices(base, (call.args, call.kwargs))
    judged = all_of((made, low, exact), (), ties=ties)
    if judged.verdict == "WRONG":
        judged = all_of((made, low, exact), _swayed(translated, exact), ties=ties)
    return judged


def _is_atens(call: Call) -> bool:
    return str(call.overload).startswith(ATEN + ".")


def _reference(call: Call) -> List[Any]:
    """What the CPU makes of a call, in the call's own dtype; raises _Untestable."""
    try:
        low, random = _run(call, "cpu", exact=False)
        again = low if random or _is_atens(call) else _run(call, "cpu", exact=False)[0]
    except Exception as error:
        raise _Untestable("the CPU refuses: " + in_words(error)) from error
    if random:
        raise _Untestable("its result is random")
    if again is not low:
        _refuse_changing(low, again)
    return low


def _refuse_changing(low: List[Any], again: List[Any]) -> None:
    try:
        alike = len(again) == len(low) and all(map(_identical, again, low))
    except Exception as error:
        raise _Untestable("it cannot be compared: " + in_words(error)) from error
    if not alike:
        raise _Untestable("the CPU's result differs from call to call")


def _check_own(call: Call, made: List[Any], low: List[Any]) -> Judged:
    """Of an operator that is not PyTorch's: by float64 only where that is near the CPU's own."""
    alike = all_of((made, low, low), (), ties=False)
    if alike.verdict == "strict":  # its kernel is asked for float64 only where that is to decide
        return alike
    exact = _exact(call, low)
    known = all(_is_wider(one, other) and _near(one, other) for one, other in zip(exact, low))
    judged = all_of((made, low, exact if known else low), (), ties=False)
    if judged.verdict != "WRONG":
        return judged
    if known:
        return all_of((made, low, exact), _swayed(call, exact), ties=False)
    if len(made) == len(low) and all(map(_near, made, low)):
        return judged._replace(verdict="drift", detail=f"{judged.detail}; no float64 tells more")
    return judged


def _is_wider(exact: Any, low: Any) -> bool:
    """Whether it was computed in the wider dtype that it was given, as far as it tells."""
    return bool(exact.dtype == wider(low.dtype))


def _identical(one: Any, other: Any) -> bool:
    return one.shape == other.shape and bool(same(one, other).all())


def _near(one: Any, other: Any) -> bool:
    """Whether two tensors differ by little of the largest element; whole numbers: not at all."""
    floats = other.is_floating_point() or other.is_complex()
    if one.shape != other.shape or one.is_complex() != other.is_complex():
        return False
    if not floats or not other.numel():
        return _identical(one, other)
    one, other = _reals(one), _reals(other)
    return bool((one - other).abs().max() <= NEAR * other.abs().max())


def _reals(tensor: Any) -> Any:
    import torch

    parts = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
    return parts.double().nan_to_num()


def _exact(call: Call, low: List[Any]) -> List[Any]:
    try:
        exact, _ = _run(call, "cpu", exact=True)
    except Exception:  # noqa: BLE001  some exist in lower dtypes only
        return low
    return exact if [each.shape for each in exact] == [each.shape for each in low] else low


def _swayed(call: Call, exact: Sequence[Any]) -> List[List[Any]]:
    """Float64 results of arguments moved by half a rounding of their dtype."""
    import torch

    found = []
    for seed in range(3):

        def moved(tensor: Any, seed: int = seed) -> Any:
            if not tensor.is_floating_point():
                return tensor
            return sway(tensor, tensor.dtype, float(torch.finfo(tensor.dtype).eps) / 2, seed)

        args, kwargs = of_map(moved, (call.args, call.kwargs))
        try:
            results, _ = _run(Call(call.overload, args, kwargs), "cpu", exact=True)
        except Exception:  # noqa: BLE001, S112  outside of the domain, say
            continue
        if [each.shape for each in results] == [each.shape for each in exact]:
            found.append(results)
    return found


def _run(call: Call, device: str, *, exact: bool) -> Tuple[List[Any], bool]:
    """What a call returns and writes, on the CPU, and whether it drew random numbers."""
    import torch
    from torch.utils._pytree import tree_map

    def move(leaf: Any) -> Any:
        if isinstance(leaf, torch.device):
            return torch.device(device)
        if not isinstance(leaf, torch.Tensor):
            return leaf
        wide = exact and (leaf.is_floating_point() or leaf.is_complex())
        return placed(leaf, leaf.dtype, wider(leaf.dtype) if wide else leaf.dtype, device)

    args, kwargs = tree_map(move, (call.args, call.kwargs))
    torch.default_generator.manual_seed(3)
    before = torch.random.get_rng_state()
    with torch.no_grad():
        result = call.overload(*args, **kwargs)
    random = not torch.equal(before, torch.random.get_rng_state())
    written = _written(call.overload, args, kwargs)
    return [each.detach().cpu().clone() for each in results_in((result, written))], random


def _written(overload: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> List[Any]:
    """The arguments an in-place or out operator writes to."""
    found = []
    for place, argument in enumerate(overload._schema.arguments):  # noqa: SLF001
        alias = argument.alias_info
        if alias is None or not alias.is_write:
            continue
        found.append(args[place] if place < len(args) else kwargs.get(argument.name))
    return found


def _for_any_device(call: Call) -> Optional[Call]:
    """The call, its CPU-only operator replaced by what it stands for; None when nothing does."""
    import torch

    name = str(call.overload)
    if name == "aten._scaled_dot_product_flash_attention_for_cpu.default":
        # (query, key, value, dropout_p, is_causal, *, attn_mask, scale)
        rest = list(call.args[3:]) + [0.0, False][len(call.args) - 3 :]
        mask, scale = call.kwargs.get("attn_mask"), call.kwargs.get("scale")
        whole = torch.ops.aten.scaled_dot_product_attention.default
        return Call(whole, (*call.args[:3], mask, *rest), {"scale": scale})
    of_the_cpu = _is_atens(call) and ("for_cpu" in name or "mkldnn" in name)
    return None if of_the_cpu else call
