"""Views and what else changes how a tensor looks at a storage, or the storage's size.

A view is a new tensor on the same storage and records nothing. PyTorch's CPU kernels check the storage's
size, which for ours is 0 to C++, so the Meta kernels make them, and what the CPU's would refuse is refused here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from mlirdev.lazy import views
from mlirdev.lazy.chain import Shape
from mlirdev.lazy.handlers import handles
from mlirdev.lazy.layouts import contiguous_stride, layout_of
from mlirdev.lazy.resizing import grow
from mlirdev.lazy.storage import CPU, META, cell_of, new_tensor, offset_of, restrided, span, views_of
from mlirdev.lazy.trace import Cell

aten = torch.ops.aten
_seen_by_cpp: Any = torch._C.StorageBase.nbytes  # type: ignore[attr-defined]
_set = aten.set_.source_Storage_storage_offset.redispatch


@handles("as_strided")
def as_strided(self: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Any:
    offset = offset_of(self) if storage_offset is None else storage_offset
    shape, strides = tuple(size), tuple(stride)
    beyond = _span(shape, strides, offset) * self.itemsize > cell_of(self).layout.nbytes
    if beyond and not self._is_zerotensor():  # forward-mode's zeros have no elements behind them
        _refuse(self, shape, strides, offset)
    return restrided(self, size, stride, offset)


# How many elements a storage must have; most views of a program are those that it had before.
_span = lru_cache(maxsize=65536)(span)


def _refuse(tensor: Tensor, size: Shape, stride: Shape, offset: int) -> None:
    """Raise as eager does for a view beyond its storage."""
    have, itemsize = cell_of(tensor).layout.nbytes, tensor.itemsize
    need = span(size, stride, offset) * itemsize
    raise RuntimeError(
        f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {itemsize} "
        f"requiring a storage size of {need} are out of bounds for storage of size {have}"
    )


@handles("view", "_unsafe_view")
def view(self: Tensor, size: Sequence[int]) -> Any:
    return aten.view.default.redispatch(CPU, self, size)


@handles("_reshape_alias")
def _reshape_alias(self: Tensor, size: Sequence[int], stride: Sequence[int]) -> Any:
    return restrided(self, tuple(size), tuple(stride), offset_of(self))


_functions: Any = torch._C._VariableFunctions


@handles("split.Tensor")
def split(self: Tensor, split_size: int, dim: int = 0) -> Any:
    return views_of(self, _functions.split, split_size, dim)


@handles("split_with_sizes")
def split_with_sizes(self: Tensor, split_sizes: Sequence[int], dim: int = 0) -> Any:
    return views_of(self, _functions.split_with_sizes, split_sizes, dim)


@handles("unbind.int")
def unbind(self: Tensor, dim: int = 0) -> Any:
    return views_of(self, _functions.unbind, dim)


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
    strides = tuple(stride) or (self.stride() if shape == self.shape else contiguous_stride(shape))
    need = span(shape, strides, storage_offset)
    _retype(_cell_in(source, self), shape, strides, self.dtype)
    # The Meta kernel resizes what C++ sees of the storage. It can't where that has a pointer (storage_methods.py).
    enough = _seen_by_cpp(source) >= need * self.itemsize
    answer = _set(CPU if enough else META, self, source, storage_offset, shape, strides)
    grow(self, shape, need)
    return answer


def _cell_in(source: Any, target: Tensor) -> Cell:
    cell: Cell | None = getattr(source, "cell", None)
    if cell is None:
        raise RuntimeError(
            f'Attempted to set the storage of a tensor on device "{target.device}" to a storage on different device '
            f'"{source.device}". This is no longer allowed; the devices must match.'
        )
    return cell


def _retype(cell: Cell, shape: Shape, stride: Shape, dtype: torch.dtype) -> None:
    """Describe loaded bytes by the first tensor on them, so that reading it converts nothing. (Bools would lose bytes
    that are neither 0 nor 1.)"""
    layout = layout_of(shape, dtype)
    loaded = cell.buffer is not None and cell.layout.dtype is torch.uint8 and cell.layout.stride is None
    if (
        loaded
        and dtype is not torch.bool
        and layout.nbytes == cell.layout.nbytes
        and stride == contiguous_stride(shape)
    ):
        cell.layout, cell.trace = layout, None


@handles("set_.source_Storage")
def set_storage(self: Tensor, source: torch.UntypedStorage) -> Any:
    layout = _cell_in(source, self).layout
    return set_storage_offset(self, source, 0, (layout.nbytes // self.dtype.itemsize,))


@handles("is_set_to")
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    same = self.untyped_storage()._cdata == tensor.untyped_storage()._cdata
    return same and (self.shape, self.stride(), offset_of(self)) == (tensor.shape, tensor.stride(), offset_of(tensor))


@handles("set_.source_Tensor")
def set_tensor(self: Tensor, source: Tensor) -> Any:
    return set_storage_offset(self, source.untyped_storage(), source.storage_offset(), source.shape, source.stride())


@handles("set_")
def set_(self: Tensor) -> Any:
    nothing = new_tensor(views.empty((0,), self.dtype))
    return set_storage_offset(self, nothing.untyped_storage(), 0, (0,))


@handles("as_strided_")
def as_strided_(self: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Any:
    offset = offset_of(self) if storage_offset is None else storage_offset
    shape, strides = tuple(size), tuple(stride)
    if span(shape, strides, offset) * self.itemsize > cell_of(self).layout.nbytes:
        _refuse(self, shape, strides, offset)
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


@handles("addbmm_")
def addbmm_(self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """Alone among its like, this one resizes a target that the result doesn't fit."""
    return torch.addbmm(self, batch1, batch2, beta=beta, alpha=alpha, out=self)
