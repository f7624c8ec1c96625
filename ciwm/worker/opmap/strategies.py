"""The parallel strategies of a model, each set up and run once on a fake process group.

The group answers at once and moves nothing, so one process counts what any number of ranks would
call. Numbers that come out are senseless, and nobody reads them.
"""

from __future__ import annotations

import fnmatch
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple

from .collective_count import Counted, counting
from .subject import TRAINING, Built, build, loss_of

# steps of DDP: the first reduces all gradients at once, the second agrees on buckets
UNTYPICAL = 2


class NotApplicable(Exception):  # noqa: N818  an answer, not an error
    """The strategy has nothing to do in this model; the message says why."""


class Ready(NamedTuple):
    """A model set up for a strategy; `evidence` says whether its calls are PyTorch's own."""

    built: Optional[Built]
    evidence: str
    detail: str = ""


def run_strategy(name: str, job: Mapping[str, Any], world: int) -> Tuple[Counted, Ready]:
    """Set a strategy up, and count one step of it; raises NotApplicable, or what PyTorch raises."""
    from torch import distributed
    from torch.testing._internal.distributed.fake_pg import FakeStore

    distributed.init_process_group("fake", rank=0, world_size=world, store=FakeStore())
    built = build(job)
    training = job["phase"] in TRAINING
    built.model.train(training)
    ready = STRATEGIES[name](built, world, training)
    for _ in range(UNTYPICAL if name == "ddp" else 0):
        _step(ready.built or built, training)
    counted = Counted()
    with counting(counted):
        _step(ready.built or built, training)
    return counted, ready


def _step(built: Built, training: bool) -> None:  # noqa: FBT001
    import torch

    with torch.set_grad_enabled(training):
        outputs = built.model(*built.args, **built.kwargs)
        if training:
            loss_of(built, outputs).backward()


def _ddp(built: Built, world: int, training: bool) -> Ready:  # noqa: FBT001
    from torch.nn.parallel import DistributedDataParallel

    del world
    if not training:
        raise NotApplicable("nothing is reduced without gradients")
    wrapped = DistributedDataParallel(built.model)
    wrapped.register_comm_hook(None, reduce_bucket)
    return Ready(built._replace(model=wrapped), "counted")


def reduce_bucket(state, bucket):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201  DDP compares annotations with its own types
    """What the built-in hook does; the fake group's own future has no value to go on with."""
    import torch
    from torch import distributed

    del state
    distributed.all_reduce(bucket.buffer())
    done: Any = torch.futures.Future()
    done.set_result(bucket.buffer())
    return done


def _fsdp2(built: Built, world: int, training: bool) -> Ready:  # noqa: FBT001
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    del training
    mesh = init_device_mesh("cpu", (world,))
    blocks = repeated_blocks(built.model)
    for block in blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(built.model, mesh=mesh)
    what = f"{len(blocks)} blocks and the rest sharded" if blocks else "sharded as one"
    return Ready(built, "counted", what)


def _tp(built: Built, world: int, training: bool) -> Ready:  # noqa: FBT001
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import parallelize_module

    del training
    plan, source, left = tensor_plan(built.model)
    if not plan:
        raise NotApplicable(f"no plan: {source}")
    mesh = init_device_mesh("cpu", (world,))
    parallelize_module(built.model, mesh, {name: _style(how) for name, how in plan.items()})
    without = f", without {', '.join(sorted(left))}" if left else ""
    return Ready(built, "counted", source + without)


COLUMNS = ("q_proj", "k_proj", "v_proj", "gate_proj", "up_proj", "fc1", "c_fc", "w1", "w3", "lin1")
ROWS = ("o_proj", "out_proj", "down_proj", "fc2", "w2", "lin2")


def tensor_plan(model: Any) -> Tuple[Dict[str, str], str, List[str]]:
    """Module name pattern -> style, where it is from, and styles that were left out.

    A model's own plan counts first. Without one, linear layers are recognised by their names, if a
    column is followed by a row in the same module; anything else would break on a shape.
    """
    own = getattr(model, "_tp_plan", None) or {}
    known = {name: how for name, how in own.items() if how in STYLES}
    if known:
        return known, "the model's own plan", sorted({str(how) for how in own.values()} - {*STYLES})
    plan: Dict[str, str] = {}
    for name, module in model.named_modules():
        children = [child for child, _ in module.named_children()]
        columns = [child for child in children if child in COLUMNS]
        rows = [child for child in children if child in ROWS]
        if columns and rows:
            prefix = name + "." if name else ""
            plan.update({prefix + child: "colwise" for child in columns})
            plan.update({prefix + child: "rowwise" for child in rows})
    if plan:
        return plan, f"{len(plan)} linear layers recognised by their names", []
    return {}, "the model has none, and no pair of linear layers has names that are known", []


STYLES = ("colwise", "rowwise", "colwise_gather_output", "colwise_rep", "embedding_rowwise")


def _style(how: str) -> Any:
    from torch.distributed.tensor import Replicate
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel

    if how in ("colwise_gather_output", "colwise_rep"):
        return ColwiseParallel(output_layouts=Replicate())
    if how == "embedding_rowwise":
        return RowwiseParallel(input_layouts=Replicate())
    return ColwiseParallel() if how == "colwise" else RowwiseParallel()


def _pp(built: Built, world: int, training: bool) -> Ready:  # noqa: FBT001
    """A middle stage: it receives and sends activations, and in training their gradients.

    Of two stages none is in the middle: the last one receives activations and sends gradients.
    """
    blocks = repeated_blocks(built.model)
    stages = min(world, len(blocks))
    if stages < 2:  # noqa: PLR2004
        raise NotApplicable("no list of repeated blocks to cut between")
    cut, middle = blocks[len(blocks) // stages], stages > 2  # noqa: PLR2004

    def exchange(_module: Any, args: Any, kwargs: Any) -> None:
        _exchange(_first_tensor((args, kwargs)), receives=True, sends=middle)

    def exchange_back(_module: Any, grads: Any) -> None:
        _exchange(_first_tensor(grads), receives=middle, sends=True)

    cut.register_forward_pre_hook(exchange, with_kwargs=True)
    if training:
        cut.register_full_backward_pre_hook(exchange_back)
    which = "a middle" if middle else "the last"
    detail = f"{which} stage of {stages}, the batch as one microbatch, one tensor at the cut"
    return Ready(built, "estimated", detail)


def _exchange(tensor: Any, *, receives: bool, sends: bool) -> None:
    import torch
    from torch import distributed

    if tensor is not None and receives:
        distributed.recv(torch.empty_like(tensor), src=1)
    if tensor is not None and sends:
        distributed.send(tensor.detach().contiguous(), dst=1)


def _first_tensor(tree: Any) -> Optional[Any]:
    from .tensors import tensors_in

    found = [each for each in tensors_in(tree) if each.is_floating_point()]
    return found[0] if found else None


def _ep(built: Built, world: int, training: bool) -> Ready:  # noqa: FBT001
    """Tokens go to the ranks of their experts and come back, twice that in training."""
    layers = expert_layers(built.model)
    if not layers:
        raise NotApplicable("no mixture of experts in it")
    stated = _experts_per_token(built.model, layers)
    top = stated or 1

    def exchange(tensor: Any) -> None:
        if tensor is not None:
            _all_to_all(tensor, top, world)

    for layer in layers:
        layer.register_forward_pre_hook(lambda _m, args: exchange(_first_tensor(args)))
        layer.register_forward_hook(lambda _m, _args, out: exchange(_first_tensor(out)))
        if training:
            layer.register_full_backward_pre_hook(lambda _m, grads: exchange(_first_tensor(grads)))
            layer.register_full_backward_hook(
                lambda _m, grads, _out: exchange(_first_tensor(grads))
            )
    each = (
        f"each token to {top} experts" if stated else "each token to 1 expert (no top_k is stated)"
    )
    return Ready(built, "estimated", f"{len(layers)} layers, {each}, spread evenly")


def _all_to_all(tensor: Any, top: int, world: int) -> None:
    """Each token as often as it has experts, filled up to a multiple of the ranks."""
    from torch import distributed

    width = tensor.shape[-1]
    tokens = -(-(tensor.numel() // width) * top // world) * world
    sent = tensor.new_empty((tokens, width))
    distributed.all_to_all_single(tensor.new_empty((tokens, width)), sent)


def _experts_per_token(model: Any, layers: List[Any]) -> Optional[int]:
    """As the configuration says, or a layer of experts itself; None where neither does."""
    for holder in (getattr(model, "config", None), *layers):
        for name in ("num_experts_per_tok", "moe_topk", "top_k", "num_experts_per_token"):
            value = getattr(holder, name, None)
            if isinstance(value, int):
                return value
    return None


def expert_layers(model: Any) -> List[Any]:
    """Modules that hold `experts`, the innermost ones."""
    return [
        module
        for _, module in model.named_modules()
        if any(fnmatch.fnmatchcase(name, "*experts") for name, _ in module.named_children())
    ]


def repeated_blocks(model: Any) -> List[Any]:
    """The blocks of the longest list of modules of one kind: a model's layers, not its experts."""
    import torch

    longest: List[Any] = []
    for name, module in model.named_modules():
        if fnmatch.fnmatchcase(name, "*experts"):
            continue
        if isinstance(module, (torch.nn.ModuleList, torch.nn.Sequential)):
            blocks = [child for child in module if any(True for _ in child.parameters())]
            alike = len({type(block) for block in blocks}) == 1 and len(list(module)) == len(blocks)
            if alike and len(blocks) > len(longest):
                longest = blocks
    return longest


STRATEGIES: Dict[str, Callable[[Built, int, bool], Ready]] = {
    "ddp": _ddp,
    "fsdp2": _fsdp2,
    "tp": _tp,
    "pp": _pp,
    "ep": _ep,
}
