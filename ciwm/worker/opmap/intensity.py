"""FLOPs, bytes and memory of one step, on tensors without data: a 7B model needs no weights.

Bytes have two bounds. At most: every operator reads its inputs and writes its outputs. At least:
each parameter that is used, the inputs, the outputs, and what a step keeps, once.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Set

from ..problem import Problem
from .counting import Tally, counting, saved_bytes, size_of, storage_key, tensors_of
from .held import cache_bytes
from .stages import Emit
from .subject import GENERATING, TRAINING, Built, build, has_model, parts
from .weightless import without_data


def observe(job: Mapping[str, Any], emit: Emit) -> None:
    """Emit the figures of one step; raises Problem where no model says what a step is."""
    if not has_model(job):
        emit({"what": "note", "note": "a bare step has no model to count"})
        return
    try:
        with without_data():
            figures = _figures(job)
    except Problem:
        raise
    except Exception as error:  # noqa: BLE001  data decides what runs, or an operator has no meta
        words = " ".join(str(error).split())[:160]
        emit({"what": "note", "note": f"counted on real tensors: {type(error).__name__}: {words}"})
        figures = _figures(job)
    emit({"what": "figures", **figures})


def _figures(job: Mapping[str, Any]) -> Dict[str, Any]:
    built, phase = build(job), job["phase"]
    if phase in TRAINING:
        return _training(built, phase)
    if phase in GENERATING:
        return _decoding(built)
    return _inference(built, phase)


def _inference(built: Built, phase: Optional[str]) -> Dict[str, Any]:
    built.model.eval()
    tally = _tally(built)
    ((_name, run),) = parts(built, phase)
    with counting(tally):
        outputs = run()
    kept, of_tokens = cache_bytes(getattr(outputs, "past_key_values", None))
    tokens = _tokens(built)
    least = tally.used_bytes + _bytes((built.args, built.kwargs)) + _bytes(outputs) + kept
    return {
        **_common(built, tally, least),
        "activations_bytes": tally.largest_bytes,
        "kv_bytes_per_token": of_tokens / tokens if of_tokens and tokens else None,
        "kv_bytes": kept,
    }


def _decoding(built: Built) -> Dict[str, Any]:
    """One token after the inputs, which fill the cache uncounted."""
    import torch

    tokens = built.kwargs.get("input_ids")
    config = getattr(built.model, "config", None)
    if tokens is None or getattr(config, "is_encoder_decoder", False):
        raise Problem(
            "invalid", "a decode step is counted for models that take input_ids and keep a cache"
        )
    built.model.eval()
    with torch.no_grad():
        filled = built.model(**{**built.kwargs, "use_cache": True})
    cache = getattr(filled, "past_key_values", None)
    if cache is None:
        raise Problem("invalid", "the model returned no past_key_values: no decode step to count")
    read, of_tokens = cache_bytes(cache)
    tally = _tally(built)
    with torch.no_grad(), counting(tally):
        outputs = built.model(input_ids=tokens[:, -1:], past_key_values=cache, use_cache=True)
    least = tally.used_bytes + read + _bytes(getattr(outputs, "logits", None))
    return {
        **_common(built, tally, least),
        "activations_bytes": tally.largest_bytes,
        "kv_bytes_per_token": of_tokens / tokens.numel() if of_tokens else None,
        "kv_bytes": read,
    }


def _training(built: Built, phase: Optional[str]) -> Dict[str, Any]:
    tally = _tally(built)
    steps = dict(parts(built, phase))
    own = {storage_key(one) for one in built.model.parameters()}
    with counting(tally):
        with saved_bytes(own) as saved:
            steps["forward"]()
        steps["backward"]()
        gradients = sum(
            size_of(one.grad) for one in built.model.parameters() if one.grad is not None
        )
        steps["optimizer"]()
    state = _state_bytes(getattr(steps["optimizer"], "__self__", None))
    parameters = _parameter_bytes(built)
    least = 2 * parameters + 2 * state + _bytes((built.args, built.kwargs))
    return {
        **_common(built, tally, least),
        "grads_bytes": gradients,
        "optimizer_bytes": state,
        "activations_bytes": saved[0],
    }


def _common(built: Built, tally: Tally, least: float) -> Dict[str, Any]:
    return {
        "flops": tally.flops,
        "bytes_low": min(least, tally.moved_bytes),
        "bytes_high": tally.moved_bytes,
        "params_bytes": _parameter_bytes(built),
        "uncounted": sorted(tally.uncounted),
    }


def _tally(built: Built) -> Tally:
    parameters = {storage_key(one) for one in built.model.parameters()}
    return Tally(parameters, parameters | {storage_key(one) for one in built.model.buffers()})


def _parameter_bytes(built: Built) -> int:
    known: Set[Any] = set()
    total = 0
    for one in list(built.model.parameters()) + list(built.model.buffers()):
        key = storage_key(one)
        total += 0 if key in known else size_of(one)
        known.add(key)
    return total


def _state_bytes(optimizer: Any) -> int:
    return sum(size_of(one) for state in optimizer.state.values() for one in tensors_of(state))


def _bytes(value: Any) -> int:
    return sum(size_of(one) for one in tensors_of(value))


def _tokens(built: Built) -> int:
    tokens = built.kwargs.get("input_ids")
    return int(tokens.numel()) if tokens is not None else 0
