"""Distances between rows, and contractions of three operands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Node
from mlirdev.plan import PlanDim

from ..dims import int_of, ints_of, wrap
from ..registry import decomposition
from ..tensor import Number, Tensor, sizes
from .operands import computing, number
from .reduce import norm_of

if TYPE_CHECKING:
    from ..rewriter import Rewriter


@decomposition("aten._cdist_forward.default")
def cdist(rw: Rewriter, node: Node) -> Tensor:
    a, b = (rw.tensor(v, computing(node)) for v in node.args[:2])
    if a.shape[-1] == 0:  # points without coordinates are all one
        return rw.zeros(node.results[0].shape, a.dtype)
    difference = a.unsqueeze(-2) - b.unsqueeze(-3)
    return norm_of(rw, difference, node.args[2], (difference.rank - 1,), False)


@decomposition("aten.dist.default")
def dist(rw: Rewriter, node: Node) -> Tensor:
    a, b = (rw.tensor(v, computing(node)) for v in node.args[:2])
    return norm_of(rw, a - b, node.args[2], None, False)


@decomposition("aten._trilinear.default")
def trilinear(rw: Rewriter, node: Node) -> Tensor:
    """Σ over sumdim of the product of the three, each given its missing dims first."""
    operands = []
    for x, missing in zip(node.args[:3], node.args[3:6], strict=True):
        value = rw.tensor(x, computing(node))
        for dim in ints_of(missing) if missing else ():
            value = value.unsqueeze(dim)
        operands.append(value)
    product = operands[0] * operands[1] * operands[2]
    over = node.args[6]
    return product.sum([wrap(d, product.rank) for d in ints_of(over)] if over else [])


@decomposition("aten.renorm.default")
def renorm(rw: Rewriter, node: Node) -> Tensor:
    """Slices along `dim` whose norm is beyond the limit are scaled down to it, but for 1e-7."""
    x = rw.tensor(node.args[0], computing(node))
    dim, limit = wrap(int_of(node.args[2]), x.rank), rw.tensor(node.args[3], x.dtype)
    norm = norm_of(rw, x, node.args[1], tuple(d for d in range(x.rank) if d != dim), True)
    return x * rw.where(norm > limit, limit / (norm + 1e-7), 1.0)


@decomposition("aten._cdist_backward.default")
def cdist_backward(rw: Rewriter, node: Node) -> Tensor:
    """The gradient of the first operand; where a distance is 0 so is its slope."""
    grad, a, b, p, distance = node.args
    g, x, y, d = (rw.tensor(v, computing(node)) for v in (grad, a, b, distance))
    if 0 in node.results[0].shape or 0 in y.shape:
        return rw.zeros(node.results[0].shape, x.dtype)
    difference = x.unsqueeze(-2) - y.unsqueeze(-3)
    slope = _slope(rw, difference, d.unsqueeze(-1), number(p))
    slope = rw.where(d.unsqueeze(-1).compare("eq", 0.0), 0.0, slope)
    return (slope * g.unsqueeze(-1)).sum([difference.rank - 2])


def _slope(rw: Rewriter, difference: Tensor, distance: Tensor, p: Number) -> Tensor:
    """The derivative of ‖difference‖ₚ."""
    if p == 2:
        return difference / distance
    sign, size = difference.unary("sign"), difference.abs()
    if p in (0, 1):
        return sign * p
    if p == float("inf"):
        return rw.where(size.compare("eq", distance), sign, 0.0)
    less = rw.tensor(p, size.dtype) - 1.0
    steep = rw.own("own.pow", size, less) / rw.own("own.pow", distance, less)
    return rw.where(difference.compare("eq", 0.0), 0.0, sign * steep)


# --- of one set of rows ------------------------------------------------------------------------------


@decomposition("aten._pdist_forward.default")
def pdist(rw: Rewriter, node: Node) -> Tensor:
    """The distances of rows 0–1, 0–2, …, 1–2, …"""
    x, spec = rw.tensor(node.args[0], computing(node)), node.results[0]
    if spec.shape[0] == 0 or x.shape[1] == 0:
        return rw.zeros(spec.shape, x.dtype)
    first, second = _pairs(rw, x.shape[0], spec.shape[0])
    return norm_of(rw, rw.take(x, first) - rw.take(x, second), node.args[1], (1,), False)


def _pairs(rw: Rewriter, rows: PlanDim, count: PlanDim) -> tuple[Tensor, Tensor]:
    """The two rows of each of the `count` pairs: a row's pairs begin where the lesser ones' end."""
    k = rw.arange(count)
    n = rw.full((), sizes([rows])[0], DType.i64)
    middle = n.to(DType.f64) - 0.5
    first = (middle - (middle * middle - k.to(DType.f64) * 2.0 - 1.0).sqrt()).to(DType.i64)
    begins = n * first - rw.own("own.div_floor", first * (first + 1), rw.full((), 2, DType.i64))
    return first, k - begins + first + 1


@decomposition("aten._pdist_backward.default")
def pdist_backward(rw: Rewriter, node: Node) -> Tensor:
    """Each pair's slope is added to its first row's gradient and taken from its second's."""
    grad, self, p, distance = node.args
    x, spec = rw.tensor(self, computing(node)), node.results[0]
    g, d = (rw.tensor(v, x.dtype) for v in (grad, distance))
    if d.shape[0] == 0 or 0 in x.shape:
        return rw.zeros(spec.shape, x.dtype)
    first, second = _pairs(rw, x.shape[0], d.shape[0])
    difference = rw.take(x, first) - rw.take(x, second)
    slope = rw.where(d.unsqueeze(-1).compare("eq", 0.0), 0.0, _slope(rw, difference, d.unsqueeze(-1), number(p)))
    each = slope * g.unsqueeze(-1)
    gained = rw.put(rw.zeros(x.shape, x.dtype), [first], each, True)
    return rw.put(gained, [second], -each, True)
