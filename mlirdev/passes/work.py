"""How much a kernel has to do, in rough units: one is a scalar instruction in a loop that LLVM makes vectors of.

A run-time size makes a run-time estimate: arithmetic on the kernel's sizes, written at the insertion point.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch_mlir import ir

from mlirdev.passes.build import Index, add, as_value, divide_up, multiply, subtract
from mlirdev.passes.nests import VIEWS
from mlirdev.passes.ops import defining_op, emit

# What an instruction on vectors counts for, and a function that is a dozen instructions.
_VECTOR, _FUNCTION = 4, 10
_FREE = VIEWS | {"arith.constant", "scf.yield", "memref.dim", "memref.alloc", "memref.dealloc"}
# How often a loop runs if its bounds don't say.
_SOME = 8
_ARITHMETIC = frozenset(
    f"arith.{name}"
    for name in ("addi", "subi", "muli", "divui", "divsi", "remui", "remsi", "minsi", "maxsi", "minui", "maxui")
) | {"arith.ceildivsi", "arith.ceildivui", "arith.floordivsi", "arith.index_cast"}


class Work:
    """Estimates at the current insertion point. `sizes`: what stands for the kernel's size arguments there."""

    def __init__(self, sizes: Mapping[Any, Any]) -> None:
        self._known: dict[Any, Any] = dict(sizes)

    def of(self, op: Any) -> Index:
        """The work of an op with all that it contains."""
        inside: Index = 0
        for region in op.regions:
            for block in region.blocks:
                for view in block.operations:
                    inside = add(inside, self.of(view.operation))
        if op.name == "scf.for":
            return multiply(self.trips(op), inside)
        return add(inside, _weight(op))

    def trips(self, loop: Any) -> Index:
        """How often a loop runs, at most."""
        start, stop, step = list(loop.operands)[:3]
        span = self._span(start, stop)
        by = constant_of(step)
        if span is None or by is None:
            return _SOME
        return max(divide_up(span, by), 0) if isinstance(span, int) else divide_up(span, by)

    def _span(self, start: Any, stop: Any) -> Index | None:
        """stop - start, or an upper bound of it."""
        op = defining_op(stop)
        if op is not None and op.name == "arith.minsi":
            spans = [span for bound in op.operands if (span := self._span(start, bound)) is not None]
            return min(spans, key=lambda span: not isinstance(span, int), default=None)
        if op is not None and op.name == "arith.addi" and start in op.operands:
            other = op.operands[1] if op.operands[0] == start else op.operands[0]
            return self._value(other)
        first, last = self._value(start), self._value(stop)
        return None if first is None or last is None else subtract(last, first)

    def _value(self, value: Any) -> Index | None:
        """The same value here; None where it depends on more than sizes."""
        constant = constant_of(value)
        if constant is not None or value in self._known:
            return self._known[value] if constant is None else constant
        op = defining_op(value)
        if op is None or op.name not in _ARITHMETIC:
            return None
        operands = [self._value(operand) for operand in op.operands]
        if any(operand is None for operand in operands):
            return None
        self._known[value] = emit(op.name, [value.type], [as_value(operand) for operand in operands])
        return self._known[value]


def constant_of(value: Any) -> int | None:
    """The number that a value of type index is known to be."""
    op = defining_op(value)
    if op is None or op.name != "arith.constant" or not isinstance(value.type, ir.IndexType):
        return None
    return int(ir.IntegerAttr(op.attributes["value"]).value)


def _weight(op: Any) -> int:
    if op.name in _FREE or op.name.startswith("scf."):
        return 0
    if any(isinstance(value.type, ir.VectorType) for value in (*op.results, *op.operands)):
        return _VECTOR
    return _FUNCTION if op.name.startswith(("math.", "complex.", "func.call")) else 1
