"""The fused cell that `nn.GRU` calls on an accelerator, written in ordinary ops; the LSTM's is one node.

Formulas and workspaces as in ATen's `native/cuda/RNN.cu`.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from mlirdev.lazy import views
from mlirdev.lazy.handlers import handles
from mlirdev.lazy.overloads import op
from mlirdev.lazy.storage import new_tensor, read
from mlirdev.lazy.trace import Cell


def add(a: Cell, b: Cell) -> Cell:
    return op("aten.add.Tensor", a, b)


def mul(*factors: Cell) -> Cell:
    result = factors[0]
    for factor in factors[1:]:
        result = op("aten.mul.Tensor", result, factor)
    return result


def sigmoid(a: Cell) -> Cell:
    return op("aten.sigmoid.default", a)


def tanh(a: Cell) -> Cell:
    return op("aten.tanh.default", a)


def complement(a: Cell) -> Cell:
    """1 - a."""
    return op("aten.rsub.Scalar", a, 1)


def cat(parts: list[Cell]) -> Cell:
    return op("aten.cat.default", parts, 1)


def sum_rows(a: Cell) -> Cell:
    return op("aten.sum.dim_IntList", a, [0])


def biased(gates: Tensor, bias: Tensor | None) -> Cell:
    return read(gates) if bias is None else op("aten.add.Tensor", gates, bias)


@handles("_thnn_fused_gru_cell")
def gru_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    hx: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, ...]:
    input_r, input_z, input_n = views.chunk(biased(input_gates, input_bias), 3, 1)
    hidden_r, hidden_z, hidden_n = views.chunk(biased(hidden_gates, hidden_bias), 3, 1)
    before = read(hx)
    r, z = sigmoid(add(input_r, hidden_r)), sigmoid(add(input_z, hidden_z))
    n = tanh(add(input_n, mul(r, hidden_n)))
    hy = add(n, mul(z, op("aten.sub.Tensor", before, n)))
    return new_tensor(hy), new_tensor(cat([r, z, n, before, hidden_n]))


@handles("_thnn_fused_gru_cell_backward")
def gru_cell_backward(grad_hy: Tensor, workspace: Tensor, has_bias: bool) -> Any:
    r, z, n, before, hidden_n = views.chunk(read(workspace), 5, 1)
    grad = read(grad_hy)
    grad_z = mul(grad, op("aten.sub.Tensor", before, n), complement(z), z)
    grad_n = mul(grad, complement(z), complement(mul(n, n)))
    grad_r = mul(grad_n, hidden_n, complement(r), r)
    inputs, hiddens = cat([grad_r, grad_z, grad_n]), cat([grad_r, grad_z, mul(grad_n, r)])
    biases = [new_tensor(sum_rows(g)) for g in (inputs, hiddens)] if has_bias else [None, None]
    return new_tensor(inputs), new_tensor(hiddens), new_tensor(mul(grad, z)), *biases
