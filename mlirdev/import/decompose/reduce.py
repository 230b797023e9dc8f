"""Reductions. Sums of halves are kept in f32, of bools and small integers in i64, as torch has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Node

from .. import dims
from ..dims import axes_of, int_of, wrap
from ..promotion import widened
from ..registry import decomposition
from ..tensor import Tensor, sizes, spec_of
from .operands import computing, number

if TYPE_CHECKING:
    from ..rewriter import Rewriter


def _reduced(rw: Rewriter, node: Node, kind: str, over: Arg, keep: Arg, dtype: DType | None = None) -> Tensor:
    x = rw.tensor(node.args[0], dtype or computing(node))
    axes = axes_of(over, x.rank) if x.rank else []
    return x.sum(axes, bool(keep)) if kind == "add" else x.reduce(kind, axes, bool(keep))


@decomposition("aten.sum.default")
def sum_all(rw: Rewriter, node: Node) -> Tensor:
    return _reduced(rw, node, "add", None, False)


@decomposition("aten.sum.dim_IntList")
def sum_dims(rw: Rewriter, node: Node) -> Tensor:
    return _reduced(rw, node, "add", node.args[1], node.args[2])


@decomposition("aten.nansum.default")
def nansum(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0], computing(node))
    x = rw.where(x.compare("ne", x), 0.0, x) if x.dtype.is_float else x
    return x.sum(axes_of(node.args[1], x.rank) if x.rank else [], bool(node.args[2]))


@decomposition("aten.mean.default")
def mean_all(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0], computing(node))
    return x.mean(list(range(x.rank)))


@decomposition("aten.mean.dim")
def mean_dims(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0], computing(node))
    return x.mean(axes_of(node.args[1], x.rank) if x.rank else [], bool(node.args[2]))


@decomposition("aten.prod.default")
def prod_all(rw: Rewriter, node: Node) -> Tensor:
    return _reduced(rw, node, "mul", None, False)


@decomposition("aten.prod.dim_int")
def prod_dim(rw: Rewriter, node: Node) -> Tensor:
    return _reduced(rw, node, "mul", node.args[1], node.args[2])


@decomposition("aten.amax.default", "aten.amin.default")
def extremum(rw: Rewriter, node: Node) -> Tensor:
    kind = "max" if "amax" in node.op else "min"
    return _reduced(rw, node, kind, node.args[1], node.args[2], node.results[0].dtype)


@decomposition("aten.max.default", "aten.min.default")
def extremum_all(rw: Rewriter, node: Node) -> Tensor:
    kind = node.op.split(".")[1]
    return _reduced(rw, node, kind, None, False, node.results[0].dtype)


@decomposition("aten.aminmax.default")
def aminmax(rw: Rewriter, node: Node) -> list[Tensor]:
    return [_reduced(rw, node, kind, node.args[1], node.args[2], node.results[0].dtype) for kind in ("min", "max")]


def _arg(rw: Rewriter, x: Tensor, dim: int, which: str, keep: bool) -> list[Tensor]:
    if not x.rank:
        return [x, rw.zeros((), DType.i64)]
    shape = (*x.shape[:dim], *x.shape[dim + 1 :])
    if dim == x.rank - 1 and x.dtype.is_float:
        values = _arg_in_two(rw, x, which)
    else:
        values = rw.emit("own.arg", [x.ref, dim, which], [spec_of(shape, x.dtype), spec_of(shape, DType.i64)])
    return [v.view((*x.shape[:dim], 1, *x.shape[dim + 1 :]) if keep else shape) for v in values]


def _arg_in_two(rw: Rewriter, x: Tensor, which: str) -> list[Tensor]:
    """Along the last dim, first what the extreme is and then where it stands first: two reductions that vectorise,
    which a search for both at once doesn't. An extreme of NaN stands where x is NaN."""
    last = x.rank - 1
    size = x.shape[last]
    extreme = x.reduce(which, [last], keep=True)
    found = x.compare("eq", extreme) | x.compare("ne", x)
    narrow = DType.i32 if isinstance(size, int) and size < 1 << 31 else DType.i64
    place = rw.where(
        found, rw.arange(size, narrow), rw.tensor(size if isinstance(size, int) else sizes([size])[0], narrow)
    )
    index = place.reduce("min", [last], keep=True).to(DType.i64)
    spec = spec_of(index.shape, x.dtype)
    # Of zeros of both signs the first is the answer.
    return [rw.emit("own.take_along", [x.ref, last, index.ref], [spec])[0], index]


@decomposition("aten.max.dim", "aten.min.dim")
def extremum_dim(rw: Rewriter, node: Node) -> list[Tensor]:
    x = rw.tensor(node.args[0])
    return _arg(rw, x, wrap(int_of(node.args[1]), x.rank), node.op.split(".")[1], bool(node.args[2]))


@decomposition("aten.argmax.default", "aten.argmin.default")
def argument(rw: Rewriter, node: Node) -> Tensor:
    x, dim, keep = rw.tensor(node.args[0]), node.args[1], bool(node.args[2])
    which = node.op.split(".")[1].removeprefix("arg")
    if dim is not None:
        return _arg(rw, x, wrap(int_of(dim), x.rank), which, keep)[1]
    place = _arg(rw, x.view((x.numel,)), 0, which, False)[1]
    return place.view(node.results[0].shape)


@decomposition(*(f"aten.{n}.{o}" for n in ("any", "all") for o in ("default", "dim", "dims")))
def truth(rw: Rewriter, node: Node) -> Tensor:
    kind = "max" if ".any." in node.op else "min"
    over, keep = (node.args[1], node.args[2]) if len(node.args) > 1 else (None, False)
    return _reduced(rw, node, kind, over, keep, DType.i1)


@decomposition("aten.count_nonzero.default", "aten.count_nonzero.dim_IntList")
def count_nonzero(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0], DType.i1).to(DType.i64)
    return x.sum(axes_of(node.args[1], x.rank) if x.rank else [])


# --- variance ----------------------------------------------------------------------------------------


def variance(rw: Rewriter, x: Tensor, over: Arg, correction: Arg, keep: bool) -> tuple[Tensor, Tensor]:
    """(variance, mean) of x in its own dtype."""
    axes = axes_of(over, x.rank) if x.rank else []
    mean = x.mean(axes, True)
    centred = x - mean
    count = dims.product(x.shape[d] for d in axes)
    freedom = rw.count(count, x.dtype)
    less = 1 if correction is None else number(correction)
    if isinstance(freedom, float) and isinstance(less, (int, float)):
        divisor = rw.full((), max(freedom - less, 0.0), x.dtype)
    else:
        divisor = (rw.tensor(freedom, x.dtype) if isinstance(freedom, float) else rw.as_tensor(freedom)) - less
    var = (centred * centred).sum(axes, keep) / divisor
    return var, mean if keep else mean.view(var.shape)


def _variance_args(node: Node) -> tuple[Arg, Arg, bool]:
    """(dims, correction, keep) of the overloads of var and std."""
    overload = node.op.split(".")[-1]
    if overload == "default":
        return None, 1 if node.args[1] else 0, False
    if overload == "dim":
        return node.args[1], 1 if node.args[2] else 0, bool(node.args[3])
    return node.args[1], node.args[2], bool(node.args[3])


@decomposition(*(f"aten.{n}.{o}" for n in ("var", "std") for o in ("default", "dim", "correction")))
def var(rw: Rewriter, node: Node) -> Tensor:
    over, correction, keep = _variance_args(node)
    result, _ = variance(rw, rw.tensor(node.args[0], computing(node)), over, correction, keep)
    return result.sqrt() if ".std." in node.op else result


@decomposition(*(f"aten.{n}.{o}" for n in ("var_mean", "std_mean") for o in ("default", "dim", "correction")))
def var_mean(rw: Rewriter, node: Node) -> list[Tensor]:
    over, correction, keep = _variance_args(node)
    result, mean = variance(rw, rw.tensor(node.args[0], computing(node)), over, correction, keep)
    return [result.sqrt() if ".std_mean." in node.op else result, mean]


# --- norms and running sums --------------------------------------------------------------------------


@decomposition("aten.linalg_vector_norm.default")
def vector_norm(rw: Rewriter, node: Node) -> Tensor:
    return norm_of(rw, rw.tensor(node.args[0], computing(node)), node.args[1], node.args[2], bool(node.args[3]))


@decomposition(
    "aten.norm.Scalar", "aten.norm.ScalarOpt_dim", "aten.norm.ScalarOpt_dim_dtype", "aten.norm.ScalarOpt_dtype"
)
def norm(rw: Rewriter, node: Node) -> Tensor:
    over, keep = (node.args[2], bool(node.args[3])) if "_dim" in node.op else (None, False)
    order = 2 if node.args[1] is None else node.args[1]
    return norm_of(rw, rw.tensor(node.args[0], computing(node)), order, over, keep)


def norm_of(rw: Rewriter, x: Tensor, order: Arg, over: Arg, keep: bool) -> Tensor:
    axes = axes_of(over, x.rank) if x.rank else []
    if order == 2:
        return (x * x).sum(axes, keep).sqrt()
    if order == 0:
        return x.compare("ne", 0.0).to(x.dtype).sum(axes, keep)
    a = x.abs()
    if order == 1:
        return a.sum(axes, keep)
    if order in (float("inf"), -float("inf")):
        return a.amax(axes, keep) if number(order) == float("inf") else a.amin(axes, keep)
    power = rw.tensor(order, x.dtype)
    total = rw.own("own.pow", a, power).sum(axes, keep)
    return rw.own("own.pow", total, rw.full((), 1.0, x.dtype) / power)


@decomposition("aten.cumsum.default", "aten.cumprod.default")
def cumulative(rw: Rewriter, node: Node) -> Tensor:
    """f32 sums are kept in f64, as on the CPU."""
    dtype = widened(node.results[0].dtype)
    wide = DType.f64 if dtype is DType.f32 else dtype
    x = rw.tensor(node.args[0], dtype)
    if not x.rank:
        return x
    which, axis = "add" if "cumsum" in node.op else "mul", wrap(int_of(node.args[1]), x.rank)
    if axis == x.rank - 1 and not dtype.is_complex:
        return rw.emit("own.scan_rows", [x.ref, which, wide], [x.spec])[0]
    x = x.to(wide)
    return rw.emit("own.scan", [x.ref, axis, which], [x.spec])[0]
