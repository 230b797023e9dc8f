"""Sampling images and volumes at the points of a grid, and its backward.

    grid ──► _Axis per dim: place in pixels, and what it gains per unit of the grid
             └─► taps: places in the image with their weights, a factor of each dim
                 ├─► forward: Σ tap · weight
                 └─► backward: the weights added to the image's gradient; the weights' slopes give the grid's

The grid's last dim holds (x, y) or (x, y, z), −1 and 1 being the image's ends; dims here go the other way, as the
image's do.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Node
from mlirdev.plan import PlanDim

from ..promotion import widened
from ..registry import decomposition
from ..tensor import Tensor
from .upsample import cubic_slopes, cubic_weights

if TYPE_CHECKING:
    from ..rewriter import Rewriter

ZEROS, BORDER, REFLECTION = 0, 1, 2
NEAREST, BICUBIC = 1, 2
_INT_MAX = float((1 << 31) - 1)


class Tap(NamedTuple):
    """Along one dim: a place in the image for each point, its weight, and the weight's slope by the place."""

    place: Tensor
    weight: Tensor
    slope: Tensor


class _Axis:
    """One dim of the image and the grid's coordinate along it."""

    def __init__(self, rw: Rewriter, coordinate: Tensor, size: PlanDim, node: Node) -> None:
        mode, self.padding, aligned = node.args[-3:] if "backward" not in node.op else node.args[3:6]
        self.rw, self.mode, self.aligned, self.volume = rw, mode, bool(aligned), "3d" in node.op
        self.extent = _extent(rw, size, coordinate.dtype)
        self.gain = (self.extent - 1.0 if self.aligned else self.extent) * 0.5
        self.raw = raw = self._unnormalized(coordinate)
        # Cubic sampling pads what it reads, the others where they read.
        self.place = raw if mode == BICUBIC else self.padded(raw)

    def _unnormalized(self, coordinate: Tensor) -> Tensor:
        """In pixels; each dtype's roundings are the CPU's."""
        shifted = coordinate + 1.0
        if self.aligned:
            return shifted * 0.5 * (self.extent - 1.0) if self.volume else shifted * self.gain
        return (shifted * self.extent - 1.0) * 0.5 if self.volume else shifted * self.gain - 0.5

    def padded(self, place: Tensor) -> Tensor:
        if self.padding == REFLECTION:
            place = _reflected(self.rw, place, *self._mirrors(place))
        if self.padding == ZEROS:
            return self._nowhere(place) if self.volume else place
        # No number is the first pixel of an image, and the last one of a volume.
        last, none = self.extent - 1.0, place.compare("ne", place)
        return self.rw.where(none, last if self.volume else 0.0, place.maximum(0.0).minimum(last))

    def _nowhere(self, place: Tensor) -> Tensor:
        """What no i32 holds lies outside."""
        return self.rw.where(place.abs() <= _INT_MAX, place, -100.0)

    def _mirrors(self, place: Tensor) -> tuple[Tensor, Tensor]:
        """The lower one, and the distance between both."""
        if self.aligned:
            return self.rw.zeros((), place.dtype), self.extent - 1.0
        return self.rw.full((), -0.5, place.dtype), self.extent

    def slope(self) -> Tensor:
        """How far the place moves per unit of the grid: backwards behind a mirror, and not at all at a border."""
        rw, raw, one = self.rw, self.raw, self.rw.full((), 1.0, self.raw.dtype)
        sign = one
        if self.mode == BICUBIC or self.padding == ZEROS:
            return self.gain
        if self.padding == REFLECTION:
            low, span = self._mirrors(raw)
            sign = rw.where(raw < low, -one, one)
            sign = rw.where(_crossings_odd(rw, (raw - low).abs(), span), -sign, sign)
            raw = _reflected(rw, raw, low, span)
            sign = rw.where(span.compare("eq", 0.0), 0.0, sign)
        inside = (raw > 0.0) & (raw < self.extent - 1.0)
        return rw.where(inside, sign, 0.0) * self.gain

    def taps(self) -> list[Tap]:
        place, one = self.place, self.rw.full(self.place.shape, 1.0, self.place.dtype)
        if self.mode == NEAREST:
            return [Tap(place.unary("round"), one, one)]
        floor = place.unary("floor")
        t = place - floor
        if self.mode == BICUBIC:
            parts = enumerate(zip(cubic_weights(t), cubic_slopes(t), strict=True))
            return [Tap(self.padded(floor + (k - 1.0)), weight, slope) for k, (weight, slope) in parts]
        return [Tap(floor, one - t, -one), Tap(floor + 1.0, t, one)]


def _extent(rw: Rewriter, size: PlanDim, dtype: DType) -> Tensor:
    count = rw.count(size, dtype)
    return count if isinstance(count, Tensor) else rw.tensor(count, dtype)


def _reflected(rw: Rewriter, place: Tensor, low: Tensor, span: Tensor) -> Tensor:
    """Folded back and forth between low and low + span."""
    distance = (place - low).abs()
    extra = rw.own("own.fmod", distance, span.expand(distance.shape))
    folded = rw.where(_crossings_odd(rw, distance, span), span - extra, extra) + low
    return rw.where(span.compare("eq", 0.0), 0.0, folded)


def _crossings_odd(rw: Rewriter, distance: Tensor, span: Tensor) -> Tensor:
    crossings = (distance / span).unary("floor")
    return rw.own("own.fmod", crossings, rw.full((), 2.0, distance.dtype)).compare("ne", 0.0)


def _axes(rw: Rewriter, node: Node, image: Tensor, grid: Tensor) -> list[_Axis]:
    last = grid.rank - 1
    count = image.rank - 2
    coordinates = [grid.slice(last, i, i + 1).view(grid.shape[:-1]) for i in reversed(range(count))]
    return [_Axis(rw, c, image.shape[2 + i], node) for i, c in enumerate(coordinates)]


class _Corner:
    """One tap of each dim: where it lies in the image (batch, channels, …), points outside being at its start."""

    def __init__(self, rw: Rewriter, image: Tensor, taps: Sequence[Tap], axes: Sequence[_Axis]) -> None:
        self.rw, self.image = rw, image
        self.inside = rw.full((), 1, DType.i1)
        batch = image.shape[0]
        self.at: list[Tensor | None] = [rw.arange(batch).view((batch, *[1] * (image.rank - 2))), None]
        for tap, axis in zip(taps, axes, strict=True):
            fits = (tap.place >= 0.0) & (tap.place <= axis.extent - 1.0)
            self.inside = self.inside & fits
            self.at.append(rw.where(fits, tap.place, 0.0).to(DType.i64))

    def read(self) -> Tensor:
        """The image there, (batch, channels, points…); zero outside."""
        points = self.inside.shape
        found = self.rw.indexed(self.image, self.at, (*points, self.image.shape[1]))
        last = found.rank - 1
        return self.rw.where(self.inside.unsqueeze(1), found.permute([0, last, *range(1, last)]), 0.0)

    def add(self, total: Tensor, values: Tensor) -> Tensor:
        """`values` added to an image at these places."""
        kept = self.rw.where(self.inside.unsqueeze(1), values, 0.0)
        return self.rw.put(total, self.at, kept.permute([0, *range(2, kept.rank), 1]), True)


def _product(factors: Sequence[Tensor]) -> Tensor:
    result = factors[0]
    for factor in factors[1:]:
        result = result * factor
    return result


@decomposition("aten.grid_sampler_2d.default", "aten.grid_sampler_3d.default")
def grid_sampler(rw: Rewriter, node: Node) -> Tensor:
    dtype = node.results[0].dtype  # in which the CPU computes, halves too
    image, grid = (rw.tensor(a, dtype) for a in node.args[:2])
    axes = _axes(rw, node, image, grid)
    total: Tensor | None = None
    for taps in itertools.product(*(axis.taps() for axis in axes)):
        found = _Corner(rw, image, taps, axes).read()
        part = found if node.args[2] == NEAREST else found * _product([t.weight for t in taps]).unsqueeze(1)
        total = part if total is None else total + part
    assert total is not None
    return total


@decomposition("aten.grid_sampler_2d_backward.default", "aten.grid_sampler_3d_backward.default")
def grid_sampler_backward(rw: Rewriter, node: Node) -> list[Tensor]:
    """Gradients of the image, if the mask asks for it, and of the grid."""
    dtype = node.results[-1].dtype
    grad, image, grid = (rw.tensor(a, dtype) for a in node.args[:3])
    axes = _axes(rw, node, image, grid)
    of_image = rw.zeros(image.shape, widened(dtype))
    slopes = [rw.zeros(grid.shape[:-1], widened(dtype)) for _ in axes]
    for taps in itertools.product(*(axis.taps() for axis in axes)):
        corner = _Corner(rw, image, taps, axes)
        of_image = corner.add(of_image, (grad * _product([t.weight for t in taps]).unsqueeze(1)).to(of_image.dtype))
        if node.args[3] != NEAREST:
            moved = (corner.read() * grad).to(of_image.dtype).sum([1])
            slopes = [s + moved * _slope_along(taps, i).to(s.dtype) for i, s in enumerate(slopes)]
    scaled = [s.to(dtype) * axis.slope() for s, axis in zip(slopes, axes, strict=True)]
    of_grid = rw.joined([s.expand(grid.shape[:-1]).unsqueeze(-1) for s in reversed(scaled)], grid.rank - 1)
    return [of_image, of_grid] if _wants_image(node.args[6]) else [of_grid]


def _wants_image(mask: Arg) -> bool:
    return isinstance(mask, tuple) and bool(mask[0])


def _slope_along(taps: Sequence[Tap], dim: int) -> Tensor:
    """By the place along `dim`, the other dims' weights being as they are."""
    return _product([t.slope if i == dim else t.weight for i, t in enumerate(taps)])
