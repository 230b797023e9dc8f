"""mlirdev.require(x, ok, message): x, where every element of `ok` (of x's shape, or broadcast to it) must be true.

`message` is one of plan.VALUE_CHECKS: what the program is told, with the line that called for x.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from mlirdev.graph import Node

from ..emitter import Emitter
from .registry import own
from .scalar import broadcast_map


@own("mlirdev.require")
def require(e: Emitter, node: Node) -> Sequence[ir.Value]:
    x, ok, message = node.args
    assert isinstance(message, str)
    spec = e.spec(x)

    def body(value: ir.Value, holds: ir.Value) -> ir.Value:
        e.check(holds, message)
        return value

    inputs = [(e.tensor(x), list(range(len(spec.shape)))), (e.tensor(ok), broadcast_map(e.spec(ok).shape, spec.shape))]
    return [e.generic(spec.shape, e.element_type(spec.dtype), inputs, body)]
