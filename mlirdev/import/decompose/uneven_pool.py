"""Maxima of windows that aren't evenly spaced: adaptive pooling, whose windows have several sizes, and fractional
pooling, whose windows start at random.

    per dim: places (…, window, place in it) and which of them belong ──► elements ──► own.arg over each window
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Node

from .. import dims
from ..dims import ints_of
from ..registry import decomposition
from ..tensor import Tensor, spec_of
from .pool import adaptive_dims, adaptive_windows

if TYPE_CHECKING:
    from ..rewriter import Rewriter


def _along(x: Tensor, dim: int, count: int) -> Tensor:
    """(…, windows, places) of one spatial dim, laid out beside those of the others: (…, windows…, places…)."""
    windows, places = ([n if i == dim else 1 for i in range(count)] for n in x.shape[-2:])
    return x.view((*x.shape[:-2], *windows, *places))


def _maxima(
    rw: Rewriter, x: Tensor, planes: Tensor | None, places: Sequence[Tensor], valid: Sequence[Tensor], node: Node
) -> list[Tensor]:
    """The maxima and their places in the flat plane of x (planes, sizes…)."""
    count, sizes = len(places), x.shape[1:]
    laid = [_along(p, i, count) for i, p in enumerate(places)]
    flat, shape = laid[0], laid[0].shape
    for size, place in zip(sizes[1:], laid[1:], strict=True):
        flat = flat * rw.count(size, DType.i64) + place
        shape = dims.broadcast(shape, place.shape)
    full = (x.shape[0], *shape[-2 * count :])
    elements = rw.indexed(x, [planes, *laid], full)
    for i, belongs in enumerate(valid):  # a window's first element always does
        elements = rw.where(_along(belongs, i, count), elements, -float("inf"))
    windows = full[: 1 + count]
    volume = dims.product(full[1 + count :])
    args: list[Arg] = [elements.view((*windows, volume)).ref, 1 + count, "last_nan"]
    value, found = rw.emit("own.arg", args, [spec_of(windows, x.dtype), spec_of(windows, DType.i64)])
    flat = flat.expand(full).view((*windows, volume))
    args = [flat.ref, 1 + count, found.unsqueeze(-1).ref]
    index = rw.emit("own.take_along", args, [spec_of((*windows, 1), DType.i64)])[0]
    return [v.view(spec.shape) for v, spec in zip((value, index), node.results, strict=True)]


def _planes(x: Tensor, count: int) -> Tensor:
    outer = x.rank - count
    return x.view((dims.product(x.shape[:outer]), *x.shape[outer:]))


@decomposition("aten.adaptive_max_pool2d.default", "aten.adaptive_max_pool3d.default")
def adaptive_max_pool(rw: Rewriter, node: Node) -> list[Tensor]:
    x, count = rw.tensor(node.args[0]), adaptive_dims(node)
    if 0 in node.results[0].shape:
        return [rw.zeros(spec.shape, spec.dtype) for spec in node.results]
    sizes = zip(x.shape[-count:], node.results[0].shape[-count:], strict=True)
    windows = [adaptive_windows(rw, dims.static(n), dims.static(o)) for n, o in sizes]
    return _maxima(rw, _planes(x, count), None, [w[0] for w in windows], [w[1] for w in windows], node)


@decomposition("aten.fractional_max_pool2d.default", "aten.fractional_max_pool3d.default")
def fractional_max_pool(rw: Rewriter, node: Node) -> list[Tensor]:
    """Samples are given per plane: in 2-D that of the last dim first."""
    count = 2 if "2d" in node.op else 3
    x, kernel, out = rw.tensor(node.args[0]), ints_of(node.args[1], count), ints_of(node.args[2], count)
    if 0 in node.results[0].shape:
        return [rw.zeros(spec.shape, spec.dtype) for spec in node.results]
    flat, samples = _planes(x, count), rw.tensor(node.args[3])
    samples = samples.view((dims.product(samples.shape[:-1]), count)).slice(0, 0, flat.shape[0])
    order = (1, 0) if count == 2 else (0, 1, 2)
    places = []
    for i, (size, k, o) in enumerate(zip(x.shape[-count:], kernel, out, strict=True)):
        sample = samples.slice(1, order[i], order[i] + 1)
        start = _starts(rw, sample, dims.static(size) - k, o)
        places.append(start.unsqueeze(-1) + rw.arange(k).view((1, 1, k)))
    planes = rw.arange(flat.shape[0]).view((flat.shape[0], *[1] * (2 * count)))
    return _maxima(rw, flat, planes, places, [], node)


def _starts(rw: Rewriter, sample: Tensor, last: int, out: int) -> Tensor:
    """⌊(i + u)·α⌋ − ⌊u·α⌋ for all windows but the last, which ends where the plane does; sample is (planes, 1)."""
    end = rw.full((sample.shape[0], 1), last, DType.i64)
    if out == 1:
        return end
    # Each step is rounded to the samples' type, as on the CPU.
    alpha = rw.full((), last, sample.dtype) / rw.full((), out - 1, sample.dtype)
    i = rw.arange(out - 1).to(sample.dtype).unsqueeze(0)
    starts = ((i + sample) * alpha).to(DType.i64) - (sample * alpha).to(DType.i64)
    return rw.joined([starts, end], 1)
