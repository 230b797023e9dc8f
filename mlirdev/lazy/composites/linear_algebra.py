"""Factorisations: their errors, which are values, and operands whose place in memory tells what was factored."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from mlirdev.lazy.device import download
from mlirdev.lazy.handlers import handles
from mlirdev.lazy.overloads import named
from mlirdev.lazy.storage import new_tensor, read

_check_errors = torch.ops.aten._linalg_check_errors.default


@handles("_linalg_det")
def _linalg_det(A: Tensor) -> tuple[Tensor, ...]:  # the schema names it
    return _factored("aten._linalg_det.default", A)


@handles("_linalg_slogdet")
def _linalg_slogdet(A: Tensor) -> tuple[Tensor, ...]:  # the schema names it
    return _factored("aten._linalg_slogdet.default", A)


def _factored(name: str, matrix: Tensor) -> tuple[Tensor, ...]:
    """The LU that ATen returns, and its derivative expects, is the transpose's where the matrix is contiguous. The node
    sees a contiguous one always, so it is given the transpose where the matrix isn't."""
    operand = matrix if matrix.is_contiguous() or matrix.is_complex() else matrix.mT
    return _recorded(name, operand)


def _recorded(name: str, *args: Any) -> tuple[Tensor, ...]:
    return tuple(new_tensor(cell) for cell in named(name).call(*args) if cell is not None)


# --- errors -----------------------------------------------------------------------------------------


@handles("_linalg_check_errors")
def check_errors(info: Tensor, api_name: str, *, is_matrix: bool) -> None:
    """Raise what PyTorch raises: the one place where a factorisation waits for its values."""
    _check_errors(download(read(info), "check_errors"), api_name, is_matrix=is_matrix)


def _checked(name: str, api_name: str, args: tuple[Any, ...], check: bool) -> tuple[Tensor, ...]:
    """Record the factorisation, whose last result says what went wrong and last argument whether to look."""
    results = _recorded(name, *args, False)
    if check:
        check_errors(results[-1], api_name, is_matrix=args[0].dim() == 2)
    return results


@handles("linalg_cholesky_ex")
def linalg_cholesky_ex(self: Tensor, *, upper: bool = False, check_errors: bool = False) -> tuple[Tensor, ...]:
    return _checked("aten.linalg_cholesky_ex.default", "linalg.cholesky_ex", (self, upper), check_errors)


@handles("linalg_inv_ex")
def linalg_inv_ex(A: Tensor, *, check_errors: bool = False) -> tuple[Tensor, ...]:  # the schema names it
    return _checked("aten.linalg_inv_ex.default", "linalg.inv_ex", (A,), check_errors)


@handles("linalg_lu_factor_ex")
def linalg_lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> tuple[Tensor, ...]:
    return _checked("aten.linalg_lu_factor_ex.default", "torch.linalg.lu_factor_ex", (A, pivot), check_errors)


@handles("linalg_ldl_factor_ex")
def linalg_ldl_factor_ex(self: Tensor, *, hermitian: bool = False, check_errors: bool = False) -> tuple[Tensor, ...]:
    name = "aten.linalg_ldl_factor_ex.default"
    return _checked(name, "torch.linalg.ldl_factor_ex", (self, hermitian), check_errors)


@handles("_linalg_solve_ex")
def _linalg_solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> tuple[Tensor, ...]:
    return _checked("aten._linalg_solve_ex.default", "torch.linalg.solve_ex", (A, B, left), check_errors)


@handles("cholesky")
def cholesky(self: Tensor, upper: bool = False) -> Tensor:
    """Recorded as cholesky_ex, since the node has no way to raise."""
    named("aten.cholesky.default").resolve((self, upper), {})  # refuses what eager refuses
    factor, info = _recorded("aten.linalg_cholesky_ex.default", self, upper, False)
    check_errors(info, "cholesky", is_matrix=self.dim() == 2)
    return factor


@handles("cholesky_inverse")
def cholesky_inverse(self: Tensor, upper: bool = False) -> Tensor:
    """As LAPACK: the first zero on the diagonal is an error."""
    (result,) = _recorded("aten.cholesky_inverse.default", self, upper)
    zero = self.diagonal(0, -2, -1) == 0
    info = torch.where(zero.any(-1), zero.int().argmax(-1) + 1, 0).int() if self.numel() else zero.sum(-1).int()
    check_errors(info, "cholesky_inverse", is_matrix=self.dim() == 2)
    return result
