"""The fused LSTM cell and its backward, in the formulas and with the workspace of ATen's native/cuda/RNN.cu."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlirdev.graph import Node

from ..dims import static
from ..registry import decomposition
from ..tensor import Tensor
from .operands import computing

if TYPE_CHECKING:
    from ..rewriter import Rewriter


def quarters(gates: Tensor) -> list[Tensor]:
    """Input, forget, cell and output gate, side by side along dim 1."""
    width = static(gates.shape[1]) // 4
    return [gates.slice(1, k * width, (k + 1) * width) for k in range(4)]


@decomposition("aten._thnn_fused_lstm_cell.default")
def lstm_cell(rw: Rewriter, node: Node) -> list[Tensor]:
    inputs, hiddens, cx = (rw.tensor(a, computing(node)) for a in node.args[:3])
    gates = inputs + hiddens
    for bias in node.args[3:]:
        added = rw.optional(bias, computing(node))
        gates = gates if added is None else gates + added
    i, f, g, o = quarters(gates)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * cx + i * g
    return [o * cy.tanh(), cy, rw.joined([i, f, g, o], 1)]


@decomposition("aten._thnn_fused_lstm_cell_backward_impl.default")
def lstm_cell_backward(rw: Rewriter, node: Node) -> list[Tensor]:
    grad_hy, grad_cy = (rw.optional(a, computing(node)) for a in node.args[:2])
    cx, cy, workspace = (rw.tensor(a, computing(node)) for a in node.args[2:5])
    i, f, g, o = quarters(workspace)
    tanh_cy = cy.tanh()
    hidden = rw.zeros(cy.shape, cy.dtype) if grad_hy is None else grad_hy
    cell = hidden * o * (1.0 - tanh_cy * tanh_cy)
    cell = cell if grad_cy is None else cell + grad_cy
    gates = rw.joined(
        [
            cell * g * i * (1.0 - i),
            cell * cx * f * (1.0 - f),
            cell * i * (1.0 - g * g),
            hidden * tanh_cy * o * (1.0 - o),
        ],
        1,
    )
    return [gates, cell * f, *([gates.sum([0])] if node.args[5] else [])]
