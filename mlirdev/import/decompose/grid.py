"""Sampling an image at the points of a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Node
from mlirdev.plan import PlanDim

from ..registry import decomposition
from ..tensor import Tensor
from .elementwise import computing

if TYPE_CHECKING:
    from ..rewriter import Rewriter

BORDER, REFLECTION = 1, 2
NEAREST = 1


@decomposition("aten.grid_sampler_2d.default")
def grid_sampler(rw: Rewriter, node: Node) -> Tensor:
    """The grid's points are (x, y), −1 and 1 being the image's ends; limits.py has refused bicubic."""
    dtype = computing(node)
    image, grid = rw.tensor(node.args[0], dtype), rw.tensor(node.args[1], dtype)
    mode, padding, aligned = node.args[2:]
    places = [
        _place(rw, grid.slice(3, i, i + 1).view(grid.shape[:3]), image.shape[3 - i], padding, bool(aligned))
        for i in (0, 1)
    ]
    if mode == NEAREST:
        column, row = (p.unary("round") for p in places)
        return _read(rw, image, row, column)
    (left, top), one = (p.unary("floor") for p in places), 1.0
    across, down = places[0] - left, places[1] - top
    corners = [
        (top, left, (one - down) * (one - across)),
        (top, left + one, (one - down) * across),
        (top + one, left, down * (one - across)),
        (top + one, left + one, down * across),
    ]
    parts = [_read(rw, image, row, column) * weight.unsqueeze(1) for row, column, weight in corners]
    return parts[0] + parts[1] + parts[2] + parts[3]


def _place(rw: Rewriter, x: Tensor, size: PlanDim, padding: object, aligned: bool) -> Tensor:
    """A coordinate in pixels."""
    extent = _extent(rw, size, x.dtype)
    place = (x + 1.0) * 0.5 * (extent - 1.0) if aligned else ((x + 1.0) * extent - 1.0) * 0.5
    if padding == REFLECTION:
        low, span = (rw.zeros((), x.dtype), extent - 1.0) if aligned else (rw.full((), -0.5, x.dtype), extent)
        place = _reflected(rw, place, low, span)
    if padding in (BORDER, REFLECTION):
        place = place.maximum(0.0).minimum(extent - 1.0)
    return place


def _extent(rw: Rewriter, size: PlanDim, dtype: DType) -> Tensor:
    count = rw.count(size, dtype)
    return count if isinstance(count, Tensor) else rw.tensor(count, dtype)


def _reflected(rw: Rewriter, place: Tensor, low: Tensor, span: Tensor) -> Tensor:
    """Folded back and forth between low and low + span."""
    distance = (place - low).abs()
    extra = rw.own("own.fmod", distance, span.expand(distance.shape))
    odd = rw.own("own.fmod", (distance / span).unary("floor"), rw.full((), 2.0, place.dtype)).compare("ne", 0.0)
    folded = rw.where(odd, span - extra, extra) + low
    return rw.where(span.compare("eq", 0.0), 0.0, folded)


def _read(rw: Rewriter, image: Tensor, row: Tensor, column: Tensor) -> Tensor:
    """image[n, :, row, column]; zero outside."""
    inside, at = None, []
    for place, size in ((row, image.shape[2]), (column, image.shape[3])):
        last = _extent(rw, size, place.dtype) - 1.0
        fits = (place >= 0.0) & (place <= last)
        inside = fits if inside is None else inside & fits
        at.append(rw.where(fits, place, 0.0).to(DType.i64))
    assert inside is not None
    batch = rw.arange(image.shape[0]).view((image.shape[0], 1, 1))
    found = rw.indexed(image, [batch, None, *at], (*row.shape, image.shape[1])).permute([0, 3, 1, 2])
    return rw.where(inside.unsqueeze(1), found, 0.0)
