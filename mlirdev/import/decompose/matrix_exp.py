"""The exponential of matrices: Taylor's series of a fraction of the matrix, squared until it is the whole one's.

Each matrix is halved until its 1-norm is at most 1, where 18 terms are exact in f64, and its series squared as often.
Squaring doubles errors, so that in f32 (as on the CPU) little would be left of the exponential of a large matrix.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Node

from ..registry import decomposition
from ..tensor import Tensor
from .matrices import identity, stacked, unstacked

if TYPE_CHECKING:
    from ..rewriter import Rewriter

_TERMS = 18
# More halvings than any finite norm asks for.
_MOST = 1100.0


@decomposition("aten.linalg_matrix_exp.default")
def matrix_exp(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0], DType.f64)
    if 0 in x.shape:
        return rw.zeros(x.shape, x.dtype)
    if x.shape[-1] == 1:
        return x.exp()
    matrix = stacked(x)
    halvings = _halvings(rw, matrix.abs().sum([1]).amax([1]))
    scale = (halvings.to(x.dtype) * -1.0).unary("exp2")
    series = _series(rw, matrix * scale.unsqueeze(1).unsqueeze(2))
    return unstacked(rw.emit("own.squared", [series.ref, halvings.ref], [series.spec])[0], x.shape[:-2])


def _halvings(rw: Rewriter, norm: Tensor) -> Tensor:
    """As often as the norm has to be halved to be at most 1; a matrix that isn't finite stays as it is."""
    wide = norm.to(DType.f64)
    count = wide.unary("log2").unary("ceil")
    inside = (wide > 1.0) & (count <= _MOST)
    return rw.where(inside, count, 0.0).to(DType.i64)


def _series(rw: Rewriter, x: Tensor) -> Tensor:
    """Σ xᵏ/k! for k up to 18, by Horner's rule in x³ on sums of three terms (Paterson and Stockmeyer)."""
    square = x.bmm(x)
    cube = square.bmm(x)
    one = identity(rw, x.shape, x.dtype)
    total = one * (1 / math.factorial(_TERMS))
    for k in range(_TERMS - 3, -1, -3):
        terms = [one, x, square]
        part = [term * (1 / math.factorial(k + i)) for i, term in enumerate(terms)]
        total = total.bmm(cube) + part[0] + part[1] + part[2]
    return total
