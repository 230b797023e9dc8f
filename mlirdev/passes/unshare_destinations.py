"""Give every op its own destination where common subexpression elimination let several share one.

`eliminate-empty-tensors` turns a shared tensor.empty into the memory of one result, and bufferization then lets one
op write over what another still has to give: two sums that start from the same fill would come out equal.
"""

from __future__ import annotations

from torch_mlir import ir

from mlirdev.passes.op_graph import inner_ops
from mlirdev.target import Target

NAME = "unshare-destinations"
# What stands in the body of a linalg op and writes no tensor.
INSIDE = ("linalg.index", "linalg.yield")
# What else goes on from a tensor that it is given: loops carry theirs.
WRITERS = ("scf.for", "scf.while", "tensor.insert")


def run(module: ir.Module, target: Target) -> None:
    """Last user first, so that a cloned fill's own destination is seen again."""
    pending = list(inner_ops(module.operation))
    while pending:
        op = pending.pop()
        if (op.name.startswith("linalg.") and op.name not in INSIDE) or op.name in WRITERS:
            pending += _unshare(op)


def _unshare(op: ir.Operation) -> list[ir.Operation]:
    """Clone the shared starts that `op` writes to; the clones are to be unshared too."""
    clones: list[ir.Operation] = []
    last = 2 if op.name == "tensor.insert" else len(op.operands)  # its indices follow
    for position in range(last - len(op.results), last):
        value = op.operands[position]
        start = None if isinstance(value.owner, ir.Block) else value.owner.operation
        if start is None or not _is_start(start) or len(list(value.uses)) < 2:
            continue
        with ir.InsertionPoint(op):
            clone = start.clone()
        op.operands[position] = clone.results[0]
        clones.append(clone)
    return clones


def _is_start(op: ir.Operation) -> bool:
    """Whether an op makes a tensor without reading one: an empty, a fill, a fill as a generic."""
    if op.name in ("tensor.empty", "linalg.fill"):
        return True
    return op.name == "linalg.generic" and len(op.operands) == len(op.results) == 1
