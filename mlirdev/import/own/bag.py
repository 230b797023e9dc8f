"""own.bag_max(table, indices, bags): of each bag and column, the index whose row is the greatest there.

indices and bags are (count,) i64, a negative index counts for nothing. The first of equals is kept, and a NaN that
comes first; a bag without indices has 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from mlirdev.graph import Node

from ..emitter import Emitter
from .registry import own


@own("own.bag_max")
def bag_max(e: Emitter, node: Node) -> Sequence[ir.Value]:
    table, indices, bags = node.args
    source, picks, places = e.tensor(table), e.tensor(indices), e.tensor(bags)
    rows, spec = e.spec(table).shape[0], node.results[0]
    zero = e.constant(0, e.i64)
    start = e.filled(spec.shape, e.constant(-1, e.i64))

    def body(at: list[ir.Value], carried: ir.Value) -> ir.Value:
        i, column = at
        index = e.extract(picks, [i])
        bag = e.position(e.extract(places, [i]), spec.shape[0], wraps=False)
        counts = e.cmp("sge", index, zero)
        row = e.position(e.select(counts, index, zero), rows, wraps=False)
        best = e.extract(carried, [bag, column])
        beaten = e.cmp(
            "ogt", e.extract(source, [row, column]), e.extract(source, [e.binary("maxsi", best, zero), column])
        )
        better = e.binary("andi", counts, e.binary("ori", e.cmp("slt", best, zero), beaten))
        return e.insert(e.select(better, row, best), carried, [bag, column])

    count, width = e.spec(indices).shape[0], spec.shape[1]
    found = e.loops([e.dim(count), e.dim(width)], start, body)
    return [e.generic(spec.shape, e.i64, [(found, [0, 1])], lambda i: e.binary("maxsi", i, zero))]
