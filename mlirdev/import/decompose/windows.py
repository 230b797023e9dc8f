"""Sliding blocks laid out as columns, and back; pooling undone by its indices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlirdev.graph import Arg, Node
from mlirdev.plan import PlanDim

from .. import dims
from ..dims import ints_of
from ..registry import decomposition
from ..tensor import Tensor
from .operands import computing

if TYPE_CHECKING:
    from ..rewriter import Rewriter


class _Blocks:
    """Where the elements of the blocks lie, per spatial dim as a matrix (place in the kernel, block)."""

    def __init__(self, rw: Rewriter, spatial: tuple[int, int], args: tuple[Arg, ...]) -> None:
        self.kernel, dilation, self.padding, stride = (ints_of(a, 2) for a in args)
        self.count = [
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, k, d, p, s in zip(spatial, self.kernel, dilation, self.padding, stride, strict=True)
        ]
        self.places = [
            (rw.arange(k) * d).unsqueeze(1) + (rw.arange(c) * s).unsqueeze(0)
            for k, d, c, s in zip(self.kernel, dilation, self.count, stride, strict=True)
        ]


@decomposition("aten.im2col.default")
def im2col(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0])
    images = x if x.rank == 4 else x.unsqueeze(0)
    batch, channels, *spatial = images.shape
    blocks = _Blocks(rw, (dims.static(spatial[0]), dims.static(spatial[1])), node.args[1:])
    (top, left), zero = blocks.padding, 0.0 if x.dtype.is_float else 0
    taken = rw.take(rw.take(images.pad([left, left, top, top], zero), blocks.places[1], 3), blocks.places[0], 2)
    # (batch, channels, kernel rows, block rows, kernel columns, block columns)
    columns: tuple[PlanDim, ...] = (batch, dims.mul(channels, blocks.kernel[0] * blocks.kernel[1]))
    result = taken.permute([0, 1, 2, 4, 3, 5]).view((*columns, blocks.count[0] * blocks.count[1]))
    return result.view(node.results[0].shape)


@decomposition("aten.col2im.default")
def col2im(rw: Rewriter, node: Node) -> Tensor:
    """Blocks are added where they overlap."""
    x, (height, width) = rw.tensor(node.args[0], computing(node)), ints_of(node.args[1], 2)
    columns = x if x.rank == 3 else x.unsqueeze(0)
    blocks = _Blocks(rw, (height, width), node.args[2:])
    (rows, wide), (down, across), (top, left) = blocks.kernel, blocks.count, blocks.padding
    channels = dims.floordiv(columns.shape[1], rows * wide)
    apart = columns.view((columns.shape[0], channels, rows, wide, down, across)).permute([0, 1, 2, 4, 3, 5])
    tall = rw.zeros((*apart.shape[:2], height + 2 * top, wide, across), x.dtype)
    tall = rw.put(tall, [None, None, blocks.places[0]], apart, True)
    full = rw.zeros((*apart.shape[:2], height + 2 * top, width + 2 * left), x.dtype)
    full = rw.put(full, [None, None, None, blocks.places[1]], tall, True)
    return full.slice(2, top, top + height).slice(3, left, left + width).view(node.results[0].shape)


@decomposition("aten.max_unpool2d.default", "aten.max_unpool3d.default")
def max_unpool(rw: Rewriter, node: Node) -> Tensor:
    """Each value at its index in the flat plane, zeros elsewhere; of several at one place the last stays."""
    x, index, spec = rw.tensor(node.args[0]), rw.tensor(node.args[1]), node.results[0]
    count = 2 if "2d" in node.op else 3
    planes = dims.product(x.shape[:-count])
    flat = (planes, dims.product(x.shape[-count:]))
    zeros = rw.zeros((planes, dims.product(spec.shape[-count:])), x.dtype)
    args: list[Arg] = [zeros.ref, 1, index.view(flat).ref, x.view(flat).ref, ""]
    return rw.emit("own.scatter", args, [zeros.spec])[0].view(spec.shape)
