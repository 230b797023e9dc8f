"""Give a returned constant, fill or slice an op of its own, so that other readers still get it for nothing.

What is returned must be in memory; a fill that also starts a contraction would have to be read from there.
"""

from __future__ import annotations

from torch_mlir import ir

from mlirdev.passes.op_graph import ALWAYS_FREE, OpGraph, OpNode, Role, build_op_graph
from mlirdev.target import Target

NAME = "separate-returned-values"


def run(module: ir.Module, target: Target) -> None:
    """Clone the op, and the reshapes between it and the return, before the return."""
    graph = build_op_graph(module)
    terminator = graph.terminator.op
    clones: dict[ir.Value, ir.Value] = {}
    with ir.InsertionPoint(terminator):
        for position, value in enumerate(graph.returned):
            node = graph.definer.get(graph.base(value))
            if node is not None and node.name in ALWAYS_FREE and not _only_returned(node):
                terminator.operands[position] = _clone(graph, value, clones)


def _only_returned(node: OpNode) -> bool:
    return all(user.role is Role.RETURN or (user.role is Role.VIEW and _only_returned(user)) for user in node.users)


def _clone(graph: OpGraph, value: ir.Value, clones: dict[ir.Value, ir.Value]) -> ir.Value:
    if value not in clones:
        node = graph.definer[value]
        source = _clone(graph, node.operands[0], clones) if node.role is Role.VIEW else None
        copy = node.op.clone()
        if source is not None:
            copy.operands[0] = source
        clones[value] = copy.results[node.results.index(value)]
    return clones[value]
