"""Order: sorting, order statistics, running extremes, search. All from one stable sort, NaN as the greatest.

Where equal elements compete the first stands, so the index of a median is the CPU's; those of kthvalue, topk and of
unstable sorts are the first too, where the CPU's depend on how its algorithm moves equals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Node
from mlirdev.plan import PlanDim

from .. import dims
from ..dims import int_of, wrap
from ..promotion import result_type
from ..registry import decomposition
from ..tensor import Number, Tensor, sizes, spec_of

if TYPE_CHECKING:
    from ..rewriter import Rewriter


# With so many, keeping the best in order costs less than sorting, even if each element is better than those before.
_FEW = 128


def _sorted(rw: Rewriter, x: Tensor, dim: int, descending: bool) -> tuple[Tensor, Tensor]:
    """(values, indices)."""
    if not x.rank:
        return x, rw.zeros((), DType.i64)
    axis = wrap(dim, x.rank)
    order = rw.emit("own.sort", [x.ref, axis, descending], [spec_of(x.shape, DType.i64)])[0]
    return rw.emit("own.take_along", [x.ref, axis, order.ref], [x.spec])[0], order


@decomposition("aten.sort.default", "aten.sort.stable")
def sort(rw: Rewriter, node: Node) -> list[Tensor]:
    args = node.args if node.op.endswith("default") else (node.args[0], *node.args[2:])
    return list(_sorted(rw, rw.tensor(args[0]), int_of(args[1]), bool(args[2])))


@decomposition("aten.argsort.default", "aten.argsort.stable")
def argsort(rw: Rewriter, node: Node) -> Tensor:
    args = node.args if node.op.endswith("default") else (node.args[0], *node.args[2:])
    return _sorted(rw, rw.tensor(args[0]), int_of(args[1]), bool(args[2]))[1]


@decomposition("aten.kthvalue.default")
def kthvalue(rw: Rewriter, node: Node) -> list[Tensor]:
    x, place, keep = rw.tensor(node.args[0]), int_of(node.args[1]), bool(node.args[3])
    if not x.rank:
        return [x, rw.zeros((), DType.i64)]
    axis = wrap(int_of(node.args[2]), x.rank)
    found = [v.slice(axis, place - 1, place) for v in _sorted(rw, x, axis, False)]
    return found if keep else [v.view(spec.shape) for v, spec in zip(found, node.results, strict=True)]


@decomposition("aten.topk.default")
def topk(rw: Rewriter, node: Node) -> list[Tensor]:
    """The first k of the sorted line; only a few of them are found without sorting all."""
    x, count, dim, largest = (
        rw.tensor(node.args[0]),
        dims.size_of(node.args[1]),
        int_of(node.args[2]),
        bool(node.args[3]),
    )
    if x.rank and isinstance(count, int) and 0 < count <= _FEW:
        return rw.emit("own.topk", [x.ref, wrap(dim, x.rank), count, largest], node.results)
    values, indices = _sorted(rw, x, dim, largest)
    if not x.rank:
        return [values.view(node.results[0].shape), indices.view(node.results[1].shape)]
    axis = wrap(dim, x.rank)
    return [values.slice(axis, 0, count), indices.slice(axis, 0, count)]


# --- order statistics --------------------------------------------------------------------------------


@decomposition("aten.median.dim", "aten.nanmedian.dim")
def median_dim(rw: Rewriter, node: Node) -> list[Tensor]:
    """The lower one of two. A NaN is the median if there is one, but of nanmedian where all are."""
    x, keep = rw.tensor(node.args[0]), bool(node.args[2])
    if not x.rank:
        return [x, rw.zeros((), DType.i64)]
    found = _median(rw, x, wrap(int_of(node.args[1]), x.rank), "nan" in node.op)
    return found if keep else [v.view(spec.shape) for v, spec in zip(found, node.results, strict=True)]


@decomposition("aten.median.default", "aten.nanmedian.default")
def median(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0])
    if 0 in x.shape:
        return rw.full((), _nan_as(x.dtype), x.dtype)
    return _median(rw, x.view((x.numel,)), 0, "nan" in node.op)[0].view(())


def _nan_as(dtype: DType) -> float:
    """What the CPU makes of NaN in this dtype: integers have the bits of the least i64 or i32."""
    if dtype.is_float:
        return float("nan")
    return -(1 << 63) if dtype is DType.i64 else -(1 << 31) if dtype is DType.i32 else 0


def _median(rw: Rewriter, x: Tensor, dim: int, ignore_nan: bool) -> list[Tensor]:
    """[values, indices], with the dim."""
    lines = _sorted(rw, x, dim, False)
    size = x.shape[dim]
    if not x.dtype.is_float:
        middle = dims.floordiv(dims.sub(size, 1), 2)
        return [v.slice(dim, middle, dims.add(middle, 1), length=1) for v in lines]
    numbers = x.compare("eq", x).to(DType.i64).sum([dim], True)
    whole = rw.full((), _number(size), DType.i64)
    if ignore_nan:
        place = rw.own("own.div_trunc", (numbers - 1).maximum(0), rw.full(numbers.shape, 2, DType.i64))
    else:
        half = rw.own("own.div_trunc", whole - 1, rw.full((), 2, DType.i64))
        place = rw.where(numbers.compare("eq", whole), half, numbers)
    return [_at(rw, v, dim, place) for v in lines]


def _number(size: PlanDim) -> Number:
    return size if isinstance(size, int) else sizes([size])[0]


def _at(rw: Rewriter, x: Tensor, dim: int, place: Tensor) -> Tensor:
    """The element of each line at `place`, which has size 1 along dim."""
    return rw.emit("own.take_along", [x.ref, dim, place.ref], [spec_of(place.shape, x.dtype)])[0]


@decomposition("aten.mode.default")
def mode(rw: Rewriter, node: Node) -> list[Tensor]:
    """The least of the commonest, with the last of its places."""
    x, keep = rw.tensor(node.args[0]), bool(node.args[2])
    if not x.rank:
        return [x, rw.zeros((), DType.i64)]
    axis = wrap(int_of(node.args[1]), x.rank)
    lines = _sorted(rw, x, axis, False)
    shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    place = rw.emit("own.longest_run", [lines[0].ref, axis], [spec_of(shape, DType.i64)])[0]
    found = [_at(rw, v, axis, place) for v in lines]
    return found if keep else [v.view(spec.shape) for v, spec in zip(found, node.results, strict=True)]


# --- along a dim -------------------------------------------------------------------------------------


@decomposition("aten.cummax.default", "aten.cummin.default")
def running_extreme(rw: Rewriter, node: Node) -> list[Tensor]:
    """The last of equals, and the last NaN once there was one."""
    x = rw.tensor(node.args[0])
    if not x.rank:
        return [x, rw.zeros((), DType.i64)]
    axis, which = wrap(int_of(node.args[1]), x.rank), "max" if "cummax" in node.op else "min"
    place = rw.emit("own.running_arg", [x.ref, axis, which], [spec_of(x.shape, DType.i64)])[0]
    return [_at(rw, x, axis, place), place]


@decomposition("aten.logcumsumexp.default", "aten._logcumsumexp.default")
def logcumsumexp(rw: Rewriter, node: Node) -> Tensor:
    """Kept in f64, and in f32 for halves, as on the CPU."""
    x = rw.tensor(node.args[0])
    if not x.rank:
        return x
    return rw.emit("own.running_logsumexp", [x.ref, wrap(int_of(node.args[1]), x.rank)], [x.spec])[0]


# --- searching ---------------------------------------------------------------------------------------


@decomposition("aten.bucketize.Tensor", "aten.bucketize.Scalar")
def bucketize(rw: Rewriter, node: Node) -> Tensor:
    """How many boundaries lie below; `right` counts equal ones too."""
    return _places(rw, rw.tensor(node.args[1]), node.args[0], bool(node.args[3]), node)


@decomposition("aten.searchsorted.Tensor", "aten.searchsorted.Scalar")
def searchsorted(rw: Rewriter, node: Node) -> Tensor:
    """Like bucketize; boundaries of more than one dim have a row for each row of x."""
    boundaries, x, _, right, side, sorter = node.args
    edges = rw.tensor(boundaries)
    if sorter is not None and edges.rank:
        edges = rw.emit("own.take_along", [edges.ref, edges.rank - 1, rw.tensor(sorter).ref], [edges.spec])[0]
    return _places(rw, edges, x, bool(right) or side == "right", node)


def _places(rw: Rewriter, edges: Tensor, x: Arg, right: bool, node: Node) -> Tensor:
    """Edges and values meet in the dtype that both promote to."""
    values = rw.tensor(x)
    dtype = result_type([(edges.dtype, edges.rank), (values.dtype, values.rank)], ())
    edges, values = edges.to(dtype), values.to(dtype)
    shape = values.shape
    values = values if values.rank else values.view((1,))
    if 0 in shape:
        return rw.zeros(shape, node.results[0].dtype)
    place = rw.emit("own.search", [edges.ref, values.ref, right], [spec_of(values.shape, DType.i64)])[0]
    return place.view(shape)


@decomposition("aten.isin.Tensor_Tensor", "aten.isin.Tensor_Scalar", "aten.isin.Scalar_Tensor")
def isin(rw: Rewriter, node: Node) -> Tensor:
    x, tests = rw.tensor(node.args[0]), rw.tensor(node.args[1])
    if 0 in tests.shape:
        return rw.full(x.shape, bool(node.args[3]), DType.i1)
    equal = x.unsqueeze(x.rank).compare("eq", tests.view((tests.numel,)))
    found = equal.amax([equal.rank - 1])
    return ~found if node.args[3] else found
