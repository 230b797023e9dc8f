"""Tensors with unspecified contents, which all other factories start from."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from mlirdev.lazy import views
from mlirdev.lazy.handlers import handles
from mlirdev.lazy.operands import check_device
from mlirdev.lazy.storage import new_tensor, relabelled, restrided, span


@handles("empty.memory_format")
def empty(
    size: Sequence[int],
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
    memory_format: torch.memory_format | None = None,
) -> Tensor:
    check_device(device)
    cell = views.empty(tuple(size), dtype or torch.get_default_dtype())
    if memory_format in (None, torch.contiguous_format, torch.preserve_format):
        return new_tensor(cell)
    like = torch.empty(tuple(size), device="meta", memory_format=memory_format)
    return new_tensor(relabelled(cell, like.stride()))


@handles("empty_strided")
def empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    check_device(device)
    dtype, shape, strides = dtype or torch.get_default_dtype(), tuple(size), tuple(stride)
    like = torch.empty_strided(shape, strides, device="meta")
    if torch._prims_common.is_non_overlapping_and_dense_or_false(like):
        return new_tensor(relabelled(views.empty(shape, dtype), strides))
    flat = new_tensor(views.empty((span(shape, strides, 0),), dtype))
    return restrided(flat, shape, strides, 0)
