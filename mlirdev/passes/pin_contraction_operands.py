"""Give what contractions read a second use, so that fusion doesn't recompute it inside of their inner loop.

`linalg-fuse-elementwise-ops` folds elementwise producers into contractions: a LayerNorm, GELU or softmax would be
recomputed for every column of the result. So it would by any reduction that reads an element for several results: a
matrix times a vector, the sum of a column times a row's number. Transposes, slices and reshapes on the way stay
unpinned, since folding them into the contraction's maps is what we want. `unpin-contraction-operands` takes the pins
away.
"""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir.dialects import func

from mlirdev.passes.linalg_info import dims_of, is_movement
from mlirdev.passes.op_graph import OpGraph, OpNode, Role, build_op_graph
from mlirdev.target import Target

NAME = "pin-contraction-operands"
PREFIX = "__pin"
READERS = ("contraction", "convolution", "pooling")


def run(module: ir.Module, target: Target) -> None:
    """A pin is a call of a function without a body, before the return."""
    graph = build_op_graph(module)
    pinned = dict.fromkeys(
        source
        for node in graph.nodes
        if node.role is Role.ROOT
        for operand in (node.operands if node.kind in READERS else _read_for_several(node))
        if (source := _computed_source(graph, operand)) is not None
    )
    types = list(dict.fromkeys(value.type for value in pinned))
    for number, type_ in enumerate(types):
        with ir.InsertionPoint(module.body):
            func.FuncOp(f"{PREFIX}{number}", ([type_], []), visibility="private")
    with ir.InsertionPoint(graph.terminator.op):
        for value in pinned:
            callee = ir.FlatSymbolRefAttr.get(f"{PREFIX}{types.index(value.type)}")
            func.CallOp([], callee, [value])


def _read_for_several(node: OpNode) -> list[ir.Value]:
    """The operands of a reduction each of whose elements goes into several of its results."""
    nest = node.nest
    if nest is None or nest.is_parallel:
        return []
    results = {loop for loop, parallel in enumerate(nest.parallel) if parallel}
    maps = [ir.AffineMapAttr(a).value for a in ir.ArrayAttr(node.op.attributes["indexing_maps"])]
    used = [{loop for expr in m.results for loop in dims_of(expr)} for m in maps]
    return [operand for operand, loops in zip(node.operands, used, strict=True) if not results <= loops]


def _computed_source(graph: OpGraph, value: ir.Value) -> ir.Value | None:
    """The elementwise result that an operand is, through views, slices, pads and pure movement, or None."""
    node = graph.definer.get(value)
    while node is not None:
        moves = node.name == "linalg.generic" and is_movement(node.op)
        if node.role is Role.VIEW or node.name in ("tensor.extract_slice", "tensor.pad") or moves:
            value = node.operands[0]
            node = graph.definer.get(value)
            continue
        return value if node.role is Role.ROOT and node.kind == "elementwise" else None
    return None
