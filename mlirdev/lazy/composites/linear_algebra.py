"""Factorisations whose backward asks how their operand lay in memory."""

from __future__ import annotations

from torch import Tensor

from mlirdev.lazy.handlers import handles
from mlirdev.lazy.overloads import named
from mlirdev.lazy.storage import new_tensor


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
    return tuple(new_tensor(cell) for cell in named(name).call(operand) if cell is not None)
