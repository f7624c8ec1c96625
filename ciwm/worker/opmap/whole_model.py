"""A whole model on the device against the same on the CPU: outputs, gradients, generated tokens."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

from ..problem import Problem
from .judge import FAILED, Judged, judge, worst
from .one_operator import in_words
from .subject import GENERATING, TRAINING, Built, build, loss_of, to_device
from .tensors import of_map, tensors_in


class _Copies(NamedTuple):
    """The same model and inputs three times: on the CPU, there in float64, and on the device."""

    low: Built
    exact: Built
    device: Built


def check_model(job: Mapping[str, Any], device: str) -> List[Dict[str, Any]]:
    """Lines of kind `model`, one for each thing compared; raises what the workload raises."""
    copies = _copies(job, device)
    lines = [_outputs(copies)]
    if job["phase"] in TRAINING:
        lines.append(_gradients(copies))
    if job["phase"] in GENERATING or copies.low.generate is not None:
        lines.append(_tokens(copies, lines[0]))
    return lines


def _copies(job: Mapping[str, Any], device: str) -> _Copies:
    """Three builds with one set of weights and inputs; dropout is off in all of them."""
    import torch

    low, wide, far = build(job), build(job), build(job)
    state = low.model.state_dict()
    for other in (wide, far):
        other.model.load_state_dict(state)

    def widened(tensor: Any) -> Any:
        return tensor.detach().to(torch.float64) if tensor.is_floating_point() else tensor

    args, kwargs = of_map(widened, (low.args, low.kwargs))
    exact = wide._replace(model=wide.model.double(), args=args, kwargs=kwargs)
    device_copy = to_device(far._replace(args=low.args, kwargs=low.kwargs), device)
    for each in (low, exact, device_copy):
        each.model.eval()
    return _Copies(low, exact, device_copy)


def _line(what: str, judged: Judged, compared: int, **more: Any) -> Dict[str, Any]:
    error = judged.error_device
    return {
        "kind": "model",
        "what": what,
        "verdict": judged.verdict,
        "detail": judged.detail,
        "error_device": error if math.isfinite(error) else None,
        "error_cpu": judged.error_cpu,
        "compared": compared,
        **more,
    }


def _outputs(copies: _Copies) -> Dict[str, Any]:
    return _line("outputs", *_compared(copies, _forward))


def _gradients(copies: _Copies) -> Dict[str, Any]:
    return _line("gradients", *_compared(copies, _backward))


def _compared(copies: _Copies, run: Any) -> Tuple[Judged, int]:
    """The worst verdict over what `run` returns of each copy, and how many tensors that were."""
    try:
        low = run(copies.low)
    except Exception as error:
        raise Problem("failed", "the CPU reference fails: " + in_words(error)) from error
    try:
        made = run(copies.device)
    except Exception as error:  # noqa: BLE001
        return Judged("error", 0.0, 0.0, in_words(error)), 0
    try:
        exact = run(copies.exact)
    except Exception:  # noqa: BLE001  a model that insists on its dtype
        exact = low
    if len(exact) != len(low):
        exact = low
    if len(made) != len(low):
        return Judged("WRONG", 0.0, 0.0, f"{len(made)} results instead of {len(low)}"), len(low)
    judged = [judge(*three) for three in zip(made, low, exact)]
    if not judged:
        return Judged("untestable", 0.0, 0.0, "it returns no tensor"), 0
    gravest = worst([each.verdict for each in judged])
    kept = [each for each in judged if each.verdict == gravest]
    return max(kept, key=lambda each: each.error_device), len(judged)


def _forward(built: Built) -> List[Any]:
    import torch

    with torch.no_grad():
        outputs = built.model(*built.args, **built.kwargs)
    return [each.detach().cpu() for each in tensors_in(outputs)]


def _backward(built: Built) -> List[Any]:
    """The loss and the gradient of every parameter that has one."""
    outputs = built.model(*built.args, **built.kwargs)
    loss = loss_of(built, outputs)
    loss.backward()
    grads = [each.grad for each in built.model.parameters() if each.grad is not None]
    return [each.detach().cpu() for each in (loss, *grads)]


def _tokens(copies: _Copies, outputs: Dict[str, Any]) -> Dict[str, Any]:
    """Greedy generation on both; where tokens differ, whether the CPU saw a tie there."""
    try:
        wanted = _generated(copies.low)
    except Exception as error:
        raise Problem("failed", "the CPU reference fails: " + in_words(error)) from error
    try:
        made = _generated(copies.device)
    except Exception as error:  # noqa: BLE001
        return _line("tokens", Judged("error", 0.0, 0.0, in_words(error)), 0)
    length = min(made.shape[-1], wanted.shape[-1])
    differ = (made[..., :length] != wanted[..., :length]).nonzero()
    count = wanted.numel()
    if not len(differ) and made.shape == wanted.shape:
        return _line("tokens", Judged("strict", 0.0, 0.0, ""), count, differing=0)
    where = differ[differ[:, -1].argmin()].tolist() if len(differ) else [0, length]
    margin = _margin(copies.low, wanted, made, where) if len(differ) else None
    # where the outputs themselves are wrong, their error excuses nothing
    allowed = 0.0 if outputs["verdict"] in FAILED else 2 * (outputs["error_device"] or 0.0)
    tie = margin is not None and margin <= allowed
    detail = f"differs first at position {where[-1]}"
    if margin is not None:
        detail += f", where the CPU's logits are {margin:.3g} apart"
    judged = Judged("drift" if tie else "WRONG", 0.0, 0.0, detail)
    return _line("tokens", judged, count, differing=len(differ))


def _generated(built: Built) -> Any:
    import torch

    stated = {"max_new_tokens": 8, **(built.generate or {}), "do_sample": False}
    torch.manual_seed(0)
    with torch.no_grad():
        made = built.model.generate(*built.args, **{**built.kwargs, **stated})
    return getattr(made, "sequences", made).cpu()  # return_dict_in_generate wraps the tokens


def _margin(low: Built, wanted: Any, made: Any, where: List[int]) -> Optional[float]:
    """How far apart the CPU's logits of the two tokens are; None for an encoder-decoder."""
    import torch

    if "input_ids" not in low.kwargs or low.kwargs["input_ids"].shape[-1] > where[-1]:
        return None
    row, place = where[0], where[-1]
    with torch.no_grad():
        try:
            logits = low.model(input_ids=wanted[row : row + 1, :place]).logits[0, -1]
        except Exception:  # noqa: BLE001  an encoder-decoder reads something else
            return None
    return float((logits[wanted[row, place]] - logits[made[row, place]]).abs())
