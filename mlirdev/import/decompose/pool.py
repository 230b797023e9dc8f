"""Pooling and its backwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Node

from .. import dims
from ..dims import int_of, ints_of
from ..promotion import widened
from ..registry import decomposition
from ..tensor import Tensor, spec_of
from .contraction import spread_out
from .index import scattered
from .operands import computing

if TYPE_CHECKING:
    from ..rewriter import Rewriter


class _Windows:
    """The windows of a pooling over the last dims: `reach` is the padding behind, which ceil_mode may raise."""

    def __init__(
        self, x: Tensor, shape: dims.Shape, kernel: tuple[int, ...], stride: Arg, padding: Arg, dilation: Arg
    ) -> None:
        self.count = len(kernel)
        self.kernel = kernel
        self.stride = ints_of(stride, self.count) if stride not in (None, ()) else self.kernel
        self.padding, self.dilation = ints_of(padding, self.count), ints_of(dilation, self.count)
        self.sizes = [dims.static(d) for d in x.shape[x.rank - self.count :]]
        self.out = [dims.static(d) for d in shape[x.rank - self.count :]]
        spans = zip(self.out, self.stride, self.kernel, self.dilation, self.sizes, self.padding, strict=True)
        self.reach = [(o - 1) * s + (k - 1) * d + 1 - n - p for o, s, k, d, n, p in spans]

    def amounts(self) -> list[int]:
        """What pads x, from the last dim on; what no window reaches is cut."""
        return [v for p, r in reversed(list(zip(self.padding, self.reach, strict=True))) for v in (p, r)]


def window_sum(x: Tensor, kernel: Sequence[int], stride: Sequence[int]) -> Tensor:
    ones = (1,) * len(kernel)
    return _windowed(x, kernel, stride, ones)


def _windowed(x: Tensor, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> Tensor:
    outer = x.rank - len(kernel)
    spatial = [
        (dims.static(n) - d * (k - 1) - 1) // s + 1
        for n, k, s, d in zip(x.shape[outer:], kernel, stride, dilation, strict=True)
    ]
    shape = (*x.shape[:outer], *spatial)
    args: list[Arg] = [x.ref, tuple(kernel), tuple(stride), tuple(dilation), "add"]
    return x.rewriter.emit("own.window", args, [spec_of(shape, x.dtype)])[0]


_WITH_INDICES = (("max_pool", "_with_indices"), ("adaptive_max_pool", ""), ("fractional_max_pool", ""))


# --- max ---------------------------------------------------------------------------------------------


@decomposition("aten.max_pool2d_with_indices.default", "aten.max_pool3d_with_indices.default")
def max_pool(rw: Rewriter, node: Node) -> list[Tensor]:
    x, kernel, stride, padding, dilation = node.args[:5]
    value, spec = rw.tensor(x), node.results[0]
    count = 3 if "3d" in node.op else 2
    windows = _Windows(value, spec.shape, ints_of(kernel, count), stride, padding, dilation)
    padded = value.pad(windows.amounts(), 0)
    args: list[Arg] = [padded.ref, windows.kernel, windows.stride, windows.padding, windows.dilation]
    return rw.emit("own.max_pool", [*args, tuple(windows.sizes)], list(node.results))


@decomposition(*(f"aten.{name}{d}d{suffix}_backward.default" for d in (2, 3) for name, suffix in _WITH_INDICES))
def max_pool_backward(rw: Rewriter, node: Node) -> Tensor:
    """Each gradient goes to its maximum's place in the flat plane."""
    grad, index, spec = rw.tensor(node.args[0], computing(node)), rw.tensor(node.args[-1]), node.results[0]
    count = 3 if "3d" in node.op else 2
    outer = spec.shape[: len(spec.shape) - count]

    def flat(v: Tensor) -> Tensor:
        return v.view((*outer, dims.product(v.shape[len(outer) :])))

    zeros = rw.zeros((*outer, dims.product(spec.shape[len(outer) :])), grad.dtype)
    return scattered(rw, zeros, len(outer), flat(index), flat(grad), "sum").view(spec.shape)


# --- average -----------------------------------------------------------------------------------------


@decomposition("aten.avg_pool1d.default", "aten.avg_pool2d.default", "aten.avg_pool3d.default")
def avg_pool(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0], computing(node))
    windows, divisor = _average_windows(rw, x, node.results[0].shape, node, node.args[1:])
    total = window_sum(x.pad(windows.amounts(), 0.0), windows.kernel, windows.stride)
    return total / divisor


@decomposition("aten.avg_pool2d_backward.default", "aten.avg_pool3d_backward.default")
def avg_pool_backward(rw: Rewriter, node: Node) -> Tensor:
    """Each gradient is spread over its window: a window sum of the gradients, laid out by the stride."""
    grad, x = rw.tensor(node.args[0], computing(node)), rw.tensor(node.args[1])
    windows, divisor = _average_windows(rw, x, grad.shape, node, node.args[2:])
    spread = spread_out(grad / divisor, windows.stride)
    amounts: list[int] = []
    for i in reversed(range(windows.count)):
        before = windows.kernel[i] - 1 - windows.padding[i]
        extent = (windows.out[i] - 1) * windows.stride[i] + 1
        amounts += [before, windows.sizes[i] + windows.kernel[i] - 1 - extent - before]
    return window_sum(spread.pad(amounts, 0.0), windows.kernel, [1] * windows.count)


def _average_windows(
    rw: Rewriter, x: Tensor, out: dims.Shape, node: Node, args: Sequence[Arg]
) -> tuple[_Windows, Tensor]:
    kernel, stride, padding, _, include = args[:5]
    override = args[5] if len(args) > 5 else None
    count = int(node.op.split("pool")[1][0])
    windows = _Windows(x, out, ints_of(kernel, count), stride, padding, 1)
    dtype = widened(x.dtype)
    if override is not None:
        return windows, rw.full((), float(int_of(override)), dtype)
    return windows, _divisor(rw, windows, bool(include), dtype)


def _divisor(rw: Rewriter, windows: _Windows, include: bool, dtype: DType) -> Tensor:
    """How many elements each window has; padding counts if `include`, what lies beyond it never does."""
    if all(r <= p for r, p in zip(windows.reach, windows.padding, strict=True)) and (
        include or not any(windows.padding)
    ):
        volume = 1
        for k in windows.kernel:
            volume *= k
        return rw.full((), float(volume), dtype)
    padding = list(zip(windows.padding, windows.sizes, windows.reach, strict=True))
    shape = tuple(n + 2 * p if include else n for p, n, _ in padding)
    amounts = [v for p, _, r in reversed(padding) for v in ((0, r - p) if include else (p, r))]
    return window_sum(rw.full(shape, 1.0, dtype).pad(amounts, 0.0), windows.kernel, windows.stride)


# --- adaptive average --------------------------------------------------------------------------------


@decomposition(
    "aten._adaptive_avg_pool2d.default", "aten._adaptive_avg_pool3d.default", "aten.adaptive_avg_pool1d.default"
)
def adaptive_avg_pool(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0], computing(node))
    for dim in range(x.rank - adaptive_dims(node), x.rank):
        x = _pooled(rw, x, dim, dims.static(node.results[0].shape[dim]))
    return x


def adaptive_dims(node: Node) -> int:
    return int(node.op.split("pool")[1][0])


def _pooled(rw: Rewriter, x: Tensor, dim: int, out: int) -> Tensor:
    """Along one dim: equal windows by a view; unequal ones by reading each element of each window."""
    size = dims.static(x.shape[dim])
    if size == out:
        return x
    if size % out == 0:
        apart = x.view((*x.shape[:dim], out, size // out, *x.shape[dim + 1 :]))
        return apart.mean([dim + 1])
    place, valid, count = adaptive_windows(rw, size, out)
    taken = rw.take(x, place, dim)
    shape = (out, place.shape[1], *[1] * (x.rank - dim - 1))
    kept = rw.where(valid.view(shape), taken, 0.0)
    return kept.sum([dim + 1]) / count.to(x.dtype).view((out, *[1] * (x.rank - dim - 1)))


def adaptive_windows(rw: Rewriter, size: int, out: int) -> tuple[Tensor, Tensor, Tensor]:
    """(places, whether they belong, how many do) of the windows that start at ⌊i·n/o⌋ and end at ⌈(i+1)·n/o⌉."""
    widest = max(-(-(i + 1) * size // out) - i * size // out for i in range(out))
    i = rw.arange(out)
    n = rw.full((), out, DType.i64)
    start = rw.own("own.div_floor", i * size, n)
    end = rw.own("own.div_floor", (i + 1) * size + (out - 1), n)
    place = start.unsqueeze(1) + rw.arange(widest).unsqueeze(0)
    valid = place < end.unsqueeze(1)
    return place.minimum(size - 1), valid, end - start


@decomposition("aten._adaptive_avg_pool2d_backward.default", "aten._adaptive_avg_pool3d_backward.default")
def adaptive_avg_pool_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, spec = rw.tensor(node.args[0], computing(node)), node.results[0]
    for dim in range(grad.rank - adaptive_dims(node), grad.rank):
        grad = _unpooled(rw, grad, dim, dims.static(spec.shape[dim]))
    return grad


def _unpooled(rw: Rewriter, grad: Tensor, dim: int, size: int) -> Tensor:
    out = dims.static(grad.shape[dim])
    rest = grad.shape[dim + 1 :]
    if size == out:
        return grad
    if size % out == 0:
        each = (grad / float(size // out)).unsqueeze(dim + 1)
        return each.expand((*grad.shape[: dim + 1], size // out, *rest)).view((*grad.shape[:dim], size, *rest))
    place, valid, count = adaptive_windows(rw, size, out)
    ones = [1] * len(rest)
    each = (grad / count.to(grad.dtype).view((out, *ones))).unsqueeze(dim + 1)
    values = rw.where(valid.view((out, place.shape[1], *ones)), each, 0.0)
    return rw.put(rw.zeros((*grad.shape[:dim], size, *rest), grad.dtype), [*[None] * dim, place], values, True)
