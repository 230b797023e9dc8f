"""Reading and writing by index tensors. Every index is checked where it is used (own/index.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Node, Ref
from mlirdev.plan import PlanDim

from .. import dims
from ..dims import Shape, int_of, wrap
from ..promotion import widened
from ..registry import decomposition
from ..tensor import Number, Tensor, sizes, spec_of
from .operands import computing, number

if TYPE_CHECKING:
    from ..rewriter import Rewriter


@decomposition("aten.embedding.default")
def embedding(rw: Rewriter, node: Node) -> Tensor:
    return rw.take(rw.tensor(node.args[0]), rw.tensor(node.args[1]))


@decomposition("aten.embedding_dense_backward.default")
def embedding_dense_backward(rw: Rewriter, node: Node) -> Tensor:
    """Rows are added in the order of the indices, those of the padding index as zeros."""
    grad, indices, count, padding, by_frequency = node.args
    dtype = computing(node)
    index = rw.tensor(indices)
    flat = index.view((index.numel,))
    width = node.results[0].shape[1]
    rows = rw.tensor(grad, dtype).view((flat.shape[0], width))
    used = flat.compare("ne", int_of(padding))
    rows = rw.where(used.unsqueeze(1), rows, 0.0)
    if by_frequency:
        times = rw.put(rw.zeros((dims.size_of(count),), dtype), [flat], used.to(dtype), True)
        rows = rows / rw.take(times, flat).maximum(1.0).unsqueeze(1)
    return rw.put(rw.zeros(node.results[0].shape, dtype), [flat], rows, True)


@decomposition("aten.index_select.default")
def index_select(rw: Rewriter, node: Node) -> Tensor:
    x, index = rw.tensor(node.args[0]), rw.tensor(node.args[2])
    if not x.rank:
        return x.view(()).expand(node.results[0].shape)
    index = index.view((index.numel,))
    return rw.take(x, index, wrap(int_of(node.args[1]), x.rank))


@decomposition("aten.gather.default")
def gather(rw: Rewriter, node: Node) -> Tensor:
    x, index = rw.tensor(node.args[0]), rw.tensor(node.args[2])
    if not x.rank or not index.rank:
        flat = x.view((x.numel,)) if not x.rank else x
        return rw.take(flat, index.view((index.numel,))).view(node.results[0].shape)
    args: list[Arg] = [x.ref, wrap(int_of(node.args[1]), x.rank), index.ref]
    return rw.emit("own.take_along", args, [node.results[0]])[0]


@decomposition("aten.take.default")
def take(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0])
    return rw.take(x.view((x.numel,)), rw.tensor(node.args[1]), wraps=True)


@decomposition("aten.index.Tensor", "aten._unsafe_index.Tensor")
def index(rw: Rewriter, node: Node) -> Tensor:
    x, indices = rw.tensor(node.args[0]), node.args[1]
    return rw.indexed(x, _tensors(rw, indices), node.results[0].shape, wraps=True)


def _tensors(rw: Rewriter, indices: Arg) -> list[Tensor | None]:
    assert isinstance(indices, tuple)
    return [None if i is None else rw.tensor(i) for i in indices]


@decomposition("aten.index_put.default", "aten._unsafe_index_put.default", "aten._index_put_impl.default")
def index_put(rw: Rewriter, node: Node) -> Tensor:
    x, indices, values, accumulate = node.args[:4]
    dtype = widened(node.results[0].dtype) if accumulate else node.results[0].dtype
    base, source = rw.tensor(x, dtype), rw.tensor(values, dtype)
    tensors = _tensors(rw, indices)
    at, first = next((i, t) for i, t in enumerate(tensors) if t is not None)
    if first.dtype in (DType.i1, DType.u8):
        return _put_by_mask(rw, base, at, first.to(DType.i1), source, bool(accumulate))
    return rw.put(base, tensors, source.expand(_indexed_shape(base, tensors)), bool(accumulate))


def _put_by_mask(rw: Rewriter, x: Tensor, at: int, mask: Tensor, values: Tensor, accumulate: bool) -> Tensor:
    """One mask over the dims from `at` on. A value that is the same for all selected slices is put without counting."""
    before, after = x.shape[:at], x.shape[at + mask.rank :]
    values = values.view(()) if values.numel == 1 else values
    lead = values.rank - len(after)
    count = values.shape[lead - 1] if lead > 0 else 1
    if count != 1:
        wanted = values.expand((*before, count, *after))
        return masked_put(rw, x, at, mask, wanted, count, accumulate, True)
    where = mask.view((*mask.shape, *[1] * len(after)))
    shape = values.shape if lead <= 0 else (*values.shape[: lead - 1], *[1] * mask.rank, *values.shape[lead:])
    value = values.view(shape)
    return rw.where(where, x + value if accumulate else value, x)


def masked_put(
    rw: Rewriter, x: Tensor, at: int, mask: Tensor, values: Tensor, count: PlanDim, accumulate: bool, exact: bool
) -> Tensor:
    """x with the next slice of `values` (count of them in dim `at`) at each true place of the mask."""
    before, after = (dims.product(d) for d in (x.shape[:at], x.shape[at + mask.rank :]))
    if 0 in x.shape:
        return x
    rows = count
    if 0 in values.shape:  # no place to read from; that nothing is selected is checked all the same
        values, rows = rw.zeros((before, 1, after), x.dtype), 1
    args: list[Arg] = [
        x.view((before, mask.numel, after)).ref,
        mask.view((mask.numel,)).ref,
        values.view((before, rows, after)).ref,
        *sizes([count]),
        accumulate,
        exact,
    ]
    spec = spec_of((before, mask.numel, after), x.dtype)
    return rw.emit("own.masked_put", args, [spec])[0].view(x.shape)


def _indexed_shape(x: Tensor, tensors: Sequence[Tensor | None]) -> Shape:
    """The shape of x[tensors], as numpy has it."""
    axes = [d for d, t in enumerate(tensors) if t is not None]
    common: Shape = ()
    for t in tensors:
        common = common if t is None else dims.broadcast(common, t.shape)
    rest = [d for d in range(x.rank) if d not in axes]
    adjacent = axes == list(range(axes[0], axes[-1] + 1))
    before = [d for d in rest if adjacent and d < axes[0]]
    after = [d for d in rest if d not in before]
    return (*(x.shape[d] for d in before), *common, *(x.shape[d] for d in after))


@decomposition("aten._unsafe_masked_index.default")
def unsafe_masked_index(rw: Rewriter, node: Node) -> Tensor:
    """x[indices] where the mask is true, else the number; indices where it isn't may be anything."""
    x, mask, shape = rw.tensor(node.args[0]), rw.tensor(node.args[1], DType.i1), node.results[0].shape
    fill = rw.tensor(node.args[3], x.dtype)
    if 0 in x.shape:
        return fill.expand(shape)
    found = rw.indexed(x, _clamped(rw, x, node.args[2]), shape, wraps=True)
    return rw.where(mask, found, fill)


@decomposition("aten._unsafe_masked_index_put_accumulate.default")
def unsafe_masked_index_put(rw: Rewriter, node: Node) -> Tensor:
    """Values are added where the mask is true."""
    dtype = widened(node.results[0].dtype)
    x, mask, values = rw.tensor(node.args[0], dtype), rw.tensor(node.args[1], DType.i1), rw.tensor(node.args[3], dtype)
    if 0 in x.shape:
        return x
    indices = _clamped(rw, x, node.args[2])
    kept = rw.where(mask, values, rw.zeros((), dtype))
    return rw.put(x, indices, kept.expand(_indexed_shape(x, indices)), True)


def _clamped(rw: Rewriter, x: Tensor, indices: Arg) -> list[Tensor | None]:
    """Indices within x."""
    return [
        None if i is None else i.to(DType.i64).maximum(-dims.static(x.shape[d])).minimum(dims.static(x.shape[d]) - 1)
        for d, i in enumerate(_tensors(rw, indices))
    ]


# --- scatter -----------------------------------------------------------------------------------------


def scattered(rw: Rewriter, x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str) -> Tensor:
    """x with source's elements, as many as index has, put or reduced along dim in order."""
    if not x.rank:
        vectors = [v.view((1,)) for v in (x, index, source)]
        return scattered(rw, vectors[0], 0, vectors[1], vectors[2], reduce).view(())
    if not index.rank:
        index, source = index.view((1,)), source.view((1,))
    args: list[Arg] = [x.ref, wrap(dim, x.rank), index.ref, source.ref, reduce]
    return rw.emit("own.scatter", args, [x.spec])[0]


def _scatter(rw: Rewriter, node: Node, reduce: str) -> Tensor:
    x, dim, index, source = node.args[:4]
    dtype = widened(node.results[0].dtype) if reduce else node.results[0].dtype
    idx = rw.tensor(index)
    values = rw.tensor(source, dtype)
    values = values if isinstance(source, Ref) else values.expand(idx.shape)
    return scattered(rw, rw.tensor(x, dtype), int_of(dim), idx, values, reduce)


@decomposition("aten.scatter.src", "aten.scatter.value")
def scatter(rw: Rewriter, node: Node) -> Tensor:
    return _scatter(rw, node, "")


@decomposition("aten.scatter.reduce", "aten.scatter.value_reduce")
def scatter_with(rw: Rewriter, node: Node) -> Tensor:
    return _scatter(rw, node, {"add": "sum", "multiply": "prod"}[str(node.args[4])])


@decomposition("aten.scatter_add.default")
def scatter_add(rw: Rewriter, node: Node) -> Tensor:
    return _scatter(rw, node, "sum")


@decomposition("aten.scatter_reduce.two")
def scatter_reduce(rw: Rewriter, node: Node) -> Tensor:
    """Without the elements that were there, those that are written to start from the reduction's identity."""
    x, dim, index, source, reduce, include = node.args
    dtype = widened(node.results[0].dtype)
    base, idx, values = rw.tensor(x, dtype), rw.tensor(index), rw.tensor(source, dtype)
    kind = "sum" if reduce == "mean" else str(reduce)
    axis = int_of(dim)
    start = base
    if not include:
        neutral = rw.full((), _neutral(kind, dtype), dtype).expand(idx.shape)
        start = scattered(rw, base, axis, idx, neutral, "")
    result = scattered(rw, start, axis, idx, values, kind)
    if reduce != "mean":
        return result
    ones = rw.full((), 1, dtype).expand(idx.shape)
    count = rw.full(base.shape, 1 if include else 0, dtype)
    count = scattered(rw, count, axis, idx, ones, "sum").maximum(1)
    return result / count if dtype.is_float else rw.own("own.div_floor", result, count)


def _neutral(kind: str, dtype: DType) -> int | float:
    if kind in ("sum", "prod"):
        return 0 if kind == "sum" else 1
    if dtype.is_float:
        return -float("inf") if kind == "amax" else float("inf")
    bits = dtype.itemsize * 8
    low, high = (0, (1 << bits) - 1) if dtype is DType.u8 else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    return low if kind == "amax" else high


@decomposition("aten.index_add.default")
def index_add(rw: Rewriter, node: Node) -> Tensor:
    x, dim, index, source, alpha = node.args
    dtype = widened(node.results[0].dtype)
    base, values = rw.tensor(x, dtype), rw.tensor(source, dtype)
    if alpha != 1:
        values = values * number(alpha)
    return _put_along(rw, base, int_of(dim), rw.tensor(index), values, True)


@decomposition("aten.index_reduce.default")
def index_reduce(rw: Rewriter, node: Node) -> Tensor:
    """scatter_reduce with the index the same along the other dims."""
    x, dim, index, source, reduce, include = node.args
    values = rw.tensor(source)
    axis = wrap(int_of(dim), values.rank)
    idx = rw.tensor(index)
    spread = idx.view((idx.numel,)).align(axis, values.rank).expand(values.shape) if values.rank else idx.view(())
    args = [x, axis, spread.ref, source, _REDUCE_NAMES[str(reduce)], include]
    return rw.emit("aten.scatter_reduce.two", args, node.results)[0]


_REDUCE_NAMES = {"prod": "prod", "mean": "mean", "amax": "amax", "amin": "amin"}


@decomposition("aten.put.default")
def put(rw: Rewriter, node: Node) -> Tensor:
    """Into the flat tensor."""
    x, index, source, accumulate = node.args
    dtype = widened(node.results[0].dtype) if accumulate else node.results[0].dtype
    base, idx, values = rw.tensor(x, dtype), rw.tensor(index), rw.tensor(source, dtype)
    flat = (idx.numel,)
    return rw.put(base.view((base.numel,)), [idx.view(flat)], values.view(flat), bool(accumulate)).view(base.shape)


@decomposition("aten.masked_scatter.default")
def masked_scatter(rw: Rewriter, node: Node) -> Tensor:
    """The k-th true place gets the k-th element of the source; too few of them are an index error."""
    shape = node.results[0].shape
    x, mask = rw.tensor(node.args[0]).expand(shape), rw.tensor(node.args[1], DType.i1).expand(shape)
    source = rw.tensor(node.args[2], x.dtype)
    return masked_put(rw, x, 0, mask, source.view((source.numel,)), source.numel, False, False)


@decomposition("aten.masked_scatter_backward.default")
def masked_scatter_backward(rw: Rewriter, node: Node) -> Tensor:
    """The gradients of the true places, in order, then zeros."""
    grad, mask = rw.tensor(node.args[0]), rw.tensor(node.args[1], DType.i1)
    shape, result = dims.broadcast(grad.shape, mask.shape), node.results[0]
    if 0 in shape or 0 in result.shape:
        return rw.zeros(result.shape, result.dtype)
    count = dims.product(result.shape)
    place = first_places(rw, mask.expand(shape), count, -1).view((count,))
    found = place.compare("ge", 0)
    grad = grad.expand(shape)
    taken = rw.take(grad.view((grad.numel,)), rw.where(found, place, 0))
    return rw.where(found, taken, rw.zeros((), taken.dtype)).view(result.shape)


def first_places(rw: Rewriter, mask: Tensor, count: PlanDim, fill: Number) -> Tensor:
    """The places of the first `count` true elements in the flattened mask, then `fill`."""
    return rw.emit("own.nonzero", [mask.view((mask.numel,)).ref, fill], [spec_of((count, 1), DType.i64)])[0]


@decomposition("aten.nonzero_static.default")
def nonzero_static(rw: Rewriter, node: Node) -> Tensor:
    x, result = rw.tensor(node.args[0], DType.i1), node.results[0]
    return rw.emit("own.nonzero", [x.ref, number(node.args[2])], [result])[0]


@decomposition("aten.index_copy.default")
def index_copy(rw: Rewriter, node: Node) -> Tensor:
    x, dim, index, source = node.args
    base = rw.tensor(x)
    return _put_along(rw, base, int_of(dim), rw.tensor(index), rw.tensor(source, base.dtype), False)


@decomposition("aten.index_fill.int_Scalar", "aten.index_fill.int_Tensor")
def index_fill(rw: Rewriter, node: Node) -> Tensor:
    x, dim, index, value = node.args
    base, idx = rw.tensor(x), rw.tensor(index)
    axis = wrap(int_of(dim), base.rank)
    shape = (*base.shape[:axis], idx.numel, *base.shape[axis + 1 :])
    return _put_along(rw, base, axis, idx, rw.tensor(value, base.dtype).expand(shape), False)


def _put_along(rw: Rewriter, x: Tensor, dim: int, index: Tensor, values: Tensor, accumulate: bool) -> Tensor:
    index = index.view((index.numel,))
    if not x.rank:
        return rw.put(x.view((1,)), [index], values.view(index.shape), accumulate).view(())
    return rw.put(x, [*[None] * wrap(dim, x.rank), index], values, accumulate)
