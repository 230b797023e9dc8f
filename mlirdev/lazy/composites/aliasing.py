"""Views and what else changes how a tensor looks at a storage, or the storage's size.

A view is a new tensor on the same storage and records nothing. PyTorch's CPU kernels check the storage's
size, which for ours is 0, so the Meta kernels make them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mlirdev.lazy import views
from mlirdev.lazy.chain import Shape
from mlirdev.lazy.handlers import handles
from mlirdev.lazy.layouts import contiguous_stride, layout_of
from mlirdev.lazy.overloads import op
from mlirdev.lazy.storage import CPU, META, cell_of, new_tensor, offset_of, restrided, span
from mlirdev.lazy.trace import Cell

aten = torch.ops.aten
_set = aten.set_.source_Storage_storage_offset.redispatch


@handles("as_strided")
def as_strided(self: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Any:
    return aten.as_strided.default.redispatch(META, self, size, stride, storage_offset)


@handles("view")
def view(self: Tensor, size: Sequence[int]) -> Any:
    return aten.view.default.redispatch(CPU, self, size)


@handles("_reshape_alias")
def _reshape_alias(self: Tensor, size: Sequence[int], stride: Sequence[int]) -> Any:
    return restrided(self, tuple(size), tuple(stride), offset_of(self))


@handles("unfold")
def unfold(self: Tensor, dim: int, size: int, step: int) -> Any:
    return aten.unfold.default.redispatch(META, self, dim, size, step)


@handles("view_as_real")
def view_as_real(self: Tensor) -> Any:
    return aten.view_as_real.default.redispatch(META, self)


@handles("view_as_complex")
def view_as_complex(self: Tensor) -> Any:
    return aten.view_as_complex.default.redispatch(META, self)


# --- set_: another storage ---------------------------------------------------------------------------


@handles("set_.source_Storage_storage_offset")
def set_storage_offset(
    self: Tensor, source: torch.UntypedStorage, storage_offset: int, size: Sequence[int], stride: Sequence[int] = ()
) -> Any:
    shape = tuple(size)
    strides = tuple(stride) or contiguous_stride(shape)
    need = span(shape, strides, storage_offset) * self.dtype.itemsize
    _retype(source.cell, shape, strides, self.dtype)  # type: ignore[attr-defined]
    return _set(CPU if source.nbytes() >= need else META, self, source, storage_offset, shape, strides)


def _retype(cell: Cell, shape: Shape, stride: Shape, dtype: torch.dtype) -> None:
    """Describe loaded bytes by the first tensor on them, so that reading it converts nothing."""
    layout = layout_of(shape, dtype)
    loaded = cell.buffer is not None and cell.layout.dtype is torch.uint8
    if loaded and layout.nbytes == cell.layout.nbytes and stride == contiguous_stride(shape):
        cell.layout, cell.trace = layout, None


@handles("set_.source_Storage")
def set_storage(self: Tensor, source: torch.UntypedStorage) -> Any:
    layout = source.cell.layout  # type: ignore[attr-defined]
    return set_storage_offset(self, source, 0, (layout.nbytes // self.dtype.itemsize,))


@handles("set_.source_Tensor")
def set_tensor(self: Tensor, source: Tensor) -> Any:
    return set_storage_offset(self, source.untyped_storage(), source.storage_offset(), source.shape, source.stride())


@handles("set_")
def set_(self: Tensor) -> Any:
    nothing = new_tensor(views.empty((0,), self.dtype))
    return set_storage_offset(self, nothing.untyped_storage(), 0, (0,))


@handles("as_strided_")
def as_strided_(self: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Any:
    offset = self.storage_offset() if storage_offset is None else storage_offset
    return set_storage_offset(self, self.untyped_storage(), offset, size, stride)


# --- resize_: a larger storage ------------------------------------------------------------------------


@handles("resize_")
def resize_(self: Tensor, size: Sequence[int], memory_format: torch.memory_format | None = None) -> Any:
    shape = tuple(size)
    if shape == tuple(self.shape) and memory_format is None:
        return self
    strides = contiguous_stride(shape)
    if memory_format not in (None, torch.contiguous_format, torch.preserve_format):
        strides = torch.empty(shape, device="meta", memory_format=memory_format).stride()
    grow(self, shape, span(shape, strides, offset_of(self)))
    return set_storage_offset(self, self.untyped_storage(), self.storage_offset(), shape, strides)


def grow(tensor: Tensor, shape: tuple[int, ...], need: int) -> None:
    """See that the tensor's storage holds `need` elements of its dtype; what is new has unspecified contents."""
    cell = cell_of(tensor)
    layout = cell.layout
    count = -(-need * tensor.dtype.itemsize // layout.dtype.itemsize)
    have = math.prod(layout.shape)
    if count <= have:
        return
    if not have:
        dtype = tensor.dtype if not tensor.storage_offset() else layout.dtype
        value = views.empty(shape if math.prod(shape) == need else (count,), dtype)
    else:
        value = _longer(cell, count, have)
    cell.layout = value.layout
    cell.assign(value)


def _longer(cell: Cell, count: int, have: int) -> Cell:
    flat = views.in_memory_order(cell, (have,))
    return op("aten.cat.default", [flat, views.empty((count - have,), cell.layout.dtype)])
