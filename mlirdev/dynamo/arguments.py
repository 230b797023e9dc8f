"""What a program's arguments are like: what a Variant is made for, and found by.

device tensor   its storage's layout, and how it views that      its memory is an input of the graph
0-d CPU tensor  its dtype                                        its value is a scalar of the graph
CPU tensor      its layout; it is copied to the device           that copy's memory is an input of the graph
anything else   itself: a size, most often
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from mlirdev.lazy.layouts import Layout, layout_of
from mlirdev.lazy.storage import DEVICE_TYPE, cell_of, offset_of, restrided, whole_cell


@dataclass(frozen=True)
class View:
    """How a tensor views its storage."""

    layout: Layout
    dtype: torch.dtype
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    conjugate: bool
    negative: bool

    def of(self, base: Tensor) -> Tensor:
        """The view of a storage, of which `base` is any tensor."""
        if base.dtype is not self.dtype:
            base = restrided(base, (self.layout.nbytes // base.dtype.itemsize,), (1,), 0).view(self.dtype)
        view = restrided(base, self.size, self.stride, self.offset)
        view = torch._conj(view) if self.conjugate else view
        return torch._neg_view(view) if self.negative else view


@dataclass(frozen=True)
class HostNumber:
    """A 0-d tensor on the CPU."""

    dtype: torch.dtype


@dataclass(frozen=True)
class HostTensor:
    """Any other tensor on the CPU."""

    layout: Layout


def signature_of(argument: Any) -> Hashable:
    """What an argument is like. The usual device tensor, whole and contiguous, is just its layout."""
    if isinstance(argument, Tensor):
        cell = whole_cell(argument)
        return _signature_of_tensor(argument) if cell is None else cell.layout
    kind = type(argument)
    return argument if kind is int else (kind, argument)  # True == 1 == 1.0


def _signature_of_tensor(tensor: Tensor) -> Hashable:
    if tensor.device.type == DEVICE_TYPE:
        return view_of(tensor)
    if tensor.dim() == 0 and not tensor.is_complex():
        return HostNumber(tensor.dtype)
    return HostTensor(layout_of(tensor.shape, tensor.dtype))


def view_of(tensor: Tensor) -> View:
    """How a device tensor views its storage."""
    size, stride = tuple(tensor.shape), tensor.stride()
    bits = tensor.is_conj(), tensor.is_neg()
    return View(cell_of(tensor).layout, tensor.dtype, size, stride, offset_of(tensor), *bits)
