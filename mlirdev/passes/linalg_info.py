"""What a linalg.generic's loops look like, read once and remembered by its attributes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from torch_mlir import ir

MULTIPLY_ADD = frozenset({"arith.mulf", "arith.addf", "arith.muli", "arith.addi", "complex.mul", "complex.add"})
CASTS = frozenset({"arith.extf", "arith.truncf", "arith.extsi", "arith.extui", "arith.trunci", "arith.sitofp"})


@dataclass(frozen=True, slots=True)
class LoopNest:
    """`parallel[d]` says whether loop d is parallel; `maps[i]` lists, per dim of operand i, the loop that indexes it,
    or None for a constant; `is_windowed` says that some dim is indexed by several loops, as a convolution's window."""

    parallel: tuple[bool, ...]
    maps: tuple[tuple[int | None, ...], ...]
    is_windowed: bool

    @property
    def is_parallel(self) -> bool:
        return all(self.parallel)

    @property
    def reduces_rows(self) -> bool:
        """Whether the reduction runs along the innermost dims of what is read."""
        reduced = [d for d, parallel in enumerate(self.parallel) if not parallel]
        widest = max(self.maps, key=len)
        return len(widest) >= len(reduced) and set(widest[len(widest) - len(reduced) :]) == set(reduced)


def loop_nest(op: ir.Operation) -> LoopNest:
    """The loops of a linalg.generic."""
    attributes = op.attributes
    return _loop_nest(attributes["iterator_types"], attributes["indexing_maps"])


@lru_cache(maxsize=4096)
def _loop_nest(iterators: ir.Attribute, maps: ir.Attribute) -> LoopNest:
    parallel = tuple("parallel" in str(iterator) for iterator in ir.ArrayAttr(iterators))
    windowed = False
    loops: list[tuple[int | None, ...]] = []
    for attribute in ir.ArrayAttr(maps):
        row: list[int | None] = []
        for expr in ir.AffineMapAttr(attribute).value.results:
            if isinstance(expr, ir.AffineDimExpr):
                row.append(expr.position)
            else:
                row.append(None)
                windowed |= len(dims_of(expr)) > 1
        loops.append(tuple(row))
    return LoopNest(parallel, tuple(loops), windowed)


def dims_of(expr: ir.AffineExpr) -> set[int]:
    """The dims that an affine expression names."""
    if isinstance(expr, ir.AffineDimExpr):
        return {int(expr.position)}
    return dims_of(expr.lhs) | dims_of(expr.rhs) if isinstance(expr, ir.AffineBinaryExpr) else set()


def body_names(op: ir.Operation) -> list[str]:
    """The names of the ops in a generic's body, without the yield."""
    return [view.operation.name for view in op.regions[0].blocks[0].operations][:-1]


def is_movement(op: ir.Operation) -> bool:
    """Whether an all-parallel generic only moves one tensor's elements: a transpose, a broadcast, a copy."""
    return len(op.operands) == 2 and not body_names(op)


def is_widening(op: ir.Operation) -> bool:
    """Whether a generic only extends one tensor's narrow floats."""
    return len(op.operands) == 2 and body_names(op) == ["arith.extf"] and loop_nest(op).is_parallel


def is_contraction(op: ir.Operation, nest: LoopNest) -> bool:
    """Whether a reducing generic is a matrix product: acc + a·b, where a and b each lack a loop of the result."""
    if len(op.operands) != 3 or len(op.results) != 1:
        return False
    names = [name for name in body_names(op) if name not in CASTS]
    if len(names) != 2 or not MULTIPLY_ADD.issuperset(names):
        return False
    result = set(nest.maps[2])
    return all(result - set(operand) for operand in nest.maps[:2])
