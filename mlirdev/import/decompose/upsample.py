"""Upsampling, nearest and linear, one dim after the other, and its backwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Node

from .. import dims
from ..registry import decomposition
from ..tensor import Tensor
from .operands import computing

if TYPE_CHECKING:
    from ..rewriter import Rewriter


def given_scales(node: Node, first: int, count: int) -> list[float | None]:
    """The given scale of each dim; `.vec` overloads hold them in one list."""
    given: tuple[Arg, ...] = node.args[first : first + count]
    if node.op.endswith(".vec"):
        last = node.args[-1]
        given = last if isinstance(last, tuple) else (None,) * count
    return [float(g) if isinstance(g, (int, float)) else None for g in given]


def ratio(scale: float | None, size: int, out: int) -> float:
    """Input places per output place."""
    return 1.0 / scale if scale is not None and scale > 0 else size / out


def _nearest_source(rw: Rewriter, size: int, out: int, scale: float | None, exact: bool) -> Tensor:
    """⌊i · ratio⌋ in f32, as on the CPU."""
    i = rw.arange(out).to(DType.f32)
    i = i + 0.5 if exact else i
    return (i * ratio(scale, size, out)).unary("floor").to(DType.i64).minimum(size - 1)


_NEAREST = [f"upsample_nearest{d}d" for d in (1, 2, 3)] + [f"_upsample_nearest_exact{d}d" for d in (1, 2, 3)]
_LINEAR = ["upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d"]


def _spatial(node: Node) -> int:
    """How many dims are resized: the digit in the operator's name."""
    return next(int(c) for c in node.op if c.isdigit())


@decomposition(*(f"aten.{n}.{o}" for n in _NEAREST for o in ("default", "vec")))
def nearest(rw: Rewriter, node: Node) -> Tensor:
    x, count = rw.tensor(node.args[0]), _spatial(node)
    for i, scale in enumerate(given_scales(node, 2, count)):
        dim = 2 + i
        size, out = dims.static(x.shape[dim]), dims.static(node.results[0].shape[dim])
        if size != out or scale is not None:
            x = rw.take(x, _nearest_source(rw, size, out, scale, "exact" in node.op), dim)
    return x


@decomposition(*(f"aten.{n}_backward.default" for n in _NEAREST))
def nearest_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, count = rw.tensor(node.args[0], computing(node)), _spatial(node)
    for i, scale in enumerate(given_scales(node, 3, count)):
        dim = 2 + i
        out, size = dims.static(grad.shape[dim]), dims.static(node.results[0].shape[dim])
        if size == out and scale is None:
            continue
        source = _nearest_source(rw, size, out, scale, "exact" in node.op)
        zeros = rw.zeros((*grad.shape[:dim], size, *grad.shape[dim + 1 :]), grad.dtype)
        grad = rw.put(zeros, [*[None] * dim, source], grad, True)
    return grad


class _Linear:
    """For each output place: the two input places between which it lies, and the second one's weight."""

    def __init__(self, rw: Rewriter, size: int, out: int, scale: float | None, aligned: bool, like: Tensor) -> None:
        i = rw.arange(out).to(like.dtype)
        if aligned:
            place = i * ((size - 1) / (out - 1) if out > 1 else 0.0)
        else:
            place = ((i + 0.5) * ratio(scale, size, out) - 0.5).maximum(0.0)
        floor = place.unary("floor")
        self.low = floor.to(DType.i64).minimum(size - 1)
        self.high = (self.low + 1).minimum(size - 1)
        self.weight = (place - self.low.to(like.dtype)).minimum(1.0)

    def along(self, dim: int, rank: int) -> Tensor:
        return self.weight.align(dim, rank)


@decomposition(*(f"aten.{n}.{o}" for n in _LINEAR for o in ("default", "vec")))
def linear(rw: Rewriter, node: Node) -> Tensor:
    x, count = rw.tensor(node.args[0], computing(node)), _spatial(node)
    for i, scale in enumerate(given_scales(node, 3, count)):
        dim = 2 + i
        size, out = dims.static(x.shape[dim]), dims.static(node.results[0].shape[dim])
        if size == out:
            continue
        plan = _Linear(rw, size, out, scale, bool(node.args[2]), x)
        weight = plan.along(dim, x.rank)
        x = rw.take(x, plan.low, dim) * (1.0 - weight) + rw.take(x, plan.high, dim) * weight
    return x


@decomposition(*(f"aten.{n}_backward.default" for n in _LINEAR))
def linear_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, count = rw.tensor(node.args[0], computing(node)), _spatial(node)
    for i, scale in enumerate(given_scales(node, 4, count)):
        dim = 2 + i
        out, size = dims.static(grad.shape[dim]), dims.static(node.results[0].shape[dim])
        if size == out:
            continue
        plan = _Linear(rw, size, out, scale, bool(node.args[3]), grad)
        weight, before = plan.along(dim, grad.rank), [None] * dim
        zeros = rw.zeros((*grad.shape[:dim], size, *grad.shape[dim + 1 :]), grad.dtype)
        lower = rw.put(zeros, [*before, plan.low], grad * (1.0 - weight), True)
        grad = rw.put(lower, [*before, plan.high], grad * weight, True)
    return grad


# --- cubic -------------------------------------------------------------------------------------------


def _cubic(
    rw: Rewriter, size: int, out: int, scale: float | None, aligned: bool, like: Tensor
) -> list[tuple[Tensor, Tensor]]:
    """For each output place the four input places around it, each with its weight (Keys, a = −0.75)."""
    i = rw.arange(out).to(like.dtype)
    place = i * ((size - 1) / (out - 1) if out > 1 else 0.0) if aligned else (i + 0.5) * ratio(scale, size, out) - 0.5
    floor = place.unary("floor")
    t, first = place - floor, floor.to(DType.i64)
    return [((first + (k - 1)).maximum(0).minimum(size - 1), weight) for k, weight in enumerate(cubic_weights(t))]


def cubic_weights(t: Tensor) -> list[Tensor]:
    """Of the four places around a point that lies `t` behind the second."""
    return [_outer(t + 1.0), _inner(t), _inner(1.0 - t), _outer(2.0 - t)]


def cubic_slopes(t: Tensor) -> list[Tensor]:
    """What each of the weights gains as t grows."""
    return [_outer_slope(t + 1.0), _inner_slope(t), -_inner_slope(1.0 - t), -_outer_slope(2.0 - t)]


_KEYS = -0.75


def _inner(x: Tensor) -> Tensor:
    return (x * (_KEYS + 2.0) - (_KEYS + 3.0)) * x * x + 1.0


def _outer(x: Tensor) -> Tensor:
    return ((x * _KEYS - 5.0 * _KEYS) * x + 8.0 * _KEYS) * x - 4.0 * _KEYS


def _inner_slope(x: Tensor) -> Tensor:
    return (x * (3.0 * (_KEYS + 2.0)) - 2.0 * (_KEYS + 3.0)) * x


def _outer_slope(x: Tensor) -> Tensor:
    return (x * (3.0 * _KEYS) - 10.0 * _KEYS) * x + 8.0 * _KEYS


@decomposition("aten.upsample_bicubic2d.default", "aten.upsample_bicubic2d.vec")
def cubic(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0], computing(node))
    for i, scale in enumerate(given_scales(node, 3, 2)):
        dim = 2 + i
        size, out = dims.static(x.shape[dim]), dims.static(node.results[0].shape[dim])
        parts = [
            rw.take(x, place, dim) * weight.align(dim, x.rank)
            for place, weight in _cubic(rw, size, out, scale, bool(node.args[2]), x)
        ]
        x = parts[0] + parts[1] + parts[2] + parts[3]
    return x


@decomposition("aten.upsample_bicubic2d_backward.default")
def cubic_backward(rw: Rewriter, node: Node) -> Tensor:
    grad = rw.tensor(node.args[0], computing(node))
    for i, scale in enumerate(given_scales(node, 4, 2)):
        dim = 2 + i
        out, size = dims.static(grad.shape[dim]), dims.static(node.results[0].shape[dim])
        total = rw.zeros((*grad.shape[:dim], size, *grad.shape[dim + 1 :]), grad.dtype)
        for place, weight in _cubic(rw, size, out, scale, bool(node.args[3]), grad):
            total = rw.put(total, [*[None] * dim, place], grad * weight.align(dim, grad.rank), True)
        grad = total
    return grad
