"""Tile what reads in one order and writes in another, so that both sides use whole cache lines.

    for i, for j: y[i, j] = x[j, i]  ──►  for i by 16, for j by 16, for j in 16, for i in 16: y[i, j] = x[j, i]

Only nests that share no written buffer with another: tiled dims can't be fused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from torch_mlir import ir

from mlirdev.passes.linear import is_dense, is_linear, linearize
from mlirdev.passes.nests import Access, Nest, is_nest, read_nest, renumber
from mlirdev.passes.ops import emit, kernel_function, walk
from mlirdev.target import Target

NAME = "tile-transposes"


def run(module: ir.Module, target: Target, *, least_elements: int = 1024) -> None:
    nests = [read_nest(op) for op in walk(kernel_function(module)) if is_nest(op)]
    for nest in nests:
        if (
            nest.captured
            or not all(nest.parallel)
            or not all(isinstance(e, int) for e in nest.extents)
            or _asks_for_position(nest)
        ):
            continue
        if math.prod(nest.extents) < least_elements or not _is_alone(nest, nests):
            continue
        pair = _crossing_dims(nest)
        tiles = [_tile(nest.extents[d]) for d in pair] if pair else []
        if pair and all(tiles) and _can_split(nest, pair):
            _split(nest, {d: tile for d, tile in zip(pair, tiles, strict=True) if tile})


def _asks_for_position(nest: Nest) -> bool:
    return any(view.operation.name == "linalg.index" for view in nest.block.operations)


def _is_alone(nest: Nest, nests: list[Nest]) -> bool:
    written = {a.root for a in nest.outputs}
    touched = {a.root for a in nest.accesses}
    others = [other for other in nests if other is not nest]
    return not any(
        written & {a.root for a in other.accesses} or touched & {a.root for a in other.outputs} for other in others
    )


def _crossing_dims(nest: Nest) -> tuple[int, int] | None:
    """The fastest dims of the result and of an input that aren't the same one, after those that are."""
    dims = len(nest.parallel)
    if not all(is_linear(a, dims) for a in nest.accesses):
        return None
    orders = [order for a in (nest.outputs[0], *nest.reads) if len(order := _by_stride(a, dims)) > 1]
    for order in orders[1:]:
        for mine, theirs in zip(orders[0], order, strict=False):
            if mine != theirs:
                return mine, theirs
    return None


def _by_stride(access: Access, dims: int) -> list[int]:
    """The dims that an access walks, fastest first."""
    linear = linearize(access, dims)
    moving = [d for d in range(dims) if isinstance(linear.strides[d], int) and linear.strides[d] != 0]
    return sorted(moving, key=lambda d: abs(linear.strides[d]))


def _tile(extent: int) -> int | None:
    return next((t for t in (16, 8, 4) if extent % t == 0 and extent > t), None)


def _split(nest: Nest, tiles: dict[int, int]) -> None:
    """Make two loops of each of these dims, on views of the operands that have two dims for it; the inner loops run
    inside of all that aren't faster than both."""
    order = _by_stride(nest.outputs[0], len(nest.parallel))
    faster = order[: min(order.index(d) for d in tiles)]
    outer = [d for d in range(len(nest.parallel)) if d not in faster]
    inner = sorted(tiles, key=order.index, reverse=True)
    loops = [*((d, False) for d in outer), *((d, True) for d in inner), *((d, False) for d in sorted(faster))]
    number = {loop: i for i, loop in enumerate(loops)}
    maps = []
    for position, access in enumerate((*nest.inputs, *nest.outputs)):
        exprs: list[Any] = []
        if isinstance(access, Access):
            nest.op.operands[position] = _expanded(nest, access, tiles)
            for expr in access.exprs or ():
                split = isinstance(expr, ir.AffineDimExpr) and expr.position in tiles
                exprs.append(renumber(expr, {d: number[d, False] for d, is_inner in loops if not is_inner}))
                exprs += [ir.AffineExpr.get_dim(number[expr.position, True])] if split else []
        maps.append(ir.AffineMapAttr.get(ir.AffineMap.get(len(loops), 0, exprs)))
    nest.op.attributes["indexing_maps"] = ir.ArrayAttr.get(maps)
    parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
    nest.op.attributes["iterator_types"] = ir.ArrayAttr.get([parallel] * len(loops))


def _can_split(nest: Nest, dims: Sequence[int]) -> bool:
    """Whether these dims index operands alone, and the operands can be viewed in other shapes."""
    for access in nest.accesses:
        for position in range(len(access.exprs or ())):
            if any(access.uses_at(position, d) and access.dim_at(position) != d for d in dims):
                return False
        if not is_dense(access.memref) and any(access.uses(d) for d in dims):
            return False
    return all(nest.outputs[0].uses(d) for d in dims)


def _expanded(nest: Nest, access: Access, tiles: dict[int, int]) -> Any:
    """The buffer with two dims for each that a split loop walks."""
    shape: list[int] = []
    groups: list[list[int]] = []
    for dim, size in zip(access.plain_dims(), access.memref.type.shape, strict=True):
        sizes = [size] if dim is None or dim not in tiles else [size // tiles[dim], tiles[dim]]
        groups.append(list(range(len(shape), len(shape) + len(sizes))))
        shape += sizes
    if len(shape) == len(groups):
        return access.memref
    i64 = ir.IntegerType.get_signless(64)
    reassociation = ir.ArrayAttr.get([ir.ArrayAttr.get([ir.IntegerAttr.get(i64, p) for p in g]) for g in groups])
    type_ = ir.MemRefType.get(shape, access.memref.type.element_type)
    static = ir.DenseI64ArrayAttr.get(shape)
    with ir.InsertionPoint(nest.op), nest.op.location:
        return emit(
            "memref.expand_shape", [type_], [access.memref], reassociation=reassociation, static_output_shape=static
        )
