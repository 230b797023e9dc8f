"""Other layouts for a contraction whose own would waste vectors or blocks.

    C[n1, m, n2] with few n2    a temporary C'[m, n1, n2]: all columns in one run, moved to C by an epilogue
    A with k in short pieces    a copy of A in which all of k is one run

Both are the gradients of a convolution's weights: their columns are the window's few elements for each input channel,
and k is the image's rows for each sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch_mlir import ir

from mlirdev.passes.build import alloc, product
from mlirdev.passes.contraction import Contraction
from mlirdev.passes.nests import Access, is_nest, renumber
from mlirdev.passes.ops import defining_op, emit, users

_SHORT_RUN = 32


def columns_in_one_run(c: Contraction, lanes: int) -> list[int] | None:
    """The order of C's dims that puts all columns last, where they are parted and the last of them are few."""
    dims = [d for d in c.nest.outputs[0].plain_dims() if d is not None]
    parted = [d for d in c.batch if is_static(c.extents([d])) and not _access(c, c.a.memref).uses(d)]
    if not parted or not is_static(c.extents((*c.n, *c.k))):
        return None
    if product(c.extents(c.n)) >= lanes and product(c.extents(c.k)) >= _SHORT_RUN:
        return None
    columns = {*parted, *c.n}
    return [p for p, d in enumerate(dims) if d not in columns] + [p for p, d in enumerate(dims) if d in columns]


def reorder_result(op: Any, fill: Any, order: Sequence[int]) -> None:
    """Let the contraction `op`, and the fill of zeros before it, write a temporary with the dims of C in this order."""
    result = op.operands[2]
    shape = [result.type.shape[p] for p in order]
    readers = [user for user in users(result) if user not in (op, fill)]
    with ir.InsertionPoint(fill), fill.location:
        temporary = alloc(shape, result.type.element_type)
    owner = defining_op(result)
    if owner is not None and owner.name == "memref.alloc" and all(map(is_nest, readers)):
        for reader in {id(r): r for r in readers}.values():
            _retarget(reader, result, temporary, order)
    else:
        with ir.InsertionPoint.after(op), op.location:
            d = [ir.AffineExpr.get_dim(p) for p in range(len(order))]
            emit_copy(temporary, [d[p] for p in order], result, d)
    for writer in (fill, op):
        _retarget(writer, result, temporary, order)


def has_short_runs(c: Contraction) -> bool:
    """Whether A's k lies in pieces so short that blocks of it don't pay."""
    return (
        bool(c.outer_k)
        and is_static(c.extents((*c.batch, *c.m, *c.k, *c.outer_k)))
        and product(c.extents(c.k)) < _SHORT_RUN
        and product(c.extents(c.outer_k)) > 1
    )


def copy_left(c: Contraction) -> None:
    """Let a contraction read A from a copy that is dense in all of k."""
    op, access = c.nest.op, _access(c, c.a.memref)
    used = [d for d in (*c.batch, *c.m, *sorted((*c.outer_k, *c.k))) if access.uses(d)]
    with ir.InsertionPoint(op), op.location:
        copy = alloc(c.extents(used), access.memref.type.element_type)
        number = {d: i for i, d in enumerate(used)}
        source = [renumber(expr, number) for expr in access.exprs or ()]
        emit_copy(access.memref, source, copy, [ir.AffineExpr.get_dim(i) for i in range(len(used))])
    position = c.nest.inputs.index(access)
    op.operands[position] = copy
    _set_map(op, position, [ir.AffineExpr.get_dim(d) for d in used])


def is_static(extents: Sequence[Any]) -> bool:
    return all(isinstance(e, int) for e in extents)


def emit_copy(source: Any, source_exprs: Sequence[Any], target: Any, target_exprs: Sequence[Any]) -> None:
    """A linalg.generic that copies; the target's exprs are its dims in some order."""
    count = len(target_exprs)
    maps = [ir.AffineMap.get(count, 0, list(exprs)) for exprs in (source_exprs, target_exprs)]
    attributes = {
        "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps]),
        "iterator_types": ir.ArrayAttr.get([ir.Attribute.parse("#linalg.iterator_type<parallel>")] * count),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1]),
    }
    op = ir.Operation.create("linalg.generic", operands=[source, target], attributes=attributes, regions=1)
    element = source.type.element_type
    block = ir.Block.create_at_start(op.regions[0], [element, element])
    with ir.InsertionPoint(block):
        emit("linalg.yield", [], [block.arguments[0]])


def _access(c: Contraction, memref: Any) -> Access:
    found: Access = next(a for a in c.nest.inputs if a.memref == memref)
    return found


def _retarget(op: Any, old: Any, new: Any, order: Sequence[int]) -> None:
    """Let a nest use `new`, whose dims are those of `old` in this order."""
    for position, operand in enumerate(op.operands):
        if operand == old:
            exprs = list(ir.AffineMapAttr(op.attributes["indexing_maps"][position]).value.results)
            op.operands[position] = new
            _set_map(op, position, [exprs[p] for p in order])


def _set_map(op: Any, position: int, exprs: Sequence[Any]) -> None:
    maps = list(op.attributes["indexing_maps"])
    count = ir.AffineMapAttr(maps[position]).value.n_dims
    maps[position] = ir.AffineMapAttr.get(ir.AffineMap.get(count, 0, list(exprs)))
    op.attributes["indexing_maps"] = ir.ArrayAttr.get(maps)
