"""Views, copies of views, padding, joining and splitting: nothing is computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Node
from mlirdev.plan import PlanDim

from .. import dims
from ..dims import int_of, ints_of, shape_of, size_of, wrap
from ..registry import decomposition
from ..tensor import Number, Tensor
from .operands import number

if TYPE_CHECKING:
    from ..rewriter import Rewriter


def _dim(node: Node, position: int, rank: int) -> int:
    return wrap(int_of(node.args[position]), rank)


@decomposition(
    *(f"aten.{n}.default" for n in ("view", "_unsafe_view", "reshape", "view_copy", "_reshape_copy", "_reshape_alias")),
    *(f"aten.squeeze.{o}" for o in ("default", "dim", "dims")),
    *(f"aten.squeeze_copy.{o}" for o in ("default", "dim", "dims")),
    "aten.unsqueeze.default",
    "aten.unsqueeze_copy.default",
    "aten.flatten.using_ints",
    "aten.unflatten.int",
)
def view(rw: Rewriter, node: Node) -> Tensor:
    """The same elements in the result's shape."""
    return rw.tensor(node.args[0]).view(node.results[0].shape)


@decomposition("aten.expand.default", "aten.expand_copy.default", "aten.broadcast_to.default", "aten.expand_as.default")
def expand(rw: Rewriter, node: Node) -> Tensor:
    return rw.tensor(node.args[0]).expand(node.results[0].shape)


@decomposition("aten.permute.default", "aten.permute_copy.default")
def permute(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0])
    return x.permute([wrap(d, x.rank) for d in ints_of(node.args[1])] if x.rank else [])


@decomposition("aten.transpose.int", "aten.transpose_copy.int")
def transpose(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0])
    return x.transpose(_dim(node, 1, x.rank), _dim(node, 2, x.rank)) if x.rank else x


@decomposition("aten.t.default", "aten.t_copy.default", "aten.numpy_T.default")
def t(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0])
    return x.transpose(0, 1) if x.rank == 2 else x


@decomposition("aten.select.int", "aten.select_copy.int")
def select(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0])
    dim = _dim(node, 1, x.rank)
    start = _from_front(size_of(node.args[2]), x.shape[dim])
    return x.slice(dim, start, dims.add(start, 1)).view(node.results[0].shape)


def _from_front(place: PlanDim, size: PlanDim) -> PlanDim:
    return dims.add(place, size) if isinstance(place, int) and place < 0 else place


def bounds(start: Arg, end: Arg, size: PlanDim) -> tuple[PlanDim, PlanDim]:
    """A slice's bounds, cut to the tensor as Python cuts them."""
    first = _cut(0 if start is None else size_of(start), size)
    last = _cut(size if end is None else size_of(end), size)
    if isinstance(first, int) and isinstance(last, int):
        last = max(first, last)
    return first, last


def _cut(place: PlanDim, size: PlanDim) -> PlanDim:
    place = _from_front(place, size)
    if isinstance(place, int) and place >= 1 << 62:
        return size
    if isinstance(place, int) and isinstance(size, int):
        return min(max(place, 0), size)
    return place


@decomposition("aten.slice.Tensor", "aten.slice_copy.Tensor")
def slice_(rw: Rewriter, node: Node) -> Tensor:
    x, step = rw.tensor(node.args[0]), int_of(node.args[4])
    dim = _dim(node, 1, x.rank)
    first, last = bounds(node.args[2], node.args[3], x.shape[dim])
    return x.slice(dim, first, last, step, node.results[0].shape[dim])


@decomposition("aten.narrow_copy.default", "aten.narrow.default")
def narrow(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0])
    dim = _dim(node, 1, x.rank)
    start = _from_front(size_of(node.args[2]), x.shape[dim])
    return x.slice(dim, start, dims.add(start, size_of(node.args[3])))


@decomposition("aten.cat.default", "aten.concat.default", "aten.concatenate.default")
def cat(rw: Rewriter, node: Node) -> Tensor:
    """Empty 1-d tensors are left out, as torch does for old programs' sake."""
    spec = node.results[0]
    refs = node.args[0]
    assert isinstance(refs, tuple)
    tensors = [rw.tensor(r, spec.dtype) for r in refs]
    dim = _dim(node, 1, len(spec.shape))
    tensors = [v for v in tensors if not (v.shape == (0,) and len(spec.shape) != 1) and v.shape[dim] != 0]
    if not tensors:
        return rw.zeros(spec.shape, spec.dtype)
    return tensors[0] if len(tensors) == 1 else rw.joined(tensors, dim)


@decomposition("aten.stack.default")
def stack(rw: Rewriter, node: Node) -> Tensor:
    refs, spec = node.args[0], node.results[0]
    assert isinstance(refs, tuple)
    dim = _dim(node, 1, len(spec.shape))
    tensors = [rw.tensor(r, spec.dtype).unsqueeze(dim) for r in refs]
    return tensors[0] if len(tensors) == 1 else rw.joined(tensors, dim)


@decomposition(
    "aten.split.Tensor",
    "aten.split_copy.Tensor",
    "aten.split_with_sizes.default",
    "aten.split_with_sizes_copy.default",
    "aten.chunk.default",
    "aten.unsafe_split.Tensor",
    "aten.unsafe_chunk.default",
    "aten.tensor_split.sections",
)
def split(rw: Rewriter, node: Node) -> list[Tensor]:
    """The results' own sizes say where the cuts are."""
    x = rw.tensor(node.args[0])
    dim = _dim(node, 2, x.rank)
    parts: list[Tensor] = []
    start: PlanDim = 0
    for spec in node.results:
        end = dims.add(start, spec.shape[dim])
        parts.append(x.slice(dim, start, end))
        start = end
    return parts


@decomposition("aten.unbind.int", "aten.unbind_copy.int")
def unbind(rw: Rewriter, node: Node) -> list[Tensor]:
    x = rw.tensor(node.args[0])
    dim = _dim(node, 1, x.rank)
    return [x.slice(dim, i, i + 1).view(spec.shape) for i, spec in enumerate(node.results)]


@decomposition("aten.repeat.default", "aten.tile.default")
def repeat(rw: Rewriter, node: Node) -> Tensor:
    """Each dim d becomes (times, d), then both are one."""
    x, times = rw.tensor(node.args[0]), shape_of(node.args[1])
    times = (1,) * (x.rank - len(times)) + times
    shape = (1,) * (len(times) - x.rank) + x.shape
    apart = [v for d in shape for v in (1, d)]
    spread = [v for n, d in zip(times, shape, strict=True) for v in (n, d)]
    return x.view(apart).expand(spread).view(node.results[0].shape)


@decomposition("aten.repeat_interleave.self_int")
def repeat_interleave(rw: Rewriter, node: Node) -> Tensor:
    x, times, dim = rw.tensor(node.args[0]), size_of(node.args[1]), node.args[2]
    if dim is None:
        x, axis = x.view((x.numel,)), 0
    else:
        axis = wrap(int_of(dim), x.rank)
    wide = x.unsqueeze(axis + 1)
    spread = (*wide.shape[: axis + 1], times, *wide.shape[axis + 2 :])
    return wide.expand(spread).view(node.results[0].shape)


@decomposition("aten.flip.default")
def flip(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0])
    axes = [wrap(d, x.rank) for d in ints_of(node.args[1])] if node.args[1] else []
    return x.flip(axes) if axes and x.rank else x


@decomposition("aten.roll.default")
def roll(rw: Rewriter, node: Node) -> Tensor:
    x, shifts = rw.tensor(node.args[0]), ints_of(node.args[1])
    if not node.args[2]:
        flat = x.view((x.numel,))
        return _rolled(rw, flat, shifts[0], 0).view(x.shape)
    result = x
    for shift, dim in zip(shifts, ints_of(node.args[2]), strict=True):
        result = _rolled(rw, result, shift, wrap(dim, x.rank))
    return result


def _rolled(rw: Rewriter, x: Tensor, shift: int, dim: int) -> Tensor:
    size = dims.static(x.shape[dim])
    if size == 0 or shift % size == 0:
        return x
    cut = size - shift % size
    return rw.joined([x.slice(dim, cut, size), x.slice(dim, 0, cut)], dim)


@decomposition("aten.tril.default", "aten.triu.default")
def triangle(rw: Rewriter, node: Node) -> Tensor:
    x, diagonal = rw.tensor(node.args[0]), int_of(node.args[1])
    rows, columns = rw.arange(x.shape[-2]).unsqueeze(1), rw.arange(x.shape[-1]).unsqueeze(0)
    offset = columns - rows
    kept = offset <= diagonal if ".tril." in node.op else offset >= diagonal
    return rw.where(kept, x, rw.zeros((), x.dtype))


# --- padding -----------------------------------------------------------------------------------------


@decomposition("aten.constant_pad_nd.default")
def constant_pad(rw: Rewriter, node: Node) -> Tensor:
    """Negative amounts cut."""
    x = rw.tensor(node.args[0])
    return padded(rw, x, ints_of(node.args[1]) if node.args[1] else (), number(node.args[2]))


def padded(rw: Rewriter, x: Tensor, amounts: Sequence[int], value: Number) -> Tensor:
    for i in range(len(amounts) // 2):
        before, after = amounts[2 * i], amounts[2 * i + 1]
        dim = x.rank - 1 - i
        if before < 0 or after < 0:
            x = x.slice(dim, max(-before, 0), dims.add(x.shape[dim], min(after, 0)))
    positive = [max(a, 0) for a in amounts]
    if not any(positive):
        return x
    shape = list(x.shape)
    for i in range(len(positive) // 2):
        shape[x.rank - 1 - i] = dims.add(shape[x.rank - 1 - i], positive[2 * i] + positive[2 * i + 1])
    return rw.padded(x, positive, value, tuple(shape))


@decomposition(*(f"aten.{n}_pad{d}d.default" for n in ("reflection", "replication") for d in (1, 2, 3)))
def mirrored_pad(rw: Rewriter, node: Node) -> Tensor:
    """One dim after the other: the source of each place is a formula of its index."""
    x, amounts = rw.tensor(node.args[0]), ints_of(node.args[1])
    for i in range(len(amounts) // 2):
        dim = x.rank - 1 - i
        source = _pad_source(rw, x.shape[dim], amounts[2 * i], amounts[2 * i + 1], "reflection" in node.op)
        x = rw.take(x, source, dim)
    return x


@decomposition(*(f"aten.{n}_pad{d}d_backward.default" for n in ("reflection", "replication") for d in (1, 2, 3)))
def mirrored_pad_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, x, amounts = rw.tensor(node.args[0]), rw.tensor(node.args[1]), ints_of(node.args[2])
    for i in range(len(amounts) // 2):
        dim = x.rank - 1 - i
        source = _pad_source(rw, x.shape[dim], amounts[2 * i], amounts[2 * i + 1], "reflection" in node.op)
        zeros = rw.zeros((*grad.shape[:dim], x.shape[dim], *grad.shape[dim + 1 :]), grad.dtype)
        grad = rw.put(zeros, [*[None] * dim, source], grad, True)
    return grad


def _pad_source(rw: Rewriter, size: PlanDim, before: int, after: int, reflects: bool) -> Tensor:
    length = dims.static(size)
    place = rw.iota(-before, 1, length + before + after, DType.i64)
    if not reflects:
        return place.maximum(0).minimum(length - 1)
    place = place.abs()
    return place.minimum((length - 1) * 2 - place)


# --- scattering views --------------------------------------------------------------------------------


@decomposition("aten.slice_backward.default")
def slice_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, _, dim, start, end, step = node.args
    spec = node.results[0]
    return _written(
        rw, rw.zeros(spec.shape, spec.dtype), rw.tensor(grad), wrap(int_of(dim), len(spec.shape)), start, end, step
    )


@decomposition("aten.slice_scatter.default")
def slice_scatter(rw: Rewriter, node: Node) -> Tensor:
    x, source, dim, start, end, step = node.args
    value = rw.tensor(x)
    return _written(rw, value, rw.tensor(source, value.dtype), wrap(int_of(dim), value.rank), start, end, step)


@decomposition("aten.select_backward.default")
def select_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, _, dim, index = node.args
    spec = node.results[0]
    axis = wrap(int_of(dim), len(spec.shape))
    return _written_at(rw, rw.zeros(spec.shape, spec.dtype), rw.tensor(grad), axis, index)


@decomposition("aten.select_scatter.default")
def select_scatter(rw: Rewriter, node: Node) -> Tensor:
    x, source, dim, index = node.args
    value = rw.tensor(x)
    return _written_at(rw, value, rw.tensor(source, value.dtype), wrap(int_of(dim), value.rank), index)


def _written_at(rw: Rewriter, x: Tensor, source: Tensor, axis: int, index: Arg) -> Tensor:
    start = _from_front(size_of(index), x.shape[axis])
    return rw.written(x, source.unsqueeze(axis), axis, start, 1)


def _written(rw: Rewriter, x: Tensor, source: Tensor, dim: int, start: Arg, end: Arg, step: Arg) -> Tensor:
    first, _ = bounds(start, end, x.shape[dim])
    return source if source.shape == x.shape else rw.written(x, source, dim, first, int_of(step))


@decomposition("aten.diagonal.default", "aten.diagonal_copy.default")
def diagonal(rw: Rewriter, node: Node) -> Tensor:
    x, offset = rw.tensor(node.args[0]), int_of(node.args[1])
    a, b = _dim(node, 2, x.rank), _dim(node, 3, x.rank)
    rest = [d for d in range(x.rank) if d not in (a, b)]
    i = rw.arange(node.results[0].shape[-1])
    moved = x.permute([a, b, *rest])
    rows, columns = (i, i + offset) if offset >= 0 else (i + -offset, i)
    shape = (*i.shape, *moved.shape[2:])
    found = rw.indexed(moved, [rows, columns], shape)
    return found.permute([*range(1, found.rank), 0])


@decomposition("aten.diagonal_backward.default", "aten.diagonal_scatter.default")
def diagonal_backward(rw: Rewriter, node: Node) -> Tensor:
    spec = node.results[0]
    if "backward" in node.op:
        base, source = rw.zeros(spec.shape, spec.dtype), rw.tensor(node.args[0])
    else:
        base, source = rw.tensor(node.args[0]), rw.tensor(node.args[1], spec.dtype)
    offset, rank = int_of(node.args[2]), len(spec.shape)
    a, b = _dim(node, 3, rank), _dim(node, 4, rank)
    rest = [d for d in range(rank) if d not in (a, b)]
    order = [a, b, *rest]
    i = rw.arange(source.shape[-1])
    rows, columns = (i, i + offset) if offset >= 0 else (i + -offset, i)
    values = source.permute([source.rank - 1, *range(source.rank - 1)])
    written = rw.put(base.permute(order), [rows, columns], values, False)
    return written.permute([order.index(d) for d in range(rank)])


@decomposition("aten.pixel_shuffle.default")
def pixel_shuffle(rw: Rewriter, node: Node) -> Tensor:
    x, factor = rw.tensor(node.args[0]), int_of(node.args[1])
    *batch, channels, height, width = x.shape
    n = len(batch)
    apart = x.view((*batch, dims.static(channels) // factor**2, factor, factor, height, width))
    order = [*range(n), n, n + 3, n + 1, n + 4, n + 2]
    return apart.permute(order).view(node.results[0].shape)


@decomposition("aten.pixel_unshuffle.default")
def pixel_unshuffle(rw: Rewriter, node: Node) -> Tensor:
    x, factor = rw.tensor(node.args[0]), int_of(node.args[1])
    *batch, channels, height, width = x.shape
    n = len(batch)
    apart = x.view((*batch, channels, dims.floordiv(height, factor), factor, dims.floordiv(width, factor), factor))
    order = [*range(n), n, n + 2, n + 4, n + 1, n + 3]
    return apart.permute(order).view(node.results[0].shape)


@decomposition("aten.channel_shuffle.default")
def channel_shuffle(rw: Rewriter, node: Node) -> Tensor:
    x, groups = rw.tensor(node.args[0]), int_of(node.args[1])
    apart = x.view((x.shape[0], groups, dims.floordiv(x.shape[1], groups), *x.shape[2:]))
    return apart.transpose(1, 2).view(x.shape)


@decomposition("aten.unfold.default", "aten.unfold_copy.default")
def unfold(rw: Rewriter, node: Node) -> Tensor:
    """Windows of `size` every `step` along a dim, as a last dim."""
    x = rw.tensor(node.args[0])
    if not x.rank:
        return x.view(node.results[0].shape)
    dim, size, step = _dim(node, 1, x.rank), int_of(node.args[2]), int_of(node.args[3])
    count = node.results[0].shape[dim]
    place = (rw.arange(count) * step).unsqueeze(1) + rw.arange(size).unsqueeze(0)
    taken = rw.take(x, place, dim)
    order = [d for d in range(taken.rank) if d != dim + 1]
    return taken.permute([*order, dim + 1])


@decomposition("aten.unfold_backward.default")
def unfold_backward(rw: Rewriter, node: Node) -> Tensor:
    spec, grad = node.results[0], rw.tensor(node.args[0])
    dim, size, step = _dim(node, 2, len(spec.shape)), int_of(node.args[3]), int_of(node.args[4])
    place = (rw.arange(grad.shape[dim]) * step).unsqueeze(1) + rw.arange(size).unsqueeze(0)
    order = list(range(grad.rank - 1))
    order.insert(dim + 1, grad.rank - 1)
    zeros = rw.zeros(spec.shape, spec.dtype)
    return rw.put(zeros, [*[None] * dim, place], grad.permute(order), True)
