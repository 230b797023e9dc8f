"""Reading and writing through views, as recorded nodes.

Reading follows `chain`; writing goes the same way back: each slice or select becomes the scatter that puts
the written part into the value that it was cut from.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from types import CodeType

import torch

from mlirdev.graph import Arg, Ref, Size
from mlirdev.lazy.chain import Shape, Step, chain, sizes
from mlirdev.lazy.layouts import Layout, dtype_of, layout_of
from mlirdev.lazy.record import hold, record, record_chain, record_inside, record_one
from mlirdev.lazy.trace import Cell, Entry, Trace, current_trace, enter


@cache
def entry_of(op: str, template: tuple[Arg, ...], outputs: tuple[Layout, ...]) -> Entry:
    """The interned entry of an op without scalars; `template` holds Ref(0), Ref(1), … in order."""
    return Entry(op, template, sum(isinstance(a, Ref) for a in template), (), outputs)


def apply(op: str, cell: Cell, args: tuple[Arg, ...], shape: Shape, dtype: torch.dtype | None = None) -> Cell:
    """Record an op of one tensor, followed by `args`."""
    layout = layout_of(shape, dtype or cell.layout.dtype)
    return record(entry_of(op, (Ref(0), *args), (layout,)), (cell,))[0]


def reshape(cell: Cell, shape: Shape) -> Cell:
    return cell if cell.layout.shape == shape else apply("aten.view.default", cell, (sizes(shape),), shape)


def cast(cell: Cell, dtype: torch.dtype) -> Cell:
    """The value converted to another dtype."""
    return cell if cell.layout.dtype is dtype else record_one(_cast_entry(cell.layout, dtype), (cell,))


@lru_cache(maxsize=65536)
def _cast_entry(layout: Layout, dtype: torch.dtype) -> Entry:
    template = (Ref(0), dtype_of(dtype), None, None, None, False, None)
    return entry_of("aten._to_copy.default", template, (layout_of(layout.shape, dtype),))


def empty(shape: Shape, dtype: torch.dtype) -> Cell:
    """A value with unspecified contents."""
    return record_one(_empty_entry(shape, dtype), ())


@lru_cache(maxsize=65536)
def _empty_entry(shape: Shape, dtype: torch.dtype) -> Entry:
    return entry_of("mlirdev.empty", (sizes(shape), dtype_of(dtype)), (layout_of(shape, dtype),))


def record_bits(cell: Cell, conjugate: bool, negative: bool) -> Cell:
    """The value with a tensor's conjugate and negative bits worked out."""
    shape = cell.layout.shape
    if conjugate:
        cell = apply("aten.conj_physical.default", cell, (), shape)
    return apply("aten.neg.default", cell, (), shape) if negative else cell


def memory_order(layout: Layout) -> tuple[int, ...] | None:
    """The dims from the outermost in memory to the innermost; None if that is their own order."""
    if layout.stride is None:
        return None
    stride = layout.stride
    return tuple(sorted(range(len(stride)), key=lambda i: (-stride[i], layout.shape[i] > 1)))


@dataclass(frozen=True, eq=False, slots=True)
class View:
    """How a tensor shows its storage's value: the tensor's `layout`, and the nodes between the two values. There is one
    of each, so that it is compared and hashed by identity."""

    layout: Layout
    entries: tuple[Entry, ...]

    def number(self, trace: Trace, cell: Cell, code: CodeType | None, at: int) -> int:
        """The number in `trace` of the tensor's value, given the storage's cell; recorded once per value."""
        base = cell.number if cell.trace is trace else enter(trace, cell)
        if not self.entries:
            return base
        known = trace.views.get((base, self))
        if known is None:
            known = record_inside(trace, self.entries, base, code, at)
            trace.views[base, self] = known
        return known


@lru_cache(maxsize=65536)
def view_of(layout: Layout, dtype: torch.dtype, size: Shape, stride: Shape, offset: int) -> View:
    """The View that a tensor is of a storage with this layout. Raises as eager does for one beyond its storage."""
    own = layout_of(size, dtype, stride)
    if own.dense is layout.dense and offset == 0 and (own.row_major if layout.stride is None else own is layout):
        return View(own, ())
    path = _Path(layout)
    path.to_memory(dtype)
    base = path.layout
    _check_bounds(base, size, stride, offset)
    steps = chain(tuple(base.shape), size, stride, offset)
    if steps is None:
        path.add("mlirdev.strided_read", (sizes(size), sizes(stride), Size(offset)), size)
    else:
        for step in steps:
            path.add(step.op, step.args, step.shape)
    return View(own, tuple(path.entries))


def record_read(cell: Cell, dtype: torch.dtype, size: Shape, stride: Shape, offset: int) -> Cell:
    """The value of a view of the storage whose cell this is; within one trace it is recorded once per value."""
    if 0 in size:
        return empty(size, dtype)
    trace = current_trace()
    view = view_of(cell.layout, dtype, size, stride, offset)
    key = (enter(trace, cell), view)
    known = trace.views.get(key)
    held = None if known is None else hold(trace, known, layout_of(size, dtype))
    if held is not None:
        return held
    result = record_chain(view.entries, cell)
    if result.trace is trace:
        trace.views[key] = result.number
    return result


@lru_cache(maxsize=65536)
def _memory_entries(layout: Layout, dtype: torch.dtype) -> tuple[Entry, ...]:
    path = _Path(layout)
    path.to_memory(dtype)
    return tuple(path.entries)


class _Path:
    """Nodes of one tensor each, one after the other."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.entries: list[Entry] = []

    def add(self, op: str, args: tuple[Arg, ...], shape: Shape, dtype: torch.dtype | None = None) -> None:
        self.layout = layout_of(shape, dtype or self.layout.dtype)
        self.entries.append(entry_of(op, (Ref(0), *args), (self.layout,)))

    def to_memory(self, dtype: torch.dtype) -> None:
        """Dims in the order of memory, elements of `dtype`."""
        shape, order = self.layout.shape, memory_order(self.layout)
        if order is not None:
            self.add("aten.permute.default", (order,), tuple(shape[i] for i in order))
        if dtype is not self.layout.dtype:
            self.bitcast(dtype)

    def bitcast(self, dtype: torch.dtype) -> None:
        shape, before, after = tuple(self.layout.shape), self.layout.dtype.itemsize, dtype.itemsize
        if before != after:
            # Flat, and cut to a whole number of elements: a storage may end in the middle of one.
            total = math.prod(shape)
            count = total * before // after
            self.reshape((total,))
            used = count * after // before
            if used != total:
                self.add("aten.slice.Tensor", (0, Size(0), Size(used), 1), (used,))
            shape = (count,)
        self.add("mlirdev.bitcast", (dtype_of(dtype),), shape, dtype)

    def reshape(self, shape: Shape) -> None:
        if tuple(self.layout.shape) != shape:
            self.add("aten.view.default", (sizes(shape),), shape)


def _check_bounds(base: Layout, size: Shape, stride: Shape, offset: int) -> None:
    """Raise as eager does for a view beyond its storage. The Meta kernels that made the view don't look."""
    need = offset + 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if need > math.prod(base.shape):
        itemsize = base.dtype.itemsize
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {itemsize} "
            f"requiring a storage size of {need * itemsize} are out of bounds for storage of size {base.nbytes}"
        )


def record_write(cell: Cell, value: Cell, size: Shape, stride: Shape, offset: int) -> Cell:
    """The storage's value after `value` was written through a view of it."""
    if 0 in size:
        return cell
    itemsize = value.layout.dtype.itemsize
    if cell.layout.nbytes % itemsize:
        return _record_write_before_rest(cell, value, cell.layout.nbytes // itemsize * itemsize, size, stride, offset)
    path = _write_entries(cell.layout, value.layout.dtype, size, stride, offset)
    parts = [record_chain(path.memory, cell)]
    for entry in path.cuts:
        parts.append(record_one(entry, (parts[-1],)))
    for entry, part in path.puts:
        value = record_one(entry, (value,) if part is None else (parts[part], value))
    return record_chain(path.back, value)


def _record_write_before_rest(cell: Cell, value: Cell, nbytes: int, size: Shape, stride: Shape, offset: int) -> Cell:
    """`record_write` to a storage that ends in the middle of an element: these many bytes come before it."""
    layout = cell.layout
    flat = in_memory_order(cell, (math.prod(layout.shape),))
    place = (0, Size(0), Size(nbytes // layout.dtype.itemsize), 1)
    part = apply("aten.slice.Tensor", flat, place, (nbytes // layout.dtype.itemsize,))
    part = record_write(part, value, size, stride, offset)
    joined = record_one(entry_of("aten.slice_scatter.default", (Ref(0), Ref(1), *place), (flat.layout,)), (flat, part))
    return from_bytes(joined, layout)


@dataclass(frozen=True)
class _WriteEntries:
    """The nodes of a write: the storage's value in the order of memory, the parts cut from it one after the other,
    what is done to the written value (alone, or put into part number k), and the way back from memory."""

    memory: tuple[Entry, ...]
    cuts: tuple[Entry, ...]
    puts: tuple[tuple[Entry, int | None], ...]
    back: tuple[Entry, ...]


@lru_cache(maxsize=65536)
def _write_entries(layout: Layout, dtype: torch.dtype, size: Shape, stride: Shape, offset: int) -> _WriteEntries:
    path = _Path(layout)
    path.to_memory(dtype)
    base, memory = path.layout, tuple(path.entries)
    _check_bounds(base, size, stride, offset)
    steps = chain(tuple(base.shape), size, stride, offset)
    if steps is None or any(step.op == "aten.expand.default" for step in steps):
        template = (Ref(0), Ref(1), sizes(size), sizes(stride), Size(offset))
        puts: tuple[tuple[Entry, int | None], ...] = ((entry_of("mlirdev.strided_write", template, (base,)), 0),)
        return _WriteEntries(memory, (), puts, _back_entries(base, layout))
    # What comes after the last cut only moves the written part; its own input isn't needed.
    last = max((i for i, step in enumerate(steps) if step.op in _SCATTERS), default=0)
    cuts = _Path(base)
    for step in steps[:last]:
        cuts.add(step.op, step.args, step.shape)
    shapes = [tuple(base.shape), *(step.shape for step in steps)]
    undone = tuple(_undo(steps[i], i, shapes[i], dtype) for i in range(len(steps) - 1, -1, -1))
    return _WriteEntries(memory, tuple(cuts.entries), undone, _back_entries(base, layout))


_SCATTERS = {"aten.slice.Tensor": "aten.slice_scatter.default", "aten.select.int": "aten.select_scatter.default"}


def _undo(step: Step, part: int, shape: Shape, dtype: torch.dtype) -> tuple[Entry, int | None]:
    """What takes a step's result back to its input's shape: put into part number `part`, if the step is a cut."""
    layout = layout_of(shape, dtype)
    if step.op in _SCATTERS:
        return entry_of(_SCATTERS[step.op], (Ref(0), Ref(1), *step.args), (layout,)), part
    if step.op == "aten.view.default":
        return entry_of(step.op, (Ref(0), sizes(shape)), (layout,)), None
    order = step.args[0]
    assert isinstance(order, tuple)
    back = tuple(order.index(i) for i in range(len(order)))
    return entry_of(step.op, (Ref(0), back), (layout,)), None


def _back_entries(base: Layout, layout: Layout) -> tuple[Entry, ...]:
    """The inverse of `_Path.to_memory`."""
    path = _Path(base)
    if base.dtype is not layout.dtype:
        path.bitcast(layout.dtype)
    order = memory_order(layout)
    if order is None:
        path.reshape(tuple(layout.shape))
        return tuple(path.entries)
    path.reshape(tuple(layout.shape[i] for i in order))
    path.add("aten.permute.default", (tuple(order.index(i) for i in range(len(order))),), tuple(layout.shape))
    return tuple(path.entries)


def _as_memory(cell: Cell, dtype: torch.dtype) -> Cell:
    """The storage's value with dims in the order of memory, as elements of `dtype`."""
    return record_chain(_memory_entries(cell.layout, dtype), cell)


def bitcast(cell: Cell, dtype: torch.dtype) -> Cell:
    """The same bytes as elements of another dtype; flat, where the sizes of elements differ."""
    path = _Path(cell.layout.dense)
    path.bitcast(dtype)
    return record_chain(tuple(path.entries), cell)


def expand(cell: Cell, shape: Shape) -> Cell:
    return apply("aten.expand.default", cell, (sizes(shape), False), shape)


def full(shape: Shape, dtype: torch.dtype, value: int) -> Cell:
    """A value that is one number everywhere; the number is part of the graph."""
    layout = layout_of(shape, dtype)
    template = (sizes(shape), value, dtype_of(dtype), None, None, None)
    return record(entry_of("aten.full.default", template, (layout,)), ())[0]


def chunk(cell: Cell, parts: int, dim: int) -> list[Cell]:
    """Equal parts along a dim."""
    shape = tuple(cell.layout.shape)
    size = shape[dim] // parts
    part = (*shape[:dim], size, *shape[dim + 1 :])
    return [
        apply("aten.slice.Tensor", cell, (dim, Size(k * size), Size((k + 1) * size), 1), part) for k in range(parts)
    ]


def in_bytes(cell: Cell) -> Cell:
    """The storage's bytes as they lie in memory, flat."""
    return bitcast(in_memory_order(cell, (math.prod(cell.layout.shape),)), torch.uint8)


def retype(cell: Cell, dtype: torch.dtype) -> None:
    """Let a storage have its value as flat elements of another dtype, where the same bytes can be those."""
    value = bitcast(in_memory_order(cell, (math.prod(cell.layout.shape),)), dtype)
    cell.layout = value.layout
    cell.assign(value)


def from_bytes(content: Cell, layout: Layout) -> Cell:
    """The value of a storage that has these bytes, or flat elements, in memory."""
    return record_chain(_back_entries(content.layout, layout), content)


def in_memory_order(cell: Cell, shape: Shape) -> Cell:
    """The storage's elements as they lie in memory, in this shape."""
    return reshape(_as_memory(cell, cell.layout.dtype), shape)


def bitcast_to_complex(parts: Cell, dtype: torch.dtype) -> Cell:
    """Real and imaginary parts in the last dim, as complex numbers."""
    shape = tuple(parts.layout.shape[:-1])
    return reshape(bitcast(reshape(parts, (math.prod(parts.layout.shape),)), dtype), shape)
