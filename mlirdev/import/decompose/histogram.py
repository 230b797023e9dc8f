"""Histograms: each element's bin, then weights added to the bins in order.

    histc          bins of equal width, found by division
    histogram(dd)  the same, then looked up among the edges beside it; or edges that are given, found by search

Elements outside of the range, and NaN, count nowhere; the last bin has both its edges. Arithmetic is the dtype's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Node
from mlirdev.plan import RANGE_NOT_FINITE

from .. import dims
from ..dims import int_of, ints_of
from ..registry import decomposition
from ..tensor import Tensor, spec_of
from .factory import ramp
from .operands import number

if TYPE_CHECKING:
    from ..rewriter import Rewriter


@decomposition("aten.histc.default")
def histc(rw: Rewriter, node: Node) -> Tensor:
    x, (bins,) = rw.tensor(node.args[0]), node.results[0].shape
    count = dims.static(bins)
    line = x.view((x.numel,))
    low, high = _ends(rw, line, node.args[2], node.args[3], 1.0)
    inside = (line >= low) & (line <= high)
    place = _by_division(rw, line, inside, low, high, count)
    return _counted(rw, inside, place.minimum(count - 1), None, count, x.dtype)


@decomposition("aten.histogram.bin_ct", "aten.histogram.bins_tensor")
def histogram(rw: Rewriter, node: Node) -> list[Tensor]:
    x = rw.tensor(node.args[0])
    points = x.view((x.numel, 1))
    if node.op.endswith("bin_ct"):
        count = int_of(node.args[1])
        edges, weight, density = _edges(rw, points, [count], node.args[2])[0], node.args[3], node.args[4]
        return [_histogram(rw, points, [edges], weight, density, spaced_evenly=True), edges]
    edges = rw.tensor(node.args[1])
    return [_histogram(rw, points, [edges], node.args[2], node.args[3], spaced_evenly=False), edges]


@decomposition("aten._histogramdd_bin_edges.default")
def bin_edges(rw: Rewriter, node: Node) -> list[Tensor]:
    return _edges(rw, _points(rw.tensor(node.args[0])), list(ints_of(node.args[1])), node.args[2])


@decomposition("aten._histogramdd_from_bin_cts.default")
def from_counts(rw: Rewriter, node: Node) -> Tensor:
    points = _points(rw.tensor(node.args[0]))
    edges = _edges(rw, points, list(ints_of(node.args[1])), node.args[2])
    return _histogram(rw, points, edges, node.args[3], node.args[4], spaced_evenly=True)


@decomposition("aten._histogramdd_from_bin_tensors.default")
def from_edges(rw: Rewriter, node: Node) -> Tensor:
    refs = node.args[1]
    assert isinstance(refs, tuple)
    edges = [rw.tensor(ref) for ref in refs]
    return _histogram(rw, _points(rw.tensor(node.args[0])), edges, node.args[2], node.args[3], spaced_evenly=False)


def _points(x: Tensor) -> Tensor:
    """A point per row."""
    return x.view((dims.product(x.shape[:-1]), x.shape[-1]))


def _histogram(
    rw: Rewriter, points: Tensor, edges: Sequence[Tensor], weight: Arg, density: Arg, spaced_evenly: bool
) -> Tensor:
    """How many points (M, N), or how much of their weight, lie in each box of the N lines of edges."""
    sizes = [dims.sub(line.shape[0], 1) for line in edges]
    flat, all_inside = None, None
    for d, (line, size) in enumerate(zip(edges, sizes, strict=True)):
        x = points.slice(1, d, d + 1).view((points.shape[0],))
        inside, place = _places(rw, x, line, spaced_evenly)
        all_inside = inside if all_inside is None else all_inside & inside
        flat = place if flat is None else flat * dims.static(size) + place
    assert flat is not None
    assert all_inside is not None
    weights = rw.optional(weight)
    weights = None if weights is None else weights.view((points.shape[0],))
    count = dims.static(dims.product(sizes))
    hist = _counted(rw, all_inside, rw.where(all_inside, flat, 0), weights, count, points.dtype)
    return _density(rw, hist.view(sizes), edges) if density else hist.view(sizes)


def _places(rw: Rewriter, x: Tensor, edges: Tensor, spaced_evenly: bool) -> tuple[Tensor, Tensor]:
    """(is x within the edges, the number of its bin)."""
    count = dims.static(edges.shape[0])
    low, high = edges.slice(0, 0, 1).view(()), edges.slice(0, count - 1, count).view(())
    inside = (x >= low) & (x <= high)
    if spaced_evenly:
        place = _beside(rw, x, edges, _by_division(rw, x, inside, low, high, count - 1))
    else:
        place = rw.emit("own.search", [edges.ref, x.ref, True], [spec_of(x.shape, DType.i64)])[0] - 1
    return inside, place.maximum(0).minimum(max(count - 2, 0))


def _by_division(rw: Rewriter, x: Tensor, inside: Tensor, low: Tensor, high: Tensor, bins: int) -> Tensor:
    width = rw.full((), float(bins), x.dtype)
    part = (rw.where(inside, x, low) - low) * width / (high - low)
    return rw.where(inside, part, rw.zeros((), x.dtype)).to(DType.i64)


def _beside(rw: Rewriter, x: Tensor, edges: Tensor, place: Tensor) -> Tensor:
    """The bin by the edges from the one before the guess to the one behind it."""
    count = dims.static(edges.shape[0])
    first = (place - 1).maximum(0)
    end = (place + 2).minimum(count)
    found = first - 1
    for k in range(3):
        at = first + k
        edge = rw.take(edges, at.minimum(count - 1))
        found = found + ((edge <= x) & (at < end)).to(DType.i64)
    return found


def _counted(rw: Rewriter, inside: Tensor, place: Tensor, weights: Tensor | None, bins: int, dtype: DType) -> Tensor:
    worth = rw.full((), 1.0, dtype) if weights is None else weights
    amounts = rw.where(inside, worth, rw.zeros((), dtype))
    return rw.put(rw.zeros((bins,), dtype), [place], amounts, True)


def _density(rw: Rewriter, hist: Tensor, edges: Sequence[Tensor]) -> Tensor:
    """Per volume, of a whole of 1."""
    hist = hist / hist.sum(list(range(hist.rank)))
    for d, line in enumerate(edges):
        count = line.shape[0]
        widths = line.slice(0, 1, count) - line.slice(0, 0, dims.sub(count, 1))
        hist = hist / widths.align(d, hist.rank)
    return hist


# --- the range ---------------------------------------------------------------------------------------


def _edges(rw: Rewriter, points: Tensor, counts: Sequence[int], given: Arg) -> list[Tensor]:
    """Per dim of the points the edges of so many bins, from the range given or that of the values."""
    lines = []
    for d, count in enumerate(counts):
        x = points.slice(1, d, d + 1).view((points.shape[0],))
        ends = given[2 * d : 2 * d + 2] if isinstance(given, tuple) else (0.0, 0.0)
        low, high = _ends(rw, x, ends[0], ends[1], 0.5, empty=(0.0, 1.0), is_given=isinstance(given, tuple))
        lines.append(ramp(rw, low, high, high - low, count + 1))
    return lines


def _ends(
    rw: Rewriter,
    x: Tensor,
    low: Arg,
    high: Arg,
    margin: float,
    empty: tuple[float, float] | None = None,
    is_given: bool = False,
) -> tuple[Tensor, Tensor]:
    """The range's ends; where they are one number, those of the values; where these are, some margin to both sides."""
    first, last = (rw.tensor(number(end), x.dtype) for end in (low, high))
    if low == high and not is_given and 0 not in x.shape:
        first, last = _finite(rw, x.amin([0])), _finite(rw, x.amax([0]))
    elif empty is not None and not is_given:
        first, last = (rw.tensor(end, x.dtype) for end in empty)
    same = first.compare("eq", last)
    return rw.where(same, first - margin, first), rw.where(same, last + margin, last)


def _finite(rw: Rewriter, x: Tensor) -> Tensor:
    difference = x - x  # 0, but NaN for infinities and NaN
    wrong = difference.compare("ne", difference).to(DType.i64)
    return rw.emit("own.checked", [x.ref, wrong.ref, rw.zeros((), DType.i64).ref, RANGE_NOT_FINITE], [x.spec])[0]
