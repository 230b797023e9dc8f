"""Reflections H = 1 - tau·v·vᵀ with v₀ = 1, as LAPACK makes and applies them; (b, m, n) matrices.

own.geqrf(x)                        (a, tau): R above the diagonal, the reflections' v below it
own.reflect(a, tau, c, backward)    H₁·H₂·…·c; backward: …·H₂·H₁·c; v as in a
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from mlirdev.graph import Node

from ..dims import Shape
from ..emitter import Emitter
from ..imperative import Array, Code, as_one_op
from ..scalars import Scalar
from .registry import own

# Below this a norm's reciprocal overflows (LAPACK's safmin / eps).
_TINY = {"f32": 2.0**-126 / 2.0**-24, "f64": 2.0**-1022 / 2.0**-53}


def size(e: Emitter, shape: Shape, dim: int) -> Scalar:
    return Scalar(e, e.dim(shape[dim]))


@own("own.geqrf")
@as_one_op
def geqrf(e: Emitter, node: Node) -> Sequence[ir.Value]:
    shape = e.spec(node.args[0]).shape
    element = e.element_type(node.results[0].dtype)
    code = Code(e)
    a = code.array(e.tensor(node.args[0]))
    tau = code.space(node.results[1].shape, element)
    row = code.space((shape[2],), element)
    with code.nest(size(e, shape, 0), Scalar(e, e.dim(node.results[1].shape[1]))) as (b, k):
        tau[b, k] = reflection(code, a, b, k, k, size(e, shape, 1))
        apply(code, a, k, tau[b, k], a, b, (k, size(e, shape, 1)), (k + 1, size(e, shape, 2)), row)
    return [a.now, tau.now]


def reflection(code: Code, a: Array, b: Scalar, k: Scalar, first: Scalar, rows: Scalar) -> Scalar:
    """Let column k from row `first` on become (beta, v): the reflection that makes it (beta, 0, …); its tau (larfg)."""
    alpha = a[b, first, k]
    type_ = alpha.value.type
    norm = _norm(code, a, b, k, first, rows)
    tau = code.variable(code.number(0.0, type_))
    # NaN goes on, as everywhere.
    with code.when(norm.differs(0.0)):
        length = hypotenuse(alpha, norm)
        beta = -length.with_sign_of(alpha)
        tau.value = (beta - alpha) / beta
        # The divisor is kept in range for columns of tiny elements: they are scaled up first.
        small = length < _TINY[str(type_)]
        lift = code.number(1.0 / _TINY[str(type_)], type_).if_(small, 1.0)
        divisor = alpha * lift - beta * lift
        with code.loop(first + 1, rows) as i:
            a[b, i, k] = a[b, i, k] * lift / divisor
        a[b, first, k] = beta
    return tau.value


def _norm(code: Code, a: Array, b: Scalar, k: Scalar, first: Scalar, rows: Scalar) -> Scalar:
    """The length of column k below row `first`, without overflow."""
    type_ = a[b, first, k].value.type
    scale, total = code.variable(code.number(0.0, type_)), code.variable(code.number(0.0, type_))
    with code.loop(first + 1, rows) as i:
        scale.value = scale.value.maximum(abs(a[b, i, k]))
    divisor = code.number(1.0, type_).if_(scale.value.equals(0.0), scale.value)
    with code.loop(first + 1, rows) as i:
        part = a[b, i, k] / divisor
        total.value = total.value + part * part
    return divisor * total.value.sqrt()


def hypotenuse(x: Scalar, y: Scalar) -> Scalar:
    """√(x² + y²) without overflow (lapy2)."""
    x, y = abs(x), abs(y)
    long, short = x.if_(x > y, y), y.if_(x > y, x)
    ratio = short / long
    length = long * (ratio * ratio + 1.0).sqrt()
    return long.if_(short.equals(0.0), length)


def apply(
    code: Code,
    a: Array,
    k: Scalar,
    tau: Scalar,
    c: Array,
    b: Scalar,
    rows: tuple[Scalar, Scalar],
    columns: tuple[Scalar, Scalar],
    row: Array,
) -> None:
    """Let H (v is column k of a) reflect the rows and columns of c, the first row being that of v₀: row = vᵀ·c, and
    then c less tau·v·row."""
    low, high = columns
    first, last = rows
    with code.when(tau.differs(0.0)):
        with code.loop(low, high) as j:
            row[j] = c[b, first, j]
        with code.loop(first + 1, last) as i:
            factor = a[b, i, k]
            with code.loop(low, high) as j:
                row[j] = row[j] + factor * c[b, i, j]
        with code.loop(low, high) as j:
            c[b, first, j] = c[b, first, j] - tau * row[j]
        with code.loop(first + 1, last) as i:
            factor = tau * a[b, i, k]
            with code.loop(low, high) as j:
                c[b, i, j] = c[b, i, j] - factor * row[j]


@own("own.reflect")
@as_one_op
def reflect(e: Emitter, node: Node) -> Sequence[ir.Value]:
    vectors, factors, matrix, backward = node.args
    shape = e.spec(matrix).shape
    count = size(e, e.spec(factors).shape, 1)
    code = Code(e)
    a, tau, c = (code.array(e.tensor(v)) for v in (vectors, factors, matrix))
    row = code.space((shape[2],), e.element_type(node.results[0].dtype))
    batch, rows, columns = (size(e, shape, d) for d in range(3))
    with code.loop(0, batch) as b, code.loop(0, count) if backward else code.down(count) as k:
        apply(code, a, k, tau[b, k], c, b, (k, rows), (code.index(0), columns), row)
    return [c.now]
