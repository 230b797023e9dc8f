"""Reductions that threads share: pieces of a loop are reduced for themselves, then together, in order.

    for i in 0..n: s += f(i)     ──►     for c in 0..n/k  {mlirdev.parallel}:
                                             p = 0
                                             for i in c·k..(c+1)·k: p += f(i)
                                             part[c] = p
                                         for c: s += part[c]

A sum of columns is made so too, with a row for each s and p. The pieces depend on the loop's length alone, so the
result doesn't depend on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mlirdev.passes.build import Index, add, divide_up, maximum, minimum, multiply
from mlirdev.passes.loop_tree import Loop
from mlirdev.passes.nests import Nest
from mlirdev.passes.ops import constant, defining_op, emit

# The most pieces, and the least iterations of the innermost loop that make one. Vectors want a multiple of so many.
MOST = 64
_LEAST = 8192
_GRAIN = 64
# Of sums of columns: the least rows of a piece, and the longest rows; longer ones are better cut themselves.
_LEAST_ROWS, _WIDEST = 16, 16384
# What a run-time size is taken for.
_SOME = 64


@dataclass(frozen=True)
class Pieces:
    """`count` pieces of `size` iterations of a loop; the last one may be shorter."""

    count: Index
    size: Index
    extent: Index

    def span(self, number: Any) -> tuple[Index, Index]:
        """The first iteration of a piece, and the one after its last."""
        first = multiply(number, self.size)
        return first, minimum(add(first, self.size), self.extent)


def cut(loop: Loop, sums: Sequence[tuple[Nest, int]]) -> Pieces | None:
    """How to reduce an outermost loop in pieces; None where that is impossible, or not worth it.

    `sums` are the outputs, by nest and number, that it reduces from its start to its end.
    """
    if loop.level or not sums or any(combiner(*key) is None for key in sums):
        return None
    outputs = [nest.outputs[i] for nest, i in sums]
    if not loop.is_parallel_apart_from(outputs) or not all(_is_narrow(out.memref.type) for out in outputs):
        return None
    inner = max(math.prod(e if isinstance(e, int) else _SOME for e in _inner_extents(nest)) for nest in loop.nests)
    grain = _GRAIN if inner == 1 else 1
    least = -(-_LEAST // max(inner, 1) // grain) * grain
    least = max(least, _LEAST_ROWS) if any(out.memref.type.rank for out in outputs) else least
    extent = loop.extent
    if isinstance(extent, int) and extent < 2 * least:
        return None
    size = maximum(multiply(divide_up(divide_up(extent, MOST), grain), grain), least)
    return Pieces(divide_up(extent, size), size, extent)


def _is_narrow(type_: Any) -> bool:
    return type_.has_static_shape and math.prod(map(int, type_.shape)) < _WIDEST


def _inner_extents(nest: Nest) -> list[Any]:
    return [nest.extents[d] for d in nest.order[1:]]


def combiner(nest: Nest, output: int) -> Any | None:
    """The op of a nest's body that takes a new value into an output's running one, if it is that simple."""
    block = nest.block
    value = block.operations[len(block.operations) - 1].operation.operands[output]
    running = block.arguments[len(nest.inputs) + output]
    op = defining_op(value)
    if op is None or op.name not in _IDENTITIES or running not in op.operands:
        return None
    return op if sum(1 for _ in running.uses) == 1 else None


def identity(op: Any) -> Any:
    """The value that a combiner leaves others as they are with."""
    type_ = op.results[0].type
    of = _IDENTITIES[op.name]
    return constant(type_, of if isinstance(of, (int, float)) else of(type_.width))


def combine(op: Any, total: Any, part: Any) -> Any:
    """The same for two running values."""
    return emit(op.name, [total.type], [total, part])


_IDENTITIES: dict[str, Any] = {
    "arith.addf": -0.0,
    "arith.mulf": 1.0,
    "arith.maximumf": -math.inf,
    "arith.minimumf": math.inf,
    "arith.addi": 0,
    "arith.muli": 1,
    "arith.ori": 0,
    "arith.xori": 0,
    "arith.andi": -1,
    "arith.maxui": 0,
    "arith.minui": -1,
    "arith.maxsi": lambda width: -(1 << (width - 1)),
    "arith.minsi": lambda width: (1 << (width - 1)) - 1,
}
