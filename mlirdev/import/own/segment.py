"""own.segments(x, offsets, reduce, initial): x of (before, places, after), offsets of (before, segments + 1).

Each segment's places are reduced in order, in the dtype itself, from the initial number on; a segment's length may be
anything, but no place outside of x is read.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from mlirdev.graph import Node

from ..emitter import Emitter
from .index import combiner
from .registry import own
from .select import within


@own("own.segments")
def segments(e: Emitter, node: Node) -> Sequence[ir.Value]:
    x, offsets, reduce, initial = node.args
    assert isinstance(reduce, str)
    spec, result = e.spec(x), node.results[0]
    places = spec.shape[1]
    init = e.filled(result.shape, e.number(initial, spec.dtype))
    if 0 in spec.shape or 0 in result.shape:
        return [init]
    source, bounds, one = e.tensor(x), e.tensor(offsets), e.constant(1, e.i64)
    combine = combiner(e, reduce, spec.dtype)

    def segment(at: list[ir.Value], tensor: ir.Value) -> ir.Value:
        row, number = at
        start = e.extract(bounds, [row, number])
        length = e.binary("subi", e.extract(bounds, [row, e.add(e.to_i64(number), one)]), start)
        length = e.binary("maxsi", e.binary("minsi", length, e.dim_i64(places)), e.constant(0, e.i64))

        def element(inner: list[ir.Value], into: ir.Value) -> ir.Value:
            where = [row, number, inner[1]]
            place = within(e, e.add(start, e.to_i64(inner[0])), places)
            new = combine(lambda: e.extract(into, where), e.extract(source, [row, place, inner[1]]))
            return e.insert(new, into, where)

        return e.loops([e.to_index(length), e.dim(spec.shape[2])], tensor, element)

    return [e.loops([e.dim(d) for d in result.shape[:2]], init, segment)]
