"""Pack panels of B for the register tile: rows of `nr` columns, one per k, whatever way B lies in memory. A is packed
likewise, with its rows as columns.

    columns contiguous      a row is vector loads
    k contiguous            lanes × lanes blocks are transposed in registers
    columns in short runs   each run is copied; what a vector copies beyond it is overwritten by the next one
    anything else           a row is gathered

Columns past the last one are packed as zeros or copies: the tile computes with them and doesn't store the results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch_mlir import ir

from mlirdev.passes.build import (
    Index,
    add,
    as_value,
    divide,
    for_loop,
    maximum,
    minimum,
    multiply,
    product,
    remainder,
    strided,
    subtract,
)
from mlirdev.passes.ops import emit

_SHORTEST_RUN = 4
# Larger squares take fewer instructions to run and more to compile.
_TRANSPOSED_SIDE = 8


@dataclass(frozen=True)
class Packer:
    """B is the flat buffer `source`, with strides and sizes along k and along the columns. Rows of `nr` elements go to
    the flat buffer `packed`, in vectors of `lanes`; each nr columns are a panel of `panel_size`."""

    source: Any
    k_strides: Sequence[Index]
    k_sizes: Sequence[Index]
    strides: Sequence[Index]
    sizes: Sequence[Index]
    packed: Any
    nr: int
    lanes: int
    panel_size: int

    def pack(self, base: Index, column: Index, panels: Index, pc: Index, depth: Index) -> None:
        """Rows pc … pc + depth of `panels` times nr columns, from `column` on."""
        stride, k_stride = as_one(self.strides, self.sizes), as_one(self.k_strides, self.k_sizes)
        if stride is not None and not is_one(stride) and is_one(k_stride) and self.lanes & (self.lanes - 1) == 0:
            self._pack_transposed(add(base, pc), column, stride, panels, depth)
            return
        if stride is not None and is_one(stride):
            self._pack_contiguous(base, column, panels, pc, depth)
            return
        in_runs = stride is None and is_one(self.strides[-1]) and _is_at_least(self.sizes[-1], _SHORTEST_RUN)
        with for_loop(0, panels) as panel:
            to = multiply(panel.iv, self.panel_size)
            first = add(column, multiply(panel.iv, self.nr))
            (self._pack_runs if in_runs else self._pack_gathered)(base, to, first, pc, depth)

    @property
    def columns(self) -> Index:
        return product(self.sizes)

    # --- row by row ---------------------------------------------------------------------------------

    def _pack_contiguous(self, base: Index, column: Index, panels: Index, pc: Index, depth: Index) -> None:
        """Row after row: a row of all panels is one run of memory."""
        is_whole = divides(self.nr, self.columns)
        with for_loop(0, depth) as k:
            row = self._row(base, add(pc, k.iv))
            with for_loop(0, panels) as panel:
                to = add(multiply(panel.iv, self.panel_size), multiply(k.iv, self.nr))
                for start in range(0, self.nr, self.lanes):
                    at = add(column, add(multiply(panel.iv, self.nr), start))
                    mask = None if is_whole else self._mask(subtract(self.columns, at))
                    value = self._load(add(row, at)) if mask is None else self._masked_load(add(row, at), mask)
                    self._store(value, add(to, start))

    def _pack_gathered(self, base: Index, to: Index, column: Index, pc: Index, depth: Index) -> None:
        starts = range(0, self.nr, self.lanes)
        readers = [self._gathering_reader(add(column, start)) for start in starts]
        with for_loop(0, depth) as k:
            row = self._row(base, add(pc, k.iv))
            at = add(to, multiply(k.iv, self.nr))
            for start, read in zip(starts, readers, strict=True):
                self._store(read(row), add(at, start))

    def _row(self, base: Index, k: Index) -> Index:
        """Where row k of B starts."""
        return strided(base, k, self.k_sizes, self.k_strides)

    def _gathering_reader(self, column: Index) -> Callable[[Index], Any]:
        """A function that reads B's elements of `lanes` columns, given where their row starts."""
        indices = ir.VectorType.get([self.lanes], ir.IndexType.get())
        last = broadcast(subtract(self.columns, 1), indices)
        numbers = emit("arith.addi", [indices], [broadcast(column, indices), emit("vector.step", [indices])])
        offsets = self._lane_offsets(emit("arith.minui", [indices], [numbers, last]), indices)
        mask, zero = self._all(), self._zero()
        operands = [offsets, mask, zero]
        return lambda row: emit("vector.gather", [self._vector], [self.source, as_value(row), *operands])

    def _lane_offsets(self, flat: Any, type_: Any) -> Any:
        """Σ strides[d] · coordinate d of each lane's column."""
        total = None
        for position in range(len(self.strides) - 1, -1, -1):
            coordinate = flat
            if position:
                size = broadcast(self.sizes[position], type_)
                coordinate = emit("arith.remui", [type_], [flat, size])
                flat = emit("arith.divui", [type_], [flat, size])
            term = emit("arith.muli", [type_], [coordinate, broadcast(self.strides[position], type_)])
            total = term if total is None else emit("arith.addi", [type_], [total, term])
        return total

    # --- runs of columns ----------------------------------------------------------------------------

    def _pack_runs(self, base: Index, to: Index, column: Index, pc: Index, depth: Index) -> None:
        length = self.sizes[-1]
        end = minimum(add(column, self.nr), self.columns)
        first, last = divide(column, length), divide(subtract(end, 1), length)
        with for_loop(0, depth) as k:
            row = self._row(base, add(pc, k.iv))
            at = add(to, multiply(k.iv, self.nr))
            with for_loop(first, add(last, 1)) as run:
                self._copy_run(row, at, run.iv, column, end)

    def _copy_run(self, row: Index, at: Index, run: Any, column: Index, end: Index) -> None:
        """The part of one run that lies in the panel."""
        length = self.sizes[-1]
        run_start = multiply(run, length)
        source = strided(row, run, self.sizes[:-1], self.strides[:-1])
        start, stop = maximum(run_start, column), minimum(add(run_start, length), end)
        with for_loop(start, stop, self.lanes) as j:
            mask = self._mask(subtract(stop, j.iv))
            value = self._masked_load(add(source, subtract(j.iv, run_start)), mask)
            self._store(value, add(at, subtract(j.iv, column)))

    # --- transposed ---------------------------------------------------------------------------------

    def _pack_transposed(self, base: Index, column: Index, stride: Index, panels: Index, depth: Index) -> None:
        side = min(self.lanes, _TRANSPOSED_SIDE)
        packer = replace(self, lanes=side)
        blocks = self.nr // side
        is_whole = divides(side, product(self.k_sizes)) and divides(side, depth)
        with for_loop(0, multiply(panels, blocks)) as block:
            to = multiply(divide(block.iv, blocks), self.panel_size)
            to = add(to, multiply(remainder(block.iv, blocks), side))
            starts = packer._run_starts(base, add(column, multiply(block.iv, side)), stride)
            with for_loop(0, depth, side) as k:
                mask = None if is_whole else packer._mask(subtract(depth, k.iv))
                places = [add(start, k.iv) for start in starts]
                rows = [packer._load(at) if mask is None else packer._masked_load(at, mask) for at in places]
                for lane, value in enumerate(transpose([packer._extend(row) for row in rows])):
                    packer._store(value, add(to, multiply(add(k.iv, lane), self.nr)))

    def _run_starts(self, base: Index, column: Index, stride: Index) -> list[Index]:
        """Where the runs along k of `lanes` columns start; past the last column, which a panel may be, that one's."""
        numbers = [add(column, lane) for lane in range(self.lanes)]
        if not divides(self.nr, self.columns):
            numbers = [minimum(number, subtract(self.columns, 1)) for number in numbers]
        return [add(base, multiply(number, stride)) for number in numbers]

    # --- vectors ------------------------------------------------------------------------------------

    @property
    def _vector(self) -> Any:
        return ir.VectorType.get([self.lanes], self.source.type.element_type)

    def _load(self, at: Index) -> Any:
        return emit("vector.load", [self._vector], [self.source, as_value(at)])

    def _masked_load(self, at: Index, mask: Any) -> Any:
        return emit("vector.maskedload", [self._vector], [self.source, as_value(at), mask, self._zero()])

    def _store(self, value: Any, at: Index) -> None:
        emit("vector.store", [], [self._extend(value), self.packed, as_value(at)])

    def _extend(self, value: Any) -> Any:
        wide = ir.VectorType.get([self.lanes], self.packed.type.element_type)
        return value if value.type == wide else emit("arith.extf", [wide], [value])

    def _zero(self) -> Any:
        return splat(self._vector, 0.0)

    def _all(self) -> Any:
        type_ = ir.VectorType.get([self.lanes], ir.IntegerType.get_signless(1))
        return emit("arith.constant", [type_], value=ir.DenseElementsAttr.get_splat(type_, ir.BoolAttr.get(True)))

    def _mask(self, count: Index) -> Any:
        return create_mask(self.lanes, count)


def transpose(rows: list[Any]) -> list[Any]:
    """The columns of a square of vectors: log₂ n rounds, each swapping blocks of twice the size."""
    count = len(rows)
    distance = 1
    while distance < count:
        swapped = list(rows)
        for i in range(count):
            if not i & distance:
                low, high = rows[i], rows[i + distance]
                swapped[i], swapped[i + distance] = _swap_blocks(low, high, count, distance)
        rows, distance = swapped, 2 * distance
    return rows


def _swap_blocks(low: Any, high: Any, count: int, distance: int) -> tuple[Any, Any]:
    """Exchange the upper blocks of one vector with the lower blocks of the other."""
    first = [p if not p & distance else count + p - distance for p in range(count)]
    second = [p + distance if not p & distance else count + p for p in range(count)]
    return tuple(
        emit("vector.shuffle", [low.type], [low, high], mask=ir.DenseI64ArrayAttr.get(mask)) for mask in (first, second)
    )


def as_one(strides: Sequence[Index], sizes: Sequence[Index]) -> Index | None:
    """The stride of dims taken as one flat dim, if they have one."""
    for outer, inner, size in zip(strides, strides[1:], sizes[1:], strict=False):
        if not (isinstance(outer, int) and isinstance(inner, int) and isinstance(size, int)) or outer != inner * size:
            return None
    return strides[-1]


def is_one(size: Index | None) -> bool:
    """Whether a size or stride is known to be 1."""
    return isinstance(size, int) and size == 1


def divides(step: int, size: Index) -> bool:
    """Whether a size is known to be a multiple."""
    return isinstance(size, int) and remainder(size, step) == 0


def create_mask(lanes: int, count: Index) -> Any:
    """The first `count` lanes; none or all where there are fewer or more."""
    type_ = ir.VectorType.get([lanes], ir.IntegerType.get_signless(1))
    return emit("vector.create_mask", [type_], [as_value(count)])


def broadcast(value: Index, type_: Any) -> Any:
    return emit("vector.broadcast", [type_], [as_value(value)])


def splat(type_: Any, value: float) -> Any:
    attribute = ir.DenseElementsAttr.get_splat(type_, ir.FloatAttr.get(type_.element_type, value))
    return emit("arith.constant", [type_], value=attribute)


def _is_at_least(size: Index, least: int) -> bool:
    return isinstance(size, int) and size >= least
