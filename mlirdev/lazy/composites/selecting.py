"""Ops whose result's size depends on values: a kernel counts, one wait reads the count, an op of that size follows.

    mask ──sum──► count ──(wait: data_dependent)──► mlirdev.nonzero(mask, count) ──► what picks by places

The count is a size of the graph, so that another one doesn't compile again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from mlirdev.graph import Ref, Size
from mlirdev.lazy import views
from mlirdev.lazy.device import download
from mlirdev.lazy.handlers import selects
from mlirdev.lazy.layouts import layout_of
from mlirdev.lazy.operands import operand
from mlirdev.lazy.overloads import op
from mlirdev.lazy.record import record
from mlirdev.lazy.specs.checks import broadcast, not_implemented
from mlirdev.lazy.storage import new_tensor, read, relabelled
from mlirdev.lazy.trace import Cell

MASKS = (torch.bool, torch.uint8)


def counts(masks: Sequence[Cell]) -> list[int]:
    """How many elements of each are true. Waits once."""
    totals = [op("aten.sum.default", mask) for mask in masks]
    if len(totals) > 1:
        totals = [op("aten.stack.default", totals)]
    found = download(totals[0], "data_dependent").reshape(-1)
    return [int(count) for count in found.tolist()]


def value_of(cell: Cell) -> int:
    """An integer on the device. Waits for it."""
    return int(download(cell, "data_dependent").item())


def truth(cell: Cell) -> Cell:
    """Which elements aren't zero."""
    return cell if cell.layout.dtype is torch.bool else op("aten.ne.Scalar", cell, 0)


def places(mask: Cell, count: int) -> Cell:
    """The (count, rank) indices of a mask's true elements, in order; `count` is how many there are."""
    layout = layout_of((count, len(mask.layout.shape)), torch.int64)
    return record(views.entry_of("mlirdev.nonzero", (Ref(0), Size(count)), (layout,)), (mask,))[0]


def column(of: Cell, dim: int) -> Cell:
    """The indices of all places along one dim."""
    return views.apply("aten.select.int", of, (1, Size(dim)), tuple(of.layout.shape[:1]))


def flat(cell: Cell) -> Cell:
    return views.reshape(cell, (math.prod(cell.layout.shape),))


def expanded(cell: Cell, shape: tuple[int, ...]) -> Cell:
    return cell if tuple(cell.layout.shape) == shape else views.expand(cell, shape)


@selects("nonzero")
def nonzero(self: Tensor) -> Tensor:
    mask = truth(read(self))
    found = places(mask, counts([mask])[0])
    # As eager has it, a line per dim.
    return new_tensor(relabelled(found, (1, found.layout.shape[0])))


@selects("masked_select")
def masked_select(self: Tensor, mask: Tensor) -> Tensor:
    if mask.dtype is not torch.bool:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    shape = broadcast(tuple(self.shape), tuple(mask.shape))
    where = flat(expanded(operand(mask, "aten.masked_select.default", "mask"), shape))
    values = flat(expanded(operand(self, "aten.masked_select.default", "self"), shape))
    return new_tensor(op("aten.index.Tensor", values, _whole([where])))


@selects("index.Tensor", "_unsafe_index.Tensor")
def index(self: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    return new_tensor(op("aten.index.Tensor", self, _of_masks(indices, "aten.index.Tensor")))


@selects("index_put", "_unsafe_index_put", "_index_put_impl")
def index_put(
    self: Tensor,
    indices: Sequence[Tensor | None],
    values: Tensor,
    accumulate: bool = False,
    unsafe: bool = False,
) -> Tensor:
    found = _of_masks(indices, "aten.index_put.default")
    return new_tensor(op("aten.index_put.default", self, found, values, accumulate))


def _of_masks(indices: Sequence[Tensor | None], name: str) -> list[Cell | None]:
    """The indices with an index per dim in place of each mask."""
    return _whole([None if i is None else operand(i, name, "indices") for i in indices])


def _whole(indices: Sequence[Cell | None]) -> list[Cell | None]:
    masks = {at: truth(i) for at, i in enumerate(indices) if i is not None and i.layout.dtype in MASKS}
    found = dict(zip(masks, counts(list(masks.values())), strict=True))
    whole: list[Cell | None] = []
    for at, i in enumerate(indices):
        if at not in masks:
            whole.append(i)
            continue
        where = places(masks[at], found[at])
        whole += [column(where, d) for d in range(len(masks[at].layout.shape))]
    return whole


@selects("repeat_interleave.Tensor")
def repeat_interleave(repeats: Tensor, output_size: int | None = None) -> Tensor:
    if repeats.dim() != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    cell = read(repeats)
    total = value_of(op("aten.sum.default", cell)) if output_size is None else output_size
    layout = layout_of((max(total, 0),), repeats.dtype)
    return new_tensor(record(views.entry_of("mlirdev.repeated", (Ref(0), Size(max(total, 0))), (layout,)), (cell,))[0])


@selects("bincount")
def bincount(self: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """The greatest value decides how many bins there are. Weights are summed as f64, but for f32."""
    _check_bincount(self, weights, minlength)
    if not self.numel():
        return new_tensor(views.full((minlength,), torch.int64, 0))
    places_ = views.cast(read(self), torch.int64)
    least, greatest = extremes(places_)
    if least < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    dtype = torch.int64 if weights is None else torch.float32 if weights.dtype is torch.float32 else torch.float64
    values = views.full(tuple(self.shape), dtype, 1) if weights is None else views.cast(read(weights), dtype)
    bins = views.full((max(greatest + 1, minlength),), dtype, 0)
    return new_tensor(op("aten.index_put.default", bins, [places_], values, True))


def extremes(cell: Cell) -> tuple[int, int]:
    """The least and the greatest of integers on the device. Waits once."""
    both = op("aten.stack.default", [op("aten.amin.default", cell), op("aten.amax.default", cell)])
    least, greatest = download(both, "data_dependent").tolist()
    return int(least), int(greatest)


def _check_bincount(self: Tensor, weights: Tensor | None, minlength: int) -> None:
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if self.dim() != 1:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if self.dtype is torch.bool or self.is_floating_point() or self.is_complex():
        not_implemented("bincount_cpu", self.dtype)
    if weights is not None and (weights.dim() != 1 or weights.shape[0] != self.shape[0]):
        raise RuntimeError("weights should be 1-d and have the same length as input")
