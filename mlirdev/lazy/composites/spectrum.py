"""Eigenvalues of symmetric matrices and singular values.

Vectors that a program sees have LAPACK's signs: the CPU computes them. Where nobody sees them (they serve the values'
derivative, or a pseudoinverse, in which their signs cancel) they are compiled, as the values alone are.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual

from mlirdev.lazy.composites.linear_algebra import check_errors
from mlirdev.lazy.handlers import composes, handles
from mlirdev.lazy.overloads import named
from mlirdev.lazy.record import record
from mlirdev.lazy.storage import new_tensor
from mlirdev.lazy.trace import Entry

aten = torch.ops.aten
_NOT_FINITE = -4  # what LAPACK's info is then


class _Unseen(threading.local):
    """Is what is recorded on this thread free to have vectors of any sign?"""

    vectors = False


_unseen = _Unseen()


@contextmanager
def vectors_unseen() -> Iterator[None]:
    before, _unseen.vectors = _unseen.vectors, True
    try:
        yield
    finally:
        _unseen.vectors = before


@functools.cache
def _renamed(entry: Entry, op: str) -> Entry:
    """The same call of our own op."""
    return Entry(op, entry.template, entry.arity, entry.scalars, entry.slots)


def _recorded(name: str, ours: str, args: tuple[Any, ...], seen: bool) -> tuple[Tensor, ...]:
    """As an op of ours where any signs will do."""
    entry, call = named(name).resolve(args, {})
    assert entry is not None
    cells = record(entry if seen else _renamed(entry, ours), call.cells, call.scalars)
    return tuple(new_tensor(cell) for cell in cells)


def _seen(matrix: Tensor, wanted: bool) -> bool:
    return matrix.is_complex() or (wanted and not _unseen.vectors)


def _differentiated(matrix: Tensor) -> bool:
    """Will the vectors be needed for a derivative?"""
    tangent = unpack_dual(matrix).tangent  # type: ignore[no-untyped-call]
    return (torch.is_grad_enabled() and matrix.requires_grad) or tangent is not None


@handles("_linalg_eigh")
def _linalg_eigh(A: Tensor, UPLO: str = "L", compute_v: bool = True) -> tuple[Tensor, ...]:  # the schema names them
    return _recorded("aten._linalg_eigh.default", "mlirdev.eigh", (A, UPLO, compute_v), _seen(A, compute_v))


@handles("_linalg_svd")
def _linalg_svd(
    A: Tensor, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None
) -> tuple[Tensor, ...]:
    seen = _seen(A, compute_uv) or (compute_uv and full_matrices)
    results = _recorded("aten._linalg_svd.default", "mlirdev.svd", (A, full_matrices, compute_uv, driver), seen)
    if not seen:
        _check_finite(A)
    return results


def _check_finite(matrix: Tensor) -> None:
    """As LAPACK's info, which is read where there is anything to read."""
    if matrix.numel():
        finite = torch.isfinite(matrix).flatten(-2).all(-1)
        check_errors(torch.where(finite, 0, _NOT_FINITE).int(), "linalg.svd", is_matrix=matrix.dim() == 2)


@composes("linalg_eigvalsh")
def linalg_eigvalsh(self: Tensor, UPLO: str = "L") -> Tensor:
    with vectors_unseen():
        values: Tensor = aten._linalg_eigh(self, UPLO, _differentiated(self))[0]
    return values


@composes("linalg_svdvals")
def linalg_svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:  # the schema names it
    with vectors_unseen():
        values: Tensor = aten._linalg_svd(A, False, _differentiated(A), driver=driver)[1]
    return values


@handles("linalg_pinv.atol_rtol_tensor")
def linalg_pinv(
    self: Tensor, *, atol: Tensor | None = None, rtol: Tensor | None = None, hermitian: bool = False
) -> Tensor:
    """Reciprocals of the singular values beyond the tolerance, between the vectors."""
    named("aten.linalg_pinv.atol_rtol_tensor").resolve((self,), {"hermitian": hermitian})  # refuses as eager does
    atol, rtol = _tolerances(self, atol, rtol)
    if not self.numel():
        return self.new_zeros((*self.shape[:-2], self.shape[-1], self.shape[-2]))
    with vectors_unseen():
        if hermitian:
            values, left = aten._linalg_eigh(self)
            right = left
        else:
            left, values, transposed = aten._linalg_svd(self)
            right = transposed.mH
    sizes = values.abs()
    limit = torch.maximum(atol.unsqueeze(-1), rtol.unsqueeze(-1) * sizes.amax(-1, keepdim=True))
    inverse = torch.where(sizes > limit, values.reciprocal(), 0.0).to(self.dtype)
    result: Tensor = (right * inverse.unsqueeze(-2)) @ left.mH
    return result


def _tolerances(matrix: Tensor, atol: Tensor | None, rtol: Tensor | None) -> tuple[Tensor, Tensor]:
    """Absolute and relative: by default 0 and an epsilon for each row or column; 0 beside an absolute one."""
    if rtol is None:
        usual = torch.finfo(matrix.dtype).eps * max(matrix.shape[-2:])
        rtol = torch.full((), usual, dtype=torch.float64, device=matrix.device)
        rtol = rtol if atol is None else torch.where(atol > 0, 0.0, rtol)
    if atol is None:
        atol = torch.zeros((), dtype=torch.float64, device=matrix.device)
    return atol, rtol
