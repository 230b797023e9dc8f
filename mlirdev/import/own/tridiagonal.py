"""Eigenvalues of symmetric matrices in f64, by way of a tridiagonal one; (b, n, n).

own.tridiagonal(x)            (a, tau, d, e): x = Q·T·Qᵀ; Q's reflections as geqrf's, a row lower; T's two diagonals
own.tridiagonal_ql(d, e, z)   (values, vectors, info): T's eigenvalues in ascending order, and the rows of z turned as
                              T's eigenvectors ask; info counts what didn't converge
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from mlirdev.graph import Node

from ..emitter import Emitter
from ..imperative import Array, Code, Variable, as_one_op
from ..scalars import Scalar
from .householder import hypotenuse, reflection
from .registry import own

EPSILON = 2.0**-52
# Sweeps for one eigenvalue; two or three are usual.
_MOST = 60


@own("own.tridiagonal")
@as_one_op
def tridiagonal(e: Emitter, node: Node) -> Sequence[ir.Value]:
    batch, order, _ = (Scalar(e, e.dim(d)) for d in e.spec(node.args[0]).shape)
    code = Code(e)
    a = code.array(e.tensor(node.args[0]))
    tau, diagonal, beside = (code.space(node.results[i].shape, e.builder.type("f64")) for i in (1, 2, 3))
    v, w = (code.space(node.results[2].shape[1:], e.builder.type("f64")) for _ in range(2))
    with code.loop(0, batch) as b:
        with code.loop(0, order - 1) as k:
            tau[b, k] = reflection(code, a, b, k, k + 1, order)
            beside[b, k] = a[b, k + 1, k]
            _reflect_both_sides(code, a, b, k, tau[b, k], order, v, w)
        with code.loop(0, order) as k:
            diagonal[b, k] = a[b, k, k]
    return [a.now, tau.now, diagonal.now, beside.now]


def _reflect_both_sides(
    code: Code, a: Array, b: Scalar, k: Scalar, tau: Scalar, order: Scalar, v: Array, w: Array
) -> None:
    """H·A·H of what is right of and below column k: A - v·wᵀ - w·vᵀ, where w = tau·(A·v - ½·tau·(vᵀ·A·v)·v)."""
    with code.loop(k + 1, order) as i:
        v[i] = a[b, i, k]
        w[i] = 0.0
    v[k + 1] = 1.0
    with code.nest(order - k - 1, order - k - 1) as (i, j):
        row, column = i + k + 1, j + k + 1
        w[column] = w[column] + v[row] * a[b, row, column]
    dot = code.variable(code.number(0.0, tau.value.type))
    with code.loop(k + 1, order) as i:
        dot.value = dot.value + v[i] * w[i]
    half = tau * dot.value * 0.5
    with code.loop(k + 1, order) as i:
        w[i] = tau * (w[i] - half * v[i])
    with code.loop(k + 1, order) as i:
        left, right = v[i], w[i]
        with code.loop(k + 1, order) as j:
            a[b, i, j] = a[b, i, j] - left * w[j] - right * v[j]


@own("own.tridiagonal_ql")
@as_one_op
def tridiagonal_ql(e: Emitter, node: Node) -> Sequence[ir.Value]:
    """Implicit QL: each eigenvalue in turn is split off at the top."""
    batch, order = (Scalar(e, e.dim(d)) for d in e.spec(node.args[0]).shape)
    code = Code(e)
    d, beside, z = (code.array(e.tensor(v)) for v in node.args)
    width = Scalar(e, e.dim(e.spec(node.args[2]).shape[2]))
    # One element more, which stays 0, lets every row have a neighbour.
    off = code.space(node.results[0].shape[1:], e.builder.type("f64"))
    info = code.space(node.results[2].shape, e.i32)
    with code.loop(0, batch) as b:
        with code.loop(0, order - 1) as i:
            off[i] = beside[b, i]
        off[order - 1] = 0.0
        solver = _QL(code, d, off, z, b, order, width)
        with code.loop(0, order) as low:
            left = code.variable(code.index(_MOST))
            split = code.variable(solver.split(low))
            with code.repeat(lambda: split.value.differs(low) & (left.value > 0)):
                solver.sweep(low, split)
                left.value = left.value - 1
            with code.when(split.value.differs(low)):
                info[b] = info[b] + 1
        sort_rows(code, d, [z], b, order, [width], ascending=True)
    return [d.now, z.now, info.now]


class _QL:
    """The sweeps over one matrix."""

    def __init__(self, code: Code, d: Array, off: Array, z: Array, b: Scalar, order: Scalar, width: Scalar) -> None:
        self.code, self.d, self.off, self.z, self.b, self.order, self.width = code, d, off, z, b, order, width

    def split(self, low: Scalar) -> Scalar:
        """The first row from `low` on that nothing couples to the next."""
        code, d, off, b = self.code, self.d, self.off, self.b
        at = code.variable(low)

        def coupled() -> Scalar:
            i = at.value
            following = (i + 1).minimum(self.order - 1)
            size = abs(d[b, i]) + abs(d[b, following])
            return (i < self.order - 1) & ~(abs(off[i]) <= size * EPSILON)

        with code.repeat(coupled):
            at.value = at.value + 1
        return at.value

    def sweep(self, low: Scalar, split: Variable) -> None:
        code, d, off, b = self.code, self.d, self.off, self.b
        high = split.value
        start = d[b, low]
        g = (d[b, low + 1] - start) / (off[low] * 2.0)
        r = hypotenuse(g, code.number(1.0, g.value.type))
        shift = code.variable(d[b, high] - start + off[low] / (g + r.with_sign_of(g)))
        s, c, p = (code.variable(code.number(v, g.value.type)) for v in (1.0, 1.0, 0.0))
        whole = code.variable(code.number(1, code.e.i1))
        with code.down(high, low) as i, code.when(whole.value):
            self._rotate(i, high, shift, s, c, p, whole)
        with code.when(whole.value):
            d[b, low] = d[b, low] - p.value
            off[low] = shift.value
            off[high] = 0.0
        split.value = self.split(low)

    def _rotate(
        self, i: Scalar, high: Scalar, g: Variable, s: Variable, c: Variable, p: Variable, whole: Variable
    ) -> None:
        """Chase the bulge past row i; where it vanishes by itself the sweep ends."""
        code, d, off, b = self.code, self.d, self.off, self.b
        f, h = s.value * off[i], c.value * off[i]
        r = hypotenuse(f, g.value)
        off[i + 1] = r
        vanished = r.equals(0.0)
        with code.when(vanished):
            d[b, i + 1] = d[b, i + 1] - p.value
            off[high] = 0.0
            whole.value = 0
        with code.when(~vanished):
            s.value, c.value = f / r, g.value / r
            base = d[b, i + 1] - p.value
            turned = (d[b, i] - base) * s.value + c.value * h * 2.0
            p.value = s.value * turned
            d[b, i + 1] = base + p.value
            g.value = c.value * turned - h
            rotate_rows(code, self.z, b, i + 1, i, c.value, s.value, self.width)


def rotate_rows(
    code: Code, z: Array, b: Scalar, one: Scalar, other: Scalar, c: Scalar, s: Scalar, width: Scalar
) -> None:
    """(one, other) become (c·one + s·other, c·other - s·one)."""
    with code.loop(0, width) as j:
        first, second = z[b, one, j], z[b, other, j]
        z[b, one, j] = c * first + s * second
        z[b, other, j] = c * second - s * first


def sort_rows(
    code: Code, values: Array, rows: list[Array], b: Scalar, order: Scalar, widths: list[Scalar], ascending: bool
) -> None:
    """Put values in order, and the rows that belong to them."""
    with code.loop(0, order) as i:
        best = code.variable(i)
        with code.loop(i + 1, order) as j:
            new, old = values[b, j], values[b, best.value]
            best.value = j.if_(new < old if ascending else new > old, best.value)
        chosen = best.value
        with code.when(chosen.differs(i)):
            values.swap((b, i), (b, chosen))
            for array, width in zip(rows, widths, strict=True):
                with code.loop(0, width) as j:
                    array.swap((b, i, j), (b, chosen, j))
