"""Singular values in f64, by way of a bidiagonal matrix (Golub, Reinsch); (b, m, n) with m ≥ n.

own.bidiagonal(x)               (a, tauq, taup, d, e): x = Q·B·Pᵀ; Q's reflections in a's columns as geqrf's, P's in its
                                rows, a column further right; B's diagonal and what stands above it
own.bidiagonal_qr(d, e, u, v)   (values, u, v, info): B's singular values in descending order, and the rows of u and v
                                turned as B's singular vectors ask; info counts what didn't converge
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from mlirdev.graph import Node

from ..emitter import Emitter
from ..imperative import Array, Code, as_one_op
from ..scalars import Scalar
from .householder import apply, hypotenuse, reflection, size
from .registry import own
from .tridiagonal import EPSILON, rotate_rows, sort_rows

# Sweeps for one singular value; two or three are usual.
_MOST = 60


@own("own.bidiagonal")
@as_one_op
def bidiagonal(e: Emitter, node: Node) -> Sequence[ir.Value]:
    """Rows are reflected as columns of the row's copy: a matrix of one column, and the sum over it."""
    shape = e.spec(node.args[0]).shape
    batch, rows, columns = (size(e, shape, d) for d in range(3))
    f64 = e.builder.type("f64")
    code = Code(e)
    a = code.array(e.tensor(node.args[0]))
    tauq, taup, diagonal, above = (code.space(node.results[i].shape, f64) for i in (1, 2, 3, 4))
    row = code.space((shape[2],), f64)
    line = code.space((1, shape[2], 1), f64)
    with code.nest(batch, columns) as (b, k):
        tauq[b, k] = reflection(code, a, b, k, k, rows)
        diagonal[b, k] = a[b, k, k]
        apply(code, a, k, tauq[b, k], a, b, (k, rows), (k + 1, columns), row)
        with code.when(k < columns - 1):
            taup[b, k] = _reflect_row(code, a, b, k, line, columns)
            above[b, k] = a[b, k, k + 1]
            _apply_to_rows(code, a, b, k, taup[b, k], rows, columns, row)
    return [a.now, tauq.now, taup.now, diagonal.now, above.now]


def _reflect_row(code: Code, a: Array, b: Scalar, k: Scalar, line: Array, columns: Scalar) -> Scalar:
    zero = code.index(0)
    with code.loop(k + 1, columns) as j:
        line[0, j, 0] = a[b, k, j]
    tau = reflection(code, line, zero, zero, k + 1, columns)
    with code.loop(k + 1, columns) as j:
        a[b, k, j] = line[0, j, 0]
    return tau


def _apply_to_rows(
    code: Code, a: Array, b: Scalar, k: Scalar, tau: Scalar, rows: Scalar, columns: Scalar, v: Array
) -> None:
    """The rows below k become row - tau·(row·v)·vᵀ."""
    with code.loop(k + 1, columns) as j:
        v[j] = a[b, k, j]
    v[k + 1] = 1.0
    with code.loop(k + 1, rows) as i:
        dot = code.variable(code.number(0.0, tau.value.type))
        with code.loop(k + 1, columns) as j:
            dot.value = dot.value + a[b, i, j] * v[j]
        factor = tau * dot.value
        with code.loop(k + 1, columns) as j:
            a[b, i, j] = a[b, i, j] - factor * v[j]


@own("own.bidiagonal_qr")
@as_one_op
def bidiagonal_qr(e: Emitter, node: Node) -> Sequence[ir.Value]:
    """Each singular value in turn is split off at the bottom."""
    batch, order = (Scalar(e, e.dim(d)) for d in e.spec(node.args[0]).shape)
    code = Code(e)
    d, above, u, v = (code.array(e.tensor(x)) for x in node.args)
    widths = [Scalar(e, e.dim(e.spec(x).shape[2])) for x in node.args[2:]]
    off = code.space(node.results[0].shape[1:], e.builder.type("f64"))
    info = code.space(node.results[3].shape, e.i32)
    with code.loop(0, batch) as b:
        off[0] = 0.0
        with code.loop(1, order) as i:
            off[i] = above[b, i - 1]
        solver = _QR(code, d, off, [u, v], b, order, widths)
        with code.down(order) as last:
            left = code.variable(code.index(_MOST))
            first = code.variable(solver.split(last))
            with code.repeat(lambda: first.value.differs(last) & (left.value > 0)):
                solver.sweep(first.value, last)
                first.value = solver.split(last)
                left.value = left.value - 1
            with code.when(first.value.differs(last)):
                info[b] = info[b] + 1
            solver.make_positive(last)
        sort_rows(code, d, [u, v], b, order, widths, ascending=False)
    return [d.now, u.now, v.now, info.now]


class _QR:
    """The sweeps over one matrix. off[i] stands above d[i]."""

    def __init__(
        self, code: Code, d: Array, off: Array, vectors: list[Array], b: Scalar, order: Scalar, widths: list[Scalar]
    ) -> None:
        self.code, self.d, self.off, self.b, self.order, self.widths = code, d, off, b, order, widths
        self.u, self.v = vectors
        self.scale = self._scale()

    def _scale(self) -> Scalar:
        """Beside this a number counts as zero when it is an epsilon of it."""
        scale = self.code.variable(self.code.number(0.0, self.code.e.builder.type("f64")))
        with self.code.loop(0, self.order) as i:
            scale.value = scale.value.maximum(abs(self.d[self.b, i]) + abs(self.off[i]))
        return scale.value

    def _is_small(self, x: Scalar) -> Scalar:
        return abs(x) <= self.scale * EPSILON

    def split(self, last: Scalar) -> Scalar:
        """Where the block that ends at `last` begins. A zero on its diagonal splits it, once what stands beside it is
        chased away."""
        code, d, off, b = self.code, self.d, self.off, self.b
        at = code.variable(last)

        def coupled() -> Scalar:
            before = (at.value - 1).maximum(0)
            return (at.value > 0) & ~self._is_small(off[at.value]) & ~self._is_small(d[b, before])

        with code.repeat(coupled):
            at.value = at.value - 1
        zero_above = (at.value > 0) & ~self._is_small(off[at.value])
        with code.when(zero_above):
            self._cancel(at.value, last)
        return at.value

    def _cancel(self, first: Scalar, last: Scalar) -> None:
        """d[first - 1] is zero: turn off[first] away through the rows below."""
        code, d, off, b = self.code, self.d, self.off, self.b
        bulge = code.variable(off[first])
        off[first] = 0.0
        with code.loop(first, last + 1) as i, code.when(~self._is_small(bulge.value)):
            length = hypotenuse(bulge.value, d[b, i])
            c, s = d[b, i] / length, -bulge.value / length
            d[b, i] = length
            following = (i + 1).minimum(self.order - 1)
            with code.when(i < last):
                bulge.value = s * off[following]
                off[following] = c * off[following]
            with code.when(~(i < last)):
                bulge.value = 0.0
            rotate_rows(code, self.u, b, first - 1, i, c, s, self.widths[0])

    def sweep(self, first: Scalar, last: Scalar) -> None:
        """Implicit QR with a shift from the bottom 2 by 2 block."""
        code, d, off, b = self.code, self.d, self.off, self.b
        f = code.variable(self._shift(first, last))
        x = code.variable(d[b, first])
        c, s = (code.variable(code.number(1.0, x.now.type)) for _ in range(2))
        with code.loop(first, last) as j:
            i = j + 1
            g, y = off[i], d[b, i]
            h, g = s.value * g, c.value * g
            z = hypotenuse(f.value, h)
            off[j] = z
            cosine, sine = _turn(f.value, h, z)
            f.value, g = x.value * cosine + g * sine, g * cosine - x.value * sine
            h, y = y * sine, y * cosine
            rotate_rows(code, self.v, b, j, i, cosine, sine, self.widths[1])
            z = hypotenuse(f.value, h)
            d[b, j] = z
            cosine, sine = _turn(f.value, h, z)
            c.value, s.value = cosine, sine
            f.value, x.value = cosine * g + sine * y, cosine * y - sine * g
            rotate_rows(code, self.u, b, j, i, cosine, sine, self.widths[0])
        off[first] = 0.0
        off[last] = f.value
        d[b, last] = x.value

    def _shift(self, first: Scalar, last: Scalar) -> Scalar:
        d, off, b = self.d, self.off, self.b
        x, y, z = d[b, first], d[b, last - 1], d[b, last]
        g, h = off[last - 1], off[last]
        f = ((y - z) * (y + z) + (g - h) * (g + h)) / (h * y * 2.0)
        r = hypotenuse(f, self.code.number(1.0, f.value.type))
        return ((x - z) * (x + z) + h * (y / (f + r.with_sign_of(f)) - h)) / x

    def make_positive(self, last: Scalar) -> None:
        code, d, b = self.code, self.d, self.b
        with code.when(d[b, last] < 0.0):
            d[b, last] = -d[b, last]
            with code.loop(0, self.widths[1]) as j:
                self.v[b, last, j] = -self.v[b, last, j]


def _turn(f: Scalar, h: Scalar, length: Scalar) -> tuple[Scalar, Scalar]:
    """Cosine and sine of the rotation that takes (f, h) to (length, 0)."""
    zero = length.equals(0.0)
    divisor = length.if_(~zero, 1.0)
    return (f / divisor).if_(~zero, 1.0), (h / divisor).if_(~zero, 0.0)
