"""What torch.amp.GradScaler asks of a device: gradients divided by the scale, and the scale's next value. Recorded, so
that a step waits once: where the scaler reads whether anything was infinite."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from mlirdev.lazy import views
from mlirdev.lazy.handlers import handles
from mlirdev.lazy.overloads import op
from mlirdev.lazy.storage import DEVICE_TYPE, read, write
from mlirdev.lazy.trace import Cell


@handles("_amp_foreach_non_finite_check_and_unscale_")
def non_finite_check_and_unscale_(self: Sequence[Tensor], found_inf: Tensor, inv_scale: Tensor) -> None:
    """Multiply each gradient by inv_scale, in f32; found_inf becomes 1 if one of them had an infinity or a NaN."""
    _check_single(inv_scale, "inv_scale")
    _check_single(found_inf, "found_inf")
    factor, found = views.reshape(read(inv_scale), ()), views.reshape(read(found_inf), ())
    for grad in self:
        if grad.device.type != DEVICE_TYPE:
            raise RuntimeError(f"scaled gradients must be on device {DEVICE_TYPE}, but one is on {grad.device}")
        value = read(grad)
        infinite = op("aten.logical_not.default", op("aten.isfinite.default", value))
        found = op("aten.maximum.default", found, views.cast(op("aten.any.default", infinite), torch.float32))
        wide = value if grad.dtype is torch.float64 else views.cast(value, torch.float32)
        write(grad, views.cast(op("aten.mul.Tensor", wide, factor), grad.dtype))
    write(found_inf, views.reshape(found, tuple(found_inf.shape)))


def _check_single(tensor: Tensor, name: str) -> None:
    if tensor.numel() != 1:
        raise RuntimeError(f"{name} must be a 1-element tensor.")
    if tensor.dtype is not torch.float32:
        raise RuntimeError(f"{name} must be a float tensor.")


@handles("_amp_update_scale_")
def update_scale_(
    self: Tensor,
    growth_tracker: Tensor,
    found_inf: Tensor,
    scale_growth_factor: float,
    scale_backoff_factor: float,
    growth_interval: int,
) -> Tensor:
    """Smaller after an infinity; larger, while that is finite, after so many steps without."""
    scale, found = read(self), op("aten.ne.Scalar", views.reshape(read(found_inf), tuple(self.shape)), 0)
    steps = op("aten.add.Scalar", views.reshape(read(growth_tracker), tuple(self.shape)), 1)
    reached = op("aten.eq.Scalar", steps, growth_interval)
    grown = op("aten.mul.Scalar", scale, float(scale_growth_factor))
    grows = op("aten.logical_and.default", reached, op("aten.isfinite.default", grown))
    kept = _where(grows, grown, scale)
    write(self, _where(found, op("aten.mul.Scalar", scale, float(scale_backoff_factor)), kept))
    anew = op("aten.logical_or.default", found, reached)
    steps = op("aten.masked_fill.Scalar", steps, anew, 0)
    write(growth_tracker, views.reshape(steps, tuple(growth_tracker.shape)))
    return self


def _where(condition: Cell, a: Cell, b: Cell) -> Cell:
    return op("aten.where.self", condition, a, b)
