"""Copies: within the device, and to and from the host."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from mlirdev.lazy import pinned, views
from mlirdev.lazy.chain import Shape
from mlirdev.lazy.device import download, upload
from mlirdev.lazy.fallback import run_on_cpu
from mlirdev.lazy.handlers import handles
from mlirdev.lazy.layouts import contiguous_stride
from mlirdev.lazy.operands import check_device
from mlirdev.lazy.overlap import order_matters
from mlirdev.lazy.specs.checks import broadcast, require
from mlirdev.lazy.specs.layout import like_strides
from mlirdev.lazy.specs.types import Meta
from mlirdev.lazy.storage import DEVICE_TYPE, new_tensor, read, relabelled, write

aten = torch.ops.aten


@handles("_to_copy")
def _to_copy(
    self: Tensor,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
    non_blocking: bool = False,
    memory_format: torch.memory_format | None = None,
) -> Tensor:
    check_device(device)
    dtype, target = dtype or self.dtype, device or self.device
    if target.type != DEVICE_TYPE:
        return _to_host(self, dtype, target, memory_format, non_blocking)
    cell = read(self) if self.device.type == DEVICE_TYPE else upload(self, wait=not non_blocking)
    value, stride = views.cast(cell, dtype), copy_stride(self, memory_format)
    is_new = value is not cell and stride is None
    return new_tensor(value if is_new else relabelled(value, stride))


def _to_host(
    self: Tensor,
    dtype: torch.dtype,
    target: torch.device,
    memory_format: torch.memory_format | None,
    non_blocking: bool,
) -> Tensor:
    stride = copy_stride(self, memory_format)
    whole = stride is None and dtype is self.dtype and target.type == "cpu"
    if whole and non_blocking:
        # As with CUDA: the result is pinned, and filled once the stream has been waited for.
        return pinned.mark(download(read(self), "copy", wait=False))
    cpu = download(read(self), "copy")
    if whole:
        return cpu
    if stride is not None:
        cpu = torch.empty_strided(cpu.shape, stride, dtype=cpu.dtype).copy_(cpu)
    result: Tensor = aten._to_copy.default(cpu, dtype=dtype, device=target)
    return result


def copy_stride(tensor: Tensor, memory_format: torch.memory_format | None) -> tuple[int, ...] | None:
    """The strides of a copy of `tensor`; None for those of a contiguous one."""
    if memory_format is torch.contiguous_format:
        return None
    return _copy_stride(tensor.shape, tensor.stride(), memory_format or torch.preserve_format)


@lru_cache(maxsize=16384)
def _copy_stride(shape: Shape, stride: Shape, memory_format: torch.memory_format) -> tuple[int, ...] | None:
    if memory_format is torch.preserve_format:
        return like_strides(Meta(shape, torch.float32, None if stride == contiguous_stride(shape) else stride))
    # Raises for other ranks than the format's.
    return tuple(torch.empty(shape, device="meta", memory_format=memory_format).stride())


@handles("clone")
def clone(self: Tensor, memory_format: torch.memory_format | None = None) -> Tensor:
    return new_tensor(relabelled(read(self), copy_stride(self, memory_format)))


@handles("_lazy_clone")
def _lazy_clone(self: Tensor) -> Tensor:
    return new_tensor(relabelled(read(self), copy_stride(self, None)))


@handles("copy_")
def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    if self.device.type != DEVICE_TYPE:
        _copy_to_host(self.detach(), src, non_blocking)
        return self
    if self.shape != src.shape:
        _check_sizes(tuple(self.shape), tuple(src.shape))
    if order_matters([self], [src]):
        result: Tensor = run_on_cpu(aten.copy_.default, (self, src), {}, "overlap")
        return result
    value = read(src) if src.device.type == DEVICE_TYPE else upload(src, wait=not non_blocking)
    value = views.cast(value, self.dtype)
    if value.layout.shape != self.shape:
        value = views.expand(value, tuple(self.shape))
    write(self, value)
    return self


def _check_sizes(target: Shape, source: Shape) -> None:
    common = broadcast(target, source)
    require(common == target, f"output with shape {list(target)} doesn't match the broadcast shape {list(common)}")


def _copy_to_host(target: Tensor, src: Tensor, non_blocking: bool) -> None:
    alike = target.shape == src.shape and target.dtype is src.dtype and target.is_contiguous()
    if non_blocking and alike and pinned.is_pinned(target):
        download(read(src), "copy", wait=False, into=target)
    else:
        target.copy_(download(read(src), "copy"))


@handles("_copy_from")
def _copy_from(self: Tensor, dst: Tensor, non_blocking: bool = False) -> Tensor:
    result: Tensor = copy_(dst, self, non_blocking)
    return result


@handles("_copy_from_and_resize")
def _copy_from_and_resize(self: Tensor, dst: Tensor) -> Tensor:
    if dst.shape != self.shape:
        dst.resize_(self.shape)
    result: Tensor = copy_(dst, self)
    return result


@handles("zero_")
def zero_(self: Tensor) -> Tensor:
    if order_matters([self], ()):
        result: Tensor = run_on_cpu(aten.zero_.default, (self,), {}, "overlap")
        return result
    write(self, views.full(tuple(self.shape), self.dtype, 0))
    return self
