"""What a program's arguments are like: what a Variant is made for, and found by.

device tensor   its storage's layout, and how it views that      its memory is an input of the graph
0-d CPU tensor  its dtype                                        its value is a scalar of the graph
CPU tensor      its layout; it is copied to the device           that copy's memory is an input of the graph
anything else   itself: a size, most often
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from mlirdev.lazy.layouts import Layout, layout_of
from mlirdev.lazy.storage import cell_of, offset_of, restrided
from mlirdev.lazy.trace import Cell


@dataclass(frozen=True)
class View:
    """How a tensor views its storage."""

    layout: Layout
    dtype: torch.dtype
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    conjugate: bool
    negative: bool

    def of(self, base: Tensor) -> Tensor:
        """The view of a storage, of which `base` is any tensor."""
        if base.dtype is not self.dtype:
            base = restrided(base, (self.layout.nbytes // base.dtype.itemsize,), (1,), 0).view(self.dtype)
        view = restrided(base, self.shape, self.stride, self.offset)
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


def look_at(args: Sequence[Any]) -> tuple[tuple[Hashable, ...], list[Cell | None]]:
    """What the arguments are like, and the cells of those on the device. The usual tensor, whole and contiguous, is
    like its layout. `storage.whole_cell`, but without a call per argument: models have hundreds."""
    signatures: list[Hashable] = []
    cells: list[Cell | None] = []
    for argument in args:
        try:
            cell: Cell = argument.untyped_storage().cell
        except AttributeError:  # on the CPU, or no tensor
            signatures.append(_signature_of_other(argument))
            cells.append(None)
            continue
        cells.append(cell)
        layout = cell.layout
        exact = layout.exact_stride
        if (
            argument.dtype is layout.quick_dtype
            and argument.shape == layout.shape
            and argument.is_contiguous()
            and (exact is None or argument.stride() == exact)
        ):
            signatures.append(layout)
        else:
            signatures.append(view_of(argument))
    return tuple(signatures), cells


def _signature_of_other(argument: Any) -> Hashable:
    if not isinstance(argument, Tensor):
        return argument if type(argument) is int else (type(argument), argument)  # True == 1 == 1.0
    if argument.dim() == 0 and not argument.is_complex():
        return HostNumber(argument.dtype)
    return HostTensor(layout_of(argument.shape, argument.dtype))


def view_of(tensor: Tensor) -> View:
    """How a device tensor views its storage."""
    shape, stride = tuple(tensor.shape), tensor.stride()
    bits = tensor.is_conj(), tensor.is_neg()
    return View(cell_of(tensor).layout, tensor.dtype, shape, stride, offset_of(tensor), *bits)
