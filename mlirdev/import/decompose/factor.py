"""Factorisations of matrices: Cholesky, LU and QR by own/, put into PyTorch's shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Node
from mlirdev.plan import PlanDim

from .. import dims
from ..dims import Shape
from ..registry import decomposition
from ..tensor import Tensor, spec_of
from .matrices import diagonal, identity, of_nothing, places, stacked, triangle, unstacked

if TYPE_CHECKING:
    from ..rewriter import Rewriter


@decomposition("aten.linalg_cholesky_ex.default")
def cholesky_ex(rw: Rewriter, node: Node) -> list[Tensor]:
    """The factor of the upper triangle; a lower one is the transpose of the transpose's."""
    x, upper = rw.tensor(node.args[0]), bool(node.args[1])
    if empty := of_nothing(rw, node):
        return empty
    matrix = stacked(x if upper else x.transpose(-2, -1))
    factor, info = rw.emit("own.cholesky", [matrix.ref], [matrix.spec, spec_of(matrix.shape[:1], DType.i32)])
    factor = factor if upper else factor.transpose(-2, -1)
    batch = x.shape[:-2]
    return [triangle(rw, unstacked(factor, batch), upper), unstacked(info, batch)]


# --- LU -----------------------------------------------------------------------------------------------


def lu(rw: Rewriter, x: Tensor) -> list[Tensor]:
    """(LU, pivots, info) of (b, m, n)."""
    batch, height, width = x.shape
    rank = min(dims.static(height), dims.static(width)) if height != width else height
    specs = [x.spec, spec_of((batch, rank), DType.i32), spec_of((batch,), DType.i32)]
    return rw.emit("own.lu", [x.ref], specs)


def permutation(rw: Rewriter, pivots: Tensor, size: PlanDim, inverse: bool = False) -> Tensor:
    """(b, size): which row of the matrix each row of L·U is; or the inverse of that."""
    return rw.emit("own.permutation", [pivots.ref, inverse], [spec_of((pivots.shape[0], size), DType.i64)])[0]


@decomposition("aten.linalg_lu_factor_ex.default")
def lu_factor_ex(rw: Rewriter, node: Node) -> list[Tensor]:
    x = rw.tensor(node.args[0])
    return of_nothing(rw, node) or [unstacked(v, x.shape[:-2]) for v in lu(rw, stacked(x))]


@decomposition("aten.linalg_lu.default")
def lu_parts(rw: Rewriter, node: Node) -> list[Tensor]:
    x = rw.tensor(node.args[0])
    if 0 in x.shape:
        return _parts(rw, x, None)
    factors, pivots, _ = lu(rw, stacked(x))
    return _parts(rw, unstacked(factors, x.shape[:-2]), unstacked(pivots, x.shape[:-2]))


@decomposition("aten.lu_unpack.default")
def lu_unpack(rw: Rewriter, node: Node) -> list[Tensor]:
    x, pivots = (rw.tensor(v) for v in node.args[:2])
    parts = _parts(rw, x, None if 0 in pivots.shape else pivots)
    nothing = rw.zeros((0,), x.dtype)
    data, order = bool(node.args[2]), bool(node.args[3])
    return [parts[0] if order else nothing, *(parts[1:] if data else [nothing, nothing])]


def _parts(rw: Rewriter, x: Tensor, pivots: Tensor | None) -> list[Tensor]:
    """P, L and U; without pivots P is the identity."""
    *batch, height, width = x.shape
    rank = min(dims.static(height), dims.static(width)) if height != width else height
    rows, columns = places(rw, height, rank)
    one = rows.compare("eq", columns).to(x.dtype)
    lower = triangle(rw, x.slice(x.rank - 1, 0, rank), upper=False, offset=-1) + one
    upper = triangle(rw, x.slice(x.rank - 2, 0, rank), upper=True)
    return [_permutation_matrix(rw, pivots, (*batch, height, height), x.dtype), lower, upper]


def _permutation_matrix(rw: Rewriter, pivots: Tensor | None, shape: Shape, dtype: DType) -> Tensor:
    """Column i has its one where row i of L·U comes from."""
    if pivots is None:
        return identity(rw, shape, dtype)
    order = permutation(rw, pivots.view((dims.product(shape[:-2]), pivots.shape[-1])), shape[-1])
    rows = rw.arange(shape[-1]).unsqueeze(1)
    return rows.compare("eq", order.unsqueeze(1)).to(dtype).view(shape)


@decomposition("aten._linalg_det.default")
def det(rw: Rewriter, node: Node) -> list[Tensor]:
    """As PyTorch's: the factors are those of the transpose, whose determinant is the same."""
    x = rw.tensor(node.args[0])
    if 0 in x.shape:
        first, *others = node.results
        return [rw.full(first.shape, 1.0, first.dtype), *(rw.zeros(s.shape, s.dtype) for s in others)]
    factors, pivots, _ = lu(rw, stacked(x.transpose(-2, -1)))
    value = _parity(rw, pivots) * diagonal(rw, factors).reduce("mul", [1])
    return [unstacked(v, x.shape[:-2]) for v in (value, factors, pivots)]


@decomposition("aten._linalg_slogdet.default")
def slogdet(rw: Rewriter, node: Node) -> list[Tensor]:
    x = rw.tensor(node.args[0])
    if 0 in x.shape:
        first, *others = node.results
        return [rw.full(first.shape, 1.0, first.dtype), *(rw.zeros(s.shape, s.dtype) for s in others)]
    factors, pivots, _ = lu(rw, stacked(x.transpose(-2, -1)))
    values = diagonal(rw, factors)
    sign = _parity(rw, pivots) * values.unary("sgn").reduce("mul", [1])
    return [unstacked(v, x.shape[:-2]) for v in (sign, values.abs().log().sum([1]), factors, pivots)]


def _parity(rw: Rewriter, pivots: Tensor) -> Tensor:
    """1 or -1 for each matrix, as the number of exchanges is even or odd."""
    unmoved = pivots.compare("eq", rw.iota(1, 1, pivots.shape[1], DType.i32))
    one = rw.full((), 1.0, DType.f64)
    return rw.where(unmoved, one, rw.full((), -1.0, DType.f64)).reduce("mul", [1])


@decomposition("aten.linalg_ldl_factor_ex.default")
def ldl_factor_ex(rw: Rewriter, node: Node) -> list[Tensor]:
    """Real matrices are Hermitian where they are symmetric."""
    x = rw.tensor(node.args[0])
    if empty := of_nothing(rw, node):
        return empty
    matrix = stacked(x)
    specs = [matrix.spec, spec_of(matrix.shape[:2], DType.i32), spec_of(matrix.shape[:1], DType.i32)]
    factors, pivots, info = (unstacked(v, x.shape[:-2]) for v in rw.emit("own.ldl_factor", [matrix.ref], specs))
    return [triangle(rw, factors, upper=False), pivots, info]


# --- QR -----------------------------------------------------------------------------------------------


def geqrf(rw: Rewriter, x: Tensor) -> list[Tensor]:
    """(R and the reflections' vectors, their factors) of (b, m, n)."""
    batch, height, width = x.shape
    rank = min(dims.static(height), dims.static(width)) if height != width else height
    return rw.emit("own.geqrf", [x.ref], [x.spec, spec_of((batch, rank), x.dtype)])


def reflected(rw: Rewriter, vectors: Tensor, factors: Tensor, x: Tensor, backward: bool = False) -> Tensor:
    """Q·x, or Qᵀ·x, of (b, m, n)."""
    return rw.emit("own.reflect", [vectors.ref, factors.ref, x.ref, backward], [x.spec])[0]


@decomposition("aten.geqrf.default")
def geqrf_rule(rw: Rewriter, node: Node) -> list[Tensor]:
    x = rw.tensor(node.args[0])
    return of_nothing(rw, node) or [unstacked(v, x.shape[:-2]) for v in geqrf(rw, stacked(x))]


@decomposition("aten.linalg_qr.default")
def qr(rw: Rewriter, node: Node) -> list[Tensor]:
    x, mode = rw.tensor(node.args[0]), node.args[1]
    q_spec, r_spec = node.results
    batch = x.shape[:-2]
    if 0 in x.shape:
        q = rw.zeros(q_spec.shape, x.dtype)
        if 0 not in q_spec.shape:  # the complete basis of no columns
            q = identity(rw, q_spec.shape, x.dtype)
        return [q, rw.zeros(r_spec.shape, x.dtype)]
    vectors, factors = geqrf(rw, stacked(x))
    r = unstacked(triangle(rw, vectors.slice(1, 0, r_spec.shape[-2]), upper=True), batch)
    if mode == "r":
        return [rw.zeros((0,), x.dtype), r]
    start = identity(rw, (vectors.shape[0], *q_spec.shape[-2:]), x.dtype)
    return [unstacked(reflected(rw, vectors, factors, start), batch), r]


@decomposition("aten.linalg_householder_product.default")
def householder_product(rw: Rewriter, node: Node) -> Tensor:
    x, tau = (rw.tensor(v) for v in node.args)
    if 0 in x.shape:
        return rw.zeros(x.shape, x.dtype)
    vectors = stacked(x)
    start = identity(rw, vectors.shape, x.dtype)
    if 0 in tau.shape:
        return unstacked(start, x.shape[:-2])
    factors = tau.view((vectors.shape[0], tau.shape[-1]))
    return unstacked(reflected(rw, vectors, factors, start), x.shape[:-2])


@decomposition("aten.ormqr.default")
def ormqr(rw: Rewriter, node: Node) -> Tensor:
    """From the right, it is the transpose that is reflected from the left."""
    x, tau, other = (rw.tensor(v) for v in node.args[:3])
    left, transposed = bool(node.args[3]), bool(node.args[4])
    if 0 in other.shape or 0 in tau.shape:
        return other
    matrix = stacked(other if left else other.transpose(-2, -1))
    factors = tau.view((matrix.shape[0], tau.shape[-1]))
    result = reflected(rw, stacked(x), factors, matrix, backward=transposed == left)
    return unstacked(result if left else result.transpose(-2, -1), other.shape[:-2])
