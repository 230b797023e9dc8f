"""What the rules on matrices share: batches as one dim, triangles, rows by their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Node
from mlirdev.plan import PlanDim

from .. import dims
from ..dims import Shape
from ..tensor import Tensor

if TYPE_CHECKING:
    from ..rewriter import Rewriter


def stacked(x: Tensor, batch: Shape | None = None) -> Tensor:
    """(b, m, n): all batch dims as one, broadcast to `batch` first."""
    if batch is not None:
        x = x.expand((*batch, *x.shape[-2:]))
    return x.view((dims.product(x.shape[:-2]), *x.shape[-2:]))


def unstacked(x: Tensor, batch: Shape) -> Tensor:
    return x.view((*batch, *x.shape[1:]))


def batch_of(a: Tensor, b: Tensor) -> Shape:
    """The batch shape that two operands broadcast to."""
    return dims.broadcast(a.shape[:-2], b.shape[:-2])


def places(rw: Rewriter, height: PlanDim, width: PlanDim) -> tuple[Tensor, Tensor]:
    """The row and the column of each element of a matrix, to be broadcast."""
    return rw.arange(height).unsqueeze(1), rw.arange(width).unsqueeze(0)


def triangle(rw: Rewriter, x: Tensor, upper: bool, offset: int = 0) -> Tensor:
    """triu or tril."""
    rows, columns = places(rw, *x.shape[-2:])
    kept = rows + offset <= columns if upper else rows + offset >= columns
    return rw.where(kept, x, rw.zeros((), x.dtype))


def identity(rw: Rewriter, shape: Shape, dtype: DType) -> Tensor:
    """Ones on the diagonals of matrices."""
    rows, columns = places(rw, *shape[-2:])
    return rows.compare("eq", columns).to(dtype).expand(shape)


def diagonal(rw: Rewriter, x: Tensor) -> Tensor:
    """(b, n) of (b, n, n)."""
    place = rw.arange(x.shape[1])
    return rw.indexed(x, [None, place, place], (x.shape[0], x.shape[1]))


def rows_at(rw: Rewriter, x: Tensor, order: Tensor) -> Tensor:
    """Row i of each matrix of the result is row order[b, i] of x's."""
    index = order.unsqueeze(-1).expand(x.shape)
    return rw.emit("own.take_along", [x.ref, 1, index.ref], [x.spec])[0]


def of_nothing(rw: Rewriter, node: Node) -> list[Tensor] | None:
    """Where the first operand has no elements: results that are zeros, or empty too."""
    if 0 not in rw.tensor(node.args[0]).shape:
        return None
    return [rw.zeros(s.shape, s.dtype) for s in node.results]
