"""Selection by value: one pass over a mask, in order, with a running count of its true elements.

own.nonzero(mask, fill)            (size, rank) places of the first true elements, then `fill`
mlirdev.nonzero(mask, size)        the same, where `size` is known to be the number of true elements
own.masked_put(x, mask, source, size, accumulate, exact)
                                   x of (before, places, after): at true places the next of `size` slices of the
                                   source, (before, size, after); the mask selects `size` of them, or no more
own.checked(x, a, b, message)      x as it is, after a check that a and b (i64, broadcast to x) are equal
mlirdev.repeated(repeats, size)    0 repeats[0] times, 1 repeats[1] times, …: `size` in all
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from mlirdev.graph import Arg, Node
from mlirdev.plan import MASK_SELECTS, REPEATS_NEGATIVE, REPEATS_TOTAL, SOURCE_TOO_SHORT, PlanDim

from ..dims import Shape, size_of
from ..emitter import Emitter
from .index import combiner
from .registry import own
from .scalar import broadcast_map


def last(e: Emitter, size: PlanDim) -> ir.Value:
    """The last place along a dim of this size."""
    return e.binary("subi", e.dim_i64(size), e.constant(1, e.i64))


def within(e: Emitter, place: ir.Value, size: PlanDim) -> ir.Value:
    """A place that isn't below 0 kept below `size`."""
    zero = e.constant(0, e.i64)
    return e.binary("maxsi", e.binary("minsi", place, last(e, size)), zero)


@own("own.nonzero")
def nonzero(e: Emitter, node: Node) -> Sequence[ir.Value]:
    return [_places(e, node, node.args[1])]


@own("mlirdev.nonzero")
def nonzero_of_size(e: Emitter, node: Node) -> Sequence[ir.Value]:
    return [_places(e, node, 0)]


def _places(e: Emitter, node: Node, fill: Arg) -> ir.Value:
    mask, (size, rank) = node.args[0], node.results[0].shape
    source = e.tensor(mask)
    init = e.filled((size, rank), e.number_as(fill, e.i64))
    if 0 in (size, rank):
        return init

    def body(at: list[ir.Value], carried: list[ir.Value]) -> list[ir.Value]:
        places, seen = carried
        found = e.extract(source, at)
        taken = e.binary("andi", found, e.cmp("slt", seen, e.dim_i64(size)))
        row = within(e, seen, size)
        for d, place in enumerate(at):
            where = [row, e.constant(d, e.index)]
            kept = e.select(taken, e.to_i64(place), e.extract(places, where))
            places = e.insert(kept, places, where)
        return [places, e.add(seen, e.op("arith.extui", e.i64, found))]

    return e.nest(_bounds(e, e.spec(mask).shape), [init, e.constant(0, e.i64)], body)[0]


def _bounds(e: Emitter, shape: Shape) -> list[ir.Value]:
    return [e.dim(d) for d in shape]


@own("own.masked_put")
def masked_put(e: Emitter, node: Node) -> Sequence[ir.Value]:
    x, mask, source, count, accumulate, exact = node.args
    size, (before, places, after) = size_of(count), e.spec(x).shape
    flags, values = e.tensor(mask), e.tensor(source)
    combine = combiner(e, "sum" if accumulate else "", node.results[0].dtype)

    def step(at: list[ir.Value], carried: list[ir.Value]) -> list[ir.Value]:
        (place,), (tensor, seen) = at, carried
        found = e.extract(flags, [place])
        row = within(e, seen, size)

        def put(around: list[ir.Value], into: ir.Value) -> ir.Value:
            where = [around[0], place, around[1]]
            old, new = e.extract(into, where), e.extract(values, [around[0], row, around[1]])
            return e.insert(e.select(found, combine(lambda: old, new), old), into, where)

        tensor = e.loops(_bounds(e, (before, after)), tensor, put)
        seen = e.add(seen, e.op("arith.extui", e.i64, found))
        _check_count(e, place, places, seen, size, bool(exact))
        return [tensor, seen]

    return [e.nest(_bounds(e, (places,)), [e.tensor(x), e.constant(0, e.i64)], step)[0]]


def _check_count(e: Emitter, place: ir.Value, places: PlanDim, seen: ir.Value, size: PlanDim, exact: bool) -> None:
    """Whether as many were seen as there are values, once the last place was looked at."""
    wanted = e.dim_i64(size)
    if not exact:
        e.check(e.cmp("sle", seen, wanted), SOURCE_TOO_SHORT)
        return
    done = e.cmp("eq", e.to_i64(place), last(e, places))
    e.check(e.cmp("eq", e.select(done, seen, wanted), wanted), MASK_SELECTS)


@own("mlirdev.repeated", "aten.repeat_interleave.Tensor")
def repeated(e: Emitter, node: Node) -> Sequence[ir.Value]:
    repeats = node.args[0]
    spec, (size,) = e.spec(repeats), node.results[0].shape
    source, element = e.tensor(repeats), e.element_type(node.results[0].dtype)
    zero = e.constant(0, e.i64)

    def body(at: list[ir.Value], carried: list[ir.Value]) -> list[ir.Value]:
        (i,), (tensor, filled) = at, carried
        times = e.to_i64(e.extract(source, [i]))
        e.check(e.cmp("sge", times, zero), REPEATS_NEGATIVE)
        after = e.add(filled, times)
        done = e.cmp("eq", e.to_i64(i), last(e, spec.shape[0]))
        e.check(e.cmp("eq", e.select(done, after, e.dim_i64(size)), e.dim_i64(size)), REPEATS_TOTAL)
        room = e.binary("maxsi", e.binary("minsi", times, e.binary("subi", e.dim_i64(size), filled)), zero)
        value = e.op("arith.index_cast", element, i)

        def put(offset: list[ir.Value], into: ir.Value) -> ir.Value:
            return e.insert(value, into, [within(e, e.add(filled, e.to_i64(offset[0])), size)])

        return [e.loops([e.to_index(room)], tensor, put), after]

    init = e.filled((size,), e.constant(0, element))
    if size == 0:
        return [init]
    return [e.nest([e.dim(spec.shape[0])], [init, zero], body)[0]]


@own("own.checked")
def checked(e: Emitter, node: Node) -> Sequence[ir.Value]:
    *operands, message = node.args
    assert isinstance(message, str)
    spec = node.results[0]
    inputs = [(e.tensor(a), broadcast_map(e.spec(a).shape, spec.shape)) for a in operands]

    def body(x: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
        e.check(e.cmp("eq", a, b), message)
        return x

    return [e.generic(spec.shape, e.element_type(spec.dtype), inputs, body)]
