"""Contractions: nests that compute C[batch, m, n] += Σₖ A[batch, m, k] · B[batch, k, n], however they are written.

Matrix products in all transpositions, batched ones, and convolutions are told apart only by the roles of their dims
and by linear strides: a convolution is a product whose B is read through a window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch_mlir import ir

from mlirdev.passes.build import Index, product, strided
from mlirdev.passes.linear import LinearAccess, is_linear, linearize
from mlirdev.passes.nests import Access, Nest
from mlirdev.passes.ops import defining_op

_CASTS = frozenset({"arith.extf"})


@dataclass(frozen=True)
class Contraction:
    """`a` lacks the n dims, which are C's innermost and contiguous there; `b` lacks the m dims. `a` is linear in the
    flattened k dims. `outer_k` are the reduction dims for which that isn't so."""

    nest: Nest
    a: LinearAccess
    b: LinearAccess
    c: LinearAccess
    batch: tuple[int, ...]
    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...]
    outer_k: tuple[int, ...]

    def extents(self, dims: Sequence[int]) -> list[Index]:
        return [self.nest.extents[d] for d in dims]

    @property
    def sizes(self) -> tuple[Index, Index, Index, Index]:
        """Of the product, as one batch × m × n × k; without the outer dims of k."""
        batch, m, n, k = (product(self.extents(dims)) for dims in (self.batch, self.m, self.n, self.k))
        return batch, m, n, k

    def offset(self, access: LinearAccess, dims: Sequence[int], flat: Index) -> Index:
        """How far these dims move an access when, taken as one dim, they stand at `flat`."""
        return strided(0, flat, self.extents(dims), [access.strides[d] for d in dims])


def is_multiply_add(nest: Nest) -> bool:
    """Whether the body is acc + a·b on floats, with a and b perhaps extended."""
    arguments = list(nest.block.arguments)
    if len(nest.inputs) != 2 or len(nest.outputs) != 1 or not all(isinstance(a, Access) for a in nest.inputs):
        return False
    ops = [view.operation for view in nest.block.operations]
    core = [op for op in ops if op.name not in _CASTS]
    if [op.name for op in core] != ["arith.mulf", "arith.addf", "linalg.yield"]:
        return False
    multiply, add, yield_ = core
    if arguments[2] not in add.operands or multiply.results[0] not in add.operands:
        return False
    factors = {_uncast(v) for v in multiply.operands}
    return yield_.operands[0] == add.results[0] and factors == set(arguments[:2])


def _uncast(value: Any) -> Any:
    op = defining_op(value)
    return op.operands[0] if op is not None and op.name in _CASTS else value


def find_contraction(nest: Nest) -> Contraction | None:
    """The nest as a contraction with roles for all dims, or None. Emits run-time strides before the nest."""
    if not is_multiply_add(nest):
        return None
    dims = len(nest.parallel)
    left, right, out = nest.inputs[0], nest.inputs[1], nest.outputs[0]
    if not all(is_linear(access, dims) for access in (left, right, out)):
        return None
    columns = [d for d in out.plain_dims() if d is not None]
    if not columns or len(columns) != len(out.exprs or ()):
        return None
    if sorted(columns) != [d for d in range(dims) if nest.parallel[d]]:
        return None
    last = columns[-1]
    if left.uses(last) == right.uses(last):
        return None
    a, b = (right, left) if left.uses(last) else (left, right)
    return _with_roles(nest, a, b, out, columns)


def _with_roles(nest: Nest, a: Access, b: Access, c: Access, columns: list[int]) -> Contraction | None:
    only_b = [d for d in columns if b.uses(d) and not a.uses(d)]
    n = columns[len(columns) - _suffix_length(columns, only_b) :]
    m = [d for d in columns if a.uses(d) and not b.uses(d)]
    batch = [d for d in columns if d not in n and d not in m]
    reduced = [d for d in range(len(nest.parallel)) if not nest.parallel[d]]
    if not reduced or not all(a.uses(d) and b.uses(d) for d in reduced):
        return None
    with ir.InsertionPoint(nest.op), nest.op.location:
        la, lb, lc = (linearize(access, len(nest.parallel)) for access in (a, b, c))
    k, outer_k = _split_reduced(nest, la, reduced)
    return Contraction(nest, la, lb, lc, tuple(batch), tuple(m), tuple(n), k, outer_k)


def _suffix_length(columns: list[int], wanted: list[int]) -> int:
    length = 0
    while length < len(columns) and columns[-1 - length] in wanted:
        length += 1
    return length


def _split_reduced(nest: Nest, a: LinearAccess, reduced: list[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The reduction dims that A walks with one stride when flattened (outermost first), and the others."""
    static = [d for d in reduced if isinstance(a.strides[d], int)]
    if not static:
        return (reduced[-1],), tuple(reduced[:-1])
    order = sorted(static, key=lambda d: a.strides[d])
    group = [order[0]]
    for d in order[1:]:
        inner = group[0]
        extent = nest.extents[inner]
        if not isinstance(extent, int) or a.strides[d] != a.strides[inner] * extent:
            break
        group.insert(0, d)
    return tuple(group), tuple(d for d in reduced if d not in group)
