"""Where emitters of linalg register themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_mlir import ir

from mlirdev.graph import Node

from ..emitter import Emitter

# Takes the emitter and the node; gives the node's results as builtin tensors.
Own = Callable[[Emitter, Node], Sequence[ir.Value]]
OWN: dict[str, Own] = {}


def own(*ops: str) -> Callable[[Own], Own]:
    def register(fn: Own) -> Own:
        OWN.update(dict.fromkeys(ops, fn))
        return fn

    return register
