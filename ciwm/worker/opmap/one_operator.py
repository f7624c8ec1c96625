"""One operator in one dtype: every case through CPU float64, the CPU's own dtype and the device."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from .judge import EMPTY, Judged, cast, judge, worst
from .planted import planted
from .reached import kernels_checked
from .samples import Case, cases, elements
from .tally import Line, Tally, line_of
from .tensors import described, of_map, placed, results_in, sway, tensors_in, wider
from .tolerances import (
    CASTS,
    INDICES_ON_HOST,
    OWN_DTYPE,
    degenerate,
    free_indices,
    untestable,
)

DIRECTIONS = ("forward", "backward")
DRAWS = 3  # of moved inputs: one alone may be lucky


class Plan(NamedTuple):
    """What is run of every operator, and on which device."""

    device: str
    dtypes: Tuple[str, ...] = ("float32", "bfloat16")
    sources: Tuple[str, ...] = ("opinfo", "noncontiguous", "edge", "special")
    samples: int = 24
    defect: Optional[str] = None


class _Ran(NamedTuple):
    """What one run left: results and gradients on the CPU, and whether it drew random numbers.

    `failed` is what the backward pass raised.
    """

    forward: List[Any]
    backward: List[Any]
    random: bool
    failed: Optional[Exception] = None


def check_operator(name: str, op: Any, plan: Plan, emit: Callable[[Line], None]) -> None:
    """Run the plan's cases of one operator; a line for each dtype and direction that was run.

    A line of kind `begun` goes before each case, so that a crash can be laid at its door.
    """
    import torch

    for dtype_name in plan.dtypes:
        dtype = getattr(torch, dtype_name)
        if dtype not in op.dtypes:
            continue
        tallies = {direction: Tally() for direction in DIRECTIONS}
        reason, example = untestable(op.name), None
        if reason is None:
            reason, example = _check_dtype(op, dtype, plan, tallies, emit)
        if reason is not None:
            tallies["forward"].add("opinfo", Judged("untestable", 0.0, 0.0, reason), "")
        kernels = _kernels(op, dtype, plan, example)
        for direction, tally in tallies.items():
            if tally.worst is not None:
                line = line_of(name, dtype_name, direction, tally)
                emit({**line, "kernels": kernels.get(direction, [])})


def _kernels(op: Any, dtype: Any, plan: Plan, example: Optional[Case]) -> Dict[str, List[str]]:
    """The kernels of the device that the checks are about; on the CPU nobody asks."""
    if example is None or plan.device.split(":", maxsplit=1)[0] == "cpu":
        return {}
    return kernels_checked(op, partial(_run, op, example, dtype, dtype, plan.device))


def _check_dtype(
    op: Any, dtype: Any, plan: Plan, tallies: Dict[str, Tally], emit: Callable[[Line], None]
) -> Tuple[Optional[str], Optional[Case]]:
    """Run the cases of one dtype; why there are none, or None; and the first that has elements."""
    ran, example = 0, None
    made = cases(op, dtype, plan.sources, plan.samples)
    while True:
        try:
            case = next(made, None)
        except Exception as error:  # noqa: BLE001  sample functions raise what they like
            return "its samples cannot be made: " + in_words(error), example
        if case is None:
            return (None if ran else "PyTorch has no samples for it"), example
        ran += 1
        if example is None and elements(case):
            example = case
        call = described((case.input, list(case.args), dict(case.kwargs)))
        name = str(dtype).split(".")[-1]
        emit({"kind": "begun", "dtype": name, "source": case.source, "call": call})
        try:
            _check_case(op, dtype, plan, case, tallies, call)
        except Exception as error:  # noqa: BLE001  of a comparison: this case alone is undecided
            why = Judged("untestable", 0.0, 0.0, "it cannot be compared: " + in_words(error))
            tallies["forward"].add(case.source, why, call)


def _check_case(  # noqa: PLR0917
    op: Any, dtype: Any, plan: Plan, case: Case, tallies: Dict[str, Tally], call: str
) -> None:
    """Three runs of one case, and a verdict in each direction."""
    try:
        low = _run(op, case, dtype, dtype, "cpu")
    except Exception as error:  # noqa: BLE001  the CPU refuses: nothing to compare with
        why = Judged("untestable", 0.0, 0.0, "the CPU refuses: " + in_words(error))
        tallies["forward"].add(case.source, why, call)
        return
    no = "its result is random" if low.random else degenerate(op.name, case.args)
    if no is not None:
        tallies["forward"].add(case.source, Judged("untestable", 0.0, 0.0, no), call)
        return
    exact = _reference(op, case, dtype, low)
    try:
        with planted(plan.defect):
            device = _run(op, case, dtype, dtype, plan.device)
    except Exception as error:  # noqa: BLE001  whatever a backend throws is a verdict
        tallies["forward"].add(case.source, Judged("error", 0.0, 0.0, in_words(error)), call)
        return
    both = bool(low.backward)
    if both and device.failed is not None:
        why = Judged("error", 0.0, 0.0, in_words(device.failed))
        tallies["backward"].add(case.source, why, call)
        both = False
    ties = free_indices(op.name, case[1:4])
    swayed: Optional[List[_Ran]] = None
    for direction in DIRECTIONS if both else DIRECTIONS[:1]:
        three = tuple(getattr(ran, direction) for ran in (device, low, exact))
        judged = all_of(three, (), ties=ties)
        if judged.verdict == "WRONG":  # rare, so that the fourth run costs nothing
            swayed = _moved_runs(op, case, dtype, exact) if swayed is None else swayed
            more = [getattr(ran, direction) for ran in swayed]
            judged = all_of(three, more, ties=ties)
        if op.name in CASTS and direction == "forward":
            judged = cast(device.forward[0], low.forward[0], judged)
        tallies[direction].add(case.source, judged, call)


def _moved_runs(op: Any, case: Case, dtype: Any, exact: _Ran) -> List[_Ran]:
    """Float64 runs of inputs moved by half a rounding; none where there is no such thing."""
    import torch

    if not (dtype.is_floating_point or dtype.is_complex):
        return []
    wide = wider(dtype)
    shift = float(torch.finfo(dtype).eps) / 2
    found = []
    for seed in range(DRAWS):
        value, args, kwargs = of_map(partial(sway, low=dtype, shift=shift, seed=seed), case[1:4])
        try:
            ran = _run(op, Case(case.source, value, args, kwargs, case.unique), wide, wide, "cpu")
        except Exception:  # noqa: BLE001, S112  outside of the domain, say
            continue
        shapes = [[each.shape for each in one.forward + one.backward] for one in (ran, exact)]
        if shapes[0] == shapes[1]:
            found.append(ran)
    return found


def _reference(op: Any, case: Case, dtype: Any, low: _Ran) -> _Ran:
    """The float64 run; the CPU's own dtype where float64 is refused or is another question."""
    if op.name in OWN_DTYPE:
        return low
    try:
        exact = _run(op, case, dtype, wider(dtype), "cpu")
    except Exception:  # noqa: BLE001  some operators exist in lower dtypes only
        return low
    alike = len(exact.forward) == len(low.forward) and len(exact.backward) == len(low.backward)
    return exact if alike else low


def _run(op: Any, case: Case, low: Any, dtype: Any, device: str) -> _Ran:
    """Forward and, where a gradient is wanted, backward with a fixed cotangent."""
    import torch
    from torch.utils._pytree import tree_map

    def move(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        stays = op.name in INDICES_ON_HOST and not leaf.is_floating_point()
        return placed(leaf, low, dtype, "cpu" if stays else device)

    value, args, kwargs = tree_map(move, (case.input, list(case.args), dict(case.kwargs)))
    leaves = [each for each in tensors_in((value, args, kwargs)) if each.requires_grad]
    torch.default_generator.manual_seed(3)  # torch.manual_seed asks every kind of device, slowly
    before = torch.random.get_rng_state()
    result = case.unique(op(value, *args, **kwargs))
    random = not torch.equal(before, torch.random.get_rng_state())
    outputs = results_in(result)
    forward = [each.detach().cpu().clone() for each in outputs]
    try:
        return _Ran(forward, _gradients(outputs, leaves), random)
    except Exception as error:  # noqa: BLE001  what came out forward is worth comparing all the same
        return _Ran(forward, [], random, error)


def _gradients(outputs: List[Any], leaves: List[Any]) -> List[Any]:
    """Gradients of all leaves, on the CPU; a leaf that has none leaves a gap of shape (0,)."""
    import torch

    wanted = [each for each in outputs if each.requires_grad]
    if not wanted or not leaves:
        return []
    weights = [_cotangent(each) for each in wanted]
    found = torch.autograd.grad(wanted, leaves, weights, allow_unused=True)
    return [torch.empty(0) if each is None else each.detach().cpu() for each in found]


def _cotangent(output: Any) -> Any:
    """Numbers between 0.5 and 1.5 that the lower dtype holds exactly, the same in every run."""
    import torch

    steps = (torch.arange(output.numel()) % 13).to(torch.float64) / 16 + 0.5
    shaped = steps.reshape(output.shape).to(output.dtype)
    return shaped.to(output.device)


def all_of(three: Sequence[List[Any]], moved: Sequence[List[Any]], *, ties: bool) -> Judged:
    """The worst verdict over all results of a call: the device's, the CPU's, float64's."""
    device, low, exact = three
    if len(device) != len(low):
        detail = f"{len(device)} results instead of {len(low)}"
        return Judged("WRONG", math.inf, 0.0, detail)
    judged = [
        judge(device[at], low[at], exact[at], [each[at] for each in moved])
        for at in range(len(low))
        if not ties or low[at].is_floating_point()
    ]
    if not judged:
        why = "only indices among equals" if low else "it returns nothing to compare"
        return Judged("untestable", 0.0, 0.0, why)
    gravest = worst([each.verdict for each in judged])
    found = [each for each in judged if each.verdict == gravest]
    return next((each for each in found if each.detail != EMPTY), found[0])


def in_words(error: BaseException) -> str:
    """Type and first 200 characters of an error, on one line."""
    words = " ".join(str(error).split())[:200]
    return type(error).__name__ + (": " + words if words else "")
