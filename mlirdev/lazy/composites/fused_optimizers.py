"""Optimizers that PyTorch calls fused: one op updates all parameters. Here it is recorded as plain ops, which are
fused when they are compiled.

They compute as the CPU's fused kernels: bf16 and f16 in f32, bias corrections in f64. A step that a GradScaler found
to overflow (`found_inf`) keeps the old values, without a look at the flag on the host.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from mlirdev.lazy.handlers import handles

_Tensors = Sequence[Tensor]
_Rate = float | Tensor


def _wide(tensor: Tensor) -> Tensor:
    """The tensor as what its updates are computed in."""
    return tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor


def _gradient(grad: Tensor, param: Tensor, maximize: bool, weight_decay: float, grad_scale: Tensor | None) -> Tensor:
    """The gradient without its scale, which is taken off `grad` too, uphill or down, with L2 decay."""
    value = _wide(grad)
    if grad_scale is not None:
        value = value / grad_scale
        grad.copy_(value)
    value = -value if maximize else value
    return value.add(param, alpha=weight_decay) if weight_decay else value


def _keep(target: Tensor, value: Tensor, found_inf: Tensor | None) -> None:
    """Let the target have a new value, unless an overflow was found."""
    target.copy_(value if found_inf is None else torch.where(found_inf.bool(), target, value.to(target.dtype)))


def _adam_step(
    tensors: tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None],
    step: Tensor,
    lr: _Rate,
    betas: tuple[float, float],
    decay: tuple[float, float],
    eps: float,
    maximize: bool,
    grad_scale: Tensor | None,
    found_inf: Tensor | None,
) -> None:
    """One parameter; `decay` is that of the parameter (AdamW) and that of the gradient (Adam)."""
    param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq = tensors
    value = _wide(param)
    if decay[0]:
        value = value * (1 - lr * decay[0])
    gradient = _gradient(grad, value, maximize, decay[1], grad_scale)
    average = torch.lerp(_wide(exp_avg), gradient, 1 - betas[0])
    square = _wide(exp_avg_sq) * betas[1] + gradient * gradient * (1 - betas[1])
    corrections = [1 - torch.pow(beta, step.double()) for beta in betas]
    _keep(exp_avg, average, found_inf)
    _keep(exp_avg_sq, square, found_inf)
    if max_exp_avg_sq is not None:
        square = torch.maximum(_wide(max_exp_avg_sq), square)
        _keep(max_exp_avg_sq, square, found_inf)
    denominator = square.sqrt() / corrections[1].sqrt() + eps
    _keep(param, value - average / denominator * (lr / corrections[0]), found_inf)


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
    decay = (weight_decay, 0.0) if decoupled else (0.0, weight_decay)
    largest: Sequence[Tensor | None] = max_exp_avg_sqs if amsgrad else [None] * len(params)
    for *tensors, step in zip(params, grads, exp_avgs, exp_avg_sqs, largest, state_steps, strict=True):
        _adam_step(tuple(tensors), step, lr, (beta1, beta2), decay, eps, maximize, grad_scale, found_inf)


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
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        value = _wide(param)
        gradient = _gradient(grad, value, maximize, weight_decay, grad_scale)
        if momentum:
            buffer = momentum_buffer_list[i]
            speed = gradient if is_first_step else _wide(buffer) * momentum + gradient * (1 - dampening)
            _keep(buffer, speed, found_inf)
            gradient = gradient.add(speed, alpha=momentum) if nesterov else speed
        _keep(param, value - gradient * lr, found_inf)


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
    for param, grad, total, step in zip(params, grads, state_sums, state_steps, strict=True):
        value = _wide(param)
        gradient = _gradient(grad, value, maximize, weight_decay, grad_scale)
        squares = _wide(total) + gradient * gradient
        _keep(total, squares, found_inf)
        rate = lr / (1 + (step.double() - 1) * lr_decay)
        _keep(param, value - gradient / (squares.sqrt() + eps) * rate, found_inf)
