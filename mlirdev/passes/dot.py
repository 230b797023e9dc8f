"""The schedule of a contraction of few rows whose operands both lie along k: no packing, a tile of dot products.

    for batch
      for jc: n by NC                          a panel of C's columns
        for j: panel by NB                     NB runs of B, each read from memory once
          for i: m by MR                       MR × NB accumulators in registers, their lanes along k
            for k by lanes: acc[i, j] += A[i, k…] · B[j, k…]
            C[i, j] = sum of the lanes of acc[i, j]
        epilogue on C[:, jc]

Narrow elements are extended as they are loaded, or, where the processor has an instruction for it, multiplied and added
in pairs. Packing B would cost as much as the few rows gain by it. Rows and columns past the last are clamped to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch_mlir import ir

from mlirdev.passes.build import (
    Index,
    add,
    as_value,
    divide,
    for_loop,
    minimum,
    multiply,
    product,
    subtract,
)
from mlirdev.passes.contraction import Contraction
from mlirdev.passes.contraction_blocks import Surroundings, base_of, loops
from mlirdev.passes.ops import call_intrinsic, emit
from mlirdev.passes.packing import as_one, create_mask, divides, is_one, splat
from mlirdev.target import Target

MOST_ROWS = 64
# With fewer steps along k, adding up the lanes at the end costs more than the products.
_LEAST_STEPS = 4
_PANEL = 64


def suits(contraction: Contraction, target: Target) -> bool:
    """Whether a contraction is of this kind."""
    c = contraction
    if c.outer_k or not all(is_one(as_one([x.strides[d] for d in c.k], c.extents(c.k))) for x in (c.a, c.b)):
        return False
    rows, depth = (product(c.extents(d)) for d in (c.m, c.k))
    if not isinstance(rows, int) or rows > MOST_ROWS:
        return False
    lanes = target.lanes(c.c.element_type.width)
    return not isinstance(depth, int) or depth >= _LEAST_STEPS * lanes


def _multiplies_pairs(c: Contraction, target: Target) -> bool:
    """Whether an instruction adds the products of two neighbours along k to each lane."""
    types = [str(access.element_type) for access in (c.a, c.b, c.c)]
    return types == ["bf16", "bf16", "f32"] and target.llvm.vector_bits == 512 and target.has("avx512bf16")


def choose_tile(rows: int, vector_bits: int) -> tuple[int, int]:
    """MR × NB: enough accumulators to hide the latency of a multiply-add, few enough to stay in registers."""
    if vector_bits >= 512:
        return {1: (1, 8), 2: (2, 8), 3: (3, 4)}.get(rows, (4, 4))
    return {1: (1, 8), 2: (2, 4), 3: (3, 3)}.get(rows, (4, 2))


class Dot:
    """Writes one contraction at the current insertion point."""

    def __init__(self, contraction: Contraction, target: Target, around: Surroundings) -> None:
        c = self.contraction = contraction
        self.zero_init = around.zero_init
        self.epilogue = around.epilogue
        self.rows, self.columns, self.depth = (product(c.extents(d)) for d in (c.m, c.n, c.k))
        self.element = c.c.element_type
        self.lanes = target.lanes(self.element.width)
        self.mr, self.nb = choose_tile(self.rows, target.vector_width)
        self.vector = ir.VectorType.get([self.lanes], self.element)
        self.by_pairs = _multiplies_pairs(c, target)
        self.step = 2 * self.lanes if self.by_pairs else self.lanes

    def emit(self) -> None:
        c = self.contraction
        self.a, self.b, self.c = c.a.flat(), c.b.flat(), c.c.flat()
        self.zero = splat(self.vector, 0.0)
        with (
            loops(c.extents(c.batch), parallel=True) as batch,
            for_loop(0, self.columns, _PANEL, parallel=True) as jc,
        ):
            end = minimum(add(jc.iv, _PANEL), self.columns)
            fixed: dict[int, Index] = dict(zip(c.batch, batch, strict=True))
            bases = [base_of(access, fixed) for access in (c.a, c.b, c.c)]
            with for_loop(jc.iv, end, self.nb) as column, for_loop(0, self.rows, self.mr) as row:
                self._tile(bases, row.iv, column.iv)
            if self.epilogue:
                self.epilogue(batch, (0, self.rows), (jc.iv, end), None)

    def _tile(self, bases: Sequence[Index], row: Any, column: Any) -> None:
        c = self.contraction
        rows, columns = _numbers(row, self.mr, self.rows), _numbers(column, self.nb, self.columns)
        a_starts = [add(bases[0], c.offset(c.a, c.m, r)) for r in rows]
        b_starts = [add(bases[1], c.offset(c.b, c.n, j)) for j in columns]
        sums = self._products(a_starts, b_starts)
        c_rows = [add(bases[2], c.offset(c.c, c.m, r)) for r in rows]
        places = [add(c_row, c.offset(c.c, c.n, j)) for c_row in c_rows for j in columns]
        # All of C is read before any is written: clamped rows and columns are one place several times.
        totals = [self._total(value, at) for value, at in zip(sums, places, strict=True)]
        for total, at in zip(totals, places, strict=True):
            emit("memref.store", [], [total, self.c, as_value(at)])

    def _products(self, a_starts: Sequence[Index], b_starts: Sequence[Index]) -> list[Any]:
        """The accumulators of a tile after all of k, row by row."""
        whole = multiply(divide(self.depth, self.step), self.step)
        with for_loop(0, whole, self.step, [self.zero] * (self.mr * self.nb)) as k:
            k.yields = self._step(a_starts, b_starts, k.iv, k.carried, None)
        if divides(self.step, self.depth):
            return k.results
        mask = create_mask(self.step, subtract(self.depth, whole))
        return self._step(a_starts, b_starts, whole, k.results, mask)

    def _step(
        self, a_starts: Sequence[Index], b_starts: Sequence[Index], k: Index, acc: Sequence[Any], mask: Any
    ) -> list[Any]:
        b = [self._load(self.b, add(start, k), mask) for start in b_starts]
        updated = []
        for i, start in enumerate(a_starts):
            a = self._load(self.a, add(start, k), mask)
            before = acc[i * self.nb : (i + 1) * self.nb]
            updated += [self._multiply_add(a, x, y) for x, y in zip(b, before, strict=True)]
        return updated

    def _multiply_add(self, a: Any, b: Any, total: Any) -> Any:
        if not self.by_pairs:
            return emit("vector.fma", [self.vector], [a, b, total])
        bits = self.lanes * int(self.element.width)
        return call_intrinsic(f"llvm.x86.avx512bf16.dpbf16ps.{bits}", [self.vector], [total, a, b])

    def _load(self, memref: Any, at: Index, mask: Any) -> Any:
        type_ = ir.VectorType.get([self.step], memref.type.element_type)
        if mask is None:
            value = emit("vector.load", [type_], [memref, as_value(at)])
        else:
            value = emit("vector.maskedload", [type_], [memref, as_value(at), mask, splat(type_, 0.0)])
        return value if self.by_pairs or type_ == self.vector else emit("arith.extf", [self.vector], [value])

    def _total(self, value: Any, at: Index) -> Any:
        """The lanes of an accumulator added up, onto what C has at this place."""
        kind, any_order = ir.Attribute.parse("#vector.kind<add>"), ir.Attribute.parse("#arith.fastmath<reassoc>")
        total = emit("vector.reduction", [self.element], [value], kind=kind, fastmath=any_order)
        if self.zero_init:
            return total
        old = emit("memref.load", [self.element], [self.c, as_value(at)])
        return emit("arith.addf", [self.element], [old, total])


def _numbers(first: Any, count: int, total: Index) -> list[Index]:
    """`count` numbers from the first on, none past the last."""
    numbers = [add(first, i) for i in range(count)]
    return numbers if divides(count, total) else [minimum(number, subtract(total, 1)) for number in numbers]
