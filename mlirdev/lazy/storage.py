"""Tensors and the cells behind their storages.

A tensor's value is a pure function of (its storage's cell's current value, size, stride, offset, dtype).
The cell is an attribute of the storage's Python object, which every view, `detach`, saved tensor and
`.data` of the tensor shares, and which lives as long as any of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from mlirdev.lazy import views
from mlirdev.lazy.layouts import Layout, contiguous_stride, layout_of
from mlirdev.lazy.trace import Cell, new_cell

META = torch._C.DispatchKeySet(torch._C.DispatchKey.Meta)
CPU = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
DEVICE_TYPE = "mlirdev"
create = torch._C._acc.create_empty_tensor
_as_strided = torch.ops.aten.as_strided.default.redispatch


def new_tensor(cell: Cell) -> Tensor:
    """A tensor with a new storage that holds `cell`."""
    layout = cell.layout
    tensor: Tensor = create(layout.shape, layout.dtype)
    tensor.untyped_storage().cell = cell  # type: ignore[attr-defined]
    if layout.stride is not None:
        if layout.row_major:
            cell.layout = layout.dense
        return restrided(tensor, layout.shape, layout.stride, 0)
    return tensor if layout.nbytes else restrided(tensor, layout.shape, contiguous_stride(layout.shape), 0)


# A tensor's method parses its arguments faster than `redispatch`, and means the same under this guard.
_KeysOnly = torch._C._ForceDispatchKeyGuard
_TRACKING = torch._C.DispatchKeySet(torch._C.DispatchKey.ADInplaceOrView).add(torch._C.DispatchKey.AutogradPrivateUse1)
_PLAIN = frozenset({Tensor, torch.nn.Parameter})
_has_modes = torch._C._is_torch_function_mode_enabled


def restrided(tensor: Tensor, size: Sequence[int], stride: Sequence[int], offset: int) -> Tensor:
    """A view of `tensor`'s storage, unchecked: the Meta key doesn't look at the storage's size."""
    if type(tensor) not in _PLAIN or _has_modes():
        return _as_strided(META, tensor, size, stride, offset)  # type: ignore[no-any-return]
    with _KeysOnly(META, _TRACKING):
        return tensor.as_strided(size, stride, offset)


def views_of(tensor: Tensor, function: Callable[..., Sequence[Tensor]], *args: Any) -> Sequence[Tensor]:
    """What one of PyTorch's functions makes of `tensor`, all of them views, which are made without a call per view."""
    with _KeysOnly(META, _TRACKING), torch._C.DisableTorchFunction():
        return function(tensor, *args)


def cell_of(tensor: Tensor) -> Cell:
    """The cell of a device tensor's storage."""
    cell: Cell = tensor.untyped_storage().cell  # type: ignore[attr-defined]
    return cell


def offset_of(tensor: Tensor) -> int:
    offset: int = tensor.storage_offset()  # type: ignore[assignment]  # never a SymInt: no tracing here
    return offset


def is_whole(tensor: Tensor, cell: Cell) -> bool:
    """Does the tensor show its storage's value as it is?"""
    layout = cell.layout
    return (
        tensor.shape == layout.shape
        and tensor.dtype is layout.dtype
        and (tensor.is_contiguous() if layout.stride is None else tensor.stride() == layout.stride)
        and (tensor.storage_offset() == 0 or 0 in layout.shape)
    )


def whole_cell(tensor: Any) -> Cell | None:
    """The cell of a tensor that shows its storage's value as it is, contiguous; None for anything else, such as
    strides of dims of size 1 that a contiguous tensor doesn't have: results' strides follow from them."""
    try:
        cell: Cell = tensor.untyped_storage().cell
    except AttributeError:  # a number, or a CPU tensor
        return None
    layout = cell.layout
    if tensor.dtype is not layout.quick_dtype or tensor.shape != layout.shape:
        return None
    exact = layout.exact_stride
    if tensor.is_contiguous() if exact is None else tensor.stride() == exact:
        return cell
    return None


def read(tensor: Tensor) -> Cell:
    """A cell with the tensor's value: the storage's own, or one made by recording how the tensor views it."""
    cell = cell_of(tensor)
    if not is_whole(tensor, cell):
        cell = views.record_read(cell, tensor.dtype, tuple(tensor.shape), tensor.stride(), offset_of(tensor))
    if tensor.is_conj() or tensor.is_neg():
        cell = views.record_bits(cell, tensor.is_conj(), tensor.is_neg())
    return cell


def write(tensor: Tensor, value: Cell) -> None:
    """Let the tensor have `value`, of the tensor's own shape and dtype."""
    cell = cell_of(tensor)
    if tensor.is_conj() or tensor.is_neg():
        value = views.record_bits(value, tensor.is_conj(), tensor.is_neg())
    if not is_whole(tensor, cell):
        # A bool's byte needn't be 0 or 1 where it was written as another dtype, and stays so if it isn't written.
        if torch.bool in (cell.layout.dtype, value.layout.dtype) and cell.layout.dtype is not value.layout.dtype:
            value = views.cast(value, torch.uint8) if value.layout.dtype is torch.bool else value
            if cell.layout.dtype is torch.bool:
                views.retype(cell, torch.uint8)
        value = views.record_write(cell, value, tuple(tensor.shape), tensor.stride(), offset_of(tensor))
    cell.assign(value)


def span(size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> int:
    """How many elements a storage must have for this view."""
    if 0 in size:
        return 0
    return offset + 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))


def elements(layout: Layout) -> int:
    return math.prod(layout.shape)


def relabelled(cell: Cell, stride: Sequence[int] | None) -> Cell:
    """The same value for a new storage with these strides."""
    result = new_cell(layout_of(cell.layout.shape, cell.layout.dtype, stride))
    result.assign(cell)
    return result
