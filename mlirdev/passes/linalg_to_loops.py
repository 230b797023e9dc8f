"""Lower linalg.generic on buffers to scf loops: fused, ordered for contiguous access, reductions in registers.

Unlike MLIR's convert-linalg-to-loops, neighbouring generics share loops where they can (loop_tree.py), the innermost
loop is the one along which accesses are contiguous (nests.py), and temporaries shrink to what one iteration needs.
"""

from __future__ import annotations

from typing import Any

from torch_mlir import ir

from mlirdev.passes.loop_emission import LoopEmitter
from mlirdev.passes.loop_tree import build_trees, private_dims
from mlirdev.passes.nests import VIEWS, Nest, choose_order, is_nest, read_nest
from mlirdev.passes.ops import defining_op, emit, users, walk
from mlirdev.target import Target

NAME = "linalg-to-loops"

# What may stand between nests without parting them: it reads and writes no memory.
_PURE = VIEWS | {"memref.alloc", "memref.dim", "affine.apply", "affine.min", "affine.max"}


def run(module: ir.Module, target: Target) -> None:
    for block in _blocks_with_nests(module):
        for nests in _runs(block):
            _lower(nests)


def _blocks_with_nests(module: ir.Module) -> list[Any]:
    blocks: list[Any] = []
    for op in walk(module):
        if is_nest(op) and op.block not in blocks:
            blocks.append(op.block)
    return blocks


def _runs(block: Any) -> list[list[Any]]:
    """The block's generics, parted where something else may touch memory; pure ops between them are moved up."""
    runs: list[list[Any]] = [[]]
    for op in [view.operation for view in block.operations]:
        if is_nest(op):
            runs[-1].append(op)
        elif op.name in _PURE or op.name.startswith(("arith.", "index.", "math.")):
            if runs[-1]:
                op.move_before(runs[-1][0])
        else:
            runs.append([])
    return [run for run in runs if run]


def _lower(ops: list[Any]) -> None:
    nests = [read_nest(op) for op in ops]
    for nest in nests:
        nest.order = choose_order(nest)
    trees = build_trees(nests)
    with ir.InsertionPoint(ops[-1]):
        smaller = _shrink_temporaries(nests, trees)
        emitter = LoopEmitter(smaller)
        for tree in trees:
            emitter.emit(tree)
    for op in (*reversed(ops), *(memref.owner for memref in smaller)):
        op.erase()


def _shrink_temporaries(nests: list[Nest], trees: Any) -> dict[Any, tuple[Any, tuple[int, ...]]]:
    """For each temporary that only these nests use: its smaller stand-in, and the dims that it lacks."""
    own = [nest.op for nest in nests]
    # In order, since the same kernel must always become the same code.
    temporaries = dict.fromkeys(a.memref for nest in nests for a in nest.accesses if _is_alloc(a.memref))
    stand_ins = {}
    for memref in temporaries:
        if any(user not in own for user in users(memref)):
            continue
        dropped = private_dims(trees, memref)
        if dropped:
            stand_ins[memref] = (_smaller_alloc(memref, dropped), dropped)
    return stand_ins


def _is_alloc(memref: Any) -> bool:
    op = defining_op(memref)
    return op is not None and op.name == "memref.alloc"


def _smaller_alloc(memref: Any, dropped: tuple[int, ...]) -> Any:
    shape = list(memref.type.shape)
    kept = [p for p in range(len(shape)) if p not in dropped]
    sizes = iter(memref.owner.operands)
    dynamic = {p: next(sizes) for p, size in enumerate(shape) if size < 0}
    type_ = ir.MemRefType.get([shape[p] for p in kept], memref.type.element_type)
    operands = [dynamic[p] for p in kept if p in dynamic]
    segments = ir.DenseI32ArrayAttr.get([len(operands), 0])
    return emit("memref.alloc", [type_], operands, operandSegmentSizes=segments)
