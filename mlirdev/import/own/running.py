"""What goes along a line with a memory.

own.running_arg(x, dim, "max" | "min")    the place of the extreme so far: the last of equals; NaN wins for good
own.running_logsumexp(x, dim)             log of the sum of exponentials so far
own.longest_run(x, dim)                   the end of the first of the longest runs of equals, with the dim
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_mlir import ir

from mlirdev.dtypes import DType
from mlirdev.graph import Node
from mlirdev.plan import PlanDim

from ..dims import Shape
from ..emitter import Emitter
from .registry import own
from .scalar import is_unsigned

# body(place in the line, whole place, tensor, memory) gives the next tensor and memory.
Step = Callable[[ir.Value, "list[ir.Value]", ir.Value, "list[ir.Value]"], Sequence[ir.Value]]


def along(e: Emitter, shape: Shape, dim: int, init: ir.Value, memory: Sequence[ir.Value], step: Step) -> ir.Value:
    """`step` on each element of each line in order; the memory starts anew with each line."""
    outer = [e.dim(d) for i, d in enumerate(shape) if i != dim]

    def line(at: list[ir.Value], tensor: ir.Value) -> ir.Value:
        def element(i: list[ir.Value], carried: list[ir.Value]) -> Sequence[ir.Value]:
            return step(i[0], [*at[:dim], i[0], *at[dim:]], carried[0], carried[1:])

        return e.nest([e.dim(shape[dim])], [tensor, *memory], element)[0]

    return e.loops(outer, init, line)


@own("own.running_arg")
def running_arg(e: Emitter, node: Node) -> Sequence[ir.Value]:
    x, dim, which = node.args
    assert isinstance(dim, int)
    spec, source, zero = e.spec(x), e.tensor(x), e.constant(0, e.i64)
    name = "ge" if which == "max" else "le"
    beats = "o" + name if spec.dtype.is_float else ("u" if is_unsigned(spec.dtype) else "s") + name

    def step(i: ir.Value, at: list[ir.Value], tensor: ir.Value, memory: list[ir.Value]) -> list[ir.Value]:
        new, best = e.extract(source, at), e.extract(source, [*at[:dim], memory[0], *at[dim + 1 :]])
        wins = e.cmp(beats, new, best)
        if spec.dtype.is_float:
            wins = e.binary("ori", wins, e.cmp("uno", new, new))
        place = e.select(wins, e.to_i64(i), memory[0])
        return [e.insert(place, tensor, at), place]

    return [along(e, spec.shape, dim, e.filled(spec.shape, zero), [zero], step)]


@own("own.running_logsumexp")
def running_logsumexp(e: Emitter, node: Node) -> Sequence[ir.Value]:
    x, dim = node.args
    assert isinstance(dim, int)
    spec, source = e.spec(x), e.tensor(x)
    wide = DType.f64 if spec.dtype in (DType.f32, DType.f64) else DType.f32
    type_ = e.element_type(wide)

    def step(i: ir.Value, at: list[ir.Value], tensor: ir.Value, memory: list[ir.Value]) -> list[ir.Value]:
        total = _log_add_exp(e, e.convert(e.extract(source, at), wide), memory[0])
        return [e.insert(e.convert(total, spec.dtype), tensor, at), total]

    init = e.filled(spec.shape, e.constant(0, e.element_type(spec.dtype)))
    return [along(e, spec.shape, dim, init, [e.constant(-float("inf"), type_)], step)]


def _log_add_exp(e: Emitter, new: ir.Value, total: ir.Value) -> ir.Value:
    """log(exp(new) + exp(total)); of two equal infinities it is that."""
    low, high = e.binary("minimumf", new, total), e.binary("maximumf", new, total)
    less = e.binary("subf", low, high)
    added = e.add(e.op("math.log1p", new.type, e.op("math.exp", new.type, less)), high)
    finite = e.cmp("olt", e.op("math.absf", new.type, low), e.constant(float("inf"), new.type))
    return e.select(e.binary("ori", e.cmp("une", low, high), finite), added, new)


@own("own.longest_run")
def longest_run(e: Emitter, node: Node) -> Sequence[ir.Value]:
    x, dim = node.args
    assert isinstance(dim, int)
    spec, source = e.spec(x), e.tensor(x)
    zero, one, last = e.constant(0, e.i64), e.constant(1, e.i64), _last(e, spec.shape[dim])

    def step(i: ir.Value, at: list[ir.Value], tensor: ir.Value, memory: list[ir.Value]) -> list[ir.Value]:
        length, longest = memory
        place = e.to_i64(i)
        after = e.extract(source, [*at[:dim], e.binary("minsi", e.add(place, one), last), *at[dim + 1 :]])
        here = e.extract(source, at)
        differs = e.cmp("une", here, after) if spec.dtype.is_float else e.cmp("ne", here, after)
        ends = e.binary("ori", differs, e.cmp("eq", place, last))
        length = e.add(length, one)
        wins = e.binary("andi", ends, e.cmp("sgt", length, longest))
        result = [*at[:dim], zero, *at[dim + 1 :]]
        tensor = e.insert(e.select(wins, place, e.extract(tensor, result)), tensor, result)
        return [tensor, e.select(ends, zero, length), e.select(wins, length, longest)]

    return [along(e, spec.shape, dim, e.filled(node.results[0].shape, zero), [zero, zero], step)]


def _last(e: Emitter, size: PlanDim) -> ir.Value:
    return e.binary("subi", e.dim_i64(size), e.constant(1, e.i64))
