"""Sums, products, variances and norms of complex numbers. Norms are those of the numbers' lengths, which are real."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Node

from ..dims import axes_of, int_of, wrap
from ..pairs import complex_of, paired, parts
from ..registry import COMPLEX, complex_rule
from ..tensor import Tensor
from .complex_arithmetic import modulus, operands
from .complex_movement import as_for_reals, by_parts
from .reduce import norm_of

if TYPE_CHECKING:
    from ..rewriter import Rewriter

COMPLEX.update(
    dict.fromkeys(
        (
            *(f"aten.{n}.{o}" for n in ("any", "all") for o in ("default", "dim", "dims")),
            *(f"aten.count_nonzero.{o}" for o in ("default", "dim_IntList")),
            *(f"aten.{n}.default" for n in ("sum", "mean", "prod")),
            *("aten.sum.dim_IntList", "aten.mean.dim", "aten.prod.dim_int"),
        ),
        as_for_reals,
    )
)


@complex_rule("own.reduce")
def reduce(rw: Rewriter, node: Node) -> list[Tensor]:
    """Sums by parts; products whole."""
    return by_parts(rw, node) if node.args[3] == "add" else rw.keep(node)


@complex_rule("aten.var.correction", "aten.std.correction")
def variance(rw: Rewriter, node: Node) -> Tensor:
    """The parts' variances added."""
    x, over, correction, keep = node.args
    re, im = (
        rw.emit("aten.var.correction", [p.ref, over, correction, keep], node.results)[0] for p in parts(rw.tensor(x))
    )
    return (re + im).sqrt() if ".std." in node.op else re + im


@complex_rule("aten.var_mean.correction", "aten.std_mean.correction")
def variance_and_mean(rw: Rewriter, node: Node) -> list[Tensor]:
    spec, of_mean = node.results
    first = node.op.split(".")[1].removesuffix("_mean")
    x, over, _, keep = node.args
    mean = rw.emit("aten.mean.dim", [x, over, keep, None], [of_mean])[0]
    return [rw.emit(f"aten.{first}.correction", node.args, [spec])[0], mean]


@complex_rule(
    "aten.linalg_vector_norm.default",
    *(f"aten.norm.{o}" for o in ("Scalar", "ScalarOpt_dim", "ScalarOpt_dim_dtype", "ScalarOpt_dtype")),
)
def norm(rw: Rewriter, node: Node) -> Tensor:
    lengths = modulus(rw.tensor(node.args[0], complex_of(node.results[0].dtype)))
    rest = [a.real if isinstance(a, DType) else a for a in node.args[1:]]
    return rw.emit(node.op, [lengths.ref, *rest], node.results)[0]


@complex_rule("aten.dist.default")
def dist(rw: Rewriter, node: Node) -> Tensor:
    a, b = (rw.tensor(v, complex_of(node.results[0].dtype)) for v in node.args[:2])
    return norm_of(rw, modulus(a - b), node.args[2], None, False)


@complex_rule("aten.renorm.default")
def renorm(rw: Rewriter, node: Node) -> Tensor:
    """Slices along `dim` whose norm is beyond the limit are scaled down to it, but for 1e-7."""
    (x,) = operands(rw, node, 1)
    dim, limit = wrap(int_of(node.args[2]), x.rank), rw.tensor(node.args[3], x.dtype.real)
    length = norm_of(rw, modulus(x), node.args[1], tuple(d for d in range(x.rank) if d != dim), True)
    scale = rw.where(length > limit, limit / (length + 1e-7), 1.0)
    return paired(*(part * scale for part in parts(x)))


@complex_rule("aten.logsumexp.default")
def logsumexp(rw: Rewriter, node: Node) -> Tensor:
    """Scaled by the largest of the real parts."""
    (x,) = operands(rw, node, 1)
    axes = axes_of(node.args[1], x.rank)
    if not x.rank:
        return x
    re, im = parts(x)
    top = re.amax(axes, True)
    top = rw.where(top.abs().compare("eq", float("inf")), 0.0, top)
    re, im = parts(paired(re - top, im).exp().sum(axes, True).log())
    total = paired(re + top, im)
    return total if node.args[2] else total.view(node.results[0].shape)


@complex_rule("aten.cumsum.default", "aten.cumprod.default")
def cumulative(rw: Rewriter, node: Node) -> Tensor:
    """In double precision, as on the CPU."""
    x = rw.tensor(node.args[0], DType.c128)
    if not x.rank:
        return x
    which = "add" if "cumsum" in node.op else "mul"
    args: list[Arg] = [x.ref, wrap(int_of(node.args[1]), x.rank), which]
    return rw.emit("own.scan", args, [x.spec])[0]


@complex_rule("own.scan")
def scan(rw: Rewriter, node: Node) -> list[Tensor]:
    """Sums by parts; products whole."""
    return by_parts(rw, node) if node.args[2] == "add" else rw.keep(node)
