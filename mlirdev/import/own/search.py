"""own.search(edges, x, right): where each x belongs in its line of sorted edges, before equals or (right) behind them.

The edges are one line, or one for each of x's; the search halves as the CPU's does, so that lines which aren't
sorted, and NaN, give the same places.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from mlirdev.graph import Node

from ..emitter import Emitter
from .registry import own
from .scalar import is_unsigned


@own("own.search")
def search(e: Emitter, node: Node) -> Sequence[ir.Value]:
    edges, x, right = node.args
    spec, shape = e.spec(edges), node.results[0].shape
    source, size = e.tensor(edges), spec.shape[-1]
    if size == 0:
        return [e.filled(shape, e.constant(0, e.i64))]
    name = "gt" if right else "ge"
    predicate = "o" + name if spec.dtype.is_float else ("u" if is_unsigned(spec.dtype) else "s") + name
    end, zero, one = e.dim_i64(size), e.constant(0, e.i64), e.constant(1, e.i64)
    steps = e.binary("subi", e.constant(64, e.i64), e.op("math.ctlz", e.i64, end))

    def body(value: ir.Value) -> ir.Value:
        line = [e.iteration(d) for d in range(len(shape) - 1)] if len(spec.shape) > 1 else []

        def halve(_: list[ir.Value], bounds: list[ir.Value]) -> list[ir.Value]:
            low, high = bounds
            middle = e.add(low, e.binary("shrsi", e.binary("subi", high, low), one))
            inside = e.binary("minsi", middle, e.binary("subi", end, one))
            left = e.cmp(predicate, e.extract(source, [*line, inside]), value)
            going = e.cmp("slt", low, high)
            behind = e.binary("andi", going, e.binary("xori", left, e.constant(1, e.i1)))
            before = e.binary("andi", going, left)
            return [e.select(behind, e.add(middle, one), low), e.select(before, middle, high)]

        return e.nest([e.to_index(steps)], [zero, end], halve)[0]

    identity = list(range(len(shape)))
    return [e.generic(shape, e.i64, [(e.tensor(x), identity)], body)]
