"""The schedule of attention's backward: weights are worked out anew, a few rows at a time, and never in memory whole.

    for heads that share keys and values (parallel)
      pack kᵀ, k, vᵀ; dk, dv = 0
      for their queries' heads, for block: m by NR
        for row: block by MR
          delta = sum(dout · out)
          for panel of keys                      causal: those up to the block's own keys
            weights[MR, panel] = exp(scale · q · kᵀ + mask - logsumexp)
            dscores[MR, panel] = weights · (dout · vᵀ - delta) · scale
          dq[MR] = dscores · k
        pack the block's rows of q and dout
        for keys by MR
          dv += weightsᵀ · dout
          dk += dscoresᵀ · q

dk and dv are summed in the computing type, in scratch memory, and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mlirdev.passes.attention import Blocks, Panels
from mlirdev.passes.attention_op import AttentionOp, Operand
from mlirdev.passes.build import Index, add, divide_up, for_loop, minimum, multiply, product, subtract, unflatten
from mlirdev.passes.contraction_blocks import loops
from mlirdev.passes.ops import emit
from mlirdev.passes.packing import divides
from mlirdev.passes.vectors import binary, compare, select
from mlirdev.target import Target


class _Sums:
    """A gradient of keys or values while it is summed: rows of whole panels."""

    def __init__(self, blocks: Blocks, columns: Index) -> None:
        self.blocks = blocks
        self.columns = columns
        self.width = multiply(divide_up(columns, blocks.nr), blocks.nr)
        self.memory = blocks.scratch(blocks.n, self.width)

    def clear(self) -> None:
        v = self.blocks.vectors
        with for_loop(0, multiply(self.blocks.n, self.width), v.lanes) as at:
            v.store(v.splat(0.0), self.memory, at.iv)

    def add(self, keys: Sequence[Index], weights: Any, step: Index, depth: Index, right: Panels) -> None:
        """Onto the rows of these keys: the weights of `depth` rows, turned, times a packed matrix."""
        b, v = self.blocks, self.blocks.vectors

        def weight(i: int, k: Index) -> Any:
            return v.load_number(weights, add(multiply(k, step), keys[i]))

        with for_loop(0, divide_up(self.columns, b.nr)) as panel:
            first = multiply(panel.iv, b.nr)
            starts = [add(multiply(key, self.width), first) for key in keys]
            # All are read before any is written: clamped keys are one place several times.
            places = [add(start, k * v.lanes) for start in starts for k in range(2)]
            before = [v.load(self.memory, place) for place in places]
            sums = b.product(depth, weight, b.packed(right, panel.iv), initial=before)
            for place, value in zip(places, (value for row in sums for value in row), strict=True):
                v.store(value, self.memory, place)

    def write(self, target: Operand, start: Index, dim: int) -> None:
        """Round them into the result."""
        b, v = self.blocks, self.blocks.vectors
        is_whole = divides(v.lanes, self.columns)
        with for_loop(0, b.n) as row, for_loop(0, self.columns, v.lanes) as column:
            value = v.load(self.memory, add(multiply(row.iv, self.width), column.iv))
            at = add(add(start, multiply(row.iv, target.stride(b.op.n))), column.iv)
            v.store(value, target.flat, at, None if is_whole else subtract(self.columns, column.iv))


class AttentionBackward(Blocks):
    """Writes attention's backward at the current insertion point."""

    def __init__(self, attention: AttentionOp, target: Target) -> None:
        super().__init__(attention, target)
        self.dout, self.q, self.k, self.v, self.out, self.logsumexp, *rest = attention.inputs
        self.mask = rest[0] if rest else None
        self.dq, self.dk, self.dv = attention.outputs
        self.block = self.nr

    def emit(self) -> None:
        op, (own, repeated) = self.op, self.split_batch(self.k, self.v)
        self._allocate()
        with for_loop(0, product(self.sizes(own)), parallel=True) as head:
            place = dict(zip(own, unflatten(head.iv, self.sizes(own)), strict=True))
            self.pack(self.keys, self.k, self.k.at(place), (op.d, op.n))
            self.pack(self.key_rows, self.k, self.k.at(place), (op.n, op.d))
            self.pack(self.values, self.v, self.v.at(place), (op.e, op.n))
            self.dk_sums.clear()
            self.dv_sums.clear()
            with loops(self.sizes(repeated)) as inner, for_loop(0, self.m, self.block) as first:
                self._rows({**place, **dict(zip(repeated, inner, strict=True))}, first.iv)
            self.dk_sums.write(self.dk, self.dk.at(place), op.d)
            self.dv_sums.write(self.dv, self.dv.at(place), op.e)

    def _allocate(self) -> None:
        self.keys, self.key_rows = self.panels(self.d, self.n), self.panels(self.n, self.d)
        self.values = self.panels(self.e, self.n)
        self.dk_sums, self.dv_sums = _Sums(self, self.d), _Sums(self, self.e)
        self.step = add(multiply(divide_up(self.n, self.nr), self.nr), self.vectors.lanes)
        self.rows_of_block = divide_up(self.block, self.mr) * self.mr
        self.weights = self.scratch(self.rows_of_block, self.step)
        self.dscores = self.scratch(self.rows_of_block, self.step)
        self.q_rows, self.dout_rows = self.panels(self.block, self.d), self.panels(self.block, self.e)
        self.deltas = self.scratch(self.mr)

    def _rows(self, place: dict[int, Index], first: Any) -> None:
        """One block of queries."""
        op = self.op
        depth = self.block if divides(self.block, self.m) else minimum(self.block, subtract(self.m, first))
        limit = self.limit(first, self.block)
        with for_loop(0, depth, self.mr) as row:
            self._weigh(place, add(first, row.iv), row.iv, limit)
        self.pack(self.q_rows, self.q, self.q.at(place), (op.m, op.d), (first, depth))
        self.pack(self.dout_rows, self.dout, self.dout.at(place), (op.m, op.e), (first, depth))
        with for_loop(0, limit, self.mr) as key:
            keys = self.tile_of(key.iv, limit, self.divisor(self.block))
            self.dv_sums.add(keys, self.weights, self.step, depth, self.dout_rows)
            self.dk_sums.add(keys, self.dscores, self.step, depth, self.q_rows)

    def _weigh(self, place: dict[int, Index], row: Any, local: Any, limit: Index) -> None:
        """The weights and dscores of a tile's rows, and their dq."""
        op, v = self.op, self.vectors
        rows = self.tile_of(row, self.m, self.m)
        places = [{**place, op.m: r} for r in rows]
        deltas = [v.spread(self._delta(p)) for p in places]
        totals = [v.spread(self._logsumexp(p)) for p in places]
        q_starts, dout_starts = [self.q.at(p) for p in places], [self.dout.at(p) for p in places]
        masks = [self.mask.at(p) if self.mask else 0 for p in places]
        lines = [multiply(add(local, i), self.step) for i in range(self.mr)]
        with for_loop(0, divide_up(limit, self.nr)) as panel:
            columns = [add(multiply(panel.iv, self.nr), k * v.lanes) for k in range(2)]
            products = self.product(self.d, self.reader(self.q, q_starts, op.d), self.packed(self.keys, panel.iv))
            for i, pair in enumerate(products):
                for value, column in zip(pair, columns, strict=True):
                    score = self.scored(value, self.mask, masks[i], rows[i], column)
                    weight = emit("math.exp", [v.type], [binary("subf", score, totals[i])])
                    v.store(weight, self.weights, add(lines[i], column))
            numbers = self.reader(self.dout, dout_starts, op.e)
            products = self.product(self.e, numbers, self.packed(self.values, panel.iv))
            for i, pair in enumerate(products):
                for value, column in zip(pair, columns, strict=True):
                    weight = v.load(self.weights, add(lines[i], column))
                    dscore = binary("mulf", binary("mulf", weight, binary("subf", value, deltas[i])), v.splat(op.scale))
                    v.store(dscore, self.dscores, add(lines[i], column))
        self._write_dq(places, lines, limit)

    def _delta(self, place: dict[int, Index]) -> Any:
        v, e = self.vectors, self.op.e
        starts = self.dout.at(place), self.out.at(place)
        is_whole = divides(v.lanes, self.e)
        with for_loop(0, self.e, v.lanes, [v.splat(0.0)]) as j:
            a, b = (
                self.along(source, start, e, j.iv, is_whole)
                for source, start in zip((self.dout, self.out), starts, strict=True)
            )
            j.yields = [emit("vector.fma", [v.type], [a, b, j.carried[0]])]
        return v.add_up(j.results[0])

    def _logsumexp(self, place: dict[int, Index]) -> Any:
        """-inf, of rows that see nothing, as 0: their exponentials are of -inf then, not of NaN."""
        v = self.vectors
        total = v.load_number(self.logsumexp.flat, self.logsumexp.at(place))
        return select(compare("oeq", total, v.number(-math.inf)), v.number(0.0), total)

    def _write_dq(self, places: list[dict[int, Index]], lines: list[Index], limit: Index) -> None:
        v = self.vectors
        starts = [self.dq.at(p) for p in places]

        def dscore(i: int, k: Index) -> Any:
            return v.load_number(self.dscores, add(lines[i], k))

        with for_loop(0, divide_up(self.d, self.nr)) as panel:
            sums = self.product(limit, dscore, self.packed(self.key_rows, panel.iv), self.divisor(self.block))
            for i, pair in enumerate(sums):
                for k, value in enumerate(pair):
                    column = add(multiply(panel.iv, self.nr), k * v.lanes)
                    count = None if divides(self.nr, self.d) else subtract(self.d, column)
                    v.store(value, self.dq.flat, add(starts[i], column), count)
