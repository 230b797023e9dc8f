"""What tidies a module whose sizes are partly inputs.

Every run-time size is computed from the sym arguments, never asked of a tensor; size checks, which recording
has made, are gone; and `sym_dims` on @main says for every tensor argument which sym each of its dims is
(-1: fixed), so that later stages can tell how the arguments' shapes hang together.
"""

from __future__ import annotations

from collections.abc import Iterator

from torch_mlir import ir

from mlirdev.events import Observer, no_observer
from mlirdev.graph import Graph, Sym
from mlirdev.plan import CHECKS

from .context import run_pipeline

RESOLVE = "func.func(resolve-ranked-shaped-type-result-dims,canonicalize,cse)"
CLEAN = "func.func(canonicalize,cse)"


def tidy(module: ir.Module, graph: Graph, observe: Observer = no_observer) -> None:
    """In place; graphs without syms need nothing."""
    if not graph.syms:
        return
    run_pipeline(module, RESOLVE, "linalg", observe)
    with module.context, ir.Location.unknown():
        main = next(op for op in module.body.operations if op.operation.name == "func.func").operation
        entry = main.regions[0].blocks[0]
        _drop_size_checks(entry)
        _take_dims_from_syms(entry, graph)
        rows = [[d.index if isinstance(d, Sym) else -1 for d in s.shape] for s in graph.inputs]
        main.attributes["sym_dims"] = ir.ArrayAttr.get([ir.DenseI64ArrayAttr.get(row) for row in rows])
    run_pipeline(module, CLEAN, "linalg", observe)


def _drop_size_checks(entry: ir.Block) -> None:
    for op in list(entry.operations):
        if op.operation.name == "cf.assert" and ir.StringAttr(op.operation.attributes["msg"]).value not in CHECKS:
            op.operation.erase()


def _take_dims_from_syms(entry: ir.Block, graph: Graph) -> None:
    """tensor.dim of an argument is its sym."""
    first_sym = len(graph.inputs) + len(graph.scalars)
    index = ir.IndexType.get()
    casts: dict[int, ir.Value] = {}
    with ir.InsertionPoint.at_block_begin(entry):
        for i in range(graph.syms):
            argument = entry.arguments[first_sym + i]
            casts[i] = ir.Operation.create("arith.index_cast", results=[index], operands=[argument]).results[0]
    for op in list(_dims_of_arguments(entry)):
        place = ir.BlockArgument(op.operands[0]).arg_number
        axis = ir.IntegerAttr(op.operands[1].owner.attributes["value"]).value
        dim = graph.inputs[place].shape[axis]
        if isinstance(dim, Sym):
            op.results[0].replace_all_uses_with(casts[dim.index])
            op.erase()


def _dims_of_arguments(block: ir.Block) -> Iterator[ir.Operation]:
    for op in block.operations:
        operation = op.operation
        if operation.name == "tensor.dim" and isinstance(operation.operands[0], ir.BlockArgument):
            yield operation
