"""Upsampling with antialiasing, and its backward: where several input places fall on one output place, the filter is
stretched over them all. One dim after the other, the last first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Node

from .. import dims
from ..registry import decomposition
from ..tensor import Tensor
from .operands import computing
from .upsample import given_scales, ratio

if TYPE_CHECKING:
    from ..rewriter import Rewriter

_KEYS = -0.5  # as in PIL; without antialiasing it is −0.75


def _triangle(x: Tensor) -> Tensor:
    return (1.0 - x).maximum(0.0)


def _cubic(x: Tensor) -> Tensor:
    near = (x * (_KEYS + 2.0) - (_KEYS + 3.0)) * x * x + 1.0
    far = (((x - 5.0) * x + 8.0) * x - 4.0) * _KEYS
    return x.rewriter.where(x < 1.0, near, x.rewriter.where(x < 2.0, far, 0.0))


# By the operator's name: the filter of |distance|, and how far it reaches.
_FILTERS: dict[str, tuple[Callable[[Tensor], Tensor], int]] = {"bilinear": (_triangle, 1), "bicubic": (_cubic, 2)}


def _taps(rw: Rewriter, size: int, out: int, scale: float | None, aligned: bool, node: Node) -> tuple[Tensor, Tensor]:
    """(out, taps): the input places of each output place, and their weights."""
    weigh, reach = next(f for name, f in _FILTERS.items() if name in node.op)
    dtype = computing(node)
    step = ((size - 1) / (out - 1) if out > 1 else 0.0) if aligned else ratio(scale, size, out)
    support = reach * max(step, 1.0)
    center = (rw.arange(out).to(dtype) + 0.5) * step
    first = (center - support + 0.5).to(DType.i64).maximum(0)
    end = (center + support + 0.5).to(DType.i64).minimum(size)
    place = first.unsqueeze(1) + rw.arange(2 * math.ceil(support) + 1).unsqueeze(0)
    distance = (place.to(dtype) - center.unsqueeze(1) + 0.5) * (1.0 / max(step, 1.0))
    weight = rw.where(place < end.unsqueeze(1), weigh(distance.abs()), 0.0)
    total = weight.sum([1], keep=True)
    return place.minimum(size - 1), weight / rw.where(total.compare("eq", 0.0), 1.0, total)


@decomposition(*(f"aten._upsample_{name}2d_aa.{overload}" for name in _FILTERS for overload in ("default", "vec")))
def antialiased(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0], computing(node))
    for i, scale in reversed(list(enumerate(given_scales(node, 3, 2)))):
        dim = 2 + i
        size, out = dims.static(x.shape[dim]), dims.static(node.results[0].shape[dim])
        place, weight = _taps(rw, size, out, scale, bool(node.args[2]), node)
        along = weight.view((*weight.shape, *[1] * (x.rank - dim - 1)))
        x = (rw.take(x, place, dim) * along).sum([dim + 1])
    return x


@decomposition(*(f"aten._upsample_{name}2d_aa_backward.default" for name in _FILTERS))
def antialiased_backward(rw: Rewriter, node: Node) -> Tensor:
    grad = rw.tensor(node.args[0], computing(node))
    for i, scale in enumerate(given_scales(node, 4, 2)):
        dim = 2 + i
        out, size = dims.static(grad.shape[dim]), dims.static(node.results[0].shape[dim])
        place, weight = _taps(rw, size, out, scale, bool(node.args[3]), node)
        each = grad.unsqueeze(dim + 1) * weight.view((*weight.shape, *[1] * (grad.rank - dim - 1)))
        zeros = rw.zeros((*grad.shape[:dim], size, *grad.shape[dim + 1 :]), grad.dtype)
        grad = rw.put(zeros, [*[None] * dim, place], each, True)
    return grad
