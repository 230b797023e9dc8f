"""Reductions as the CPU defines them: NaN wins, the first of equals is found, sums run in order.

own.reduce(x, axes, keep, kind)   kind: add, mul, max, min; on bools max is any and min is all; complex: mul alone
own.arg(x, dim, "max" | "min")    (value, index) without dim `dim`; "last_nan" is the maximum with the last of NaNs
own.scan(x, dim, "add" | "mul")   cumulative
own.scan_rows(x, "add" | "mul", dtype)   cumulative along the last dim, kept in `dtype`
own.window(x, kernel, strides, dilations, kind)   over the last len(kernel) dims; no padding
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from torch_mlir import ir

from mlirdev.dtypes import DType
from mlirdev.graph import Node

from ..dims import ints_of
from ..emitter import Emitter
from .complex import product
from .registry import own
from .scalar import named

_COMBINE = {
    "add": named("arith.addf", "arith.addi", "arith.addi", "arith.ori"),
    "mul": named("arith.mulf", "arith.muli", "arith.muli", "arith.andi"),
    "max": named("arith.maximumf", "arith.maxsi", "arith.maxui", "arith.ori"),
    "min": named("arith.minimumf", "arith.minsi", "arith.minui", "arith.andi"),
}


def identity(e: Emitter, kind: str, dtype: DType) -> ir.Value:
    """What the reduction starts from."""
    if dtype.is_complex:
        one, zero = (e.constant(v, e.element_type(dtype.real)) for v in (1, 0))
        return e.op("complex.create", e.element_type(dtype), one, zero)
    value: float = {"add": 0, "mul": 1}.get(kind, 0)
    if kind in ("max", "min"):
        value = _extreme(dtype, least=kind == "max")
    return e.constant(value, e.element_type(dtype))


def _extreme(dtype: DType, least: bool) -> float:
    if dtype.is_float:
        return -float("inf") if least else float("inf")
    bits = 1 if dtype is DType.i1 else dtype.itemsize * 8
    if dtype in (DType.u8, DType.i1):
        return 0 if least else (1 << bits) - 1
    return -(1 << (bits - 1)) if least else (1 << (bits - 1)) - 1


@own("own.reduce")
def reduce(e: Emitter, node: Node) -> Sequence[ir.Value]:
    x, over, keep, kind = node.args
    assert isinstance(kind, str)
    spec, axes = e.spec(x), set(ints_of(over) if over else ())
    rank = range(len(spec.shape))
    outer: list[int | None] = [None if d in axes else d for d in rank if keep or d not in axes]
    iterators = ["reduction" if d in axes else "parallel" for d in rank]
    init = e.filled(node.results[0].shape, identity(e, kind, spec.dtype))
    combine = partial(product, e, spec.dtype) if spec.dtype.is_complex else _COMBINE[kind](e, spec.dtype)
    return e.reduce([init], [(e.tensor(x), list(rank))], outer, iterators, lambda new, old: [combine(new, old)])


@own("own.window")
def window(e: Emitter, node: Node) -> Sequence[ir.Value]:
    x, kernel, strides, dilations, kind = node.args
    assert isinstance(kind, str)
    spec, result = e.spec(x), node.results[0]
    sizes, steps, gaps = ints_of(kernel), ints_of(strides), ints_of(dilations)
    rank, spatial = len(spec.shape), len(sizes)
    places = [ir.AffineDimExpr.get(d) for d in range(rank + spatial)]
    inner = [places[rank - spatial + i] * steps[i] + places[rank + i] * gaps[i] for i in range(spatial)]
    combine = _COMBINE[kind](e, spec.dtype)
    init = e.filled(result.shape, identity(e, kind, spec.dtype))
    # The window's extent is the shape of an operand that nobody reads.
    extent = e.empty(sizes, e.element_type(spec.dtype))
    inputs = [(e.tensor(x), [*range(rank - spatial), *inner]), (extent, list(range(rank, rank + spatial)))]
    iterators = ["parallel"] * rank + ["reduction"] * spatial
    return e.reduce([init], inputs, list(range(rank)), iterators, lambda new, _, old: [combine(new, old)])


@own("own.arg")
def arg(e: Emitter, node: Node) -> Sequence[ir.Value]:
    """An element wins over what was found before if it is beyond it, or NaN where that is none; the index
    starts at -1, which everything beats."""
    x, dim, which = node.args
    assert isinstance(dim, int)
    spec, reduced = e.spec(x), node.results[0].shape
    rank = range(len(spec.shape))
    element = e.element_type(spec.dtype)
    wins = beats(e, spec.dtype, which != "min", last_nan=which == "last_nan")
    inits = [e.filled(reduced, e.constant(0, element)), e.filled(reduced, e.constant(-1, e.i64))]

    def body(new: ir.Value, best: ir.Value, place: ir.Value) -> list[ir.Value]:
        better = wins(new, best, place)
        return [e.select(better, new, best), e.select(better, e.iteration(dim), place)]

    outer = [d for d in rank if d != dim]
    iterators = ["reduction" if d == dim else "parallel" for d in rank]
    return e.reduce(inits, [(e.tensor(x), list(rank))], outer, iterators, body)


def beats(
    e: Emitter, dtype: DType, greatest: bool, last_nan: bool = False
) -> Callable[[ir.Value, ir.Value, ir.Value], ir.Value]:
    """Whether a new element wins over the best one so far, which was found at `place`; of NaNs the first stays,
    or the last."""
    beyond = _beyond(dtype, greatest)

    def wins(new: ir.Value, best: ir.Value, place: ir.Value) -> ir.Value:
        better = e.binary("ori", e.cmp("slt", place, e.constant(0, e.i64)), e.cmp(beyond, new, best))
        if not dtype.is_float:
            return better
        nan = e.cmp("uno", new, new)
        return e.binary("ori", better, nan if last_nan else e.binary("andi", nan, e.cmp("ord", best, best)))

    return wins


def _beyond(dtype: DType, greatest: bool) -> str:
    if dtype.is_float:
        return "ogt" if greatest else "olt"
    prefix = "u" if dtype in (DType.u8, DType.i1) else "s"
    return prefix + ("gt" if greatest else "lt")


@own("own.max_pool")
def max_pool(e: Emitter, node: Node) -> Sequence[ir.Value]:
    """own.max_pool(padded x, kernel, strides, paddings, dilations, sizes of x): (values, flat places in x).
    Places in the padding never win; of NaNs the last does."""
    x, kernel, strides, paddings, dilations, unpadded = node.args
    spec, result = e.spec(x), node.results[0]
    sizes, steps, pads, gaps, extents = (ints_of(a) for a in (kernel, strides, paddings, dilations, unpadded))
    rank, spatial = len(spec.shape), len(sizes)
    outer = rank - spatial
    places = [ir.AffineDimExpr.get(d) for d in range(rank + spatial)]
    inner = [places[outer + i] * steps[i] + places[rank + i] * gaps[i] for i in range(spatial)]
    wins = beats(e, spec.dtype, greatest=True, last_nan=True)
    inits = [e.filled(result.shape, e.constant(0, e.element_type(spec.dtype)))]
    inits.append(e.filled(result.shape, e.constant(-1, e.i64)))

    def body(new: ir.Value, _: ir.Value, best: ir.Value, place: ir.Value) -> list[ir.Value]:
        flat, inside = e.constant(0, e.i64), e.constant(1, e.i1)
        for i in range(spatial):
            at = e.mul(e.iteration(outer + i), e.constant(steps[i], e.i64))
            at = e.add(at, e.mul(e.iteration(rank + i), e.constant(gaps[i], e.i64)))
            at = e.add(at, e.constant(-pads[i], e.i64))
            size = e.constant(extents[i], e.i64)
            inside = e.binary("andi", inside, e.cmp("ult", at, size))
            flat = e.add(e.mul(flat, size), at)
        better = e.binary("andi", inside, wins(new, best, place))
        return [e.select(better, new, best), e.select(better, flat, place)]

    extent = e.empty(sizes, e.element_type(spec.dtype))
    inputs = [(e.tensor(x), [*range(outer), *inner]), (extent, list(range(rank, rank + spatial)))]
    return e.reduce(inits, inputs, list(range(rank)), ["parallel"] * rank + ["reduction"] * spatial, body)


@own("own.scan")
def scan(e: Emitter, node: Node) -> Sequence[ir.Value]:
    x, dim, which = node.args
    assert isinstance(dim, int)
    spec = node.results[0]
    source = e.tensor(x)
    combine = e.add if which == "add" else partial(product, e, spec.dtype) if spec.dtype.is_complex else e.mul
    init = e.empty(spec.shape, e.element_type(spec.dtype))

    def body(at: list[ir.Value], carried: ir.Value) -> ir.Value:
        zero, one = e.constant(0, e.index), e.constant(1, e.index)
        new = e.extract(source, at)
        before = list(at)
        before[dim] = e.binary("maxsi", e.binary("subi", at[dim], one), zero)
        total = combine(e.extract(carried, before), new)
        return e.insert(e.select(e.cmp("eq", at[dim], zero), new, total), carried, at)

    return [e.loops([e.dim(d) for d in spec.shape], init, body)]


@own("own.scan_rows")
def scan_rows(e: Emitter, node: Node) -> Sequence[ir.Value]:
    """The running value stays in a register."""
    x, which, kept = node.args
    assert isinstance(kept, DType)
    assert isinstance(which, str)
    spec = node.results[0]
    source = e.tensor(x)
    combine = e.add if which == "add" else e.mul

    def row(outer: list[ir.Value], result: ir.Value) -> ir.Value:
        def step(at: list[ir.Value], carried: list[ir.Value]) -> list[ir.Value]:
            place = [*outer, *at]
            total = combine(carried[1], e.convert(e.extract(source, place), kept))
            return [e.insert(e.convert(total, spec.dtype), carried[0], place), total]

        return e.nest([e.dim(spec.shape[-1])], [result, identity(e, which, kept)], step)[0]

    init = e.empty(spec.shape, e.element_type(spec.dtype))
    return [e.loops([e.dim(d) for d in spec.shape[:-1]], init, row)]
