"""The workload of a map job: a model with inputs, or a bare step; and what its phase runs.

`model = "file.py:build"`: `build(**params)` returns a mapping with `model` (an nn.Module) and
`inputs` (a mapping of keyword arguments, or a tuple), and may add `loss` (outputs -> scalar),
`optimizer` (parameters -> Optimizer) and `generate` (keyword arguments of `model.generate`).

What runs: train and finetune the forward pass, loss, backward pass and optimizer step; decode and
generate `model.generate`; every other phase the forward pass without gradients.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping as MappingABC
from types import ModuleType
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple

from ..problem import Problem
from ..workload import load_module, prepare

TRAINING = ("train", "finetune")
GENERATING = ("decode", "generate")
KEYS = ("model", "inputs", "loss", "optimizer", "generate")
Part = Tuple[str, Callable[[], Any]]


class Built(NamedTuple):
    """What `build` returned, checked; `args` and `kwargs` are the inputs."""

    model: Any
    args: Tuple[Any, ...]
    kwargs: Dict[str, Any]
    loss: Optional[Callable[[Any], Any]]
    optimizer: Optional[Callable[[Any], Any]]
    generate: Optional[Dict[str, Any]]


def seed(job: Mapping[str, Any]) -> None:
    """The same weights and inputs in every stage of the same workload."""
    import torch

    torch.manual_seed(int(job.get("seed", 0)))


def has_model(job: Mapping[str, Any]) -> bool:
    """Whether the workload names a model; else it is a bare step."""
    return bool(job["entry"] == "model")


def build(job: Mapping[str, Any]) -> Built:
    """The workload's model and inputs, on the device they are made on; raises Problem."""
    module = _module(job["file"])
    name = job["callable"]
    make = getattr(module, name, None)
    if not callable(make):
        raise Problem("failed", f"there is no function {name} in {job['file']}")
    seed(job)
    made = make(**job["params"])
    return _checked(made, name)


@functools.lru_cache(maxsize=None)
def _module(path: str) -> ModuleType:
    """A file is imported once in a process: what it registers with torch cannot be again."""
    return load_module(path)


def step(job: Mapping[str, Any]) -> Callable[[], Any]:
    """The bare step of a workload without a model, ready to be called."""
    seed(job)
    return prepare(load_module(job["file"]), job["callable"], job["params"]).step


def to_device(built: Built, device: Any) -> Built:
    """The same on another device: the model is moved in place, the inputs are copied."""
    from torch.utils._pytree import tree_map

    def move(value: Any) -> Any:
        return value.to(device) if hasattr(value, "to") and hasattr(value, "device") else value

    args, kwargs, generate = tree_map(move, (built.args, built.kwargs, built.generate))
    return built._replace(model=built.model.to(device), args=args, kwargs=kwargs, generate=generate)


def parts(built: Built, phase: Optional[str]) -> List[Part]:
    """The parts a phase runs, in order, by name: each is called without arguments, once."""
    if phase in TRAINING:
        return _training(built)
    built.model.eval()
    if phase in GENERATING:
        return [("generate", lambda: _generate(built))]
    return [("forward", lambda: forward(built))]


def forward(built: Built) -> Any:
    """The forward pass without gradients."""
    import torch

    with torch.no_grad():
        return built.model(*built.args, **built.kwargs)


def _training(built: Built) -> List[Part]:
    built.model.train()
    kept: Dict[str, Any] = {}
    parameters = [one for one in built.model.parameters() if one.requires_grad]
    if not parameters:
        raise Problem("invalid", "the model has no parameter to train")
    optimizer = _optimizer(built, parameters)

    def run() -> None:
        outputs = built.model(*built.args, **built.kwargs)
        kept["loss"] = loss_of(built, outputs)

    def backward() -> None:
        kept["loss"].backward()

    return [
        ("forward", run),
        ("backward", backward),
        ("optimizer", optimizer.step),
    ]


def _optimizer(built: Built, parameters: List[Any]) -> Any:
    import torch

    return built.optimizer(parameters) if built.optimizer else torch.optim.AdamW(parameters)


def loss_of(built: Built, outputs: Any) -> Any:
    """The workload's loss of its outputs; raises Problem when there is nothing to make one of."""
    return built.loss(outputs) if built.loss else _loss(outputs)


def _loss(outputs: Any) -> Any:
    """The model's own loss, else the mean of its first floating-point output."""
    from torch.utils._pytree import tree_leaves

    own = getattr(outputs, "loss", None)
    if own is not None:
        return own
    logits = getattr(outputs, "logits", None)
    candidates = [logits] if logits is not None else tree_leaves(outputs)
    for one in candidates:
        if hasattr(one, "is_floating_point") and one.is_floating_point():
            return one.float().mean()
    raise Problem("invalid", "the model returned no floating-point tensor: state a loss in build")


def _generate(built: Built) -> Any:
    import torch

    if not hasattr(built.model, "generate"):
        raise Problem("invalid", "the phase generates, and the model has no generate method")
    stated = {"max_new_tokens": 4, **(built.generate or {})}
    with torch.no_grad():
        return built.model.generate(*built.args, **{**built.kwargs, **stated})


def _checked(made: Any, name: str) -> Built:
    import torch

    if not isinstance(made, MappingABC):
        raise Problem("invalid", f"{name} returned {type(made).__name__}, not a mapping")
    unknown = sorted(set(made) - set(KEYS))
    missing = [key for key in ("model", "inputs") if key not in made]
    if missing or unknown:
        what = f"has no {missing[0]!r}" if missing else f"has an unknown key {unknown[0]!r}"
        raise Problem("invalid", f"what {name} returned {what}; it may have {', '.join(KEYS)}")
    if not isinstance(made["model"], torch.nn.Module):
        kind = type(made["model"]).__name__
        raise Problem("invalid", f"the model that {name} returned is a {kind}, not an nn.Module")
    inputs = made["inputs"]
    if isinstance(inputs, MappingABC):
        args, kwargs = (), dict(inputs)
    else:
        args, kwargs = tuple(inputs) if isinstance(inputs, (list, tuple)) else (inputs,), {}
    optional = {key: made.get(key) for key in ("loss", "optimizer", "generate")}
    return Built(made["model"], args, kwargs, **optional)
