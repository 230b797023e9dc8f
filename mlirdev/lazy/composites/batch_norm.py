"""Batch normalisation: `native_batch_norm` writes the running statistics though its schema doesn't say so."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from mlirdev.lazy import views
from mlirdev.lazy.handlers import handles
from mlirdev.lazy.overloads import named
from mlirdev.lazy.storage import new_tensor, write


@handles("native_batch_norm", "_native_batch_norm_legit")
def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    if running_mean is None or running_var is None:
        results = named("aten._native_batch_norm_legit.no_stats").call(input, weight, bias, training, momentum, eps)
    elif training:
        record = named("aten._native_batch_norm_legit_functional.default").call
        results = record(input, weight, bias, running_mean, running_var, training, momentum, eps)
        for stats, value in zip((running_mean, running_var), results[3:], strict=True):
            assert value is not None
            write(stats, views.cast(value, stats.dtype))
    else:
        record = named("aten._native_batch_norm_legit_no_training.default").call
        results = record(input, weight, bias, running_mean, running_var, momentum, eps)
    return tuple(None if cell is None else new_tensor(cell) for cell in results[:3])


@handles("_batch_norm_with_update")
def batch_norm_with_update(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> Any:
    """The fourth result is what other libraries keep for the backward: nothing here."""
    results = native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return *results, new_tensor(views.empty((0,), torch.uint8))
