"""Dispatch modes of a function: what is dispatched within, below autograd, comes by it."""

from __future__ import annotations

from typing import Any, Callable, Dict, Tuple

Dispatched = Callable[[Any, Tuple[Any, ...], Dict[str, Any]], Any]  # (operator, args, kwargs)


def replacing(call: Dispatched) -> Any:
    """A context in which every operator's result is what `call` makes of it."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):  # type: ignore[misc]  # torch is not typed here
        supports_higher_order_operators = True  # flex_attention is one

        @classmethod
        def ignore_compile_internals(cls) -> bool:
            """A mode without this turns torch.compile off for good."""
            return True

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            del types
            return call(func, args, kwargs or {})

    return Mode()


def watching(take: Dispatched) -> Any:
    """A context in which `take` is shown every operator just before it runs."""

    def call(func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        take(func, args, kwargs)
        return func(*args, **kwargs)

    return replacing(call)
