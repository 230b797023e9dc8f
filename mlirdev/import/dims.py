"""Arithmetic on sizes that may be inputs of the graph."""

from __future__ import annotations

from collections.abc import Iterable

from mlirdev.errors import InternalError
from mlirdev.graph import Sym
from mlirdev.plan import DimExpr, PlanDim

Shape = tuple[PlanDim, ...]


def mul(a: PlanDim, b: PlanDim) -> PlanDim:
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if a == 0 or b == 0:
        return 0
    if a == 1:
        return b
    return a if b == 1 else DimExpr("mul", (a, b))


def add(a: PlanDim, b: PlanDim) -> PlanDim:
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if a == 0:
        return b
    return a if b == 0 else DimExpr("add", (a, b))


def sub(a: PlanDim, b: PlanDim) -> PlanDim:
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    if a == b:
        return 0
    return a if b == 0 else DimExpr("sub", (a, b))


def floordiv(a: PlanDim, b: PlanDim) -> PlanDim:
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    return a if b == 1 else DimExpr("floordiv", (a, b))


def product(dims: Iterable[PlanDim]) -> PlanDim:
    result: PlanDim = 1
    for dim in dims:
        result = mul(result, dim)
    return result


def static(dim: PlanDim) -> int:
    """A size that has to be known when compiled."""
    if not isinstance(dim, int):
        raise InternalError(f"a fixed size is needed here, not {dim}")
    return dim


def broadcast(a: Shape, b: Shape) -> Shape:
    """The shape of an elementwise operation on both; recording has checked that they fit."""
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    # A fixed size says more than an input that equals it.
    return tuple(y if x == 1 or (isinstance(y, int) and y != 1 and not isinstance(x, int)) else x for x, y in zip(a, b, strict=True))


def wrap(dim: int, rank: int) -> int:
    """A dimension counted from the front."""
    return dim + max(rank, 1) if dim < 0 else dim


def is_runtime(dims: Iterable[PlanDim]) -> bool:
    return any(isinstance(d, (Sym, DimExpr)) for d in dims)
