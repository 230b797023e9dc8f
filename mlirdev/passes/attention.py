"""The schedule of attention: a few rows of scores at a time, whole and in the cache.

    for heads that share keys and values (parallel)
      pack kᵀ → keys[n/NR][d][NR], v → values[e/NR][n][NR]
      for their queries' heads, for row: m by MR
        for panel of keys                      causal: those up to the row's own key
          scores[MR, panel] = scale · q · kᵀ + mask     MR × NR accumulators in registers
        for each row
          scores = exp(scores - greatest), with their sum
        for panel of values
          out[MR, panel] = scores · v / sum

Both products have the register tile of gemm.py, their right sides its packed panels. Rows past the last one are clamped
to it: they compute and store the same values twice. Columns past the last key score -inf.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from torch_mlir import ir

from mlirdev.passes.attention_op import AttentionOp, Operand
from mlirdev.passes.build import (
    Index,
    add,
    divide,
    divide_up,
    for_loop,
    minimum,
    multiply,
    product,
    remainder,
    subtract,
    unflatten,
)
from mlirdev.passes.contraction_blocks import loops
from mlirdev.passes.contraction_tiles import register_tile
from mlirdev.passes.ops import emit
from mlirdev.passes.packing import Packer, create_mask, divides, is_one
from mlirdev.passes.register_tile import RegisterTile
from mlirdev.passes.vectors import Vectors, binary, compare, larger, select
from mlirdev.target import Target

# Heads are split by rows where there are fewer, into pieces of at least so many rows: keys are packed for each piece.
_LEAST_TASKS, _LEAST_ROWS = 8, 64


Span = tuple[Index, Index]  # the first one and how many


@dataclass(frozen=True)
class Panels:
    """A matrix packed into panels of `nr` columns, each with room for `height` rows."""

    packed: Any
    height: Index
    nr: int

    def row(self, panel: Index, k: Index) -> Index:
        return multiply(add(multiply(panel, self.height), k), self.nr)


class Blocks:
    """What the schedules of attention and of its backward share: sizes, scratch memory, packed panels, tiles."""

    def __init__(self, attention: AttentionOp, target: Target) -> None:
        self.op = attention
        first = attention.element(0)
        element = first if isinstance(first, ir.F64Type) else ir.F32Type.get()
        self.vectors = Vectors(target.lanes(element.width), element)
        self.m, self.n, self.d, self.e = attention.sizes[-4:]
        most = register_tile(target).mr
        self.mr = min(self.m, most) if isinstance(self.m, int) else most
        self.nr = 2 * self.vectors.lanes
        self.tile = RegisterTile(self.vectors.type, self.mr, 2)

    # --- memory -------------------------------------------------------------------------------------

    def scratch(self, *sizes: Index) -> Any:
        """A flat buffer of the computing type, with a vector to spare: the last run may be read or written beyond."""
        size = add(product(sizes), self.nr + self.vectors.lanes)
        run_time = [] if isinstance(size, int) else [size]
        type_ = ir.MemRefType.get([ir.ShapedType.get_dynamic_size() if run_time else size], self.vectors.element)
        segments = ir.DenseI32ArrayAttr.get([len(run_time), 0])
        return emit("memref.alloc", [type_], run_time, operandSegmentSizes=segments)

    def panels(self, depth: Index, columns: Index) -> Panels:
        """Room for a depth × columns matrix; what is transposed is packed by squares of at most `lanes` rows."""
        height = multiply(divide_up(depth, self.vectors.lanes), self.vectors.lanes)
        return Panels(self.scratch(multiply(divide_up(columns, self.nr), self.nr), height), height, self.nr)

    def pack(
        self, panels: Panels, source: Operand, base: Index, dims: tuple[int, int], rows: Span | None = None
    ) -> None:
        """Pack a matrix whose rows and columns run along these dims: all rows, or some from a first one on."""
        depth, columns = self.sizes(dims)
        first, count = rows or (0, depth)
        packer = Packer(
            source.flat,
            [source.stride(dims[0])],
            [depth],
            [source.stride(dims[1])],
            [columns],
            panels.packed,
            self.nr,
            self.vectors.lanes,
            multiply(panels.height, self.nr),
        )
        packer.pack(base, 0, divide_up(columns, self.nr), first, count)

    # --- loops --------------------------------------------------------------------------------------

    def split_batch(self, *shared: Operand) -> tuple[list[int], list[int]]:
        """The batch dims that any of these operands has, and those along which they are repeated."""
        own = [d for d in self.op.batch if any(d in operand.strides for operand in shared)]
        return own, [d for d in self.op.batch if d not in own]

    def sizes(self, dims: Sequence[int]) -> list[Index]:
        return [self.op.sizes[d] for d in dims]

    def tile_of(self, first: Any, count: Index, divisor: Index) -> list[Index]:
        """The numbers of a tile's rows, none past the last of `count`, which a `divisor` divides."""
        numbers = [add(first, i) for i in range(self.mr)]
        return numbers if divides(self.mr, divisor) else [minimum(r, subtract(count, 1)) for r in numbers]

    def limit(self, row: Any, count: int) -> Index:
        """How many keys `count` rows from this one on may look at."""
        return minimum(self.n, add(row, count)) if self.op.causal else self.n

    def divisor(self, step: int) -> int:
        """A number that divides how many keys any of the rows up to a multiple of `step` may look at."""
        if not isinstance(self.n, int):
            return 1
        return math.gcd(self.n, step) if self.op.causal else self.n

    # --- products -----------------------------------------------------------------------------------

    def product(
        self,
        depth: Index,
        number: Callable[[int, Index], Any],
        vector: Callable[[Index, int], Any],
        multiple: int = 1,
        initial: Sequence[Any] = (),
    ) -> list[list[Any]]:
        """The vectors, row by row, of one tile of a product: see RegisterTile.accumulate."""
        flat = self.tile.accumulate(depth, initial or self.tile.zeros(), number, vector, multiple)
        return [flat[2 * i : 2 * i + 2] for i in range(self.mr)]

    def packed(self, panels: Panels, panel: Index) -> Callable[[Index, int], Any]:
        """Reads vector v of a packed panel's row k."""
        return lambda k, v: self.vectors.load(panels.packed, add(panels.row(panel, k), v * self.vectors.lanes))

    def reader(self, source: Operand, starts: list[Index], dim: int) -> Callable[[int, Index], Any]:
        """Reads number k along `dim` of a tile's row i."""
        stride = source.stride(dim)
        return lambda i, k: self.vectors.load_number(source.flat, add(starts[i], multiply(k, stride)))

    # --- scores -------------------------------------------------------------------------------------

    def scored(self, products: Any, mask: Operand | None, start: Index, row: Index, column: Index) -> Any:
        """Scaled and masked scores from products, of one row and a vector of columns."""
        value = binary("mulf", products, self.vectors.splat(self.op.scale))
        if mask is not None:
            is_whole = divides(self.vectors.lanes, self.n)
            value = binary("addf", value, self.along(mask, start, self.op.n, column, is_whole))
        last: Index | None = None if divides(self.nr, self.n) else subtract(self.n, 1)
        if self.op.causal:
            last = row if last is None else minimum(row, last)
        if last is None:
            return value
        seen = create_mask(self.vectors.lanes, add(subtract(last, column), 1))
        return select(seen, value, self.vectors.splat(-math.inf))

    def along(self, source: Operand, start: Index, dim: int, position: Index, is_whole: bool) -> Any:
        """A vector along a dim, from a position on; unless it is whole, with zeros behind the last number."""
        stride = source.stride(dim)
        if isinstance(stride, int) and stride == 0:
            return self.vectors.spread(self.vectors.load_number(source.flat, start))
        if is_one(stride):
            count = None if is_whole else subtract(self.op.sizes[dim], position)
            return self.vectors.load(source.flat, add(start, position), count)
        v, size = self.vectors, self.op.sizes[dim]
        places = [minimum(add(position, lane), subtract(size, 1)) for lane in range(v.lanes)]
        numbers = [v.load_number(source.flat, add(start, multiply(p, stride))) for p in places]
        value = emit("vector.from_elements", [v.type], numbers)
        return value if is_whole else select(create_mask(v.lanes, subtract(size, position)), value, v.splat(0.0))


class Attention(Blocks):
    """Writes attention at the current insertion point."""

    def __init__(self, attention: AttentionOp, target: Target) -> None:
        super().__init__(attention, target)
        self.q, self.k, self.v, *rest = attention.inputs
        self.mask = rest[0] if rest else None
        self.out, self.logsumexp = attention.outputs

    def emit(self) -> None:
        own, repeated = self.split_batch(self.k, self.v)
        self._allocate()
        with self._tasks(own) as (place, first, last):
            self._pack(place)
            with loops(self.sizes(repeated)) as inner, for_loop(first, last, self.mr) as row:
                self._rows({**place, **dict(zip(repeated, inner, strict=True))}, row.iv)

    def _allocate(self) -> None:
        # A little more than rows need: powers of two apart, they would fall into the same places of the cache.
        self.step = add(multiply(divide_up(self.n, self.nr), self.nr), self.vectors.lanes)
        self.scores, self.factors = self.scratch(self.mr, self.step), self.scratch(self.mr)
        self._allocate_panels()

    def _allocate_panels(self) -> None:
        self.keys, self.values = self.panels(self.d, self.n), self.panels(self.n, self.e)

    def _pack(self, place: dict[int, Index]) -> None:
        self.pack(self.keys, self.k, self.k.at(place), (self.op.d, self.op.n))
        self.pack(self.values, self.v, self.v.at(place), (self.op.n, self.op.e))

    @contextmanager
    def _tasks(self, own: list[int]) -> Iterator[tuple[dict[int, Index], Index, Index]]:
        """The parallel loop: where a task's keys are, and its rows from first to last."""
        heads, pieces = product(self.sizes(own)), self._pieces(own)
        rows = multiply(divide_up(divide_up(self.m, pieces), self.mr), self.mr)
        with for_loop(0, multiply(heads, pieces), parallel=True) as task:
            head, piece = divide(task.iv, pieces), 0 if pieces == 1 else remainder(task.iv, pieces)
            place = dict(zip(own, unflatten(head, self.sizes(own)), strict=True))
            first = multiply(piece, rows)
            yield place, first, self.m if pieces == 1 else minimum(add(first, rows), self.m)

    def _pieces(self, own: list[int]) -> int:
        """Into how many parts each head's rows are split."""
        heads = product(self.sizes(own))
        if not isinstance(heads, int) or not isinstance(self.m, int) or heads == 0:
            return 1
        return max(min(-(-_LEAST_TASKS // heads), self.m // _LEAST_ROWS), 1)

    def _rows(self, place: dict[int, Index], row: Any) -> None:
        rows, limit = self.tile_of(row, self.m, self.m), self.limit(row, self.mr)
        width = divide_up(limit, self.nr)
        self._score(place, rows, limit)
        with for_loop(0, self.mr) as i:
            number = add(row, i.iv) if divides(self.mr, self.m) else minimum(add(row, i.iv), subtract(self.m, 1))
            self._exponentiate(place, number, i.iv, width)
        self._weigh(place, rows, limit)

    def _score(self, place: dict[int, Index], rows: list[Index], limit: Index) -> None:
        starts = [self.q.at({**place, self.op.m: r}) for r in rows]
        masks = [self.mask.at({**place, self.op.m: r}) if self.mask else 0 for r in rows]
        with for_loop(0, divide_up(limit, self.nr)) as panel:
            products = self.product(self.d, self.reader(self.q, starts, self.op.d), self.packed(self.keys, panel.iv))
            for i, row in enumerate(products):
                for v, value in enumerate(row):
                    column = add(multiply(panel.iv, self.nr), v * self.vectors.lanes)
                    score = self.scored(value, self.mask, masks[i], rows[i], column)
                    self.vectors.store(score, self.scores, add(multiply(i, self.step), column))

    def _exponentiate(self, place: dict[int, Index], row: Index, i: Any, width: Index) -> None:
        """Scores to weights that aren't divided yet, what to multiply results by, and the log of the weights' sum."""
        v, start = self.vectors, multiply(i, self.step)
        places = [add(start, k * v.lanes) for k in range(2)]
        with for_loop(0, multiply(width, self.nr), self.nr, [v.splat(-math.inf)] * 2) as j:
            loaded = [v.load(self.scores, add(p, j.iv)) for p in places]
            j.yields = [larger(x, top) for x, top in zip(loaded, j.carried, strict=True)]
        top = v.greatest(larger(*j.results))
        if self.op.zero_rows:  # exponentials of -inf, not of NaN, where all scores are -inf
            top = select(compare("oeq", top, v.number(-math.inf)), v.number(0.0), top)
        wide = v.spread(top)
        with for_loop(0, multiply(width, self.nr), self.nr, [v.splat(0.0)] * 2) as j:
            for at, total in zip(places, j.carried, strict=True):
                score = v.load(self.scores, add(at, j.iv))
                weight = emit("math.exp", [v.type], [binary("subf", score, wide)])
                v.store(weight, self.scores, add(at, j.iv))
                j.yields.append(binary("addf", total, weight))
        total = v.add_up(binary("addf", *j.results))
        factor = binary("divf", v.number(1.0), total)
        if self.op.zero_rows:
            factor = select(compare("oeq", total, v.number(0.0)), v.number(0.0), factor)
        v.store_number(factor, self.factors, i)
        log = emit("math.log", [v.element], [total])
        v.store_number(binary("addf", log, top), self.logsumexp.flat, self.logsumexp.at({**place, self.op.m: row}))

    def _weigh(self, place: dict[int, Index], rows: list[Index], limit: Index) -> None:
        """The weighted sums of values."""
        v = self.vectors
        factors = [v.spread(v.load_number(self.factors, i)) for i in range(self.mr)]
        starts = [self.out.at({**place, self.op.m: r}) for r in rows]

        def weight(i: int, k: Index) -> Any:
            return v.load_number(self.scores, add(multiply(i, self.step), k))

        with for_loop(0, divide_up(self.e, self.nr)) as panel:
            sums = self.product(limit, weight, self._values(place, panel.iv), self.divisor(self.mr))
            first = multiply(panel.iv, self.nr)
            for i, row in enumerate(sums):
                for number, value in enumerate(row):
                    column = add(first, number * v.lanes)
                    count = None if divides(self.nr, self.e) else subtract(self.e, column)
                    v.store(binary("mulf", value, factors[i]), self.out.flat, add(starts[i], column), count)

    def _values(self, place: dict[int, Index], panel: Index) -> Callable[[Index, int], Any]:
        """Reads vector v of row k of a panel of values."""
        return self.packed(self.values, panel)
