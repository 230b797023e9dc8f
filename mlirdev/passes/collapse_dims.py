"""Collapse neighbouring dims that every generic walks together, so loops are few and long.

    [N, C, 14, 14] + [N, C, 14, 14]  ──►  one loop;   mean over N, H, W of [N, C, H, W]  ──►  loops over C, N, H·W

A pair of loops may be one where they index neighbouring buffer dims, in order, wherever they index anything. Nests
and written buffers must agree: a pair is collapsed in all that share it, or in none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, TypeAlias

from torch_mlir import ir

from mlirdev.passes.linear import is_dense
from mlirdev.passes.nests import Access, Nest, is_nest, read_nest, renumber
from mlirdev.passes.ops import defining_op, emit, kernel_function, users, walk
from mlirdev.target import Target

NAME = "collapse-dims"

# ("nest", number, outer loop, inner loop) or ("buffer", memref, dim, number of the only nest concerned or None)
_Pair: TypeAlias = "tuple[Any, ...]"


def run(module: ir.Module, target: Target) -> None:
    nests = [read_nest(op) for op in walk(kernel_function(module)) if is_nest(op)]
    pairs = _Pairs(nests)
    good = pairs.collapsible()
    views: dict[tuple[Any, tuple[int, ...]], Any] = {}
    for number, nest in enumerate(nests):
        joined = {(pair[2], pair[3]) for pair in good if pair[:2] == ("nest", number)}
        if joined:
            _collapse_nest(nest, joined, views)
    _retype_temporaries(views)


class _Pairs:
    """Which pairs of dims belong together, and which of them can't be collapsed."""

    def __init__(self, nests: list[Nest]) -> None:
        self.nests = nests
        self.written = {access.root for nest in nests for access in nest.outputs}
        self.links: defaultdict[_Pair, set[_Pair]] = defaultdict(set)
        self.bad: set[_Pair] = set()

    def collapsible(self) -> set[_Pair]:
        for number, nest in enumerate(self.nests):
            for access in _operands(nest):
                self._read(number, nest, access)
        good: set[_Pair] = set()
        seen: set[_Pair] = set()
        for pair in self.links:
            if pair not in seen:
                component = self._component(pair)
                seen |= component
                if not component & self.bad:
                    good |= component
        return good

    def _read(self, number: int, nest: Nest, access: Access) -> None:
        shape = access.memref.type.shape
        dims = access.plain_dims()
        owner = None if access.root in self.written else number
        for position in range(len(shape) - 1):
            outer, inner = dims[position], dims[position + 1]
            buffer = ("buffer", access.memref, position, owner)
            if outer is None or inner is None or outer == inner:
                self.bad.add(buffer)
                continue
            loops = ("nest", number, outer, inner)
            self.links[loops].add(buffer)
            self.links[buffer].add(loops)
            if not is_dense(access.memref) or not self._walked_together(nest, outer, inner):
                self.bad.add(loops)

    def _walked_together(self, nest: Nest, outer: int, inner: int) -> bool:
        extents = nest.extents[outer], nest.extents[inner]
        if nest.parallel[outer] != nest.parallel[inner] or not all(isinstance(e, int) for e in extents):
            return False
        if _indexed_in_body(nest) & {outer, inner}:
            return False
        return all(_is_adjacent(access, outer, inner, extents) for access in _operands(nest))

    def _component(self, start: _Pair) -> set[_Pair]:
        found, todo = {start}, [start]
        while todo:
            for pair in self.links[todo.pop()]:
                if pair not in found:
                    found.add(pair)
                    todo.append(pair)
        return found


def _operands(nest: Nest) -> Iterator[Access]:
    return (a for a in (*nest.inputs, *nest.outputs) if isinstance(a, Access))


def _indexed_in_body(nest: Nest) -> set[int]:
    """The loops whose number the body asks for."""
    ops = (view.operation for view in nest.block.operations)
    return {int(ir.IntegerAttr(op.attributes["dim"]).value) for op in ops if op.name == "linalg.index"}


def _is_adjacent(access: Access, outer: int, inner: int, extents: tuple[Any, Any]) -> bool:
    """Whether an access uses neither loop, or both in neighbouring dims that they walk whole."""
    if not access.uses(outer) and not access.uses(inner):
        return True
    dims = access.plain_dims()
    if dims.count(outer) != 1 or dims.count(inner) != 1:
        return False
    if sum(access.uses_at(p, d) for p in range(len(dims)) for d in (outer, inner)) != 2:
        return False
    position = dims.index(outer)
    return dims[position + 1 : position + 2] == (inner,) and (
        tuple(access.memref.type.shape[position : position + 2]) == extents
    )


def _collapse_nest(nest: Nest, joined: set[tuple[int, int]], views: dict[Any, Any]) -> None:
    """Rewrite a generic on collapsed views of its operands."""
    follower = dict(joined)
    dropped = set(follower.values())  # a loop that joins the one before it
    new_number = {d: i for i, d in enumerate(d for d in range(len(nest.parallel)) if d not in dropped)}
    maps, op = [], nest.op
    count = len(new_number)
    for position, access in enumerate((*nest.inputs, *nest.outputs)):
        if not isinstance(access, Access):
            maps.append(ir.AffineMapAttr.get(ir.AffineMap.get(count, 0, [])))
            continue
        dims = access.plain_dims()
        joins = tuple(p for p in range(1, len(dims)) if (dims[p - 1], dims[p]) in joined)
        op.operands[position] = _view(access.memref, joins, views)
        kept = [e for p, e in enumerate(access.exprs or ()) if p not in joins]
        maps.append(ir.AffineMapAttr.get(ir.AffineMap.get(count, 0, [renumber(e, new_number) for e in kept])))
    iterators = list(op.attributes["iterator_types"])
    op.attributes["indexing_maps"] = ir.ArrayAttr.get(maps)
    op.attributes["iterator_types"] = ir.ArrayAttr.get([iterators[d] for d in new_number])
    for view in nest.block.operations:
        if view.operation.name == "linalg.index":
            dim = ir.IntegerAttr(view.operation.attributes["dim"]).value
            view.operation.attributes["dim"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), new_number[dim])


def _view(memref: Any, joins: tuple[int, ...], views: dict[Any, Any]) -> Any:
    """The buffer with each dim of `joins` collapsed into the one before it."""
    if not joins:
        return memref
    if (memref, joins) not in views:
        groups: list[list[int]] = []
        for position in range(memref.type.rank):
            if position in joins:
                groups[-1].append(position)
            else:
                groups.append([position])
        op = defining_op(memref)
        point = ir.InsertionPoint.at_block_begin(memref.owner) if op is None else ir.InsertionPoint.after(op)
        with point, ir.Location.unknown() if op is None else op.location:
            views[memref, joins] = _collapse_shape(memref, groups)
    return views[memref, joins]


def _collapse_shape(memref: Any, groups: list[list[int]]) -> Any:
    shape = memref.type.shape
    sizes = []
    for group in groups:
        size = 1
        for position in group:
            size *= shape[position]
        sizes.append(size if len(group) > 1 else shape[group[0]])
    i64 = ir.IntegerType.get_signless(64)
    reassociation = ir.ArrayAttr.get([ir.ArrayAttr.get([ir.IntegerAttr.get(i64, p) for p in g]) for g in groups])
    type_ = ir.MemRefType.get(sizes, memref.type.element_type)
    return emit("memref.collapse_shape", [type_], [memref], reassociation=reassociation)


def _retype_temporaries(views: dict[Any, Any]) -> None:
    """A temporary that is only used collapsed is allocated so: later passes know it by its alloc."""
    for (memref, _), view in views.items():
        op = defining_op(memref)
        if op is None or op.name != "memref.alloc" or len(users(memref)) != 1:
            continue
        with ir.InsertionPoint(op), op.location:
            segments = op.attributes["operandSegmentSizes"]
            alloc = emit("memref.alloc", [view.type], list(op.operands), operandSegmentSizes=segments)
        view.replace_all_uses_with(alloc)
        view.owner.erase()
        op.erase()
