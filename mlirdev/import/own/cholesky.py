"""own.cholesky(x): U and info, where Uᵀ·U is x, of which the upper triangle is read; (b, n, n).

Rows of U are contiguous, and so are the rows from which their multiples are subtracted. As LAPACK's potrf, it ends
at the first minor that isn't positive, and says which one it is (from 1).
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from mlirdev.graph import Node

from ..emitter import Emitter
from ..imperative import Array, Code, as_one_op
from ..scalars import Scalar
from .registry import own


@own("own.cholesky")
@as_one_op
def cholesky(e: Emitter, node: Node) -> Sequence[ir.Value]:
    batch, order, _ = e.spec(node.args[0]).shape
    code = Code(e)
    n = Scalar(e, e.dim(order))
    u = code.array(e.tensor(node.args[0]))
    info = code.space((batch,), e.i32)
    with code.nest(Scalar(e, e.dim(batch)), n) as (b, k), code.when(info[b].equals(0)):
        pivot = u[b, k, k]
        positive = pivot > 0.0
        with code.when(~positive):
            info[b] = code.integer(k + 1, e.i32)
        with code.when(positive):
            _eliminate(code, u, b, k, n, pivot.sqrt())
    return [u.now, info.now]


def _eliminate(code: Code, u: Array, b: Scalar, k: Scalar, n: Scalar, root: Scalar) -> None:
    """Row k of U, and what it leaves of the rows below."""
    u[b, k, k] = root
    with code.loop(k + 1, n) as j:
        u[b, k, j] = u[b, k, j] / root
    with code.loop(k + 1, n) as i:
        factor = u[b, k, i]
        with code.loop(i, n) as j:
            u[b, i, j] = u[b, i, j] - factor * u[b, k, j]
