"""Matrix factorisations and solvers. What LAPACK writes is column-major: the strides say so."""

from __future__ import annotations

from typing import Any

import torch

from mlirdev.lazy.specs.checks import broadcast, require, shown, title, wrap_dim
from mlirdev.lazy.specs.layout import contiguous_strides, normal
from mlirdev.lazy.specs.matrix_checks import (
    computed,
    factored,
    fitting,
    floating,
    reflections,
    square,
    square_shape,
    system,
    unchecked,
)
from mlirdev.lazy.specs.promotion import complex_of, real_of
from mlirdev.lazy.specs.types import Meta, OutSpec, Shape, Table, rows


def column_major(shape: Shape, dtype: torch.dtype) -> OutSpec:
    """A batch of matrices, each with its columns in memory one after another."""
    batch, (height, width) = shape[:-2], shape[-2:]
    swapped = contiguous_strides((*batch, width, height))
    return OutSpec(shape, dtype, normal(shape, (*swapped[:-2], swapped[-1], swapped[-2])))


def _lu(A: Meta) -> tuple[OutSpec, OutSpec]:
    batch, (height, width) = A.shape[:-2], A.shape[-2:]
    return column_major(A.shape, A.dtype), OutSpec((*batch, min(height, width)), torch.int32)


def det(A: Meta) -> tuple[OutSpec, ...]:
    batch, _ = square(A, "linalg.det")
    return (OutSpec(batch, A.dtype), *_lu(A))


def slogdet(A: Meta) -> tuple[OutSpec, ...]:
    batch, _ = square(A, "linalg.slogdet")
    return (OutSpec(batch, A.dtype), OutSpec(batch, real_of(A.dtype)), *_lu(A))


def solve(A: Meta, B: Meta, left: bool = True, check_errors: bool = False) -> tuple[OutSpec, ...]:
    batch, _ = square_shape(A, "linalg.solve")
    floating(A, "linalg.solve", half=True)
    computed(A, "lu_cpu")
    require(
        A.dtype == B.dtype,
        "linalg.solve: Expected A and B to have the same dtype, but found A of type "
        f"{title(A)} and B of type {title(B)} instead",
    )
    is_vector = len(B.shape) == 1 or (len(A.shape) - 1 == len(B.shape) and B.shape == A.shape[:-1])
    shape = fitting(A, B._replace(shape=(*B.shape, 1)) if is_vector else B, left, "linalg.solve")
    shape = shape[:-1] if is_vector else shape
    # ATen asks for column-major even where the last two dims are a batch of vectors.
    result = column_major(shape, B.dtype) if left and len(shape) > 1 else OutSpec(shape, B.dtype)
    lu, pivots = _lu(A)
    unchecked(check_errors)
    return result, lu, pivots, OutSpec(batch, torch.int32)


def eigh(A: Meta, UPLO: str = "L", compute_v: bool = True) -> tuple[OutSpec, OutSpec]:
    batch, order = square_shape(A, "linalg.eigh")
    require(UPLO.upper() in ("L", "U"), f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    computed(A, "linalg_eigh_cpu")
    values = OutSpec((*batch, order), real_of(A.dtype))
    return values, column_major(A.shape, A.dtype) if compute_v else OutSpec((0,), A.dtype)


def eig(self: Meta) -> tuple[OutSpec, OutSpec]:
    batch, order = square(self, "linalg.eig")
    dtype = complex_of(self.dtype)
    return OutSpec((*batch, order), dtype), column_major(self.shape, dtype)


def svd(A: Meta, full_matrices: bool = False, compute_uv: bool = True, driver: Any = None) -> tuple[OutSpec, ...]:
    require(len(A.shape) >= 2, "linalg.svd: The input tensor A must have at least 2 dimensions.")
    floating(A, "linalg.svd", half=True)
    computed(A, "linalg_svd_cpu")
    require(
        driver is None,
        "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.",
    )
    batch, (height, width) = A.shape[:-2], A.shape[-2:]
    rank = min(height, width)
    values = OutSpec((*batch, rank), real_of(A.dtype))
    if not compute_uv:
        return OutSpec((0,), A.dtype), values, OutSpec((0,), A.dtype)
    u = column_major((*batch, height, height if full_matrices else rank), A.dtype)
    return u, values, column_major((*batch, width if full_matrices else rank, width), A.dtype)


def cholesky(self: Meta, upper: bool = False) -> OutSpec:
    square_shape(self, "cholesky")
    computed(self, "cholesky_cpu")
    return OutSpec(self.shape, self.dtype) if 0 in self.shape else column_major(self.shape, self.dtype)


def cholesky_ex(self: Meta, upper: bool = False, check_errors: bool = False) -> tuple[OutSpec, OutSpec]:
    batch, _ = square_shape(self, "linalg.cholesky")
    floating(self, "linalg.cholesky", half=True)
    computed(self, "cholesky_cpu")
    unchecked(check_errors)
    return column_major(self.shape, self.dtype), OutSpec(batch, torch.int32)


def cholesky_solve(self: Meta, input2: Meta, upper: bool = False) -> OutSpec:
    for name, operand in (("b", self), ("u", input2)):
        rank = len(operand.shape)
        require(rank >= 2, f"{name} should have at least 2 dimensions, but has {rank} dimensions instead")
    system(self, input2, "cholesky_solve")
    computed(self, "cholesky_solve_cpu")
    return column_major((*broadcast(self.shape[:-2], input2.shape[:-2]), *self.shape[-2:]), self.dtype)


def cholesky_inverse(self: Meta, upper: bool = False) -> OutSpec:
    square_shape(self, "cholesky_inverse")
    computed(self, "cholesky_inverse_out_cpu")
    return column_major(self.shape, self.dtype)


def inv(A: Meta, check_errors: bool = False) -> tuple[OutSpec, OutSpec]:
    batch, _ = square(A, "linalg.inv")
    unchecked(check_errors)
    return column_major(A.shape, A.dtype), OutSpec(batch, torch.int32)


def lu_factor(A: Meta, pivot: bool = True, check_errors: bool = False) -> tuple[OutSpec, ...]:
    factored(A, pivot, "torch.lu_factor")
    unchecked(check_errors)
    return (*_lu(A), OutSpec(A.shape[:-2], torch.int32))


def lu(A: Meta, pivot: bool = True) -> tuple[OutSpec, ...]:
    factored(A, pivot, "linalg.lu")
    return _unpacked(A)


def lu_unpack(LU: Meta, pivots: Meta, unpack_data: bool = True, unpack_pivots: bool = True) -> tuple[OutSpec, ...]:
    require(
        len(LU.shape) >= 2,
        f"torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: {shown(LU.shape)} instead",
    )
    require(
        not unpack_pivots or pivots.dtype is torch.int32,
        "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.",
    )
    return _unpacked(LU, unpack_data, unpack_pivots)


def _unpacked(LU: Meta, unpack_data: bool = True, unpack_pivots: bool = True) -> tuple[OutSpec, ...]:
    batch, (height, width) = LU.shape[:-2], LU.shape[-2:]
    rank, nothing = min(height, width), OutSpec((0,), LU.dtype)
    permutation = OutSpec((*batch, height, height), LU.dtype) if unpack_pivots else nothing
    if not unpack_data:
        return permutation, nothing, nothing
    return permutation, OutSpec((*batch, height, rank), LU.dtype), OutSpec((*batch, rank, width), LU.dtype)


def lu_solve(LU: Meta, pivots: Meta, B: Meta, left: bool = True, adjoint: bool = False) -> OutSpec:
    name = "linalg.lu_solve"
    require(
        LU.dtype == B.dtype,
        f"{name}: Expected LU and B to have the same dtype, but found LU of type {title(LU)} and B of type "
        f"{title(B)} instead",
    )
    require(pivots.dtype is torch.int32, f"{name}: pivots should be a Tensor of scalar type torch.int32")
    square_shape(LU, f"torch.{name}")
    floating(LU, f"torch.{name}", half=True)
    shape = fitting(LU, B, left, f"torch.{name}")
    require(
        LU.shape[-1] == pivots.shape[-1],
        f"{name}: Number of pivots per batch should be same as the dimension of the matrix",
    )
    require(
        LU.shape[:-1] == pivots.shape,
        f"{name}: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
        f"{shown(pivots.shape)} instead",
    )
    computed(LU, "linalg.lu_solve_cpu")
    spec = column_major(shape, B.dtype)
    return spec if left else OutSpec(shape, B.dtype)


def ldl_factor(self: Meta, hermitian: bool = False, check_errors: bool = False) -> tuple[OutSpec, ...]:
    batch, order = square(self, "torch.linalg.ldl_factor_ex")
    unchecked(check_errors)
    return column_major(self.shape, self.dtype), OutSpec((*batch, order), torch.int32), OutSpec(batch, torch.int32)


def ldl_solve(LD: Meta, pivots: Meta, B: Meta, hermitian: bool = False) -> OutSpec:
    name = "torch.linalg.ldl_solve"
    square(LD, name)
    require(
        LD.shape[:-1] == pivots.shape,
        f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
        f"{shown(pivots.shape)} instead",
    )
    require(
        not (pivots.dtype.is_floating_point or pivots.dtype.is_complex),
        f"{name}: Expected pivots to be integers. Got {title(pivots)}",
    )
    wrap_dim(-2, len(B.shape))
    system(B, LD, name)
    return column_major((*broadcast(LD.shape[:-2], B.shape[:-2]), *B.shape[-2:]), B.dtype)


def qr(A: Meta, mode: str = "reduced") -> tuple[OutSpec, OutSpec]:
    require(len(A.shape) >= 2, "linalg.qr: The input tensor A must have at least 2 dimensions.")
    floating(A, "linalg.qr", half=True)
    require(
        mode in ("reduced", "complete", "r"),
        f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'",
    )
    computed(A, "geqrf_cpu")
    batch, (height, width) = A.shape[:-2], A.shape[-2:]
    rank = min(height, width)
    side = height if mode == "complete" else rank
    r = column_major((*batch, side, width), A.dtype)
    return (OutSpec((0,), A.dtype) if mode == "r" else column_major((*batch, height, side), A.dtype)), r


def solve_triangular(self: Meta, B: Meta, upper: bool, left: bool = True, unitriangular: bool = False) -> OutSpec:
    shape = fitting(self, B, left, "linalg.solve_triangular")
    computed(self, "triangular_solve_cpu")
    spec = column_major(shape, B.dtype)
    return spec if left else OutSpec(shape, B.dtype)


def triangular_solve(self: Meta, A: Meta, *_: Any) -> tuple[OutSpec, OutSpec]:
    for name, operand in (("b", self), ("A", A)):
        rank = len(operand.shape)
        require(
            rank >= 2,
            f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it has {rank} dimensions "
            "instead",
        )
    system(self, A, "triangular_solve")
    computed(A, "triangular_solve_cpu")
    batch = broadcast(self.shape[:-2], A.shape[:-2])
    return column_major((*batch, *self.shape[-2:]), self.dtype), column_major((*batch, *A.shape[-2:]), A.dtype)


def householder_product(self: Meta, tau: Meta) -> OutSpec:
    name = "torch.linalg.householder_product"
    require(len(self.shape) >= 2, f"{name}: input must have at least 2 dimensions.")
    for big, small in (("input.shape[-2]", "input.shape[-1]"), ("input.shape[-1]", "tau.shape[-1]")):
        sizes = {"input.shape[-2]": self.shape[-2], "input.shape[-1]": self.shape[-1], "tau.shape[-1]": tau.shape[-1]}
        require(sizes[big] >= sizes[small], f"{name}: {big} must be greater than or equal to {small}")
    reflections(self, tau, name)
    require(self.dtype == tau.dtype, f"{name}: tau dtype {title(tau)} does not match input dtype {title(self)}")
    computed(self, "orgqr_cpu")
    return column_major(self.shape, self.dtype)


def ormqr(self: Meta, tau: Meta, other: Meta, left: bool = True, transpose: bool = False) -> OutSpec:
    side = -2 if left else -1
    require(len(self.shape) >= 2, "torch.ormqr: input must have at least 2 dimensions.")
    require(len(other.shape) >= 2, "torch.ormqr: other must have at least 2 dimensions.")
    require(other.shape[side] == self.shape[-2], f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]")
    require(
        tau.shape[-1] == min(other.shape[side], self.shape[-1]),
        f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])",
    )
    reflections(self, tau, "torch.ormqr")
    require(
        other.shape[:-2] == self.shape[:-2],
        f"torch.ormqr: Expected batch dimensions of other to be equal to input.shape[:-2], but got "
        f"{shown(other.shape[:-2])}",
    )
    for name, operand in (("tau", tau), ("other", other)):
        require(
            operand.dtype == self.dtype,
            f"torch.ormqr: Expected input and {name} to have the same dtype, but input has dtype{title(self)} and "
            f"{name} has dtype {title(operand)}",
        )
    computed(self, "ormqr_cpu")
    return column_major(other.shape, other.dtype)


def geqrf(self: Meta) -> tuple[OutSpec, OutSpec]:
    require(len(self.shape) >= 2, "torch.geqrf: input must have at least 2 dimensions.")
    computed(self, "geqrf_cpu")
    batch, (height, width) = self.shape[:-2], self.shape[-2:]
    return column_major(self.shape, self.dtype), OutSpec((*batch, min(height, width)), self.dtype)


def matrix_exp(self: Meta) -> OutSpec:
    square_shape(self, "linalg.matrix_exp")
    floating(self, "linalg.matrix_exp", half=True)
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
    known = (torch.float32, torch.float64, torch.complex64, torch.complex128)
    require(
        len(self.shape) >= 2 and self.dtype in known,
        f"linalg.pinv({title(self)}{{{shown(self.shape)}}}): expected a tensor with 2 or more dimensions of float, "
        "double, cfloat or cdouble types",
    )
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
    **rows(householder_product, "linalg_householder_product"),
    **rows(cholesky_inverse, "cholesky_inverse"),
    **rows(ormqr, "ormqr"),
    **rows(geqrf, "geqrf"),
    **rows(matrix_exp, "linalg_matrix_exp"),
    **rows(cross, "linalg_cross"),
    **rows(pinv, "linalg_pinv.atol_rtol_tensor"),
}
