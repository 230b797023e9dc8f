"""Eigenvalues of symmetric matrices and singular values, with vectors of whatever sign comes out.

    mlirdev.eigh(x, uplo, wanted)                 (values, vectors)
    mlirdev.svd(x, full_matrices, wanted, driver)   (U, S, Vᵀ), the thin ones

As aten._linalg_eigh and _linalg_svd, which are LAPACK's, signs and all. All is computed in f64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Node

from .. import dims
from ..dims import Shape
from ..registry import decomposition
from ..tensor import Tensor, spec_of
from .factor import reflected
from .matrices import identity, places, stacked, unstacked

if TYPE_CHECKING:
    from ..rewriter import Rewriter

F64 = DType.f64


@decomposition("mlirdev.eigh")
def eigh(rw: Rewriter, node: Node) -> list[Tensor]:
    """One triangle is read."""
    x = rw.tensor(node.args[0], F64)
    lower, wanted = str(node.args[1]).upper() == "L", bool(node.args[2])
    vectors_spec = node.results[1]
    if 0 in x.shape:
        return [rw.zeros(s.shape, s.dtype) for s in node.results]
    rows, columns = places(rw, *x.shape[-2:])
    kept = rows >= columns if lower else rows <= columns
    values, vectors = _eigh(rw, stacked(rw.where(kept, x, x.transpose(-2, -1))), wanted)
    batch = x.shape[:-2]
    nothing = rw.zeros(vectors_spec.shape, F64)
    return [unstacked(values, batch), unstacked(vectors, batch) if wanted else nothing]


def _eigh(rw: Rewriter, x: Tensor, wanted: bool) -> tuple[Tensor, Tensor]:
    batch, order, _ = x.shape
    less = dims.static(order) - 1
    specs = [x.spec, *(spec_of((batch, n), F64) for n in (less, order, less))]
    factored, tau, diagonal, beside = rw.emit("own.tridiagonal", [x.ref], specs)
    start = rw.zeros((batch, order, 0), F64)
    if wanted:
        start = _basis(rw, factored, tau, less).transpose(1, 2)
    specs = [diagonal.spec, start.spec, spec_of((batch,), DType.i32)]
    values, vectors, _ = rw.emit("own.tridiagonal_ql", [diagonal.ref, beside.ref, start.ref], specs)
    return values, vectors.transpose(1, 2)


def _basis(rw: Rewriter, factored: Tensor, tau: Tensor, less: int) -> Tensor:
    """The orthogonal matrix of reflections that leave the first row alone."""
    batch, order = factored.shape[0], factored.shape[2]
    if not less:
        return identity(rw, (batch, order, order), F64)
    vectors = factored.slice(1, 1, less + 1).slice(2, 0, less)
    inner = reflected(rw, vectors, tau, identity(rw, (batch, less, less), F64))
    corner = identity(rw, (batch, 1, order), F64)
    return rw.joined([corner, inner.pad([1, 0], 0.0)], 1)


@decomposition("mlirdev.svd")
def svd(rw: Rewriter, node: Node) -> list[Tensor]:
    """Of a wide matrix from its transpose."""
    x, wanted = rw.tensor(node.args[0], F64), bool(node.args[2])
    if 0 in x.shape:
        return [_of_no_elements(rw, s.shape) for s in node.results]
    *batch, height, width = x.shape
    wide = dims.static(height) < dims.static(width)
    left, values, right = _svd(rw, stacked(x.transpose(-2, -1) if wide else x), wanted)
    if not wanted:
        return [rw.zeros((0,), F64), unstacked(values, tuple(batch)), rw.zeros((0,), F64)]
    if wide:
        left, right = right.transpose(1, 2), left.transpose(1, 2)
    return [unstacked(v, tuple(batch)) for v in (left, values, right)]


def _of_no_elements(rw: Rewriter, shape: Shape) -> Tensor:
    """Vectors beside no values: of those that aren't empty, any orthogonal ones."""
    return rw.zeros(shape, F64) if 0 in shape or len(shape) < 2 else identity(rw, shape, F64)


def _svd(rw: Rewriter, x: Tensor, wanted: bool) -> tuple[Tensor, Tensor, Tensor]:
    batch, height, width = x.shape
    rank = dims.static(width)
    specs = [x.spec, *(spec_of((batch, n), F64) for n in (rank, rank - 1, rank, rank - 1))]
    factored, tauq, taup, diagonal, above = rw.emit("own.bidiagonal", [x.ref], specs)
    left, right = (rw.zeros((batch, rank, 0), F64) for _ in range(2))
    if wanted:
        left = reflected(rw, factored, tauq, identity(rw, (batch, height, rank), F64)).transpose(1, 2)
        square = factored.slice(1, 0, rank).transpose(1, 2)
        right = _basis(rw, square, taup, rank - 1).transpose(1, 2)
    specs = [diagonal.spec, left.spec, right.spec, spec_of((batch,), DType.i32)]
    operands = [diagonal.ref, above.ref, left.ref, right.ref]
    values, left, right, _ = rw.emit("own.bidiagonal_qr", operands, specs)
    return left.transpose(1, 2), values, right
