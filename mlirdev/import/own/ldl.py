"""L·D·Lᵀ of symmetric matrices with Bunch and Kaufman's pivots, as LAPACK's sytf2 and sytrs; D has blocks of 1 and 2.

own.ldl_factor(x)             (LD, pivots, info): the lower triangle is read; a block of 2 has its pivot twice, negative
own.ldl_solve(ld, pivots, b)  x with L·D·Lᵀ·x = b
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from torch_mlir import ir

from mlirdev.graph import Node

from ..emitter import Emitter
from ..imperative import Array, Code, Variable, as_one_op
from ..scalars import Scalar
from .registry import own

Place = Callable[[Scalar], "tuple[Scalar, ...]"]
_ALPHA = (1 + math.sqrt(17)) / 8


@own("own.ldl_factor")
@as_one_op
def ldl_factor(e: Emitter, node: Node) -> Sequence[ir.Value]:
    batch, order, _ = (Scalar(e, e.dim(d)) for d in e.spec(node.args[0]).shape)
    code = Code(e)
    a = code.array(e.tensor(node.args[0]))
    pivots = code.space(node.results[1].shape, e.i32)
    info = code.space(node.results[2].shape, e.i32)
    with code.loop(0, batch) as b:
        k = code.variable(code.index(0))
        with code.repeat(lambda: k.value < order):
            _Step(code, a, pivots, info, b, k.value, order).run(k)
    return [a.now, pivots.now, info.now]


class _Step:
    """Elimination from column k of a matrix on, by one pivot or two."""

    def __init__(self, code: Code, a: Array, pivots: Array, info: Array, b: Scalar, k: Scalar, order: Scalar) -> None:
        self.code, self.a, self.pivots, self.info = code, a, pivots, info
        self.b, self.k, self.order = b, k, order

    def run(self, counter: Variable) -> None:
        code, a, b, k = self.code, self.a, self.b, self.k
        size = abs(a[b, k, k])
        below, column = self._largest(lambda i: (b, i, k), k + 1, self.order)
        nothing = size.equals(0.0) & column.equals(0.0)
        with code.when(nothing & self.info[b].equals(0)):
            self.info[b] = code.integer(k + 1, code.e.i32)
        chosen, double = code.variable(k), code.variable(code.number(0, code.e.i1))
        with code.when(~nothing & ~(size >= column * _ALPHA)):
            self._choose(size, below, column, chosen, double)
        second = chosen.value, double.value
        last = (k + 1).if_(double.value, k)
        with code.when(chosen.value.differs(last)):
            self._exchange(last, *second)
        with code.when(~nothing & ~double.value):
            self._eliminate_one()
        with code.when(double.value):
            self._eliminate_two()
        self._note(chosen.value, double.value)
        counter.value = last + 1

    def _largest(self, place: Place, low: Scalar, high: Scalar) -> tuple[Scalar, Scalar]:
        """The first place of the greatest magnitude, and that; 0 where there is none."""
        code = self.code
        best = code.variable(code.number(0.0, self.a[self.b, self.k, self.k].value.type))
        at = code.variable(low)
        with code.loop(low, high) as i:
            size = abs(self.a[place(i)])
            better = i.equals(low) | (size > best.value)
            at.value, best.value = i.if_(better, at.value), size.if_(better, best.value)
        return at.value, best.value

    def _choose(self, size: Scalar, below: Scalar, column: Scalar, chosen: Variable, double: Variable) -> None:
        """Column k's diagonal is too small: exchange it with `below`, or take both."""
        a, b, k = self.a, self.b, self.k
        _, left = self._largest(lambda j: (b, below, j), k, below)
        _, right = self._largest(lambda i: (b, i, below), below + 1, self.order)
        row = right.if_(right > left, left)
        keeps = size >= column * _ALPHA * (column / row)
        single = abs(a[b, below, below]) >= row * _ALPHA
        chosen.value = k.if_(keeps, below)
        double.value = ~keeps & ~single

    def _exchange(self, last: Scalar, chosen: Scalar, double: Scalar) -> None:
        """Rows and columns `last` and `chosen`, in the lower triangle."""
        code, a, b, k = self.code, self.a, self.b, self.k
        with code.loop(chosen + 1, self.order) as i:
            a.swap((b, i, last), (b, i, chosen))
        with code.loop(last + 1, chosen) as i:
            a.swap((b, i, last), (b, chosen, i))
        a.swap((b, last, last), (b, chosen, chosen))
        with code.when(double):
            a.swap((b, k + 1, k), (b, chosen, k))

    def _eliminate_one(self) -> None:
        code, a, b, k = self.code, self.a, self.b, self.k
        reciprocal = 1.0 / a[b, k, k]
        with code.loop(k + 1, self.order) as i:
            factor = reciprocal * a[b, i, k]
            with code.loop(k + 1, i + 1) as j:
                a[b, i, j] = a[b, i, j] - factor * a[b, j, k]
        with code.loop(k + 1, self.order) as i:
            a[b, i, k] = a[b, i, k] * reciprocal

    def _eliminate_two(self) -> None:
        code, a, b, k = self.code, self.a, self.b, self.k
        corner = a[b, k + 1, k]
        d11, d22 = a[b, k + 1, k + 1] / corner, a[b, k, k] / corner
        scale = 1.0 / (d11 * d22 - 1.0) / corner
        with code.loop(k + 2, self.order) as j:
            first = scale * (d11 * a[b, j, k] - a[b, j, k + 1])
            second = scale * (d22 * a[b, j, k + 1] - a[b, j, k])
            with code.loop(j, self.order) as i:
                a[b, i, j] = a[b, i, j] - a[b, i, k] * first - a[b, i, k + 1] * second
            a[b, j, k] = first
            a[b, j, k + 1] = second

    def _note(self, chosen: Scalar, double: Scalar) -> None:
        code, pivot = self.code, self.code.integer(chosen + 1, self.code.e.i32)
        self.pivots[self.b, self.k] = (0 - pivot).if_(double, pivot)
        with code.when(double):
            self.pivots[self.b, self.k + 1] = 0 - pivot


@own("own.ldl_solve")
@as_one_op
def ldl_solve(e: Emitter, node: Node) -> Sequence[ir.Value]:
    matrix, exchanges, right = node.args
    batch, order, width = (Scalar(e, e.dim(d)) for d in e.spec(right).shape)
    code = Code(e)
    a, pivots, x = (code.array(e.tensor(v)) for v in (matrix, exchanges, right))
    with code.loop(0, batch) as b:
        system = _System(code, a, pivots, x, b, order, width)
        k = code.variable(code.index(0))
        with code.repeat(lambda: k.value < order):
            system.forward(k)
        k.value = order - 1
        with code.repeat(lambda: k.value >= 0):
            system.backward(k)
    return [x.now]


class _System:
    """One system; positions are of its right side's rows."""

    def __init__(self, code: Code, a: Array, pivots: Array, x: Array, b: Scalar, order: Scalar, width: Scalar) -> None:
        self.code, self.a, self.pivots, self.x = code, a, pivots, x
        self.b, self.order, self.width = b, order, width

    def _pivot(self, k: Scalar) -> tuple[Scalar, Scalar]:
        """(the row that k was exchanged with, whether its block is of 2)."""
        code, pivot = self.code, self.pivots[self.b, k]
        double = pivot < 0
        place = (0 - pivot).if_(double, pivot) - 1
        wide = Scalar(code.e, code.e.to_i64(place.value))
        bound = Scalar(code.e, code.e.to_i64(self.order.value))
        return code.index(wide.minimum(bound - 1).maximum(0)), double

    def _swap(self, one: Scalar, other: Scalar) -> None:
        with self.code.loop(0, self.width) as j:
            self.x.swap((self.b, one, j), (self.b, other, j))

    def forward(self, counter: Variable) -> None:
        """L's column, and D's block, that k is in."""
        code, a, x, b, k = self.code, self.a, self.x, self.b, counter.value
        place, double = self._pivot(k)
        last = (k + 1).if_(double, k)
        self._swap(last, place)
        self._subtract(k, last)
        with code.when(double):
            self._subtract(k + 1, last)
            self._divide_two(k)
        with code.when(~double), code.loop(0, self.width) as j:
            x[b, k, j] = x[b, k, j] / a[b, k, k]
        counter.value = last + 1

    def _subtract(self, k: Scalar, last: Scalar) -> None:
        """Multiples of row k from the rows after `last`."""
        with self.code.loop(last + 1, self.order) as i:
            factor = self.a[self.b, i, k]
            with self.code.loop(0, self.width) as j:
                self.x[self.b, i, j] = self.x[self.b, i, j] - factor * self.x[self.b, k, j]

    def _divide_two(self, k: Scalar) -> None:
        a, x, b = self.a, self.x, self.b
        corner = a[b, k + 1, k]
        first, second = a[b, k, k] / corner, a[b, k + 1, k + 1] / corner
        scale = first * second - 1.0
        with self.code.loop(0, self.width) as j:
            one, two = x[b, k, j] / corner, x[b, k + 1, j] / corner
            x[b, k, j] = (second * one - two) / scale
            x[b, k + 1, j] = (first * two - one) / scale

    def backward(self, counter: Variable) -> None:
        """Lᵀ's row, or both, that k is in."""
        code, k = self.code, counter.value
        place, double = self._pivot(k)
        self._collect(k, k)
        with code.when(double):
            self._collect(k - 1, k)
        self._swap(k, place)
        counter.value = (k - 2).if_(double, k - 1)

    def _collect(self, row: Scalar, last: Scalar) -> None:
        a, x, b = self.a, self.x, self.b
        with self.code.loop(last + 1, self.order) as i:
            factor = a[b, i, row]
            with self.code.loop(0, self.width) as j:
                x[b, row, j] = x[b, row, j] - factor * x[b, i, j]
