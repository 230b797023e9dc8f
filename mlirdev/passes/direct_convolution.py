"""The schedule of a convolution whose outputs lie along rows: no im2col, and padding costs one copy in the cache.

    for sample, group, block of output rows        (one loop, parallel)
      copy the input rows that it reads → X[channels][phases][rows × row length]        zeros where there is padding
      for i: output channels by MR
        for j: block's outputs by NR                MR × NR accumulators in registers
          for input channel, tap: acc[i, j] += W[i, channel, tap] · X[channel, phase + j + shift of the tap]
        result and epilogue of MR rows

The trick is that rows follow each other in X without gaps, so that any NR outputs in a row are NR neighbours in X for
every tap. What is computed for the few columns between rows isn't stored. With a stride, X keeps an image for each
phase: of a stride of 2, the even and the odd columns. A row's zeros on the right serve as the next one's on the left.

Where few samples and blocks would leave threads without work, the copy is a loop over all channels, and another one
runs over all output channels. A window without padding and stride is read in place.

The weights are read in place, element by element: one is used for all NR outputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from torch_mlir import ir

from mlirdev.passes import epilogue_vectors
from mlirdev.passes.build import (
    Index,
    add,
    alloc,
    as_value,
    compare,
    divide,
    divide_up,
    flatten_index,
    for_loop,
    insert_into,
    maximum,
    minimum,
    multiply,
    product,
    remainder,
    subtract,
    unflatten,
)
from mlirdev.passes.contraction import Contraction
from mlirdev.passes.contraction_blocks import base_of, loops
from mlirdev.passes.contraction_tiles import tile_height
from mlirdev.passes.convolution_layout import MOST_WASTE, Layout, copied, in_place, stays_inside
from mlirdev.passes.epilogue import EpilogueEmitter
from mlirdev.passes.gemm import prefetch
from mlirdev.passes.linear import flatten
from mlirdev.passes.loop_emission import store
from mlirdev.passes.ops import emit
from mlirdev.passes.packing import broadcast, create_mask
from mlirdev.passes.register_tile import RegisterTile
from mlirdev.passes.vectors import Vectors
from mlirdev.passes.window import Axis, Window
from mlirdev.target import Target

# MR × vectors of NR by the number of output channels; more of those take the last entry. 32 vector registers and 16.
_TILES = {
    512: {1: (1, 8), 2: (2, 6), 3: (3, 6), 4: (4, 4), 5: (5, 4), 6: (6, 4), 7: (7, 3), 8: (8, 2)},
    256: {1: (1, 6), 2: (2, 4), 3: (3, 3), 4: (4, 2), 5: (5, 2), 6: (6, 2)},
}
# Multiply-adds of vectors in the innermost loop's body: more take longer to compile and gain nothing.
_UNROLLED = 64
# Outputs of a block: enough that its edges are few, few enough that MR rows of them stay in the first-level cache.
_MOST_COLUMNS = 1024
# With less outer iterations, output channels are shared among threads.
_LEAST_ITERATIONS = 8
_MOST_UNROLLED_PHASES = 4
# Weights of neighbouring input channels that are this many elements apart are fetched so many channels ahead.
_PAGE = 1024
_AHEAD = 8


def suits(c: Contraction, window: Window, target: Target) -> bool:
    """Whether this schedule is the one for a contraction that reads B through this window."""
    static = c.extents((*c.m, *c.n, *c.k, *c.outer_k))
    if window.is_plain or not all(isinstance(e, int) for e in (*static, *c.a.strides, *c.c.strides)):
        return False
    outs, lanes = math.prod(a.outs for a in window.axes), target.lanes(c.c.element_type.width)
    whole = copied(c, window, window.axes[0].outs, lanes)
    return outs >= lanes and whole.columns <= MOST_WASTE * outs


def choose_tile(rows: int, columns: int, lanes: int, vector_bits: int) -> tuple[int, int]:
    """MR and the number of NR's vectors."""
    tiles = _TILES[512 if vector_bits >= 512 else 256]
    most = max(tiles)
    height, vectors = tiles[tile_height(rows, most)]
    return height, min(vectors, columns // lanes)


class DirectConvolution:
    """Writes one convolution at the current insertion point; C's old contents don't count. `is_kept`: C itself is
    wanted, not only what the epilogue makes of it."""

    def __init__(
        self, c: Contraction, window: Window, target: Target, epilogue: EpilogueEmitter | None, is_kept: bool
    ) -> None:
        self.contraction, self.window = c, window
        self.epilogue, self.is_kept = epilogue, is_kept
        self.element = c.c.element_type
        self.lanes = target.lanes(self.element.width)
        self.channels = product(c.extents(c.m))
        self.batch = c.extents(c.batch)
        self.layout = self._choose_layout(target)
        self.mr, self.vectors = choose_tile(self.channels, self.layout.columns, self.lanes, target.vector_width)
        self.nr = self.vectors * self.lanes
        self.wide = Vectors(self.lanes, self.element)
        self.tile = RegisterTile(self.wide.type, self.mr, self.vectors)

    # --- what to split ------------------------------------------------------------------------------

    def _choose_layout(self, target: Target) -> Layout:
        """As few blocks as the caches allow."""
        outs = self.window.axes[0].outs
        layout = self._layout(outs)
        for blocks in range(2, outs + 1):
            if layout.columns <= _MOST_COLUMNS and self._bytes(layout) <= target.caches.l2 // 2:
                break
            smaller = self._layout(-(-outs // blocks))
            if smaller.columns < self.lanes:
                break
            layout = smaller
        return layout

    def _layout(self, rows: int) -> Layout:
        c, window = self.contraction, self.window
        most = max(vectors for _, vectors in _TILES[512].values()) * self.lanes
        layout = in_place(c, window, rows)
        if layout is not None and layout.columns >= most:
            return layout
        return copied(c, window, rows, self.lanes)

    def _bytes(self, layout: Layout) -> int:
        return layout.size * int(self.element.width) // 8

    @property
    def blocks(self) -> int:
        return -(-self.window.axes[0].outs // self.layout.rows)

    @property
    def _shares_channels(self) -> bool:
        """Whether the outermost loop runs over output channels."""
        count = product([*self.batch, self.blocks])
        return isinstance(count, int) and count < _LEAST_ITERATIONS and self.blocks == 1 and self.channels > self.mr

    # --- loops --------------------------------------------------------------------------------------

    def emit(self) -> None:
        c = self.contraction
        self.a, self.c = c.a.flat(), c.c.flat()
        self.source = flatten(self.window.memref)
        self.narrow = Vectors(self.lanes, self.source.type.element_type)
        copies = product(self.batch) if self._shares_channels else 1
        self.input = alloc([copies * self.layout.size], self.element) if self.layout.is_copy else self.source
        self.row_length = divide_up(self.layout.columns, self.nr) * self.nr
        self.result = alloc([self.mr * self.row_length], self.element)
        if self._shares_channels:
            self._by_channels()
        else:
            self._by_blocks()

    def _by_blocks(self) -> None:
        sizes = [*self.batch, self.blocks]
        with for_loop(0, product(sizes), parallel=True) as number:
            *batch, block = unflatten(number.iv, sizes)
            first = multiply(block, self.layout.rows) if self.blocks > 1 else 0
            if self.layout.is_copy:
                with loops([self.contraction.nest.extents[d] for d in self.layout.plain]) as plain:
                    self._copy_plane(batch, plain, first, 0)
            start = 0 if self.layout.is_copy else self._start(batch, first)
            with for_loop(0, self.channels, self.mr) as row:
                self._rows(batch, start, first, row.iv)

    def _by_channels(self) -> None:
        plain = [self.contraction.nest.extents[d] for d in self.layout.plain]
        if self.layout.is_copy:
            sizes = [*self.batch, *plain]
            with for_loop(0, product(sizes), parallel=True) as number:
                positions = unflatten(number.iv, sizes)
                batch = positions[: len(self.batch)]
                self._copy_plane(batch, positions[len(self.batch) :], 0, self._image(batch))
        sizes = [*self.batch, divide_up(self.channels, self.mr)]
        with for_loop(0, product(sizes), parallel=True) as number:
            *batch, tile = unflatten(number.iv, sizes)
            start = self._image(batch) if self.layout.is_copy else self._start(batch, 0)
            self._rows(batch, start, 0, multiply(tile, self.mr))

    def _image(self, batch: Sequence[Index]) -> Index:
        """Where the copy for one sample and group starts."""
        return multiply(flatten_index(batch, self.batch), self.layout.size)

    def _start(self, batch: Sequence[Index], first: Index) -> Index:
        """Where in the input the first output of a block reads its first tap, without padding."""
        start = self.window.offset
        for d, position in zip(self.contraction.batch, batch, strict=True):
            start = add(start, multiply(position, self.window.strides[d]))
        return add(start, multiply(first, self.window.axes[0].step * self.window.axes[0].stride))

    # --- copy ---------------------------------------------------------------------------------------

    def _copy_plane(self, batch: Sequence[Index], plain: Sequence[Index], first: Index, to: Index) -> None:
        """All phases of one input channel, of the rows from output row `first` on."""
        source = self._start(batch, 0)
        for d, position in zip(self.layout.plain, plain, strict=True):
            source = add(source, multiply(position, self.window.strides[d]))
            to = add(to, multiply(position, self.layout.plain[d]))
        *outer, last = self.layout.phases
        with loops(outer) as phases:
            if last <= _MOST_UNROLLED_PHASES:
                for phase in range(last):
                    self._copy_rows(0, [*phases, phase], source, self._phase_start(to, [*phases, phase]), first, [])
            else:
                with for_loop(0, last) as inner:
                    numbers = [*phases, inner.iv]
                    self._copy_rows(0, numbers, source, self._phase_start(to, numbers), first, [])

    def _phase_start(self, to: Index, phases: Sequence[Index]) -> Index:
        return add(to, multiply(flatten_index(phases, self.layout.phases), self.layout.plane))

    def _copy_rows(
        self, level: int, phases: Sequence[Index], source: Index, to: Index, first: Index, inside: list[Any]
    ) -> None:
        """The dims from axis `level` on; `inside` says whether what is around them lies in the input."""
        axis = self.window.axes[level]
        shift = subtract(multiply(phases[level], math.gcd(axis.stride, axis.dilation)), axis.before)
        if level == len(self.window.axes) - 1:
            if level == 0:
                shift = add(shift, multiply(first, axis.stride))
            self._copy_row(axis, shift, source, to, inside)
            return
        with for_loop(0, self.layout.lengths[level]) as t:
            number = add(first, t.iv) if level == 0 else t.iv
            place = add(multiply(number, axis.stride), shift)
            checks = [*inside, *self._checks(axis, level, place)]
            at = add(to, multiply(t.iv, self.layout.steps[level]))
            self._copy_rows(level + 1, phases, add(source, multiply(place, axis.step)), at, first, checks)

    def _checks(self, axis: Axis, level: int, place: Index) -> list[Any]:
        if stays_inside(axis) and (level or axis.outs % self.layout.rows == 0):
            return []
        # One unsigned comparison: below zero is above everything.
        return [compare("ult", place, axis.size)]

    def _copy_row(self, axis: Axis, shift: Index, source: Index, to: Index, inside: list[Any]) -> None:
        """Elements t · stride + shift of the input's row to places t of X, zeros where there are none."""
        length = self.layout.lengths[-1]
        if not inside:
            self._copy_inside(axis, shift, source, to, length)
            return
        condition = inside[0]
        for other in inside[1:]:
            condition = emit("arith.andi", [condition.type], [condition, other])
        choice = ir.Operation.create("scf.if", operands=[condition], regions=2)
        with insert_into(choice.regions[0]):
            self._copy_inside(axis, shift, source, to, length)
            emit("scf.yield", [])
        with insert_into(choice.regions[1]):
            self._write_zeros(to, 0, length)
            emit("scf.yield", [])

    def _copy_inside(self, axis: Axis, shift: Index, source: Index, to: Index, length: int) -> None:
        # The first and the last place whose element exists.
        start, stop = (
            minimum(divide_up(maximum(subtract(end, shift), 0), axis.stride), length) for end in (0, axis.size)
        )
        self._write_zeros(to, 0, start)
        self._write_zeros(to, stop, length)
        begin = add(source, multiply(shift, axis.step))
        apart = axis.stride * axis.step
        whole = add(start, multiply(divide(subtract(stop, start), self.lanes), self.lanes))
        with for_loop(start, whole, self.lanes) as t:
            self.wide.store(self._read(add(begin, multiply(t.iv, apart)), apart, self.lanes), self.input, add(to, t.iv))
        if not (isinstance(whole, int) and whole == stop):
            rest = subtract(stop, whole)
            self.wide.store(self._read(add(begin, multiply(whole, apart)), apart, rest), self.input, add(to, whole))

    def _read(self, at: Index, apart: int, count: Index) -> Any:
        """`count` elements of the input, at most a vector, which are this far apart; zeros after them."""
        if apart == 1:
            return self._masked_load(at, count)
        if apart == 2:
            elements = subtract(multiply(count, 2), 1)
            low, high = (self._masked_load(add(at, n), subtract(elements, n)) for n in (0, self.lanes))
            mask = ir.DenseI64ArrayAttr.get(list(range(0, 2 * self.lanes, 2)))
            return emit("vector.shuffle", [low.type], [low, high], mask=mask)
        indices = ir.VectorType.get([self.lanes], ir.IndexType.get())
        numbers = emit("vector.step", [indices])
        places = emit("arith.muli", [indices], [numbers, broadcast(apart, indices)])
        operands = [self.source, as_value(at), places, create_mask(self.lanes, count), self.narrow.splat(0.0)]
        return emit("vector.gather", [self.narrow.type], operands)

    def _masked_load(self, at: Index, count: Index) -> Any:
        is_whole = isinstance(count, int) and count >= self.lanes
        return self.narrow.load(self.source, at, None if is_whole else count)

    def _write_zeros(self, to: Index, start: Index, stop: Index) -> None:
        if isinstance(start, int) and isinstance(stop, int) and start >= stop:
            return
        with for_loop(start, stop, self.lanes) as t:
            self.wide.store(self.wide.splat(0.0), self.input, add(to, t.iv))

    # --- the register tile --------------------------------------------------------------------------

    def _rows(self, batch: Sequence[Index], start: Index, first: Index, row: Index) -> None:
        """MR output channels of a block: all its columns, then the result."""
        layout, c = self.layout, self.contraction
        outs = self.window.axes[0].outs
        count = layout.rows if outs % layout.rows == 0 else minimum(subtract(outs, first), layout.rows)
        columns = subtract(layout.columns, multiply(subtract(layout.rows, count), layout.steps[0]))
        weights = base_of(c.a, dict(zip(c.batch, batch, strict=True)))
        a_rows = [add(weights, c.offset(c.a, c.m, r)) for r in self._row_numbers(row)]
        with for_loop(0, columns, self.nr) as j:
            # The last tile ends with the last column: beyond it may be anything, also what is slow to compute with.
            column = minimum(j.iv, layout.columns - self.nr)
            sums = self._reduce(a_rows, add(start, column))
            for i in range(self.mr):
                for v in range(self.vectors):
                    at = add(column, i * self.row_length + v * self.lanes)
                    self.wide.store(sums[i * self.vectors + v], self.result, at)
        self._finish(batch, first, count, row)

    def _row_numbers(self, row: Index) -> list[Index]:
        numbers = [add(row, i) for i in range(self.mr)]
        return numbers if self.channels % self.mr == 0 else [minimum(n, self.channels - 1) for n in numbers]

    def _reduce(self, a_rows: list[Index], start: Index) -> list[Any]:
        """The accumulators of a tile after all input channels and taps: loops around an unrolled body."""
        c = self.contraction
        axis_of = {a.tap: i for i, a in enumerate(self.window.axes) if a.tap is not None}
        order = [*self.layout.plain, *(d for d in axis_of)]
        looped, unrolled = self._unroll([c.nest.extents[d] for d in order])

        def body(outer: list[Index], acc: list[Any]) -> list[Any]:
            self._prefetch(a_rows, order, outer)
            for inner in _box(unrolled):
                positions = [add(o, i) for o, i in zip(outer, inner, strict=True)]
                at = dict(zip(order, positions, strict=True))
                acc = self._rank_one_update(acc, a_rows, start, at, axis_of)
            return acc

        return _reduce_over(looped, [], self.tile.zeros(), body)

    def _prefetch(self, a_rows: list[Index], order: Sequence[int], positions: Sequence[Index]) -> None:
        """Ask for the weights of a later input channel, where each lies on another page: nothing else foresees them."""
        c = self.contraction
        if not order or abs(c.a.strides[order[0]]) < _PAGE:
            return
        later = minimum(add(positions[0], _AHEAD), c.nest.extents[order[0]] - 1)
        step: Index = 0
        for d, position in zip(order, [later, *positions[1:]], strict=True):
            step = add(step, multiply(position, c.a.strides[d]))
        for row in a_rows:
            prefetch(self.a, add(row, step))

    def _unroll(self, extents: Sequence[int]) -> tuple[list[tuple[int, int]], list[int]]:
        """(extent, step) of each loop, and how many steps of each are written out: the innermost ones, in all as many
        as a body may have."""
        budget = max(_UNROLLED // (self.mr * self.vectors), 1)
        looped: list[tuple[int, int]] = []
        unrolled: list[int] = []
        for extent in reversed(extents):
            count = max(n for n in range(1, min(extent, budget) + 1) if extent % n == 0)
            looped.insert(0, (extent, count))
            unrolled.insert(0, count)
            # Further out only whole dims are worth it.
            budget = budget // count if count == extent else 1
        return looped, unrolled

    def _rank_one_update(
        self, acc: list[Any], a_rows: list[Index], start: Index, at: dict[int, Index], axis_of: dict[int, int]
    ) -> list[Any]:
        place, step = start, 0
        for d, position in at.items():
            place = add(place, self._shift(d, position, axis_of))
            step = add(step, multiply(position, self.contraction.a.strides[d]))
        return self.tile.step(
            acc,
            step,
            lambda i, k: self.wide.load_number(self.a, add(a_rows[i], k)),
            lambda _, v: self.wide.load(self.input, add(place, v * self.lanes)),
        )

    def _shift(self, d: int, position: Index, axis_of: dict[int, int]) -> Index:
        """How far a reduced dim moves a read."""
        if d not in axis_of:
            return multiply(position, self.layout.plain[d])
        number = axis_of[d]
        axis, step = self.window.axes[number], self.layout.steps[number]
        reached = multiply(position, axis.dilation)
        if axis.stride == 1:
            return multiply(reached, step)
        phase = divide(remainder(reached, axis.stride), math.gcd(axis.stride, axis.dilation))
        distance = self.layout.plane * math.prod(self.layout.phases[number + 1 :])
        return add(multiply(phase, distance), multiply(divide(reached, axis.stride), step))

    # --- the result ---------------------------------------------------------------------------------

    def _finish(self, batch: Sequence[Index], first: Index, count: Index, row: Index) -> None:
        """Store what was computed for MR channels, and run what follows on it."""
        c, axes = self.contraction, self.window.axes
        last = axes[-1]
        in_vectors = self._ends_in_vectors()
        extents = [count, *(a.outs for a in axes[1:])]
        with (
            for_loop(row, minimum(add(row, self.mr), self.channels)) as channel,
            loops(extents[:-1]) as outer,
            for_loop(0, extents[-1], self.lanes if in_vectors else 1) as inner,
        ):
            places = [*outer, inner.iv]
            at = multiply(subtract(channel.iv, row), self.row_length)
            for place, step in zip(places, self.layout.steps, strict=True):
                at = add(at, multiply(place, step))
            fixed = dict(zip(c.batch, batch, strict=True))
            fixed.update(zip(c.m, unflatten(channel.iv, c.extents(c.m)), strict=True))
            places[0] = add(first, places[0])
            fixed.update((a.out, p) for a, p in zip(axes, places, strict=True) if a.out is not None)
            if in_vectors and last.out is not None:
                whole = isinstance(extents[-1], int) and extents[-1] % self.lanes == 0
                self._end_vector(at, fixed, last.out, None if whole else subtract(extents[-1], inner.iv))
            else:
                self._end_element(at, fixed)

    def _ends_in_vectors(self) -> bool:
        dim = self.window.axes[-1].out
        if dim is None or (self.is_kept and self.contraction.c.strides[dim] != 1):
            return False
        return self.epilogue is None or epilogue_vectors.fits(self.epilogue, dim)

    def _end_vector(self, at: Index, fixed: dict[int, Index], dim: int, count: Index | None) -> None:
        value = self.wide.load(self.result, at, count)
        if self.is_kept:
            self.wide.store(value, self.c, base_of(self.contraction.c, fixed), count)
        if self.epilogue is not None:
            epilogue_vectors.EpilogueVectors(self.epilogue, dim, self.lanes).emit(fixed, value, count)

    def _end_element(self, at: Index, fixed: dict[int, Index]) -> None:
        value = emit("memref.load", [self.element], [self.result, as_value(at)])
        if self.is_kept:
            store(value, self.c, [as_value(base_of(self.contraction.c, fixed))])
        if self.epilogue is not None:
            self.epilogue.element(fixed, value)


def _reduce_over(
    looped: Sequence[tuple[int, int]],
    ivs: list[Index],
    acc: list[Any],
    body: Callable[[list[Index], list[Any]], list[Any]],
) -> list[Any]:
    """Carry accumulators through loops over (extent, step), outermost first; those of one step aren't written."""
    if not looped:
        return body(ivs, acc)
    (extent, step), *inner = looped
    if extent == step:
        return _reduce_over(inner, [*ivs, 0], acc, body)
    with for_loop(0, extent, step, acc) as loop:
        loop.yields = _reduce_over(inner, [*ivs, loop.iv], loop.carried, body)
    return loop.results


def _box(extents: Sequence[int]) -> Iterator[list[int]]:
    """All coordinates of a box, row by row."""
    for flat in range(math.prod(extents)):
        yield unflatten(flat, extents)
