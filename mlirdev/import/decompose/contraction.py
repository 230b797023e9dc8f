"""Matrix products, linear layers and convolutions with their backwards.

The products themselves stay mm, bmm and convolution for torch-mlir, which makes them linalg's named ops.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mlirdev.graph import Arg, Node

from .. import dims
from ..dims import ints_of
from ..promotion import summing, widened
from ..registry import decomposition
from ..tensor import Number, Tensor, spec_of
from .norm import masked
from .operands import computing, number, scaled

if TYPE_CHECKING:
    from ..rewriter import Rewriter


@decomposition("aten.mm.default", "aten.bmm.default")
def product(rw: Rewriter, node: Node) -> Tensor:
    """Halves are multiplied and summed in f32, bytes in i32. An empty sum is zero."""
    dtype = summing(node.results[0].dtype)
    a, b = (rw.tensor(v, dtype) for v in node.args)
    shape = node.results[0].shape
    if a.shape[-1] == 0 or 0 in shape:
        return rw.zeros(shape, dtype)
    return rw.keep(Node(node.op, (a.ref, b.ref), (spec_of(shape, dtype),)))[0]


@decomposition("aten._int_mm.default")
def int_product(rw: Rewriter, node: Node) -> Tensor:
    a, b = (rw.tensor(v, node.results[0].dtype) for v in node.args)
    return a.mm(b)


@decomposition("aten._weight_int8pack_mm.default")
def quantized_product(rw: Rewriter, node: Node) -> Tensor:
    """x · wᵀ · scales, with a scale for each row of the weight."""
    x, weight, scales = (rw.tensor(v, computing(node)) for v in node.args)
    return x.mm(weight.transpose(0, 1)) * scales


def _with_bias(rw: Rewriter, bias: Arg, value: Tensor, beta: Number, alpha: Number) -> Tensor:
    """beta · bias + alpha · value; at beta 0 the bias isn't read."""
    value = scaled(value, alpha)
    if isinstance(beta, (int, float)) and beta == 0:
        return value
    return value + scaled(rw.tensor(bias, value.dtype), beta)


@decomposition("aten.addmm.default", "aten.baddbmm.default", "aten.addmv.default", "aten.addbmm.default")
def add_product(rw: Rewriter, node: Node) -> Tensor:
    bias, a, b, beta, alpha = node.args
    x, y = (rw.tensor(v, computing(node)) for v in (a, b))
    if "addmv" in node.op:
        value = matvec(x, y)
    elif "addmm" in node.op:
        value = x.mm(y)
    else:
        value = x.bmm(y)
        value = value.sum([0]) if node.op.startswith("aten.addbmm") else value
    return _with_bias(rw, bias, value, number(beta), number(alpha))


@decomposition("aten.addr.default")
def addr(rw: Rewriter, node: Node) -> Tensor:
    bias, a, b, beta, alpha = node.args
    x, y = (rw.tensor(v, computing(node)) for v in (a, b))
    return _with_bias(rw, bias, x.unsqueeze(1) * y, number(beta), number(alpha))


def matvec(a: Tensor, b: Tensor) -> Tensor:
    return a.mm(b.unsqueeze(1)).view((a.shape[0],))


@decomposition("aten.mv.default")
def mv(rw: Rewriter, node: Node) -> Tensor:
    return matvec(*(rw.tensor(v, computing(node)) for v in node.args))


@decomposition("aten.dot.default", "aten.vdot.default")
def dot(rw: Rewriter, node: Node) -> Tensor:
    a, b = (rw.tensor(v, computing(node)) for v in node.args)
    return (a * b).sum([0])


@decomposition("aten.matmul.default")
def matmul(rw: Rewriter, node: Node) -> Tensor:
    a, b = (rw.tensor(v, computing(node)) for v in node.args)
    shape = node.results[0].shape
    if a.rank == 1 and b.rank == 1:
        return (a * b).sum([0])
    a2 = a.unsqueeze(0) if a.rank == 1 else a
    b2 = b.unsqueeze(1) if b.rank == 1 else b
    if b2.rank == 2:
        rows = dims.product(a2.shape[:-1])
        return a2.view((rows, a2.shape[-1])).mm(b2).view(shape)
    batch = dims.broadcast(a2.shape[:-2], b2.shape[:-2])
    count = dims.product(batch)
    left = a2.expand((*batch, *a2.shape[-2:])).view((count, *a2.shape[-2:]))
    right = b2.expand((*batch, *b2.shape[-2:])).view((count, *b2.shape[-2:]))
    return left.bmm(right).view(shape)


@decomposition("aten.linear.default")
def linear(rw: Rewriter, node: Node) -> Tensor:
    x, weight, bias = node.args
    value, w = rw.tensor(x, computing(node)), rw.tensor(weight, computing(node))
    rows = dims.product(value.shape[:-1])
    result = value.view((rows, value.shape[-1])).mm(w.transpose(0, 1) if w.rank == 2 else w.unsqueeze(1))
    result = result if bias is None else result + rw.tensor(bias, result.dtype)
    return result.view(node.results[0].shape)


@decomposition("aten.linear_backward.default")
def linear_backward(rw: Rewriter, node: Node) -> list[Tensor]:
    x, grad, weight, mask = node.args
    value, g, w = (rw.tensor(v, computing(node)) for v in (x, grad, weight))
    rows = dims.product(value.shape[:-1])
    flat, g2 = value.view((rows, value.shape[-1])), g.view((rows, g.shape[-1]))
    grads = [g2.mm(w).view(value.shape), g2.transpose(0, 1).mm(flat), g2.sum([0])]
    return masked(rw, node, mask, grads)


# --- convolution -------------------------------------------------------------------------------------


@decomposition("aten.convolution.default", "aten.convolution_overrideable.default")
def convolution(rw: Rewriter, node: Node) -> Tensor:
    x, weight, bias, stride, padding, dilation, transposed, output_padding, groups = node.args
    dtype = summing(node.results[0].dtype)
    value, w = rw.tensor(x, dtype), rw.tensor(weight, dtype)
    spatial, count = w.rank - 2, dims.int_of(groups)
    if value.rank == spatial + 1:
        value = value.unsqueeze(0)
    steps, pads, gaps = (ints_of(a, spatial) for a in (stride, padding, dilation))
    if transposed:
        result = transposed_conv(value, w, steps, pads, gaps, ints_of(output_padding, spatial), count)
    else:
        result = conv(value, w, steps, pads, gaps, count)
    if bias is not None:
        result = result + rw.tensor(bias, dtype).align(1, result.rank)
    return result.view(node.results[0].shape)


def conv(
    x: Tensor, w: Tensor, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int
) -> Tensor:
    """The plain convolution, which torch-mlir lowers; an empty one is zeros."""
    spatial = [
        dims.add(dims.floordiv(dims.add(size, 2 * p - d * (dims.static(k) - 1) - 1), s), 1)
        for size, k, s, p, d in zip(x.shape[2:], w.shape[2:], stride, padding, dilation, strict=True)
    ]
    shape = (x.shape[0], w.shape[0], *spatial)
    if 0 in x.shape or 0 in shape:
        return x.rewriter.zeros(shape, x.dtype)
    if groups > 1 and len(stride) == 3:
        return _conv_by_group(x, w, stride, padding, dilation, groups)
    nothing = (0,) * len(stride)
    args: list[Arg] = [x.ref, w.ref, None, tuple(stride), tuple(padding), tuple(dilation), False, nothing, groups]
    return x.rewriter.keep(Node("aten.convolution.default", tuple(args), (spec_of(shape, x.dtype),)))[0]


def _conv_by_group(
    x: Tensor, w: Tensor, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int
) -> Tensor:
    """linalg has no grouped convolution in 3-d: one convolution for each group."""
    inner, outer = dims.static(w.shape[1]), dims.static(w.shape[0]) // groups
    parts = [
        conv(
            x.slice(1, i * inner, (i + 1) * inner), w.slice(0, i * outer, (i + 1) * outer), stride, padding, dilation, 1
        )
        for i in range(groups)
    ]
    return x.rewriter.joined(parts, 1)


def transposed_conv(
    x: Tensor,
    w: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    """A plain convolution of x, spread out by the stride, with the flipped weight of swapped channels."""
    if max(stride) > 1 and max(dilation) == 1:
        return _by_phases(x, w, stride, padding, output_padding, groups)
    spread = spread_out(x, stride)
    amounts: list[int] = []
    for k, p, d, extra in reversed(list(zip(w.shape[2:], padding, dilation, output_padding, strict=True))):
        reach = d * (dims.static(k) - 1) - p
        amounts += [reach, reach + extra]
    if any(amounts):
        spread = spread.pad(amounts, 0.0)
    rest = len(stride)
    return conv(spread, _swapped(w, groups).flip(list(range(2, 2 + rest))), [1] * rest, [0] * rest, dilation, groups)


def _by_phases(
    x: Tensor,
    w: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    """A transposed convolution that multiplies no zeros that the stride puts between elements: outputs of one phase,
    the number of one modulo the stride, are a plain convolution with every stride-th tap. All phases are one
    convolution with as many times the channels; then they are put between each other."""
    rank = len(stride)
    taps = [dims.static(k) for k in w.shape[2:]]
    phases = [min(s, k) for s, k in zip(stride, taps, strict=True)]
    reach = [-(-k // s) - 1 for s, k in zip(stride, taps, strict=True)]
    first = [p // s for p, s in zip(padding, stride, strict=True)]
    # Outputs, counted from where the padding is cut, that lie beyond the last input, in strides.
    last = [(k + e - p - 1) // s for k, e, p, s in zip(taps, output_padding, padding, stride, strict=True)]
    amounts = [a for f, r, e in reversed(list(zip(first, reach, last, strict=True))) for a in (r - f, e)]
    padded = x.pad(amounts, 0.0) if any(amounts) else x
    kernel = _phase_weight(_swapped(w, groups), phases, reach)
    result = conv(padded, kernel, [1] * rank, [0] * rank, [1] * rank, groups)
    places = result.shape[2:]
    result = result.view((x.shape[0], dims.static(result.shape[1]) // math.prod(phases), *phases, *places))
    missing = [a for p, s in reversed(list(zip(phases, stride, strict=True))) for a in (0, s - p)]
    if any(missing):
        result = result.pad([0] * (2 * rank) + missing, 0.0)
    between = [d for i in range(rank) for d in (2 + rank + i, 2 + i)]
    result = result.permute([0, 1, *between])
    result = result.view((*result.shape[:2], *(dims.mul(n, s) for n, s in zip(places, stride, strict=True))))
    for i in range(rank):
        size = dims.add(dims.mul(dims.sub(x.shape[2 + i], 1), stride[i]), taps[i] + output_padding[i] - 2 * padding[i])
        start = padding[i] - first[i] * stride[i]
        result = result.slice(2 + i, start, dims.add(start, size))
    return result


def _phase_weight(w: Tensor, phases: Sequence[int], reach: Sequence[int]) -> Tensor:
    """A weight [out, in, taps…] as [out · phases, in, taps of a phase from the last to the first…]."""
    rank = len(phases)
    whole = [p * (r + 1) for p, r in zip(phases, reach, strict=True)]
    amounts = [a for n, k in reversed(list(zip(whole, w.shape[2:], strict=True))) for a in (0, n - dims.static(k))]
    if any(amounts):
        w = w.pad(amounts, 0.0)
    parted = [n for p, r in zip(phases, reach, strict=True) for n in (r + 1, p)]
    w = w.view((*w.shape[:2], *parted))
    taps, ways = ([2 + 2 * i + j for i in range(rank)] for j in (0, 1))
    w = w.permute([0, *ways, 1, *taps]).flip([2 + rank + i for i in range(rank)])
    return w.view((dims.mul(w.shape[0], math.prod(phases)), w.shape[1 + rank], *(r + 1 for r in reach)))


def spread_out(x: Tensor, stride: Sequence[int]) -> Tensor:
    """stride − 1 zeros between the elements of each trailing dim."""
    for i, s in enumerate(stride):
        if s == 1:
            continue
        dim = x.rank - len(stride) + i
        size = x.shape[dim]
        wide = x.unsqueeze(dim + 1).pad([0, 0] * (x.rank - dim - 1) + [0, s - 1], 0.0)
        wide = wide.view((*x.shape[:dim], dims.mul(size, s), *x.shape[dim + 1 :]))
        x = wide.slice(dim, 0, dims.sub(dims.mul(size, s), s - 1))
    return x


def _swapped(w: Tensor, groups: int) -> Tensor:
    """A weight's outer and inner channels exchanged within each group."""
    outer, inner = dims.static(w.shape[0]), dims.static(w.shape[1])
    if groups == 1:
        return w.transpose(0, 1)
    grouped = w.view((groups, outer // groups, inner, *w.shape[2:])).transpose(1, 2)
    return grouped.view((groups * inner, outer // groups, *w.shape[2:]))


@decomposition("aten.convolution_backward.default", "aten.convolution_backward_overrideable.default")
def convolution_backward(rw: Rewriter, node: Node) -> list[Tensor]:
    grad, x, weight, stride, padding, dilation, transposed, _, groups, mask = _backward_args(node)
    dtype = widened(rw.tensor(x).dtype)
    g, value, w = (rw.tensor(v, dtype) for v in (grad, x, weight))
    spatial, count = w.rank - 2, dims.int_of(groups)
    steps, pads, gaps = (ints_of(a, spatial) for a in (stride, padding, dilation))
    assert isinstance(mask, tuple)
    grads: list[Tensor] = []
    if mask[0] and transposed:
        # Output padding beyond the stride makes windows that no element of x started.
        grads.append(_cut(conv(g, w, steps, pads, gaps, count), value.shape))
    elif mask[0]:
        extra = _uncovered(value.shape[2:], g.shape[2:], w.shape[2:], steps, pads, gaps)
        grads.append(transposed_conv(g, w, steps, pads, gaps, extra, count))
    if mask[1]:
        inputs, outputs = (g, value) if transposed else (value, g)
        grads.append(weight_gradient(inputs, outputs, w.shape, steps, pads, gaps, count))
    if mask[2]:
        grads.append(g.sum([0, *range(2, g.rank)]))
    if len(node.results) == len(grads):
        return grads
    found = iter(grads)
    return [next(found) if m else rw.zeros(s.shape, s.dtype) for m, s in zip(mask, node.results, strict=True)]


def _backward_args(node: Node) -> tuple[Arg, ...]:
    """Without the bias sizes, which the overrideable form lacks."""
    return node.args if "overrideable" in node.op else (*node.args[:3], *node.args[4:])


def _uncovered(
    x: dims.Shape,
    y: dims.Shape,
    kernel: dims.Shape,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> list[int]:
    """How far x reaches beyond what the strided windows cover."""
    return [
        dims.static(a) - ((dims.static(b) - 1) * s - 2 * p + d * (dims.static(k) - 1) + 1)
        for a, b, k, s, p, d in zip(x, y, kernel, stride, padding, dilation, strict=True)
    ]


def weight_gradient(
    x: Tensor,
    g: Tensor,
    shape: dims.Shape,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Tensor:
    """A convolution of x with the gradient as its kernel: batch and channels change places, stride and dilation too.
    What no window reached at the end of x is cut, or it would start windows of its own."""
    batch, inner = x.shape[0], dims.static(x.shape[1]) // groups
    spatial = list(range(3, 1 + x.rank))
    images = x.view((batch, groups, inner, *x.shape[2:])).permute([2, 1, 0, *spatial])
    images = images.view((inner, dims.mul(groups, batch), *x.shape[2:]))
    kernel = g.transpose(0, 1)
    if all(isinstance(d, int) for d in (*x.shape[2:], *g.shape[2:])):
        extra = _uncovered(x.shape[2:], g.shape[2:], shape[2:], stride, padding, dilation)
        if any(e > 0 for e in extra):
            amounts = [a for p, e in reversed(list(zip(padding, extra, strict=True))) for a in (p, p - max(e, 0))]
            images, padding = images.pad(amounts, 0.0), [0] * len(padding)
    return _cut(conv(images, kernel, dilation, padding, stride, groups).transpose(0, 1), shape)


def _cut(x: Tensor, shape: dims.Shape) -> Tensor:
    """The first elements of every spatial dim, as many as the shape has."""
    for dim in range(2, x.rank):
        x = x.slice(dim, 0, shape[dim])
    return x
