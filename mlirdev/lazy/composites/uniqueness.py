"""unique and its kin: sort, mark the first of each run of equals, pick the marked ones; one wait, for their number.

    lines ──sort──► order ──► first: differs from the line before ──sum──► count ──(wait)──► starts of the runs
                                └─cumsum──► the run of each sorted line ──scatter by order──► inverse

As on the CPU NaN equals nothing, so each is a value of its own.
"""

from __future__ import annotations

import torch
from torch import Tensor

from mlirdev.graph import Ref, Size
from mlirdev.lazy import views
from mlirdev.lazy.composites.selecting import column, counts, places
from mlirdev.lazy.handlers import selects
from mlirdev.lazy.layouts import layout_of
from mlirdev.lazy.overloads import named, op
from mlirdev.lazy.record import record
from mlirdev.lazy.specs.checks import wrap_dim
from mlirdev.lazy.storage import new_tensor, read
from mlirdev.lazy.trace import Cell

Answer = tuple[Tensor, Tensor, Tensor]


@selects("_unique2")
def _unique2(self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False) -> Answer:
    return _of_elements(self, False, return_inverse, return_counts)


@selects("_unique")
def _unique(self: Tensor, sorted: bool = True, return_inverse: bool = False) -> tuple[Tensor, Tensor]:
    return _of_elements(self, False, return_inverse, False)[:2]


@selects("unique_consecutive")
def unique_consecutive(
    self: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Answer:
    if dim is not None:
        return _of_slices(self, dim, consecutive=True)
    return _of_elements(self, True, return_inverse, return_counts)


@selects("unique_dim")
def unique_dim(
    self: Tensor, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> Answer:
    return _of_slices(self, dim, consecutive=False)


@selects("unique_dim_consecutive")
def unique_dim_consecutive(self: Tensor, dim: int, return_inverse: bool = False, return_counts: bool = False) -> Answer:
    return _of_slices(self, dim, consecutive=True)


def _of_elements(self: Tensor, consecutive: bool, return_inverse: bool, return_counts: bool) -> Answer:
    """(values, the place of each element's value, how often each is there); eager leaves out what isn't asked for."""
    elements = views.reshape(read(self), (self.numel(),))
    runs = _Runs(views.reshape(elements, (self.numel(), 1)), consecutive)
    values = op("aten.index_select.default", elements, 0, runs.firsts)
    inverse = views.reshape(runs.inverse(), tuple(self.shape)) if return_inverse else _nothing()
    return new_tensor(values), new_tensor(inverse), new_tensor(runs.counts() if return_counts else _nothing())


def _of_slices(self: Tensor, dim: int, consecutive: bool) -> Answer:
    """The same for the slices along a dim; here eager returns all three."""
    if not self.dim():
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    dim = wrap_dim(dim, self.dim())
    empty = sum(size == 0 for size in self.shape)
    if self.shape[dim] == 0:
        if empty > 1:
            raise RuntimeError("Number of zero sized dimensions is more than one, so unique cannot be applied ")
        return new_tensor(read(self)), new_tensor(_nothing()), new_tensor(_nothing())
    if empty:
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    moved, size = self.movedim(dim, 0), self.shape[dim]
    runs = _Runs(views.reshape(read(moved), (size, self.numel() // size)), consecutive)
    values = new_tensor(op("aten.index_select.default", moved, 0, runs.firsts)).movedim(0, dim)
    return values, new_tensor(runs.inverse()), new_tensor(runs.counts())


def _nothing() -> Cell:
    return views.full((0,), torch.int64, 0)


class _Runs:
    """The runs of equal lines of a matrix, sorted before unless they count as they come. Waits for their number."""

    def __init__(self, lines: Cell, consecutive: bool) -> None:
        self.size = lines.layout.shape[0]
        self.order = None if consecutive else _sorted(lines)
        if self.order is not None:
            lines = op("aten.index_select.default", lines, 0, self.order)
        self.first = _first_of_run(lines)
        self.count = counts([self.first])[0] if self.size else 0
        self.starts = column(places(self.first, self.count), 0)

    @property
    def firsts(self) -> Cell:
        """A line of each run."""
        return self.starts if self.order is None else op("aten.index_select.default", self.order, 0, self.starts)

    def inverse(self) -> Cell:
        """The run of each line."""
        run = op("aten.sub.Scalar", op("aten.cumsum.default", self.first, 0), 1)
        if self.order is None:
            return run
        return op("aten.scatter.src", views.full((self.size,), torch.int64, 0), 0, self.order, run)

    def counts(self) -> Cell:
        """The lengths of the runs."""
        if not self.count:
            return _nothing()
        ends = op("aten.cat.default", [_slice(self.starts, 1, self.count), views.full((1,), torch.int64, self.size)], 0)
        return op("aten.sub.Tensor", ends, self.starts)


def _sorted(lines: Cell) -> Cell:
    """The stable order of a matrix's lines."""
    size, width = lines.layout.shape
    if width == 1:
        order = named("aten.sort.stable").call(views.reshape(lines, (size,)), stable=True)[1]
        assert order is not None
        return order
    layout = layout_of((size,), torch.int64)
    return record(views.entry_of("mlirdev.sort_lines", (Ref(0),), (layout,)), (lines,))[0]


def _first_of_run(lines: Cell) -> Cell:
    """Which lines differ from the one before."""
    size = lines.layout.shape[0]
    if size <= 1:
        return views.full((size,), torch.bool, 1)
    differs = op("aten.ne.Tensor", _slice(lines, 1, size), _slice(lines, 0, size - 1))
    return op("aten.cat.default", [views.full((1,), torch.bool, 1), op("aten.any.dim", differs, 1)], 0)


def _slice(cell: Cell, start: int, end: int) -> Cell:
    shape = (end - start, *cell.layout.shape[1:])
    if end == start:
        return views.empty(shape, cell.layout.dtype)
    return views.apply("aten.slice.Tensor", cell, (0, Size(start), Size(end), 1), shape)
