"""Handlers written by hand: factories, views, copies, and what else isn't one recorded node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from mlirdev.lazy import views
from mlirdev.lazy.device import download, upload
from mlirdev.lazy.layouts import contiguous_stride, layout_of
from mlirdev.lazy.storage import (
    CPU,
    DEVICE_TYPE,
    META,
    cell_of,
    elements,
    new_tensor,
    read,
    restrided,
    span,
    write,
)
from mlirdev.lazy.trace import Cell, new_cell

aten = torch.ops.aten
HANDLERS: dict[str, Callable[..., Any]] = {}


def handles(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        HANDLERS[name] = function
        return function

    return add


def relabelled(cell: Cell, stride: Sequence[int] | None) -> Cell:
    """The same value for a new storage, with these strides."""
    result = new_cell(layout_of(cell.layout.shape, cell.layout.dtype, stride))
    result.assign(cell)
    return result


# --- factories -----------------------------------------------------------------------------------


def check_device(device: torch.device | None) -> None:
    if device is not None and device.index not in (None, 0):
        raise RuntimeError(f"invalid device ordinal {device.index}: there is one device, {DEVICE_TYPE}:0")


@handles("empty.memory_format")
def empty(size, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    check_device(device)
    dtype = dtype or torch.get_default_dtype()
    cell = views.empty(tuple(size), dtype)
    if memory_format in (None, torch.contiguous_format, torch.preserve_format):
        return new_tensor(cell)
    like = torch.empty(size, device="meta", memory_format=memory_format)
    return new_tensor(relabelled(cell, like.stride()))


@handles("empty_strided")
def empty_strided(size, stride, dtype=None, layout=None, device=None, pin_memory=None):
    check_device(device)
    dtype, size, stride = dtype or torch.get_default_dtype(), tuple(size), tuple(stride)
    like = torch.empty_strided(size, stride, device="meta")
    if torch._prims_common.is_non_overlapping_and_dense_or_false(like):
        return new_tensor(relabelled(views.empty(size, dtype), stride))
    flat = new_tensor(views.empty((span(size, stride, 0),), dtype))
    return restrided(flat, size, stride, 0)


# --- views: new tensors on the same storage -----------------------------------------------------------


@handles("as_strided")
def as_strided(self, size, stride, storage_offset=None):
    return aten.as_strided.default.redispatch(META, self, size, stride, storage_offset)


@handles("view")
def view(self, size):
    return aten.view.default.redispatch(CPU, self, size)


@handles("_reshape_alias")
def _reshape_alias(self, size, stride):
    return restrided(self, size, stride, self.storage_offset())


@handles("unfold")
def unfold(self, dim, size, step):
    return aten.unfold.default.redispatch(META, self, dim, size, step)


@handles("view_as_real")
def view_as_real(self):
    return aten.view_as_real.default.redispatch(META, self)


@handles("view_as_complex")
def view_as_complex(self):
    return aten.view_as_complex.default.redispatch(META, self)


# --- copies --------------------------------------------------------------------------------------


@handles("_to_copy")
def _to_copy(self, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None):
    check_device(device if device is not None and device.type == DEVICE_TYPE else None)
    dtype, target = dtype or self.dtype, device or self.device
    if target.type != DEVICE_TYPE:
        cpu = download(read(self), "copy")
        return aten._to_copy.default(cpu, dtype=dtype, device=target, memory_format=memory_format)
    cell = read(self) if self.device.type == DEVICE_TYPE else upload(self)
    return new_tensor(relabelled(views.cast(cell, dtype), copy_stride(self, memory_format)))


def copy_stride(tensor: Tensor, memory_format: torch.memory_format | None) -> tuple[int, ...] | None:
    """The strides of a copy of `tensor`."""
    if memory_format is torch.contiguous_format or (memory_format is None and tensor.is_contiguous()):
        return None
    like = torch.empty_strided(tensor.shape, tensor.stride(), device="meta")
    return like.clone(memory_format=memory_format or torch.preserve_format).stride()


@handles("clone")
def clone(self, memory_format=None):
    return new_tensor(relabelled(read(self), copy_stride(self, memory_format)))


@handles("copy_")
def copy_(self, src, non_blocking=False):
    if self.device.type != DEVICE_TYPE:
        self.detach().copy_(download(read(src), "copy"))
        return self
    value = read(src) if src.device.type == DEVICE_TYPE else upload(src)
    value = views.cast(value, self.dtype)
    if value.layout.shape != self.shape:
        value = views.expand(value, tuple(self.shape))
    write(self, value)
    return self


@handles("_copy_from")
def _copy_from(self, dst, non_blocking=False):
    return copy_(dst, self)


@handles("_copy_from_and_resize")
def _copy_from_and_resize(self, dst):
    if dst.shape != self.shape:
        dst.resize_(self.shape)
    return copy_(dst, self)


@handles("_local_scalar_dense")
def _local_scalar_dense(self):
    return download(read(self), "item").item()


@handles("equal")
def equal(self, other):
    return torch.equal(download(read(self), "equal"), download(read(other), "equal"))
