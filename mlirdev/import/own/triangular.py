"""own.solve_triangular(a, b, upper, unitriangular): x with a·x = b, for (b, n, n) and (b, n, m).

Each row of x is b's less multiples of the rows found before. A zero on the diagonal divides as any number does.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from mlirdev.graph import Node

from ..emitter import Emitter
from ..imperative import Code, as_one_op
from ..scalars import Scalar
from .registry import own


@own("own.solve_triangular")
@as_one_op
def solve_triangular(e: Emitter, node: Node) -> Sequence[ir.Value]:
    matrix, right, upper, unitriangular = node.args
    batch, order, width = (Scalar(e, e.dim(d)) for d in e.spec(right).shape)
    code = Code(e)
    a, x = code.array(e.tensor(matrix)), code.array(e.tensor(right))
    with code.loop(0, batch) as b, code.down(order) if upper else code.loop(0, order) as i:
        with code.loop(i + 1 if upper else 0, order if upper else i) as k:
            factor = a[b, i, k]
            with code.loop(0, width) as j:
                x[b, i, j] = x[b, i, j] - factor * x[b, k, j]
        if not unitriangular:
            with code.loop(0, width) as j:
                x[b, i, j] = x[b, i, j] / a[b, i, i]
    return [x.now]
