"""Loop nests: linalg.generic on buffers, read into the terms in which loops are planned.

A Nest has dims (extents, parallel or not), accesses (which buffer, by which index expressions of the dims) and a
body. `order` says which dim each loop runs over, outermost first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch_mlir import ir

from mlirdev.passes.ops import defining_op, walk
from mlirdev.passes.sizes import size_of

VIEWS = frozenset(
    {
        "memref.subview",
        "memref.cast",
        "memref.collapse_shape",
        "memref.expand_shape",
        "memref.reinterpret_cast",
        "memref.transpose",
        "memref.view",
        "builtin.unrealized_conversion_cast",
    }
)


@dataclass(frozen=True, slots=True)
class Access:
    """Elements of a buffer, by one affine expression of the nest's dims per buffer dim; None: anywhere in it."""

    memref: Any
    exprs: tuple[Any, ...] | None

    @property
    def root(self) -> Any:
        return root_of(self.memref)

    def dim_at(self, position: int) -> int | None:
        """The dim that alone indexes this buffer dim, if one does."""
        if self.exprs is None:
            return None
        expr = self.exprs[position]
        return int(expr.position) if isinstance(expr, ir.AffineDimExpr) else None

    def plain_dims(self) -> tuple[int | None, ...]:
        return tuple(self.dim_at(p) for p in range(len(self.exprs or ())))

    def uses_at(self, position: int, dim: int) -> bool:
        return self.exprs is None or uses_dim(self.exprs[position], dim)

    def uses(self, dim: int) -> bool:
        return self.exprs is None or any(uses_dim(e, dim) for e in self.exprs)


@dataclass(eq=False, slots=True)
class Nest:
    """A linalg.generic on buffers. `inputs` holds an Access per buffer and the value itself per scalar."""

    op: Any
    parallel: tuple[bool, ...]
    extents: tuple[Any, ...]
    inputs: tuple[Any, ...]
    outputs: tuple[Access, ...]
    captured: tuple[Access, ...]
    order: list[int] = field(default_factory=list)

    @property
    def block(self) -> Any:
        return self.op.regions[0].blocks[0]

    @property
    def reads(self) -> tuple[Access, ...]:
        return (*(a for a in self.inputs if isinstance(a, Access)), *self.captured)

    @property
    def accesses(self) -> tuple[Access, ...]:
        return (*self.reads, *self.outputs)


def root_of(memref: Any) -> Any:
    """The buffer behind views."""
    while (op := defining_op(memref)) is not None and op.name in VIEWS:
        memref = op.operands[0]
    return memref


def uses_dim(expr: Any, dim: int) -> bool:
    if isinstance(expr, ir.AffineDimExpr):
        return bool(expr.position == dim)
    if isinstance(expr, ir.AffineBinaryExpr):
        return uses_dim(expr.lhs, dim) or uses_dim(expr.rhs, dim)
    return False


def stride_of(expr: Any, dim: int) -> int | None:
    """d(expr)/d(dim) where it is a constant; None where it isn't."""
    if isinstance(expr, ir.AffineDimExpr):
        return int(expr.position == dim)
    if isinstance(expr, ir.AffineConstantExpr) or not uses_dim(expr, dim):
        return 0
    if isinstance(expr, ir.AffineAddExpr):
        left, right = stride_of(expr.lhs, dim), stride_of(expr.rhs, dim)
        return None if left is None or right is None else left + right
    if isinstance(expr, ir.AffineMulExpr) and isinstance(expr.rhs, ir.AffineConstantExpr):
        left = stride_of(expr.lhs, dim)
        return None if left is None else left * int(expr.rhs.value)
    return None


def renumber(expr: Any, new_number: dict[int, int]) -> Any:
    """An affine expression of the same dims under other numbers."""
    if isinstance(expr, ir.AffineDimExpr):
        return ir.AffineExpr.get_dim(new_number[expr.position])
    if isinstance(expr, ir.AffineBinaryExpr):
        make = getattr(ir.AffineExpr, _MAKERS[type(expr)])
        return make(renumber(expr.lhs, new_number), renumber(expr.rhs, new_number))
    return expr


_MAKERS = {
    ir.AffineAddExpr: "get_add",
    ir.AffineMulExpr: "get_mul",
    ir.AffineModExpr: "get_mod",
    ir.AffineFloorDivExpr: "get_floor_div",
    ir.AffineCeilDivExpr: "get_ceil_div",
}


def is_nest(op: Any) -> bool:
    return bool(op.name == "linalg.generic" and not op.results)


def read_nest(op: Any) -> Nest:
    """Read a linalg.generic on buffers; run-time extents that no argument holds become memref.dim ops before it."""
    maps = [ir.AffineMapAttr(a).value for a in op.attributes["indexing_maps"]]
    parallel = tuple("parallel" in str(a) for a in op.attributes["iterator_types"])
    accesses = [_access(v, m) for v, m in zip(op.operands, maps, strict=True)]
    outputs = count_outputs(op)
    split = len(accesses) - outputs
    with ir.InsertionPoint(op), op.location:
        extents = tuple(_extent(accesses, d) for d in range(len(parallel)))
    return Nest(op, parallel, extents, tuple(accesses[:split]), tuple(accesses[split:]), _captured(op))


def count_outputs(op: Any) -> int:
    return int(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])[1])


def _access(value: Any, map_: Any) -> Any:
    return Access(value, tuple(map_.results)) if isinstance(value.type, ir.MemRefType) else value


def _captured(op: Any) -> tuple[Access, ...]:
    loads = (inner for inner in walk(op) if inner.name == "memref.load")
    return tuple(Access(load.operands[0], None) for load in loads)


def _extent(accesses: Sequence[Any], dim: int) -> Any:
    """The number of iterations of a dim: an int, or the value of a memref.dim."""
    found: Any = None
    for access in accesses:
        if not isinstance(access, Access) or access.exprs is None:
            continue
        for position, expr in enumerate(access.exprs):
            if not isinstance(expr, ir.AffineDimExpr) or expr.position != dim:
                continue
            size = access.memref.type.shape[position]
            if size >= 0:
                return int(size)
            found = found if found is not None else (access.memref, position)
    if found is None:
        raise ValueError(f"no operand says how often dim d{dim} runs")
    return size_of(*found)


# --- loop order -----------------------------------------------------------------------------------

# What an access costs per iteration of the innermost loop, beside a contiguous one: a step of more than one element
# makes each its own load, and each a cache line; a store in addition writes the line back.
_CONTIGUOUS, _SHORT_STEP, _STRIDED_LOAD, _STRIDED_STORE = 1.0, 2.0, 8.0, 10.0
# A value carried by the innermost loop: with both else equal, parallel iterations are better.
_CARRIED = 1.5


def choose_order(nest: Nest) -> list[int]:
    """Innermost the dim along which accesses cost least; around it parallel dims, then reductions."""
    dims = range(len(nest.parallel))
    if len(dims) < 2:
        return list(dims)
    innermost = min(dims, key=lambda d: (_cost_along(nest, d), -d))
    outer = [d for d in dims if d != innermost]
    return [*sorted(outer, key=lambda d: not nest.parallel[d]), innermost]


def _cost_along(nest: Nest, dim: int) -> float:
    """The cost of an iteration with `dim` innermost; what doesn't move stays in a register."""
    cost = 0.0 if nest.parallel[dim] else _CARRIED
    for access, is_used in _used_accesses(nest):
        if not is_used or not access.exprs or not access.uses(dim):
            continue
        if not uses_dim(access.exprs[-1], dim):
            cost += _STRIDED_STORE if access in nest.outputs else _STRIDED_LOAD
        else:
            cost += _CONTIGUOUS if access.dim_at(len(access.exprs) - 1) == dim else _SHORT_STEP
    return cost


def _used_accesses(nest: Nest) -> Iterable[tuple[Access, bool]]:
    """The accesses of operands; an input that the body ignores (a pooling window's shape) isn't used."""
    arguments = list(nest.block.arguments)
    for access, argument in zip((*nest.inputs, *nest.outputs), arguments, strict=True):
        if isinstance(access, Access):
            yield access, access in nest.outputs or any(True for _ in argument.uses)
