"""How many bytes a storage has. What is new after a change has unspecified contents, as on the CPU."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from mlirdev.graph import Size
from mlirdev.lazy import views
from mlirdev.lazy.overloads import op
from mlirdev.lazy.storage import cell_of
from mlirdev.lazy.trace import Cell


def resize(cell: Cell, nbytes: int) -> None:
    """Give a storage so many bytes. What is left of its value stays."""
    layout = cell.layout
    if nbytes == layout.nbytes:
        return
    dtype = layout.dtype if nbytes % layout.dtype.itemsize == 0 else torch.uint8
    count, have = nbytes // dtype.itemsize, layout.nbytes // dtype.itemsize
    hold(cell, _resized(cell, dtype, count, have) if min(count, have) else views.empty((count,), dtype))


def _resized(cell: Cell, dtype: torch.dtype, count: int, have: int) -> Cell:
    flat = views.in_memory_order(cell, (math.prod(cell.layout.shape),))
    flat = views.bitcast(flat, dtype)
    if count < have:
        return views.apply("aten.slice.Tensor", flat, (0, Size(0), Size(count), 1), (count,))
    return op("aten.cat.default", [flat, views.empty((count - have,), dtype)])


def set_bytes(cell: Cell, content: Cell) -> None:
    """Give a storage these bytes, as many as it has or not."""
    resize(cell, content.layout.nbytes)
    cell.assign(views.from_bytes(content, cell.layout))


def hold(cell: Cell, value: Cell) -> None:
    """Let a storage hold a value of another layout."""
    cell.layout = value.layout
    cell.assign(value)


def grow(tensor: Tensor, shape: tuple[int, ...], need: int) -> None:
    """See that the tensor's storage holds `need` elements of its dtype, for a tensor of this shape."""
    cell = cell_of(tensor)
    nbytes = need * tensor.dtype.itemsize
    if nbytes <= cell.layout.nbytes:
        return
    if not cell.layout.nbytes and math.prod(shape) == need:
        hold(cell, views.empty(shape, tensor.dtype))
    else:
        resize(cell, nbytes)
