"""The schedule of attention where few queries meet many keys, as when a model writes one word after the other.

    for heads that share keys and values (parallel)
      for keys by NB
        scores[M, NB] = scale · q · k + mask    M × NB accumulators along d, each added up at the end
      for each row: as in attention.py
      for panel of values
        out[M, panel] = scores · v / sum

Keys and values are read once, so that packing them would be most of the work: both are read where they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mlirdev.passes.attention import Attention
from mlirdev.passes.attention_op import AttentionOp
from mlirdev.passes.build import Index, add, compare, divide, divide_up, for_loop, minimum, multiply, subtract
from mlirdev.passes.ops import emit
from mlirdev.passes.packing import divides, is_one
from mlirdev.passes.vectors import binary, select

_MOST_QUERIES = 4
# Keys at a time, by the number of queries: enough accumulators to hide a multiply-add's latency.
_KEYS = {1: 8, 2: 4, 3: 4, 4: 4}


def has_few_queries(op: AttentionOp) -> bool:
    """Whether this schedule is for it: vectors run along the innermost dims of all three."""
    q, k, v = op.inputs[:3]
    queries = op.sizes[op.m]
    along = [q.stride(op.d), k.stride(op.d), v.stride(op.e)]
    return isinstance(queries, int) and queries <= _MOST_QUERIES and all(map(is_one, along))


class FewQueries(Attention):
    """Writes attention at the current insertion point."""

    def _allocate_panels(self) -> None:
        """None are needed."""

    def _pack(self, place: dict[int, Index]) -> None:
        """Nothing is."""

    def _score(self, place: dict[int, Index], rows: list[Index], limit: Index) -> None:
        v, last_panel = self.vectors, multiply(subtract(divide_up(limit, self.nr), 1), self.nr)
        for i in range(self.mr):
            for k in range(2):
                at = add(multiply(i, self.step), add(last_panel, k * v.lanes))
                v.store(v.splat(-math.inf), self.scores, at)
        count = _KEYS[self.mr]
        with for_loop(0, limit, count) as first:
            keys = [add(first.iv, j) for j in range(count)]
            if not divides(count, self.divisor(count)):
                keys = [minimum(key, subtract(limit, 1)) for key in keys]
            sums = self._sums(place, rows, keys)
            for i, row in enumerate(rows):
                for j, key in enumerate(keys):
                    score = self._scored(v.add_up(sums[i * count + j]), place, row, key)
                    v.store_number(score, self.scores, add(multiply(i, self.step), key))

    def _sums(self, place: dict[int, Index], rows: list[Index], keys: list[Index]) -> list[Any]:
        """Per row and key, the vector whose lanes add up to their product."""
        op, v = self.op, self.vectors
        queries = [self.q.at({**place, op.m: row}) for row in rows]
        starts = [self.k.at({**place, op.n: key}) for key in keys]

        def step(acc: list[Any], d: Index, count: Index | None) -> list[Any]:
            right = [v.load(self.k.flat, add(start, d), count) for start in starts]
            left = [v.load(self.q.flat, add(start, d), count) for start in queries]
            pairs = [(a, b) for a in left for b in right]
            return [emit("vector.fma", [v.type], [a, b, c]) for (a, b), c in zip(pairs, acc, strict=True)]

        whole = multiply(divide(self.d, v.lanes), v.lanes)
        with for_loop(0, whole, v.lanes, [v.splat(0.0)] * (len(rows) * len(keys))) as d:
            d.yields = step(d.carried, d.iv, None)
        return d.results if divides(v.lanes, self.d) else step(d.results, whole, subtract(self.d, whole))

    def _scored(self, product: Any, place: dict[int, Index], row: Index, key: Index) -> Any:
        op, v = self.op, self.vectors
        score = binary("mulf", product, v.number(op.scale))
        if self.mask is not None:
            at = self.mask.at({**place, op.m: row, op.n: key})
            score = binary("addf", score, v.load_number(self.mask.flat, at))
        if not op.causal:
            return score
        return select(compare("sle", key, row), score, v.number(-math.inf))

    def _values(self, place: dict[int, Index], panel: Index) -> Callable[[Index, int], Any]:
        op, v, source = self.op, self.vectors, self.v
        first = multiply(panel, self.nr)
        start = source.at(place)

        def read(k: Index, number: int) -> Any:
            column = add(first, number * v.lanes)
            count = None if divides(self.nr, self.e) else subtract(self.e, column)
            at = add(add(start, multiply(k, source.stride(op.n))), column)
            return v.load(source.flat, at, count)

        return read
