"""What eager refuses of matrices, in its words."""

from __future__ import annotations

import torch

from mlirdev.lazy.specs.checks import broadcast, crossed, fail, not_implemented, require, shown, title
from mlirdev.lazy.specs.types import DataDependentError, Meta, Shape


def square_shape(A: Meta, name: str) -> tuple[Shape, int]:
    """Batch shape and order of square matrices."""
    require(len(A.shape) >= 2, f"{name}: The input tensor A must have at least 2 dimensions.")
    height, width = A.shape[-2:]
    require(
        height == width,
        f"{name}: A must be batches of square matrices, but they are {height} by {width} matrices",
    )
    return A.shape[:-2], height


def square(A: Meta, name: str) -> tuple[Shape, int]:
    found = square_shape(A, name)
    floating(A, name)
    return found


def floating(A: Meta, name: str, half: bool = False) -> None:
    if not (A.dtype.is_floating_point or A.dtype.is_complex):
        fail(f"{name}: Expected a floating point or complex tensor as input. Got {title(A)}")
    if A.dtype in (torch.float16, torch.bfloat16) and not half:
        fail(f"{name}: Low precision dtypes not supported. Got {title(A)}")


def computed(A: Meta, kernel: str) -> None:
    """The dtypes that LAPACK has."""
    if not (A.dtype.is_floating_point or A.dtype.is_complex) or A.dtype in (torch.float16, torch.bfloat16):
        not_implemented(kernel, A.dtype)


def fitting(A: Meta, B: Meta, left: bool, name: str) -> Shape:
    """Check a square A and B of A·X = B, or X·A = B, against each other; the shape of X."""
    batch, order = square_shape(A, name)
    require(len(B.shape) >= 2, f"{name.removeprefix('torch.')}: The input tensor B must have at least 2 dimensions.")
    require(
        order == B.shape[-2 if left else -1],
        f"{name.removeprefix('torch.')}: Incompatible shapes of A and B for the equation "
        f"{'AX' if left else 'XA'} = B ({crossed(A.shape[-2:])} and {crossed(B.shape[-2:])})",
    )
    return (*broadcast(B.shape[:-2], batch), *B.shape[-2:])


def unchecked(check_errors: bool) -> None:
    """A node has no way to raise: the handlers check by themselves, and out= overloads run on the CPU."""
    if check_errors:
        raise DataDependentError("whether the factorisation fails depends on values")


def system(b: Meta, A: Meta, name: str) -> None:
    """What the older solvers check."""
    require(
        b.dtype == A.dtype,
        f"Expected b and A to have the same dtype, but found b of type {title(b)} and A of type {title(A)} instead.",
    )
    height, width = A.shape[-2:]
    require(height == width, f"A must be batches of square matrices, but they are {height} by {width} matrices")
    require(
        height == b.shape[-2],
        f"Incompatible matrix sizes for {name}: each A matrix is {height} by {height} but each b matrix is "
        f"{b.shape[-2]} by {b.shape[-1]}",
    )


def factored(A: Meta, pivot: bool, name: str) -> None:
    require(len(A.shape) >= 2, f"{name}: Expected tensor with 2 or more dimensions. Got size: {shown(A.shape)} instead")
    require(pivot, "linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    computed(A, "lu_cpu")


def reflections(input: Meta, tau: Meta, name: str) -> None:  # eager's word
    """tau has a number per column of the input."""
    require(
        len(tau.shape) == len(input.shape) - 1,
        f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {len(tau.shape)} and "
        f"input.ndim is equal to {len(input.shape)}",
    )
    require(
        tau.shape[:-1] == input.shape[:-2],
        f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {shown(tau.shape[:-1])}",
    )
