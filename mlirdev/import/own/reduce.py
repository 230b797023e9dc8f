"""Reductions that torch-mlir gets wrong or can't do: the place of the greatest element, running sums.

    own.arg(x, dim, "max" | "min")    (value, index): the first of equals, and NaN wins, as on the CPU
    own.scan(x, dim, "add" | "mul")   cumulative, in order
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from mlirdev.dtypes import DType
from mlirdev.graph import Node

from ..emitter import Emitter
from .registry import own


@own("own.arg")
def arg(e: Emitter, node: Node) -> Sequence[ir.Value]:
    """Both results lack dim `dim`. An element wins over what was found before if it is beyond it, or NaN
    where that is none; the index starts at -1, which everything beats."""
    x, dim, which = node.args
    assert isinstance(dim, int)
    spec, reduced = e.spec(x), node.results[0].shape
    element = e.element_type(spec.dtype)
    beyond = _beyond(spec.dtype, which == "max")
    outer = [d for d in range(len(spec.shape)) if d != dim]
    iterators = ["reduction" if d == dim else "parallel" for d in range(len(spec.shape))]
    inits = [e.filled(reduced, e.constant(0, element)), e.filled(reduced, e.constant(-1, e.i64))]

    def body(new: ir.Value, best: ir.Value, place: ir.Value) -> list[ir.Value]:
        first = e.cmp("slt", place, e.constant(0, e.i64))
        wins = e.cmp(beyond, new, best)
        if spec.dtype.is_float:
            newly = e.binary("andi", e.cmp("uno", new, new), e.cmp("ord", best, best))
            wins = e.binary("ori", wins, newly)
        wins = e.binary("ori", first, wins)
        return [e.select(wins, new, best), e.select(wins, e.iteration(dim), place)]

    inputs = [(e.tensor(x), list(range(len(spec.shape))))]
    return e.reduce(inits, inputs, outer, iterators, body)


def _beyond(dtype: DType, greatest: bool) -> str:
    if dtype.is_float:
        return "ogt" if greatest else "olt"
    prefix = "u" if dtype in (DType.u8, DType.i1) else "s"
    return prefix + ("gt" if greatest else "lt")


@own("own.scan")
def scan(e: Emitter, node: Node) -> Sequence[ir.Value]:
    x, dim, which = node.args
    assert isinstance(dim, int)
    spec = node.results[0]
    source = e.tensor(x)
    combine = e.add if which == "add" else e.mul
    init = e.empty(spec.shape, e.element_type(spec.dtype))

    def body(at: list[ir.Value], carried: ir.Value) -> ir.Value:
        zero, one = e.constant(0, e.index), e.constant(1, e.index)
        new = e.extract(source, at)
        before = list(at)
        before[dim] = e.binary("maxsi", e.binary("subi", at[dim], one), zero)
        total = combine(e.extract(carried, before), new)
        return e.insert(e.select(e.cmp("eq", at[dim], zero), new, total), carried, at)

    return [e.loops([e.dim(d) for d in spec.shape], init, body)]


