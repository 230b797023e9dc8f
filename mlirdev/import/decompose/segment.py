"""segment_reduce: lengths become offsets; each segment is reduced in order (own/segment.py).

Backward, each place looks up its segment among the offsets, and the segment's gradient, result and length by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Node
from mlirdev.plan import LENGTH_NEGATIVE, SEGMENTS_TOTAL

from .. import dims
from ..dims import int_of, wrap
from ..registry import decomposition
from ..tensor import Number, Tensor, spec_of
from .operands import number

if TYPE_CHECKING:
    from ..rewriter import Rewriter

_START = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -float("inf"), "min": float("inf")}
_COMBINE = {"sum": "sum", "mean": "sum", "prod": "prod", "max": "amax", "min": "amin"}


@decomposition("aten.segment_reduce.default")
def segment_reduce(rw: Rewriter, node: Node) -> Tensor:
    data, reduce, lengths, _, offsets, axis, unsafe, initial = node.args
    x, kind = rw.tensor(data), str(reduce)
    line = _line(rw, x, wrap(int_of(axis), x.rank))
    bounds = _offsets(rw, line, lengths, offsets, bool(unsafe))
    found = _reduced(rw, line, bounds, kind, _START[kind] if initial is None else number(initial))
    if kind == "mean":
        found = _mean(rw, found, _lengths(bounds), initial is None)
    return found.view(node.results[0].shape)


def _line(rw: Rewriter, x: Tensor, axis: int) -> Tensor:
    """(before, places, after)."""
    return x.view((dims.product(x.shape[:axis]), x.shape[axis], dims.product(x.shape[axis + 1 :])))


def _offsets(rw: Rewriter, line: Tensor, lengths: Arg, offsets: Arg, unsafe: bool) -> Tensor:
    """(before, segments + 1), in i64. The lengths are checked unless it is said that they need not be."""
    before, places, _ = line.shape
    if lengths is None:
        given = rw.tensor(offsets, DType.i64)
        return given.view((before, given.shape[-1]))
    sizes = rw.tensor(lengths, DType.i64)
    sizes = sizes.view((before, sizes.shape[-1]))
    start = rw.zeros((before, 1), DType.i64)
    if 0 in sizes.shape:
        return start
    ends = rw.emit("own.scan", [sizes.ref, 1, "add"], [sizes.spec])[0]
    bounds = rw.joined([start, ends], 1)
    if unsafe:
        return bounds
    zero, whole = rw.zeros((), DType.i64), rw.as_tensor(rw.count(places, DType.i64))
    bounds = _checked(rw, bounds, sizes.minimum(0).sum([1], True), zero, LENGTH_NEGATIVE)
    return _checked(rw, bounds, sizes.sum([1], True), whole, SEGMENTS_TOTAL)


def _checked(rw: Rewriter, x: Tensor, value: Tensor, wanted: Tensor, message: str) -> Tensor:
    return rw.emit("own.checked", [x.ref, value.ref, wanted.ref, message], [x.spec])[0]


def _reduced(rw: Rewriter, line: Tensor, bounds: Tensor, kind: str, initial: Number) -> Tensor:
    shape = (line.shape[0], dims.sub(bounds.shape[1], 1), line.shape[2])
    args: list[Arg] = [line.ref, bounds.ref, _COMBINE[kind], initial]
    return rw.emit("own.segments", args, [spec_of(shape, line.dtype)])[0]


def _lengths(bounds: Tensor) -> Tensor:
    """(before, segments, 1)."""
    count = bounds.shape[1]
    return (bounds.slice(1, 1, count) - bounds.slice(1, 0, dims.sub(count, 1))).unsqueeze(2)


def _mean(rw: Rewriter, total: Tensor, lengths: Tensor, undefined: bool) -> Tensor:
    """Of an empty segment it is undefined, but the initial number where there is one."""
    mean = total / lengths.maximum(1).to(total.dtype)
    return rw.where(lengths.compare("gt", 0), mean, float("nan")) if undefined else mean


# --- backward ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Segments:
    """The segments of a line, as its places see them."""

    rw: Rewriter
    line: Tensor
    bounds: Tensor
    place: Tensor  # (before, places, 1): the segment of each
    covered: Tensor  # whether there is one

    def spread(self, x: Tensor) -> Tensor:
        """What each place's segment has in x, (before, segments, 1 or after)."""
        index = self.place.expand(self.line.shape)
        x = x.expand((*x.shape[:2], self.line.shape[2]))
        return self.rw.emit("own.take_along", [x.ref, 1, index.ref], [spec_of(index.shape, x.dtype)])[0]

    def reduced(self, x: Tensor, kind: str, initial: Number) -> Tensor:
        """A reduction of something of the line's shape, for each place."""
        return self.spread(_reduced(self.rw, x, self.bounds, kind, initial))


@decomposition("aten._segment_reduce_backward.default")
def segment_reduce_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, output, data, reduce, lengths, offsets, axis, initial = node.args
    x, kind = rw.tensor(data), str(reduce)
    if 0 in x.shape:
        return x
    line = _line(rw, x, wrap(int_of(axis), x.rank))
    segments = _found(rw, line, _offsets(rw, line, lengths, offsets, True))
    shape = (line.shape[0], dims.sub(segments.bounds.shape[1], 1), line.shape[2])
    if 0 in shape:
        return rw.zeros(x.shape, x.dtype)
    above, result = (segments.spread(rw.tensor(a, x.dtype).view(shape)) for a in (grad, output))
    if kind == "mean":
        above = above / segments.spread(_lengths(segments.bounds)).maximum(1).to(x.dtype)
    elif kind in ("max", "min"):
        above = _to_extremes(segments, above, result)
    elif kind == "prod":
        above = _through_product(segments, above, result, 1.0 if initial is None else number(initial))
    return rw.where(segments.covered, above, 0.0).view(x.shape)


def _found(rw: Rewriter, line: Tensor, bounds: Tensor) -> _Segments:
    before, places, _ = line.shape
    count = dims.static(bounds.shape[1])
    spots = rw.arange(places).unsqueeze(0).expand((before, places))
    number_ = rw.emit("own.search", [bounds.ref, spots.ref, True], [spots.spec])[0] - 1
    covered = number_.compare("ge", 0) & number_.compare("lt", count - 1)
    place = number_.maximum(0).minimum(max(count - 2, 0))
    return _Segments(rw, line, bounds, place.unsqueeze(2), covered.unsqueeze(2))


def _to_extremes(segments: _Segments, grad: Tensor, result: Tensor) -> Tensor:
    """To all extremes; they share it, but as the CPU has it, only where it is positive."""
    rw, x = segments.rw, segments.line
    chosen = x.compare("eq", result) | x.compare("ne", x)
    sharing = segments.reduced(chosen.to(DType.f64), "sum", 0.0).to(x.dtype)
    shared = rw.where(grad.compare("gt", 0.0), grad / sharing.maximum(1.0), grad)
    return rw.where(chosen, shared, 0.0)


def _through_product(segments: _Segments, grad: Tensor, result: Tensor, initial: Number) -> Tensor:
    """grad · result / x; at zeros and NaN the product of all others."""
    rw, x = segments.rw, segments.line
    zero, nan = x.compare("eq", 0.0), x.compare("ne", x)
    special = zero | nan
    others = segments.reduced(rw.where(special, 1.0, x), "prod", initial)
    others = rw.where(_others(segments, zero), others * 0.0, others)
    others = rw.where(_others(segments, nan), float("nan"), others)
    return rw.where(special, grad * others, grad * result / x)


def _others(segments: _Segments, marked: Tensor) -> Tensor:
    """Whether another place of the segment is marked."""
    count = segments.reduced(marked.to(DType.f64), "sum", 0.0)
    return count.compare("gt", marked.to(DType.f64))
