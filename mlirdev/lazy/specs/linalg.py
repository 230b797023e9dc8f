"""Matrix factorisations and solvers. What LAPACK writes is column-major: the strides say so."""

from __future__ import annotations

from typing import Any

import torch

from mlirdev.lazy.specs.checks import broadcast, fail, require, title, wrap_dim
from mlirdev.lazy.specs.layout import contiguous_strides, normal
from mlirdev.lazy.specs.promotion import complex_of, real_of, result_dtype
from mlirdev.lazy.specs.types import Meta, OutSpec, Shape, Table, rows


def column_major(shape: Shape, dtype: torch.dtype) -> OutSpec:
    """A batch of matrices, each with its columns in memory one after another."""
    batch, (height, width) = shape[:-2], shape[-2:]
    swapped = contiguous_strides((*batch, width, height))
    return OutSpec(shape, dtype, normal(shape, (*swapped[:-2], swapped[-1], swapped[-2])))


def _square(A: Meta, name: str) -> tuple[Shape, int]:
    """Batch shape and order of square matrices."""
    require(len(A.shape) >= 2, f"{name}: The input tensor A must have at least 2 dimensions.")
    height, width = A.shape[-2:]
    require(
        height == width,
        f"{name}: A must be batches of square matrices, but they are {height} by {width} matrices",
    )
    _floating(A, name)
    return A.shape[:-2], height


def _floating(A: Meta, name: str) -> None:
    if not (A.dtype.is_floating_point or A.dtype.is_complex):
        fail(f"{name}: Expected a floating point or complex tensor as input. Got {title(A)}")
    if A.dtype in (torch.float16, torch.bfloat16):
        fail(f"{name}: Low precision dtypes not supported. Got {title(A)}")


def _lu(A: Meta) -> tuple[OutSpec, OutSpec]:
    batch, (height, width) = A.shape[:-2], A.shape[-2:]
    return column_major(A.shape, A.dtype), OutSpec((*batch, min(height, width)), torch.int32)


def det(A: Meta) -> tuple[OutSpec, ...]:
    batch, _ = _square(A, "linalg.det")
    return (OutSpec(batch, A.dtype), *_lu(A))


def slogdet(A: Meta) -> tuple[OutSpec, ...]:
    batch, _ = _square(A, "linalg.slogdet")
    return (OutSpec(batch, A.dtype), OutSpec(batch, real_of(A.dtype)), *_lu(A))


def solve(A: Meta, B: Meta, left: bool = True, check_errors: bool = False) -> tuple[OutSpec, ...]:
    batch, _ = _square(A, "linalg.solve")
    is_vector = len(B.shape) == 1 or (len(A.shape) - 1 == len(B.shape) and B.shape == A.shape[:-1])
    matrix = (*B.shape, 1) if is_vector else B.shape
    shape = (*broadcast(batch, matrix[:-2]), *matrix[-2:])
    shape = shape[:-1] if is_vector else shape
    # ATen asks for column-major even where the last two dims are a batch of vectors.
    result = column_major(shape, B.dtype) if left and len(shape) > 1 else OutSpec(shape, B.dtype)
    lu, pivots = _lu(A)
    return result, lu, pivots, OutSpec(batch, torch.int32)


def eigh(A: Meta, UPLO: str = "L", compute_v: bool = True) -> tuple[OutSpec, OutSpec]:
    batch, order = _square(A, "linalg.eigh")
    values = OutSpec((*batch, order), real_of(A.dtype))
    return values, column_major(A.shape, A.dtype) if compute_v else OutSpec((0,), A.dtype)


def eig(self: Meta) -> tuple[OutSpec, OutSpec]:
    batch, order = _square(self, "linalg.eig")
    dtype = complex_of(self.dtype)
    return OutSpec((*batch, order), dtype), column_major(self.shape, dtype)


def svd(A: Meta, full_matrices: bool = False, compute_uv: bool = True, driver: Any = None) -> tuple[OutSpec, ...]:
    require(len(A.shape) >= 2, "linalg.svd: The input tensor A must have at least 2 dimensions.")
    _floating(A, "linalg.svd")
    batch, (height, width) = A.shape[:-2], A.shape[-2:]
    rank = min(height, width)
    values = OutSpec((*batch, rank), real_of(A.dtype))
    if not compute_uv:
        return OutSpec((0,), A.dtype), values, OutSpec((0,), A.dtype)
    u = column_major((*batch, height, height if full_matrices else rank), A.dtype)
    return u, values, column_major((*batch, width if full_matrices else rank, width), A.dtype)


def cholesky(self: Meta, upper: bool = False) -> OutSpec:
    _square(self, "cholesky")
    return OutSpec(self.shape, self.dtype) if 0 in self.shape else column_major(self.shape, self.dtype)


def cholesky_ex(self: Meta, upper: bool = False, check_errors: bool = False) -> tuple[OutSpec, OutSpec]:
    batch, _ = _square(self, "linalg.cholesky")
    return column_major(self.shape, self.dtype), OutSpec(batch, torch.int32)


def cholesky_solve(self: Meta, input2: Meta, upper: bool = False) -> OutSpec:
    batch = broadcast(self.shape[:-2], input2.shape[:-2])
    return column_major((*batch, *self.shape[-2:]), result_dtype((self, input2)))


def inv(A: Meta, check_errors: bool = False) -> tuple[OutSpec, OutSpec]:
    batch, _ = _square(A, "linalg.inv")
    return column_major(A.shape, A.dtype), OutSpec(batch, torch.int32)


def lu_factor(A: Meta, pivot: bool = True, check_errors: bool = False) -> tuple[OutSpec, ...]:
    require(len(A.shape) >= 2, "torch.lu_factor: Expected tensor with 2 or more dimensions.")
    return (*_lu(A), OutSpec(A.shape[:-2], torch.int32))


def lu(A: Meta, pivot: bool = True) -> tuple[OutSpec, ...]:
    permutation, lower, upper = lu_unpack(A, A)
    return (permutation if pivot else OutSpec((0,), A.dtype)), lower, upper


def lu_unpack(LU: Meta, pivots: Meta, unpack_data: bool = True, unpack_pivots: bool = True) -> tuple[OutSpec, ...]:
    batch, (height, width) = LU.shape[:-2], LU.shape[-2:]
    rank, nothing = min(height, width), OutSpec((0,), LU.dtype)
    permutation = OutSpec((*batch, height, height), LU.dtype) if unpack_pivots else nothing
    if not unpack_data:
        return permutation, nothing, nothing
    return permutation, OutSpec((*batch, height, rank), LU.dtype), OutSpec((*batch, rank, width), LU.dtype)


def lu_solve(LU: Meta, pivots: Meta, B: Meta, left: bool = True, adjoint: bool = False) -> OutSpec:
    shape = (*broadcast(LU.shape[:-2], B.shape[:-2]), *B.shape[-2:])
    spec = column_major(shape, B.dtype)
    return spec if left else OutSpec(shape, B.dtype)


def ldl_factor(self: Meta, hermitian: bool = False, check_errors: bool = False) -> tuple[OutSpec, ...]:
    batch, order = _square(self, "torch.linalg.ldl_factor_ex")
    return column_major(self.shape, self.dtype), OutSpec((*batch, order), torch.int32), OutSpec(batch, torch.int32)


def ldl_solve(LD: Meta, pivots: Meta, B: Meta, hermitian: bool = False) -> OutSpec:
    return column_major((*broadcast(LD.shape[:-2], B.shape[:-2]), *B.shape[-2:]), B.dtype)


def qr(A: Meta, mode: str = "reduced") -> tuple[OutSpec, OutSpec]:
    require(len(A.shape) >= 2, "linalg.qr: The input tensor A must have at least 2 dimensions.")
    batch, (height, width) = A.shape[:-2], A.shape[-2:]
    rank = min(height, width)
    side = height if mode == "complete" else rank
    r = column_major((*batch, side, width), A.dtype)
    return (OutSpec((0,), A.dtype) if mode == "r" else column_major((*batch, height, side), A.dtype)), r


def solve_triangular(self: Meta, B: Meta, upper: bool, left: bool = True, unitriangular: bool = False) -> OutSpec:
    shape = (*broadcast(self.shape[:-2], B.shape[:-2]), *B.shape[-2:])
    spec = column_major(shape, B.dtype)
    return spec if left else OutSpec(shape, B.dtype)


def triangular_solve(self: Meta, A: Meta, *_: Any) -> tuple[OutSpec, OutSpec]:
    batch = broadcast(self.shape[:-2], A.shape[:-2])
    return column_major((*batch, *self.shape[-2:]), self.dtype), column_major((*batch, *A.shape[-2:]), A.dtype)


def column_major_like(self: Meta, *_: Any) -> OutSpec:
    """householder_product and cholesky_inverse: a matrix of the first argument's shape."""
    return column_major(self.shape, self.dtype)


def ormqr(self: Meta, tau: Meta, other: Meta, left: bool = True, transpose: bool = False) -> OutSpec:
    require(len(self.shape) >= 2, "torch.ormqr: input must have at least 2 dimensions.")
    require(
        tau.shape[-1] == min(other.shape[-2 if left else -1], self.shape[-1]),
        f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{-2 if left else -1}], input.shape[-1])",
    )
    return column_major(other.shape, other.dtype)


def geqrf(self: Meta) -> tuple[OutSpec, OutSpec]:
    batch, (height, width) = self.shape[:-2], self.shape[-2:]
    return column_major(self.shape, self.dtype), OutSpec((*batch, min(height, width)), self.dtype)


def matrix_exp(self: Meta) -> OutSpec:
    return OutSpec(self.shape, self.dtype)


def cross(self: Meta, other: Meta, dim: int = -1) -> OutSpec:
    require(
        len(self.shape) == len(other.shape),
        "linalg.cross: inputs must have the same number of dimensions.",
    )
    at = wrap_dim(dim, len(self.shape))
    require(
        self.shape[at] == 3 and other.shape[at] == 3,
        f"linalg.cross: inputs dimension {dim} must have length 3. Got {self.shape[at]} and {other.shape[at]}",
    )
    return OutSpec(broadcast(self.shape, other.shape), self.dtype)


def pinv(self: Meta, *_: Any) -> OutSpec:
    return OutSpec((*self.shape[:-2], self.shape[-1], self.shape[-2]), self.dtype)


TABLE: Table = {
    **rows(det, "_linalg_det"),
    **rows(slogdet, "_linalg_slogdet"),
    **rows(solve, "_linalg_solve_ex"),
    **rows(eigh, "_linalg_eigh"),
    **rows(eig, "linalg_eig"),
    **rows(svd, "_linalg_svd"),
    **rows(cholesky, "cholesky"),
    **rows(cholesky_ex, "linalg_cholesky_ex"),
    **rows(cholesky_solve, "cholesky_solve"),
    **rows(inv, "linalg_inv_ex"),
    **rows(lu_factor, "linalg_lu_factor_ex"),
    **rows(lu, "linalg_lu"),
    **rows(lu_unpack, "lu_unpack"),
    **rows(lu_solve, "linalg_lu_solve"),
    **rows(ldl_factor, "linalg_ldl_factor_ex"),
    **rows(ldl_solve, "linalg_ldl_solve"),
    **rows(qr, "linalg_qr"),
    **rows(solve_triangular, "linalg_solve_triangular"),
    **rows(triangular_solve, "triangular_solve"),
    **rows(column_major_like, "linalg_householder_product cholesky_inverse"),
    **rows(ormqr, "ormqr"),
    **rows(geqrf, "geqrf"),
    **rows(matrix_exp, "linalg_matrix_exp"),
    **rows(cross, "linalg_cross"),
    **rows(pinv, "linalg_pinv.atol_rtol_tensor"),
}
