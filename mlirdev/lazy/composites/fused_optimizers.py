"""Optimizers that PyTorch calls fused: one op updates all parameters. Here it is recorded as plain ops on columns of
all parameters, which are fused when they are compiled, mostly into what computes the gradients.

They compute as the CPU's fused kernels: bf16 and f16 in f32, bias corrections in f64. A step that a GradScaler found
to overflow (`found_inf`) keeps the old values, without a look at the flag on the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import torch
from torch import Tensor

from mlirdev.lazy.columns import Column, each
from mlirdev.lazy.handlers import handles
from mlirdev.lazy.operands import operand
from mlirdev.lazy.storage import read, whole_cell, write
from mlirdev.lazy.trace import Cell
from mlirdev.lazy.views import cast

_Tensors: TypeAlias = "Sequence[Tensor]"
_Rate: TypeAlias = "float | Tensor"
_HALVES = (torch.bfloat16, torch.float16)


def _column(tensors: _Tensors) -> Column:
    """The tensors' values, as what updates are computed in."""
    cells = [whole_cell(t) or read(t) for t in tensors]
    return Column([cast(cell, torch.float32) if cell.layout.dtype in _HALVES else cell for cell in cells])


def _cell(value: _Rate) -> Cell | float:
    return operand(value, "a fused optimizer", "lr") if isinstance(value, Tensor) else value


class _Step:
    """What is the same for all parameters: up- or downhill, the gradients' scale, was an overflow found."""

    def __init__(self, maximize: bool, grad_scale: Tensor | None, found_inf: Tensor | None) -> None:
        self.maximize = maximize
        self.scale = None if grad_scale is None else read(grad_scale)
        self.found = None if found_inf is None else cast(read(found_inf), torch.bool)

    def gradients(self, grads: _Tensors, values: Column, weight_decay: float) -> Column:
        """The gradients without their scale, which is taken off `grads` too, uphill or down, with L2 decay."""
        column = _column(grads)
        if self.scale is not None:
            column = column / self.scale
            _store(grads, column)
        column = -column if self.maximize else column
        return column.op("add.Tensor", values, weight_decay) if weight_decay else column

    def keep(self, targets: _Tensors, values: Column) -> None:
        """Let the targets have new values, unless an overflow was found."""
        if self.found is not None:
            old = Column([whole_cell(t) or read(t) for t in targets])
            wanted = values.to(*(t.dtype for t in targets))
            values = Column(each("aten.where.self")(self.found, old.cells, wanted.cells))
        _store(targets, values)


def _store(targets: _Tensors, values: Column) -> None:
    for target, value in zip(targets, values.cells, strict=True):
        cell = whole_cell(target)
        if cell is not None and cell.layout is value.layout:
            cell.assign(value)
        else:
            write(target, cast(value, target.dtype))
    torch._C._increment_version(targets)


def _adam(
    decoupled: bool,
    params: _Tensors,
    grads: _Tensors,
    exp_avgs: _Tensors,
    exp_avg_sqs: _Tensors,
    max_exp_avg_sqs: _Tensors,
    state_steps: _Tensors,
    *,
    lr: _Rate,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    amsgrad: bool,
    maximize: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    if not params:
        return
    step = _Step(maximize, grad_scale, found_inf)
    values = _column(params)
    if decoupled and weight_decay:
        values = values * _cell(1 - lr * weight_decay)
    gradients = step.gradients(grads, values, 0.0 if decoupled else weight_decay)
    averages = _column(exp_avgs).op("lerp.Scalar", gradients, 1 - beta1)
    squares = _column(exp_avg_sqs) * beta2 + gradients * gradients * (1 - beta2)
    count = _column(state_steps).to(torch.float64)
    correction1, correction2 = (
        Column(each("aten.pow.Scalar")(beta, count.cells)).op("rsub.Scalar", 1) for beta in (beta1, beta2)
    )
    step.keep(exp_avgs, averages)
    step.keep(exp_avg_sqs, squares)
    if amsgrad:
        squares = _column(max_exp_avg_sqs).op("maximum.default", squares)
        step.keep(max_exp_avg_sqs, squares)
    denominators = squares.sqrt() / correction2.sqrt() + eps
    rates = correction1.op("reciprocal.default") * _cell(lr)
    step.keep(params, values - averages / denominators * rates)


@handles("_fused_adam_", "_fused_adam_.tensor_lr")
def _fused_adam_(*tensors: _Tensors, **options: float | Tensor | None) -> None:
    _adam(False, *tensors, **options)  # type: ignore[arg-type]  # as the schema has them


@handles("_fused_adamw_", "_fused_adamw_.tensor_lr")
def _fused_adamw_(*tensors: _Tensors, **options: float | Tensor | None) -> None:
    _adam(True, *tensors, **options)  # type: ignore[arg-type]  # as the schema has them


@handles("_fused_sgd_", "_fused_sgd_.tensor_lr")
def _fused_sgd_(
    params: _Tensors,
    grads: _Tensors,
    momentum_buffer_list: _Tensors,
    *,
    weight_decay: float,
    momentum: float,
    lr: _Rate,
    dampening: float,
    nesterov: bool,
    maximize: bool,
    is_first_step: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    if not params:
        return
    step = _Step(maximize, grad_scale, found_inf)
    values = _column(params)
    gradients = step.gradients(grads, values, weight_decay)
    if momentum:
        speeds = gradients
        if not is_first_step:
            speeds = _column(momentum_buffer_list) * momentum + gradients * (1 - dampening)
        step.keep(momentum_buffer_list, speeds)
        gradients = gradients.op("add.Tensor", speeds, momentum) if nesterov else speeds
    step.keep(params, values - gradients * _cell(lr))


@handles("_fused_adagrad_", "_fused_adagrad_.tensor_lr")
def _fused_adagrad_(
    params: _Tensors,
    grads: _Tensors,
    state_sums: _Tensors,
    state_steps: _Tensors,
    *,
    lr: _Rate,
    lr_decay: float,
    weight_decay: float,
    eps: float,
    maximize: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    if not params:
        return
    step = _Step(maximize, grad_scale, found_inf)
    values = _column(params)
    gradients = step.gradients(grads, values, weight_decay)
    squares = _column(state_sums) + gradients * gradients
    step.keep(state_sums, squares)
    slowdown = (_column(state_steps).to(torch.float64) - 1) * lr_decay + 1
    rates = slowdown.op("reciprocal.default") * _cell(lr)
    step.keep(params, values - gradients / (squares.sqrt() + eps) * rates)
