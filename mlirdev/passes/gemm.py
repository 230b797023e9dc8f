"""The schedule of a contraction: B in packed panels, a register tile of C, K in blocks.

    for batch
      for jc: n by NC                          a panel of C's columns
        for outer k, for pc: k by KC
          pack B[pc, jc] → Bp[NC/NR][KC][NR]   zero-padded, so that edges need no special code
          for jb: panel by NR
            for i: m by MR                     MR × NR accumulators in registers
              for k: acc[i, j] += A[i, k] · Bp[k, j]
        epilogue on C[:, jc]                   while the panel is in the cache

Where k is one block, the two innermost loops and the epilogue are in one over ic: m by MC, so that panels can be wide:
what the epilogue reads and writes then lies in long runs.

A is read in place. Rows past the last one are clamped to it: they compute and store the same values twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from torch_mlir import ir

from mlirdev.passes.build import (
    Index,
    add,
    as_value,
    divide_up,
    for_loop,
    insert_into,
    minimum,
    multiply,
    product,
    subtract,
)
from mlirdev.passes.contraction import Contraction
from mlirdev.passes.linear import LinearAccess
from mlirdev.passes.ops import constant, emit
from mlirdev.passes.packing import Packer, create_mask, divides, is_one, splat
from mlirdev.target import Target

Span = tuple[Index, Index]  # from the first one until before the end
Epilogue = Callable[[list[Index], Span, Span], None]  # batch coordinates, rows, columns


@dataclass(frozen=True)
class Tiles:
    """Sizes of the schedule: MR × NR register tile of vectors of `lanes`, NC columns per panel, KC of k per
    block, MC rows between epilogues where k is one block."""

    lanes: int
    mr: int
    nr: int
    nc: int
    kc: int
    mc: int
    unroll: int

    @property
    def vectors(self) -> int:
        return self.nr // self.lanes


def choose_tiles(m: Index, n: Index, k: Index, bits: int, target: Target) -> Tiles:
    """Tiles for an m × n × k product of elements of this many bits; sizes may be run-time."""
    width = target.vector_bits or 256
    lanes = max(width // bits, 1)
    vectors = 1 if isinstance(n, int) and n <= lanes else 2
    nr = lanes * vectors
    # 32 vector registers hold 8 × 2 accumulators with room to spare; 16 hold 6 × 2.
    most = 8 if width >= 512 else 6
    mr = _rows(m, most)
    kc_most = max(target.l2_bytes * 3 // 16 // (64 * bits // 8), 64)
    kc = divide_up(kc_most, lanes) * lanes
    if isinstance(k, int):
        kc = divide_up(divide_up(k, divide_up(k, kc_most)), lanes) * lanes
    nc = _panel(n, nr, kc, is_one_block=isinstance(k, int) and k <= kc)
    # A quarter of the second-level cache for C's rows and columns.
    mc = max(target.l2_bytes // 4 // (nc * bits // 8) // mr, 1) * mr
    unroll = 4 if isinstance(k, int) and k % 4 == 0 and kc % 4 == 0 else 1
    return Tiles(lanes, mr, nr, nc, kc, mc, unroll)


def _panel(n: Index, nr: int, kc: int, is_one_block: bool) -> int:
    """The columns of a panel, a multiple of nr."""
    if not isinstance(n, int):
        return 2 * nr
    most = min(max(2**16 // kc, 64), 1024) if is_one_block else 64
    return min(max(most // nr, 1), -(-n // nr)) * nr


def _rows(m: Index, most: int) -> int:
    """The tile height that wastes least on the last rows."""
    if not isinstance(m, int):
        return most
    if m <= most:
        return max(m, 1)
    return min(range(most, most - 3, -1), key=lambda rows: divide_up(m, rows) * rows)


class Gemm:
    """Writes one contraction at the current insertion point. `zero_init`: C's old contents don't count."""

    def __init__(self, contraction: Contraction, target: Target, zero_init: bool, epilogue: Epilogue | None) -> None:
        self.contraction = contraction
        self.zero_init = zero_init
        self.epilogue = epilogue
        self.m, self.n, self.k = (contraction.extents(d) for d in (contraction.m, contraction.n, contraction.k))
        self.rows, self.columns, self.depth = product(self.m), product(self.n), product(self.k)
        self.element = contraction.c.element_type
        self.tiles = choose_tiles(self.rows, self.columns, self.depth, self.element.width, target)
        self.vector = ir.VectorType.get([self.tiles.lanes], self.element)

    def emit(self) -> None:
        t, c = self.tiles, self.contraction
        self.a, self.b, self.c = c.a.flat(), c.b.flat(), c.c.flat()
        # A row more than needed: the last run of a row may be written beyond its end.
        size = t.nc * t.kc + t.nr + t.lanes
        segments = ir.DenseI32ArrayAttr.get([0, 0])
        self.packed = emit("memref.alloc", [ir.MemRefType.get([size], self.element)], operandSegmentSizes=segments)
        self.packer = self._packer()
        self.zero = splat(self.vector, 0.0)
        with loops(c.extents(c.batch), parallel=True) as batch, for_loop(0, self.columns, t.nc, parallel=True) as jc:
            end = minimum(add(jc.iv, t.nc), self.columns)
            with loops(c.extents(c.outer_k)) as outer, for_loop(0, self.depth, t.kc) as pc:
                fixed = {**dict(zip(c.batch, batch, strict=True)), **dict(zip(c.outer_k, outer, strict=True))}
                self._block(fixed, [*outer, pc.iv], jc.iv, end, batch)
            if self.epilogue and not self._is_one_block:
                self.epilogue(batch, (0, self.rows), (jc.iv, end))

    def _packer(self) -> Packer:
        t, c = self.tiles, self.contraction
        k_strides, strides = [c.b.strides[d] for d in c.k], [c.b.strides[d] for d in c.n]
        return Packer(self.b, k_strides, self.k, strides, self.n, self.packed, t.nr, t.lanes, t.kc * t.nr)

    @property
    def _is_one_block(self) -> bool:
        return all(is_one(count) for count in self._step_counts())

    def _block(
        self, fixed: dict[int, Index], steps: list[Index], first_column: Index, end: Index, batch: list[Index]
    ) -> None:
        """One K block of one panel of columns."""
        t = self.tiles
        pc = steps[-1]
        depth = minimum(subtract(self.depth, pc), t.kc) if not divides(t.kc, self.depth) else t.kc
        bases = [base_of(access, fixed) for access in (self.contraction.a, self.contraction.b, self.contraction.c)]
        panels = divide_up(subtract(end, first_column), t.nr)
        self.packer.pack(bases[1], first_column, panels, pc, depth)
        is_first = self._is_first(steps)
        step = t.mc if self._is_one_block else self.rows
        with for_loop(0, self.rows, step) as ic:
            last = minimum(add(ic.iv, step), self.rows)
            with for_loop(0, panels) as jb, for_loop(ic.iv, last, t.mr) as row:
                column = add(first_column, multiply(jb.iv, t.nr))
                self._tile(bases, multiply(jb.iv, t.kc * t.nr), row.iv, column, pc, depth, is_first)
            if self.epilogue and self._is_one_block:
                self.epilogue(batch, (ic.iv, last), (first_column, end))

    def _is_first(self, steps: list[Index]) -> Any:
        """Whether this is the first block along k: then C is overwritten. None: always."""
        many = [s for s, size in zip(steps, self._step_counts(), strict=True) if not is_one(size)]
        if not self.zero_init:
            return constant(_i1(), 0)
        result = None
        for step in many:
            here = emit("arith.cmpi", [_i1()], [step, as_value(0)], predicate=_equal())
            result = here if result is None else emit("arith.andi", [_i1()], [result, here])
        return result

    def _step_counts(self) -> list[Index]:
        counts = self.contraction.extents(self.contraction.outer_k)
        blocks = divide_up(self.depth, self.tiles.kc) if isinstance(self.depth, int) else -1
        return [*counts, blocks]

    # --- the register tile --------------------------------------------------------------------------

    def _tile(
        self, bases: list[Index], panel: Any, row: Any, column: Index, pc: Index, depth: Index, is_first: Any
    ) -> None:
        t, c = self.tiles, self.contraction
        rows = self._row_numbers(row)
        a_rows = [add(bases[0], c.offset(c.a, c.m, r)) for r in rows]
        c_rows = [add(bases[2], c.offset(c.c, c.m, r)) for r in rows]
        places = [(c_row, add(column, v * t.lanes)) for c_row in c_rows for v in range(t.vectors)]
        masks = None
        if not divides(t.nr, self.columns):
            masks = [create_mask(t.lanes, subtract(self.columns, add(column, v * t.lanes))) for v in range(t.vectors)]
        initial = self._initial(places, masks, is_first)
        with for_loop(0, depth, t.unroll, initial) as k:
            acc = k.carried
            for u in range(t.unroll):
                acc = self._rank_one_update(acc, a_rows, panel, add(pc, add(k.iv, u)), add(k.iv, u))
            k.yields = acc
        for number, ((c_row, j), value) in enumerate(zip(places, k.results, strict=True)):
            self._store(value, add(c_row, j), masks[number % t.vectors] if masks else None)

    def _row_numbers(self, row: Any) -> list[Index]:
        t = self.tiles
        if divides(t.mr, self.rows):
            return [add(row, i) for i in range(t.mr)]
        last = subtract(self.rows, 1)
        return [minimum(add(row, i), last) for i in range(t.mr)]

    def _rank_one_update(self, acc: Sequence[Any], a_rows: list[Index], panel: Any, k: Index, kp: Index) -> list[Any]:
        t = self.tiles
        stride = self.contraction.a.strides[self.contraction.k[-1]]
        step = multiply(k, stride)
        packed_row = add(panel, multiply(kp, t.nr))
        b = [
            emit("vector.load", [self.vector], [self.packed, as_value(add(packed_row, v * t.lanes))])
            for v in range(t.vectors)
        ]
        updated = []
        for i, a_row in enumerate(a_rows):
            element = emit("memref.load", [self.a.type.element_type], [self.a, as_value(add(a_row, step))])
            if element.type != self.element:
                element = emit("arith.extf", [self.element], [element])
            wide = emit("vector.broadcast", [self.vector], [element])
            for v in range(t.vectors):
                updated.append(emit("vector.fma", [self.vector], [wide, b[v], acc[i * t.vectors + v]]))
        return updated

    def _initial(self, places: list[tuple[Index, Index]], masks: list[Any] | None, is_first: Any) -> list[Any]:
        if is_first is None:
            return [self.zero] * len(places)
        types = [self.vector] * len(places)
        choice = ir.Operation.create("scf.if", results=types, operands=[is_first], regions=2)
        with insert_into(choice.regions[0]):
            emit("scf.yield", [], [self.zero] * len(places))
        with insert_into(choice.regions[1]):
            old = []
            for number, (c_row, j) in enumerate(places):
                operands = [self.c, as_value(add(c_row, j))]
                if masks:
                    operands += [masks[number % self.tiles.vectors], self.zero]
                old.append(emit("vector.maskedload" if masks else "vector.load", [self.vector], operands))
            emit("scf.yield", [], old)
        return list(choice.results)

    def _store(self, value: Any, at: Index, mask: Any) -> None:
        if mask is None:
            emit("vector.store", [], [value, self.c, as_value(at)])
        else:
            emit("vector.maskedstore", [], [self.c, as_value(at), mask, value])


@contextmanager
def loops(extents: Sequence[Index], *, parallel: bool = False) -> Iterator[list[Index]]:
    """Nested loops from 0; yields their variables, 0 for a loop of one."""
    with ExitStack() as stack:
        yield [0 if is_one(e) else stack.enter_context(for_loop(0, e, parallel=parallel)).iv for e in extents]


def base_of(access: LinearAccess, fixed: dict[int, Index]) -> Index:
    """Where an access is while these dims stand at these positions and all others at 0."""
    offset = access.offset
    for d, position in fixed.items():
        offset = add(offset, multiply(position, access.strides[d]))
    return offset


def _i(width: int) -> Any:
    return ir.IntegerType.get_signless(width)


def _i1() -> Any:
    return _i(1)


def _equal() -> Any:
    return ir.IntegerAttr.get(_i(64), 0)
