"""own.squared(x, times): each matrix of (b, n, n) squared as often as times[b] says."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from mlirdev.graph import Node

from ..emitter import Emitter
from ..imperative import Array, Code, as_one_op
from ..scalars import Scalar
from .registry import own


@own("own.squared")
@as_one_op
def squared(e: Emitter, node: Node) -> Sequence[ir.Value]:
    matrices, counts = node.args
    shape = e.spec(matrices).shape
    batch, order = (Scalar(e, e.dim(d)) for d in shape[:2])
    code = Code(e)
    x, times = code.array(e.tensor(matrices)), code.array(e.tensor(counts))
    product = code.space(shape[1:], e.element_type(node.results[0].dtype))
    with code.loop(0, batch) as b, code.loop(0, code.index(times[b])):
        _square(code, x, b, product, order)
    return [x.now]


def _square(code: Code, x: Array, b: Scalar, product: Array, order: Scalar) -> None:
    with code.loop(0, order) as i:
        with code.loop(0, order) as j:
            product[i, j] = 0.0
        with code.loop(0, order) as k:
            factor = x[b, i, k]
            with code.loop(0, order) as j:
                product[i, j] = product[i, j] + factor * x[b, k, j]
    with code.nest(order, order) as (i, j):
        x[b, i, j] = product[i, j]
