"""own.topk(x, dim, count, largest): the first `count` of each sorted line, (values, places), NaN as the greatest.

One pass over a line keeps the best so far in order. Most elements are only compared with the last of them; one that
is better moves those behind it on. Equals keep their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_mlir import ir

from mlirdev.graph import Node

from ..emitter import Emitter
from .registry import own
from .sort import precedes


@own("own.topk")
def topk(e: Emitter, node: Node) -> Sequence[ir.Value]:
    x, dim, count, largest = node.args
    assert isinstance(dim, int)
    assert isinstance(count, int)
    spec, source = e.spec(x), e.tensor(x)
    shape = node.results[0].shape

    def line(at: list[ir.Value], best: list[ir.Value]) -> list[ir.Value]:
        def put(j: ir.Value) -> list[ir.Value]:
            return [*at[:dim], j, *at[dim:]]

        def before(a: ir.Value, b: ir.Value) -> ir.Value:
            return precedes(e, spec.dtype, bool(largest), a, b)

        return e.nest([e.dim(spec.shape[dim])], best, _step(e, source, put, before, count))

    inits = [e.filled(shape, e.constant(0, e.element_type(spec.dtype))), e.filled(shape, e.constant(0, e.i64))]
    return e.nest([e.dim(d) for i, d in enumerate(spec.shape) if i != dim], inits, line)


Step = Callable[["list[ir.Value]", "list[ir.Value]"], "list[ir.Value]"]


def _step(
    e: Emitter,
    source: ir.Value,
    put: Callable[[ir.Value], list[ir.Value]],
    before: Callable[[ir.Value, ir.Value], ir.Value],
    count: int,
) -> Step:
    """What is done with the next element of a line; `put` tells where in a tensor its j-th is."""
    zero, one = e.constant(0, e.i64), e.constant(1, e.i64)
    last = e.constant(count - 1, e.i64)

    def step(at: list[ir.Value], best: list[ir.Value]) -> list[ir.Value]:
        i = e.to_i64(at[0])
        new = e.extract(source, put(at[0]))
        has_room = e.cmp("sle", i, last)
        enters = e.binary("ori", has_room, before(new, e.extract(best[0], put(last))))
        # A loop of one turn or none stands for a branch.
        return e.nest([e.to_index(e.select(enters, one, zero))], best, lambda _, kept: enter(i, new, kept))

    def enter(i: ir.Value, new: ir.Value, best: list[ir.Value]) -> list[ir.Value]:
        filled = e.binary("minsi", i, e.constant(count, e.i64))

        def ahead(at: list[ir.Value], seen: list[ir.Value]) -> list[ir.Value]:
            stays = e.select(before(new, e.extract(best[0], put(at[0]))), zero, one)
            return [e.add(seen[0], stays)]

        place = e.nest([e.to_index(filled)], [zero], ahead)[0]
        end = e.binary("minsi", i, last)

        def move(at: list[ir.Value], kept: list[ir.Value]) -> list[ir.Value]:
            to = e.binary("subi", end, e.to_i64(at[0]))
            previous = e.binary("subi", to, one)
            return [e.insert(e.extract(tensor, put(previous)), tensor, put(to)) for tensor in kept]

        moved = e.nest([e.to_index(e.binary("subi", end, place))], best, move)
        return [e.insert(value, tensor, put(place)) for value, tensor in zip((new, i), moved, strict=True)]

    return step
