"""LU with partial pivoting, as LAPACK's getrf, and what its pivots mean.

own.lu(x)                  (LU, pivots, info) of (b, m, n): pivots count from 1; info is the first zero pivot, or 0
own.permutation(pivots, inverse)   of (b, k) and for m rows: which row of x each row of L·U is, (b, m); or its inverse
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from mlirdev.graph import Node

from ..emitter import Emitter
from ..imperative import Array, Code, as_one_op
from ..scalars import Scalar
from .registry import own


@own("own.lu")
@as_one_op
def lu(e: Emitter, node: Node) -> Sequence[ir.Value]:
    batch, height, width = e.spec(node.args[0]).shape
    rank = node.results[1].shape[1]
    code = Code(e)
    rows, columns = Scalar(e, e.dim(height)), Scalar(e, e.dim(width))
    a = code.array(e.tensor(node.args[0]))
    pivots = code.space((batch, rank), e.i32)
    info = code.space((batch,), e.i32)
    with code.nest(Scalar(e, e.dim(batch)), Scalar(e, e.dim(rank))) as (b, k):
        chosen = _largest(code, a, b, k, rows)
        pivots[b, k] = code.integer(chosen + 1, e.i32)
        with code.loop(0, columns) as j:
            a.swap((b, k, j), (b, chosen, j))
        pivot = a[b, k, k]
        singular = pivot.equals(0.0)
        with code.when(singular & info[b].equals(0)):
            info[b] = code.integer(k + 1, e.i32)
        # A column of zeros is left as it is.
        divisor = code.number(1.0, pivot.value.type).if_(singular, pivot)
        with code.loop(k + 1, rows) as i:
            factor = a[b, i, k] / divisor
            a[b, i, k] = factor
            with code.loop(k + 1, columns) as j:
                a[b, i, j] = a[b, i, j] - factor * a[b, k, j]
    return [a.now, pivots.now, info.now]


def _largest(code: Code, a: Array, b: Scalar, k: Scalar, rows: Scalar) -> Scalar:
    """The first row from k on whose element in column k is greatest; NaN is greater than nothing."""
    place, best = code.variable(k), code.variable(abs(a[b, k, k]))
    with code.loop(k + 1, rows) as i:
        size = abs(a[b, i, k])
        better = size > best.value
        place.value, best.value = i.if_(better, place.value), size.if_(better, best.value)
    return place.value


@own("own.permutation")
@as_one_op
def permutation(e: Emitter, node: Node) -> Sequence[ir.Value]:
    """Each pivot says with which row its own was exchanged."""
    batch, count = e.spec(node.args[0]).shape
    size = node.results[0].shape[1]
    code = Code(e)
    pivots = code.array(e.tensor(node.args[0]))
    order = code.array(e.generic((batch, size), e.i64, [], lambda: e.iteration(1)))
    rounds = Scalar(e, e.dim(count))
    with code.loop(0, Scalar(e, e.dim(batch))) as b, code.down(rounds) if node.args[1] else code.loop(0, rounds) as k:
        exchanged = e.add(e.to_i64(pivots[b, k].value), e.constant(-1, e.i64))
        order.swap((b, k), (b, Scalar(e, e.position(exchanged, size, wraps=False))))
    return [order.now]
