"""Elementwise nests that follow a contraction, run on each panel of its result while that is in the cache.

An epilogue nest walks exactly C's elements: each of its loops is one of C's dims. Bias, activation, residual and
normalisation are such nests; they may have several results and results of other types or layouts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mlirdev.passes.build import Index, add, as_value, for_loop, multiply, unflatten
from mlirdev.passes.contraction import Contraction
from mlirdev.passes.contraction_blocks import Span
from mlirdev.passes.linear import LinearAccess, is_linear, linearize
from mlirdev.passes.loop_emission import clone_body, load, store
from mlirdev.passes.nests import VIEWS, Access, Nest, is_nest, read_nest
from mlirdev.passes.ops import defining_op, users
from mlirdev.passes.packing import as_one

_PURE = VIEWS | {"memref.alloc", "memref.dim"}


@dataclass(frozen=True)
class EpilogueNest:
    """A nest and, per dim of the contraction, the loop of the nest that walks it (None for reduced dims)."""

    nest: Nest
    loop_of: dict[int, int]

    def strides(self, access: LinearAccess, dims: Sequence[int]) -> list[Index]:
        return [access.strides[self.loop_of[d]] for d in dims]


def find_epilogue(contraction: Contraction) -> list[EpilogueNest]:
    """The nests right after the contraction that can run on its panels. Moves what they need before it."""
    op = contraction.nest.op
    found: list[EpilogueNest] = []
    waiting: list[Any] = []
    for other in _operations_after(op):
        if other.name in _PURE or other.name.startswith("arith."):
            waiting.append(other)
            continue
        candidate = _as_epilogue(contraction, other, found) if is_nest(other) else None
        if candidate is None:
            break
        for needed in waiting:
            needed.move_before(op)
        waiting = []
        found.append(candidate)
    return found


def _operations_after(op: Any) -> Iterator[Any]:
    after = False
    for view in list(op.block.operations):
        if after:
            yield view.operation
        after = after or view.operation == op


def _as_epilogue(contraction: Contraction, op: Any, before: list[EpilogueNest]) -> EpilogueNest | None:
    nest = read_nest(op)
    dims = len(nest.parallel)
    if not all(nest.parallel) or nest.captured or _asks_for_position(nest):
        return None
    if not all(is_linear(a, dims) for a in nest.accesses):
        return None
    loop_of = _match_dims(contraction, nest)
    if loop_of is None or not all(sorted(out.plain_dims(), key=str) == list(range(dims)) for out in nest.outputs):
        return None
    candidate = EpilogueNest(nest, loop_of)
    if not _touches_same_element(contraction, candidate):
        return None
    written_here = {access.root for access in nest.outputs}
    if written_here & {access.root for access in contraction.nest.reads}:
        return None
    return candidate if all(_independent(contraction, other, candidate) for other in before) else None


def _touches_same_element(contraction: Contraction, candidate: EpilogueNest) -> bool:
    """Whether a nest touches no element of C but the one at its own place."""
    result = contraction.nest.outputs[0]
    touching = [access for access in candidate.nest.accesses if access.root == result.root]
    columns = list(result.plain_dims())
    return all(access.memref == result.memref and _by_dim(candidate, access) == columns for access in touching)


def _asks_for_position(nest: Nest) -> bool:
    return any(view.operation.name == "linalg.index" for view in nest.block.operations)


def _match_dims(contraction: Contraction, nest: Nest) -> dict[int, int] | None:
    """The loop of the nest for each of C's dims, read off the nest's own access to C."""
    result = contraction.nest.outputs[0]
    for access in nest.accesses:
        loops_ = access.plain_dims()
        if access.memref == result.memref and None not in loops_ and len(set(loops_)) == len(nest.parallel):
            pairs = zip(result.plain_dims(), loops_, strict=True)
            return {int(d): int(loop) for d, loop in pairs if d is not None and loop is not None}
    return None


def _independent(contraction: Contraction, first: EpilogueNest, second: EpilogueNest) -> bool:
    """Whether two nests may run in one loop: what one writes, the other touches at the same element only."""
    for a in first.nest.accesses:
        for b in second.nest.accesses:
            if a.root != b.root or (a not in first.nest.outputs and b not in second.nest.outputs):
                continue
            if a.memref != b.memref or _by_dim(first, a) != _by_dim(second, b) or None in _by_dim(first, a):
                return False
    return True


def _by_dim(epilogue: EpilogueNest, access: Access) -> list[int | None]:
    dim_of = {loop: d for d, loop in epilogue.loop_of.items()}
    return [None if loop is None else dim_of[loop] for loop in access.plain_dims()]


def reuse_destination(contraction: Contraction, epilogue: list[EpilogueNest]) -> None:
    """Let a temporary C live in the result of the last nest that reads it, where that has the same type."""
    result = contraction.nest.outputs[0].memref
    op = defining_op(result)
    if op is None or op.name != "memref.alloc":
        return
    own = [e.nest.op for e in epilogue]
    reading = [e for e in epilogue if any(a.memref == result for a in e.nest.reads)]
    if not reading or any(
        u.block == contraction.nest.op.block and u not in own and not is_nest(u) for u in users(result)
    ):
        return
    if any(contraction.nest.op.is_before_in_block(u) and u not in own for u in users(result)):
        return
    last = reading[-1]
    columns = list(contraction.nest.outputs[0].plain_dims())
    for out in last.nest.outputs:
        fits = out.memref.type == result.type and _by_dim(last, out) == columns
        if fits and not any(a.root == out.root for e in epilogue for a in e.nest.reads):
            result.replace_all_uses_except(out.memref, [])
            op.erase()
            return


class EpilogueEmitter:
    """Writes the nests for some rows and columns; made at the insertion point of what surrounds the contraction."""

    def __init__(self, contraction: Contraction, epilogue: list[EpilogueNest]) -> None:
        self.contraction = contraction
        self.nests = epilogue
        self.linear = {
            (e.nest, i): linearize(access, len(e.nest.parallel))
            for e in epilogue
            for i, access in enumerate((*e.nest.inputs, *e.nest.outputs))
            if isinstance(access, Access)
        }
        self.flat = {access.memref: access.flat() for access in self.linear.values()}

    def __call__(
        self, batch: Sequence[Index], rows: Span, columns: Span, read_c: Callable[[Index, Index], Any] | None = None
    ) -> None:
        """`read_c` reads C at a row and column where that isn't in its buffer."""
        c = self.contraction
        with for_loop(*rows) as row:
            fixed = dict(zip((*c.batch, *c.m), (*batch, *unflatten(row.iv, c.extents(c.m))), strict=True))
            with for_loop(*columns) as column:
                known = {} if read_c is None else {self.result_key: read_c(row.iv, column.iv)}
                self._nests(fixed, column.iv, known)

    def element(self, fixed: dict[int, Index], value: Any) -> None:
        """All nests at one element of C, which has this value: `fixed` says where every dim stands."""
        self._nests(fixed, 0, {self.result_key: value})

    @property
    def result_key(self) -> tuple[Any, ...]:
        """The `key` of C itself."""
        c = self.contraction
        return (c.c.memref, c.c.offset, *(c.c.strides[d] for d in (*c.batch, *c.m, *c.n)))

    def place(self, epilogue: EpilogueNest, i: int, fixed: dict[int, Index]) -> tuple[Any, Any]:
        """The flat buffer of a nest's operand, and where in it an element is: `fixed` says where every dim stands."""
        return self.flat[self.linear[epilogue.nest, i].memref], self._offset(epilogue, i, fixed, 0)

    def _nests(self, fixed: dict[int, Index], column: Any, known: dict[Any, Any]) -> None:
        """All nests at one element; `known` are the values of elements that needn't be loaded."""
        for epilogue in self.nests:
            with epilogue.nest.op.location:
                self._body(epilogue, fixed, column, known)

    def _body(self, epilogue: EpilogueNest, fixed: dict[int, Index], column: Any, known: dict[Any, Any]) -> None:
        nest = epilogue.nest
        values = {}
        arguments = list(nest.block.arguments)
        for i, (argument, source) in enumerate(zip(arguments, (*nest.inputs, *nest.outputs), strict=True)):
            if not any(True for _ in argument.uses):
                continue
            values[argument] = (
                source if not isinstance(source, Access) else self._load(epilogue, i, fixed, column, known)
            )
        yielded = clone_body(nest, values, {})
        for i, value in enumerate(yielded, start=len(nest.inputs)):
            key = self.key(epilogue, i)
            for other in [k for k in known if k[0] == key[0]]:
                del known[other]
            store(value, self.flat[self.linear[nest, i].memref], [self._offset(epilogue, i, fixed, column)])
            known[key] = value

    def _load(self, epilogue: EpilogueNest, i: int, fixed: dict[int, Index], column: Any, known: dict[Any, Any]) -> Any:
        key = self.key(epilogue, i)
        if key not in known:
            memref = self.flat[self.linear[epilogue.nest, i].memref]
            known[key] = load(memref, [self._offset(epilogue, i, fixed, column)])
        return known[key]

    def key(self, epilogue: EpilogueNest, i: int) -> tuple[Any, ...]:
        """What tells the elements that operands touch apart: operands of one key touch the same one."""
        c, access = self.contraction, self.linear[epilogue.nest, i]
        if access.memref == c.c.memref:
            return self.result_key  # run-time strides are other values each time
        return (access.memref, access.offset, *epilogue.strides(access, (*c.batch, *c.m, *c.n)))

    def _offset(self, epilogue: EpilogueNest, i: int, fixed: dict[int, Index], column: Any) -> Any:
        c, access = self.contraction, self.linear[epilogue.nest, i]
        offset = access.offset
        for d, position in fixed.items():
            offset = add(offset, multiply(position, access.strides[epilogue.loop_of[d]]))
        strides, sizes = epilogue.strides(access, c.n), c.extents(c.n)
        flat_stride = as_one(strides, sizes)
        if flat_stride is not None:
            return as_value(add(offset, multiply(column, flat_stride)))
        for position, stride in zip(unflatten(column, sizes), strides, strict=True):
            offset = add(offset, multiply(position, stride))
        return as_value(offset)
