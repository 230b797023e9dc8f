"""Solvers of linear systems: each is triangular solves, around a factorisation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Node

from .. import dims
from ..dims import Shape
from ..registry import decomposition
from ..tensor import Tensor
from .factor import lu, permutation
from .matrices import batch_of, identity, of_nothing, rows_at, stacked, unstacked

if TYPE_CHECKING:
    from ..rewriter import Rewriter


def substituted(rw: Rewriter, a: Tensor, b: Tensor, upper: bool, unitriangular: bool = False) -> Tensor:
    """x with a·x = b, a being triangular; (b, n, n) and (b, n, m)."""
    return rw.emit("own.solve_triangular", [a.ref, b.ref, upper, unitriangular], [b.spec])[0]


@decomposition("aten.linalg_solve_triangular.default")
def solve_triangular(rw: Rewriter, node: Node) -> Tensor:
    """x·a = b is aᵀ·xᵀ = bᵀ."""
    a, b = (rw.tensor(v) for v in node.args[:2])
    upper, left, unitriangular = (bool(v) for v in node.args[2:5])
    if 0 in node.results[0].shape:
        return rw.zeros(node.results[0].shape, b.dtype)
    batch = batch_of(a, b)
    a, b = stacked(a, batch), stacked(b, batch)
    if left:
        return unstacked(substituted(rw, a, b, upper, unitriangular), batch)
    found = substituted(rw, a.transpose(1, 2), b.transpose(1, 2), not upper, unitriangular)
    return unstacked(found.transpose(1, 2), batch)


@decomposition("aten.triangular_solve.default")
def triangular_solve(rw: Rewriter, node: Node) -> list[Tensor]:
    b, a = (rw.tensor(v) for v in node.args[:2])
    upper, transposed, unitriangular = (bool(v) for v in node.args[2:5])
    batch = batch_of(a, b)
    copy = a.expand(node.results[1].shape)
    if 0 in node.results[0].shape:
        return [rw.zeros(node.results[0].shape, b.dtype), copy]
    matrix = stacked(a.transpose(-2, -1) if transposed else a, batch)
    found = substituted(rw, matrix, stacked(b, batch), upper != transposed, unitriangular)
    return [unstacked(found, batch), copy]


# --- by Cholesky's factor -------------------------------------------------------------------------------


def _by_cholesky(rw: Rewriter, factor: Tensor, b: Tensor, upper: bool) -> Tensor:
    """x with L·Lᵀ·x = b, or Uᵀ·U·x = b."""
    other = factor.transpose(1, 2)
    lower, upper_factor = (other, factor) if upper else (factor, other)
    return substituted(rw, upper_factor, substituted(rw, lower, b, upper=False), upper=True)


@decomposition("aten.cholesky_solve.default")
def cholesky_solve(rw: Rewriter, node: Node) -> Tensor:
    spec = node.results[0]
    b, factor = (rw.tensor(v, spec.dtype) for v in node.args[:2])
    if 0 in spec.shape:
        return rw.zeros(spec.shape, spec.dtype)
    batch = batch_of(b, factor)
    return unstacked(_by_cholesky(rw, stacked(factor, batch), stacked(b, batch), bool(node.args[2])), batch)


@decomposition("aten.cholesky_inverse.default")
def cholesky_inverse(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0])
    if empty := of_nothing(rw, node):
        return empty[0]
    factor = stacked(x)
    return unstacked(_by_cholesky(rw, factor, identity(rw, factor.shape, x.dtype), bool(node.args[1])), x.shape[:-2])


# --- by LU ----------------------------------------------------------------------------------------------


def _by_lu(rw: Rewriter, factors: Tensor, pivots: Tensor, b: Tensor, transposed: bool) -> Tensor:
    """x with P·L·U·x = b, or (P·L·U)ᵀ·x = b."""
    order = permutation(rw, pivots, b.shape[1], inverse=transposed)
    if not transposed:
        b = substituted(rw, factors, rows_at(rw, b, order), upper=False, unitriangular=True)
        return substituted(rw, factors, b, upper=True)
    flipped = factors.transpose(1, 2)
    b = substituted(rw, flipped, b, upper=False)
    return rows_at(rw, substituted(rw, flipped, b, upper=True, unitriangular=True), order)


def _vectors(x: Tensor, batch: Shape) -> Tensor:
    """(b, n): a vector for each matrix of a batch."""
    return x.expand((*batch, x.shape[-1])).view((dims.product(batch), x.shape[-1]))


def _solved(rw: Rewriter, factors: Tensor, pivots: Tensor, b: Tensor, left: bool, transposed: bool) -> Tensor:
    """From the right: x·a = b is aᵀ·xᵀ = bᵀ."""
    if left:
        return _by_lu(rw, factors, pivots, b, transposed)
    return _by_lu(rw, factors, pivots, b.transpose(1, 2), not transposed).transpose(1, 2)


@decomposition("aten.linalg_lu_solve.default")
def lu_solve(rw: Rewriter, node: Node) -> Tensor:
    factors, pivots, b = (rw.tensor(v) for v in node.args[:3])
    left, transposed = bool(node.args[3]), bool(node.args[4])
    if 0 in node.results[0].shape:
        return rw.zeros(node.results[0].shape, b.dtype)
    batch = batch_of(factors, b)
    exchanges = _vectors(pivots, batch)
    return unstacked(_solved(rw, stacked(factors, batch), exchanges, stacked(b, batch), left, transposed), batch)


@decomposition("aten._linalg_solve_ex.default")
def solve_ex(rw: Rewriter, node: Node) -> list[Tensor]:
    a, b = (rw.tensor(v) for v in node.args[:2])
    left = bool(node.args[2])
    spec = node.results[0]
    if 0 in a.shape:
        return [rw.zeros(s.shape, s.dtype) for s in node.results]
    factors, pivots, info = (unstacked(v, a.shape[:-2]) for v in lu(rw, stacked(a)))
    if 0 in spec.shape:
        return [rw.zeros(spec.shape, spec.dtype), factors, pivots, info]
    is_vector = b.rank == 1 or (b.rank == a.rank - 1 and b.shape == a.shape[:-1])
    matrix = b.unsqueeze(-1) if is_vector else b
    batch = batch_of(a, matrix)
    found = _solved(
        rw, stacked(factors, batch), _vectors(pivots, batch), stacked(matrix, batch), left, transposed=False
    )
    return [found.view(spec.shape), factors, pivots, info]


@decomposition("aten.linalg_inv_ex.default")
def inv_ex(rw: Rewriter, node: Node) -> list[Tensor]:
    x = rw.tensor(node.args[0])
    if empty := of_nothing(rw, node):
        return empty
    factors, pivots, info = lu(rw, stacked(x))
    found = _solved(rw, factors, pivots, identity(rw, factors.shape, x.dtype), left=True, transposed=False)
    return [unstacked(found, x.shape[:-2]), unstacked(info, x.shape[:-2])]


@decomposition("aten.linalg_ldl_solve.default")
def ldl_solve(rw: Rewriter, node: Node) -> Tensor:
    factors, pivots, b = (rw.tensor(v) for v in node.args[:3])
    if 0 in node.results[0].shape:
        return rw.zeros(node.results[0].shape, b.dtype)
    batch = batch_of(factors, b)
    exchanges = _vectors(pivots.to(DType.i32), batch)
    matrix = stacked(b, batch)
    found = rw.emit("own.ldl_solve", [stacked(factors, batch).ref, exchanges.ref, matrix.ref], [matrix.spec])[0]
    return unstacked(found, batch)
