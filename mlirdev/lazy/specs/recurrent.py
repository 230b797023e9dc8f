"""The fused LSTM cell and its backward, which are one node each: a sequence has thousands of their parts."""

from __future__ import annotations

from mlirdev.lazy.specs.types import Meta, OutSpec, Table, rows


def lstm_cell(
    input_gates: Meta, hidden_gates: Meta, cx: Meta, input_bias: Meta | None, hidden_bias: Meta | None
) -> tuple[OutSpec, OutSpec, OutSpec]:
    state = OutSpec(cx.shape, cx.dtype)
    return state, state, OutSpec(input_gates.shape, input_gates.dtype)


def lstm_cell_backward(
    grad_hy: Meta | None, grad_cy: Meta | None, cx: Meta, cy: Meta, workspace: Meta, has_bias: bool
) -> tuple[OutSpec | None, ...]:
    gates = OutSpec(workspace.shape, workspace.dtype)
    bias = OutSpec(workspace.shape[1:], workspace.dtype) if has_bias else None
    return gates, OutSpec(cx.shape, cx.dtype), bias


TABLE: Table = {
    **rows(lstm_cell, "_thnn_fused_lstm_cell"),
    **rows(lstm_cell_backward, "_thnn_fused_lstm_cell_backward_impl"),
}
