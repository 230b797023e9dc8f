"""Let attention read and write through transposes, by its indexing maps, instead of through memory.

    q = transpose(x); attention(q, …)             ──►  attention(x, …) by the transposed map
    y = attention(…); transpose(y), other(y)      ──►  y' = attention(…) by the transposed map; y', other(transpose(y'))

So heads are read from where a projection put them, side by side, and written to where the next one reads them. Only
where the innermost dim stays innermost: vectors run along it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch_mlir import ir

from mlirdev.dialect import ATTENTION, ATTENTION_BACKWARD, OUTPUTS
from mlirdev.passes.ops import defining_op, emit, index_constant, named, users
from mlirdev.target import Target

NAME = "fold-transposes-into-attention"


def run(module: ir.Module, target: Target) -> None:
    for op in [*named(module, ATTENTION), *named(module, ATTENTION_BACKWARD)]:
        _fold_results(op)
    for op in [*named(module, ATTENTION), *named(module, ATTENTION_BACKWARD)]:
        for position in range(len(op.operands) - OUTPUTS[op.name]):
            _fold_operand(op, position)


def _fold_operand(op: Any, position: int) -> None:
    """Read from before the first of the transposes in a row that together leave the innermost dim where it is."""
    value = op.operands[position]
    order, found = list(range(value.type.rank)), None
    while (source := defining_op(value)) is not None and source.name == "linalg.transpose":
        inner = _permutation(source)
        value, order = source.operands[0], [inner[d] for d in order]
        if order[-1] == len(order) - 1:
            found = value, order
    if found is not None:
        op.operands[position] = found[0]
        _permute_map(op, position, _inverse(found[1]))


def _fold_results(op: Any) -> None:
    """Replace the operation by one whose results lie as their transposing users want them."""
    orders = [next((o for user in users(r) if (o := _order(user)) is not None), None) for r in op.results]
    if all(order is None for order in orders):
        return
    first = len(op.operands) - len(op.results)
    attributes = {name: op.attributes[name] for name in op.attributes}
    with ir.InsertionPoint(op), op.location:
        outs = [
            out if order is None else _transposed_empty(out, order)
            for out, order in zip(list(op.operands)[first:], orders, strict=True)
        ]
        operands = [*list(op.operands)[:first], *outs]
        new = ir.Operation.create(op.name, results=[out.type for out in outs], operands=operands, attributes=attributes)
    for number, (old, result, order) in enumerate(zip(op.results, new.results, orders, strict=True)):
        if order is None:
            old.replace_all_uses_with(result)
        else:
            _permute_map(new, first + number, order)
            _replace(op, old, result, order, list(op.operands)[first + number])
    op.erase()


def _replace(op: Any, old: Any, new: Any, order: Sequence[int], out: Any) -> None:
    """Let what reads `old`, which was made in `out`, read `new`, which is `old` in this order of dims."""
    for user in users(old):
        if _order(user) == order:
            user.results[0].replace_all_uses_with(new)
            user.erase()
    if any(True for _ in old.uses):
        with ir.InsertionPoint(op), op.location:
            old.replace_all_uses_with(_transpose(new, out, _inverse(order)))


def _order(op: Any) -> list[int] | None:
    """The permutation of a transpose that leaves the innermost dim where it is."""
    if op.name != "linalg.transpose":
        return None
    order = _permutation(op)
    return order if order[-1] == len(order) - 1 else None


def _permutation(op: Any) -> list[int]:
    return [int(d) for d in ir.DenseI64ArrayAttr(op.attributes["permutation"])]


def _inverse(order: Sequence[int]) -> list[int]:
    return [order.index(d) for d in range(len(order))]


def _permute_map(op: Any, position: int, order: Sequence[int]) -> None:
    maps = [ir.AffineMapAttr(a).value for a in op.attributes["indexing_maps"]]
    old = maps[position]
    maps[position] = ir.AffineMap.get(old.n_dims, 0, [old.results[d] for d in order])
    op.attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps])


def _transposed_empty(value: Any, order: Sequence[int]) -> Any:
    """A tensor.empty of a tensor's shape in this order."""
    shape = value.type.shape
    sizes = [emit("tensor.dim", [ir.IndexType.get()], [value, index_constant(d)]) for d in order if shape[d] < 0]
    type_ = ir.RankedTensorType.get([shape[d] for d in order], value.type.element_type)
    return emit("tensor.empty", [type_], sizes)


def _transpose(value: Any, out: Any, order: Sequence[int]) -> Any:
    permutation = ir.DenseI64ArrayAttr.get(list(order))
    op = ir.Operation.create(
        "linalg.transpose",
        results=[out.type],
        operands=[value, out],
        attributes={"permutation": permutation},
        regions=1,
    )
    element = value.type.element_type
    block = ir.Block.create_at_start(op.regions[0], [element] * 2, [op.location] * 2)
    with ir.InsertionPoint(block):
        emit("linalg.yield", [], [block.arguments[0]])
    return op.results[0]
