"""Drop a check of indices that another op makes too.

Fusion copies a gather's body, its assertions with it, into what reads the gather, and leaves the gather behind as a
generic whose results nobody reads and that only checks: one more sweep for nothing. What remains of one without
operands, which linalg's syntax doesn't have, becomes a loop of one step.
"""

from __future__ import annotations

from typing import TypeAlias

from torch_mlir import ir
from torch_mlir.dialects import arith

from mlirdev.passes.op_graph import entry_function, inner_ops
from mlirdev.target import Target

NAME = "drop-repeated-checks"
# What a condition is computed from: operation names, constants, loops, and the function's values with the maps by which
# they are read. Equal keys are equal conditions for every iteration.
Key: TypeAlias = "tuple[object, ...]"


def run(module: ir.Module, target: Target) -> None:
    """Erase a generic that only checks if all that it asserts is asserted elsewhere."""
    block = entry_function(module).regions[0].blocks[0]
    checking = [view.operation for view in block.operations if _checks(view.operation)]
    spare = [op for op in checking if _only_checks(op)]
    made = {key for op in checking if op not in spare for key in _assertions(op)}
    for op in spare:
        keys = _assertions(op)
        made_elsewhere = keys <= made
        made |= keys
        if made_elsewhere:
            op.erase()
        elif not op.operands:
            _make_loop(op)


def _make_loop(op: ir.Operation) -> None:
    """Replace a generic without operands and dims by a loop around its body."""
    index = ir.IndexType.get()
    with ir.InsertionPoint(op), op.location:
        bounds = [arith.ConstantOp(index, value).result for value in (0, 1, 1)]
        loop = ir.Operation.create("scf.for", operands=bounds, regions=1)
        block = ir.Block.create_at_start(loop.regions[0], [index], [op.location])
        with ir.InsertionPoint(block):
            end = ir.Operation.create("scf.yield")
    for inner in list(op.regions[0].blocks[0].operations)[:-1]:
        inner.operation.move_before(end)
    op.erase()


def _checks(op: ir.Operation) -> bool:
    return op.name == "linalg.generic" and any(inner.name == "cf.assert" for inner in inner_ops(op))


def _only_checks(op: ir.Operation) -> bool:
    """Whether nobody reads the results and nothing else in the body has an effect."""
    if any(list(result.uses) for result in op.results):
        return False
    allowed = ("arith.", "math.", "linalg.index", "linalg.yield", "cf.assert", "tensor.extract")
    return all(inner.name.startswith(allowed) for inner in inner_ops(op))


def _assertions(op: ir.Operation) -> set[Key]:
    body = op.regions[0].blocks[0]
    maps = [str(m) for m in ir.ArrayAttr(op.attributes["indexing_maps"])]
    known: dict[ir.Value, Key] = {
        argument: ("read", operand, map_)
        for argument, operand, map_ in zip(body.arguments, op.operands, maps, strict=True)
    }
    inside = set()
    for inner in inner_ops(op):
        keys = tuple(known.get(value, ("outer", value)) for value in inner.operands)
        key = (inner.name, *sorted((name, str(inner.attributes[name])) for name in inner.attributes), *keys)
        known.update((result, (*key, number)) for number, result in enumerate(inner.results))
        if inner.name == "cf.assert":
            inside.add(key)
    return inside
