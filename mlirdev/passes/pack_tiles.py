"""Pack bf16 operands into matrix tiles: strips of 16 lines (A's rows, B's columns), a tile per 32 steps of k.

    tile of A: [line][k]              tile of B: [pair of k][line][2]

              k contiguous                          lines contiguous
    A    a line's 32 k are one load             pairs of k interleaved, then transposed as numbers of 32 bits
    B    loaded, then transposed likewise       pairs of k interleaved

Beyond the last line and the last k there are zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch_mlir import ir

from mlirdev.passes.build import (
    Index,
    add,
    as_value,
    compare,
    divide_up,
    for_loop,
    minimum,
    multiply,
    product,
    strided,
    subtract,
)
from mlirdev.passes.ops import emit
from mlirdev.passes.packing import as_one, create_mask, divides, is_one, splat, transpose

SIDE = 16  # lines of a tile
K = 32  # steps of k of a tile
TILE = SIDE * K
_PAIRS = K // 2
# Squares of so many pairs are transposed in registers.
_SQUARE = 8

Span = tuple[Index, Index]


@dataclass(frozen=True)
class Operand:
    """Strides and sizes along k and along the lines."""

    k_strides: Sequence[Index]
    k_sizes: Sequence[Index]
    strides: Sequence[Index]
    sizes: Sequence[Index]

    @property
    def is_along_k(self) -> bool:
        return is_one(as_one(self.k_strides, self.k_sizes))

    @property
    def lines(self) -> Index:
        return product(self.sizes)

    @property
    def depth(self) -> Index:
        return product(self.k_sizes)


def has_packer(operand: Operand) -> bool:
    return operand.is_along_k or is_one(as_one(operand.strides, operand.sizes))


def pack_left(
    operand: Operand, source: Any, base: Index, packed: Any, lines: Span, block: tuple[Index, Index], strip: int
) -> None:
    """Strips of `lines` of A for k from block[0] for block[1] steps."""
    reader = _Reader(operand, source, base, block)
    steps = divide_up(block[1], K)
    with for_loop(0, _strips(lines)) as s:
        first, start = add(lines[0], multiply(s.iv, SIDE)), multiply(s.iv, strip)
        if operand.is_along_k:
            with for_loop(0, SIDE) as line, for_loop(0, steps) as t:
                value = reader.along_k(add(first, line.iv), multiply(t.iv, K), K)
                to = add(add(start, multiply(t.iv, TILE)), multiply(line.iv, K))
                emit("vector.store", [], [value, packed, as_value(to)])
            return
        with for_loop(0, steps) as t, for_loop(0, SIDE, _SQUARE) as line, for_loop(0, _PAIRS, _SQUARE) as pair:
            k, to = multiply(t.iv, K), add(start, multiply(t.iv, TILE))
            rows = [
                reader.pairs(add(first, line.iv), add(k, multiply(add(pair.iv, p), 2)), _SQUARE) for p in range(_SQUARE)
            ]
            at = add(add(to, multiply(line.iv, K)), multiply(pair.iv, 2))
            _store_transposed(rows, packed, at, K)


def pack_right(
    operand: Operand, source: Any, base: Index, packed: Any, lines: Span, block: tuple[Index, Index], strip: int
) -> None:
    """Strips of `lines` of B for k from block[0] for block[1] steps."""
    reader = _Reader(operand, source, base, block)
    if not operand.is_along_k:
        # Tile by tile, across all strips: both what is read and what is written lies in long enough runs.
        with for_loop(0, divide_up(block[1], K)) as t, for_loop(0, _strips(lines)) as s, for_loop(0, _PAIRS) as pair:
            k = add(multiply(t.iv, K), multiply(pair.iv, 2))
            value = reader.pairs(add(lines[0], multiply(s.iv, SIDE)), k, SIDE)
            to = add(add(multiply(s.iv, strip), multiply(t.iv, TILE)), multiply(pair.iv, K))
            emit("vector.store", [], [value, packed, as_value(to)])
        return
    with for_loop(0, _strips(lines)) as s, for_loop(0, divide_up(block[1], K)) as t:
        first, k = add(lines[0], multiply(s.iv, SIDE)), multiply(t.iv, K)
        to = add(multiply(s.iv, strip), multiply(t.iv, TILE))
        with for_loop(0, SIDE, _SQUARE) as line, for_loop(0, _PAIRS, _SQUARE) as pair:
            rows = [
                reader.along_k(add(add(first, line.iv), n), add(k, multiply(pair.iv, 2)), 2 * _SQUARE)
                for n in range(_SQUARE)
            ]
            at = add(add(to, multiply(pair.iv, K)), multiply(line.iv, 2))
            _store_transposed(rows, packed, at, K)


def _strips(lines: Span) -> Index:
    """An even number: tiles are computed two by two."""
    return multiply(divide_up(subtract(lines[1], lines[0]), 2 * SIDE), 2)


def _store_transposed(rows: Sequence[Any], packed: Any, at: Index, step: int) -> None:
    """A square of pairs, its columns stored `step` elements apart."""
    numbers = ir.VectorType.get([_SQUARE], ir.IntegerType.get_signless(32))
    narrow = ir.VectorType.get([2 * _SQUARE], ir.BF16Type.get())
    columns = transpose([emit("vector.bitcast", [numbers], [row]) for row in rows])
    for number, column in enumerate(columns):
        value = emit("vector.bitcast", [narrow], [column])
        emit("vector.store", [], [value, packed, as_value(add(at, number * step))])


class _Reader:
    """Reads runs of an operand in a block along k."""

    def __init__(self, operand: Operand, source: Any, base: Index, block: tuple[Index, Index]) -> None:
        self.operand = operand
        self.source = source
        self.base = base
        self.pc, self.depth = block

    def along_k(self, line: Index, k: Index, count: int) -> Any:
        """`count` steps of k of a line."""
        last = minimum(line, subtract(self.operand.lines, 1))
        start = strided(self.base, last, self.operand.sizes, self.operand.strides)
        at = add(start, add(self.pc, k))
        if divides(K, self.operand.depth) and divides(K, self.depth):
            return self._load(at, count)
        return self._masked_load(at, count, subtract(self.depth, k))

    def pairs(self, line: Index, k: Index, count: int) -> Any:
        """Steps k and k + 1 of `count` lines, side by side for each line."""
        mask = [n // 2 + n % 2 * count for n in range(2 * count)]
        rows = [self._row(line, add(k, n), count) for n in range(2)]
        type_ = ir.VectorType.get([2 * count], ir.BF16Type.get())
        return emit("vector.shuffle", [type_], rows, mask=ir.DenseI64ArrayAttr.get(mask))

    def _row(self, line: Index, k: Index, count: int) -> Any:
        """One step of k of `count` lines."""
        o = self.operand
        is_whole_k = divides(K, o.depth) and divides(K, self.depth)
        within = k if is_whole_k else minimum(k, subtract(self.depth, 1))
        at = strided(add(self.base, line), add(self.pc, within), o.k_sizes, o.k_strides)
        if is_whole_k and divides(2 * SIDE, o.lines):
            return self._load(at, count)
        left = subtract(o.lines, line)
        if not is_whole_k:
            is_inside = compare("slt", k, self.depth)
            left = emit("arith.select", [ir.IndexType.get()], [is_inside, as_value(left), as_value(0)])
        return self._masked_load(at, count, left)

    def _load(self, at: Index, count: int) -> Any:
        return emit("vector.load", [_vector(count)], [self.source, as_value(at)])

    def _masked_load(self, at: Index, count: int, present: Index) -> Any:
        type_ = _vector(count)
        operands = [self.source, as_value(at), create_mask(count, present), splat(type_, 0.0)]
        return emit("vector.maskedload", [type_], operands)


def _vector(count: int) -> Any:
    return ir.VectorType.get([count], ir.BF16Type.get())
