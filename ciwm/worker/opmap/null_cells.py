"""Cells of recurrent networks, which torch asks a device for whole and the CPU does not have.

As the compiled null device has them; on tensors of the CPU.
"""

from __future__ import annotations

from typing import Any, Tuple


def lstm_cell(
    gates: Any, hidden: Any, cx: Any, bias: Any = None, hidden_bias: Any = None
) -> Tuple[Any, ...]:
    """The next hidden state and cell, and what the backward pass keeps."""
    import torch

    parts = (_added(gates, bias) + _added(hidden, hidden_bias)).chunk(4, 1)
    enter, forget, cell, out = (
        part.tanh() if place == 2 else part.sigmoid()  # noqa: PLR2004  the third is the cell
        for place, part in enumerate(parts)
    )
    cy = forget * cx + enter * cell
    return out * cy.tanh(), cy, torch.cat((enter, forget, cell, out), 1)


def lstm_cell_backward(  # noqa: PLR0917  as torch calls it
    of_hy: Any,
    of_cy: Any,
    cx: Any,
    cy: Any,
    kept: Any,
    has_bias: bool,  # noqa: FBT001
) -> Tuple[Any, ...]:
    """The gradients of the gates, the cell and the bias."""
    import torch

    if of_hy is None and of_cy is None:
        return None, None, None
    enter, forget, cell, out = kept.chunk(4, 1)
    tanh = cy.tanh()
    of_hidden = torch.zeros_like(tanh) if of_hy is None else of_hy
    of_cell = of_hidden * out * (1 - tanh * tanh) + (0 if of_cy is None else of_cy)
    gates = (
        of_cell * cell * enter * (1 - enter),
        of_cell * cx * forget * (1 - forget),
        of_cell * enter * (1 - cell * cell),
        of_hidden * tanh * out * (1 - out),
    )
    found = torch.cat(gates, 1)
    return found, of_cell * forget, found.sum(0) if has_bias else None


def gru_cell(
    gates: Any, hidden: Any, hx: Any, bias: Any = None, hidden_bias: Any = None
) -> Tuple[Any, ...]:
    """The next hidden state, and what the backward pass keeps."""
    import torch

    one, other = _added(gates, bias).chunk(3, 1), _added(hidden, hidden_bias).chunk(3, 1)
    reset, update = (one[0] + other[0]).sigmoid(), (one[1] + other[1]).sigmoid()
    fresh = (one[2] + reset * other[2]).tanh()
    kept = torch.cat((reset, update, fresh, hx, other[2]), 1)
    return fresh + update * (hx - fresh), kept


def gru_cell_backward(of_hy: Any, kept: Any, has_bias: bool) -> Tuple[Any, ...]:  # noqa: FBT001
    """The gradients of both gates, the hidden state and both biases."""
    import torch

    reset, update, fresh, hx, other = kept.chunk(5, 1)
    of_fresh = of_hy * (1 - update) * (1 - fresh * fresh)
    of_update = of_hy * (hx - fresh) * update * (1 - update)
    of_reset = of_fresh * other * reset * (1 - reset)
    of_input = torch.cat((of_reset, of_update, of_fresh), 1)
    of_hidden = torch.cat((of_reset, of_update, of_fresh * reset), 1)
    sums = (of_input.sum(0), of_hidden.sum(0)) if has_bias else (None, None)
    return (of_input, of_hidden, of_hy * update, *sums)


CELLS = {
    "_thnn_fused_lstm_cell": lstm_cell,
    "_thnn_fused_lstm_cell_backward_impl": lstm_cell_backward,
    "_thnn_fused_gru_cell": gru_cell,
    "_thnn_fused_gru_cell_backward": gru_cell_backward,
}


def _added(gates: Any, bias: Any) -> Any:
    return gates if bias is None else gates + bias
