"""The schedule of a contraction: B in packed panels, a register tile of C, K in blocks.

    for batch
      for jc: n by NC                          a panel of C's columns
        for outer k, for pc: k by KC
          pack B[pc, jc] → Bp[NC/NR][KC][NR]   zero-padded, so that edges need no special code
          for jb: panel by NR
            for i: m by MR                     MR × NR accumulators in registers
              for k: acc[i, j] += A[i, k] · Bp[k, j]
        epilogue on C[:, jc]                   while the panel is in the cache

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
    remainder,
    subtract,
    unflatten,
)
from mlirdev.passes.contraction import Contraction
from mlirdev.passes.linear import LinearAccess
from mlirdev.passes.ops import constant, emit
from mlirdev.target import Target

Epilogue = Callable[[list[Index], Index, Index], None]  # batch coordinates, first column, end column


@dataclass(frozen=True)
class Tiles:
    """Sizes of the schedule: MR × NR register tile of vectors of `lanes`, NC columns per panel, KC of k per block."""

    lanes: int
    mr: int
    nr: int
    nc: int
    kc: int
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
    kc = kc_most
    if isinstance(k, int):
        kc = divide_up(divide_up(k, divide_up(k, kc_most)), 4) * 4
    nc = 2 * nr if not isinstance(n, int) else min(64 if nr <= 64 else nr, divide_up(n, nr) * nr)
    nc = max(nc // nr, 1) * nr
    unroll = 4 if isinstance(k, int) and k % 4 == 0 and kc % 4 == 0 else 1
    return Tiles(lanes, mr, nr, nc, kc, unroll)


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
        panel = ir.MemRefType.get([t.nc // t.nr, t.kc, t.nr], self.element)
        segments = ir.DenseI32ArrayAttr.get([0, 0])
        self.packed = emit("memref.alloc", [panel], operandSegmentSizes=segments)
        self.zero = emit("arith.constant", [self.vector], value=self._splat(0.0))
        with loops(c.extents(c.batch)) as batch, for_loop(0, self.columns, t.nc) as jc:
            end = minimum(add(jc.iv, t.nc), self.columns)
            with loops(c.extents(c.outer_k)) as outer, for_loop(0, self.depth, t.kc) as pc:
                fixed = {**dict(zip(c.batch, batch, strict=True)), **dict(zip(c.outer_k, outer, strict=True))}
                self._block(fixed, [*outer, pc.iv], jc.iv, end)
            if self.epilogue:
                self.epilogue(batch, jc.iv, end)

    def _block(self, fixed: dict[int, Index], steps: list[Index], first_column: Index, end: Index) -> None:
        """One K block of one panel of columns."""
        t = self.tiles
        pc = steps[-1]
        depth = minimum(subtract(self.depth, pc), t.kc) if not _divides(t.kc, self.depth) else t.kc
        bases = [_base(access, fixed) for access in (self.contraction.a, self.contraction.b, self.contraction.c)]
        panels = divide_up(subtract(end, first_column), t.nr)
        with for_loop(0, panels) as jb:
            column = add(first_column, multiply(jb.iv, t.nr))
            self._pack(bases[1], jb.iv, column, pc, depth)
        is_first = self._is_first(steps)
        with for_loop(0, panels) as jb:
            column = add(first_column, multiply(jb.iv, t.nr))
            with for_loop(0, self.rows, t.mr) as row:
                self._tile(bases, jb.iv, row.iv, column, pc, depth, is_first)

    def _is_first(self, steps: list[Index]) -> Any:
        """Whether this is the first block along k: then C is overwritten. None: always."""
        many = [s for s, size in zip(steps, self._step_counts(), strict=True) if size != 1]
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

    # --- packing ------------------------------------------------------------------------------------

    def _pack(self, base: Index, panel: Any, column: Index, pc: Index, depth: Index) -> None:
        """Bp[panel, k, :] = B[pc + k, column :], zero or anything past the last column."""
        t = self.tiles
        readers = [self._lane_reader(add(column, v * t.lanes)) for v in range(t.vectors)]
        strides = [self.contraction.b.strides[d] for d in self.contraction.k]
        with for_loop(0, depth) as k:
            at = unflatten(add(pc, k.iv), self.k)
            row = base
            for position, stride in zip(at, strides, strict=True):
                row = add(row, multiply(position, stride))
            for v, read in enumerate(readers):
                value = read(row)
                emit("vector.store", [], [value, self.packed, panel, k.iv, as_value(v * t.lanes)])

    def _lane_reader(self, column: Index) -> Callable[[Index], Any]:
        """A function that reads B's elements of `lanes` columns, given the offset of their row of B."""
        c = self.contraction
        strides = [c.b.strides[d] for d in c.n]
        if strides == [1]:
            return self._contiguous_reader(column)
        return self._gathering_reader(column, strides)

    def _contiguous_reader(self, column: Index) -> Callable[[Index], Any]:
        if _divides(self.tiles.nr, self.columns):
            return lambda row: self._extend(
                emit("vector.load", [self._b_vector()], [self.b, as_value(add(row, column))])
            )
        mask = self._mask(column)
        zero = emit("arith.constant", [self._b_vector()], value=self._splat(0.0, self._b_vector()))
        return lambda row: self._extend(
            emit("vector.maskedload", [self._b_vector()], [self.b, as_value(add(row, column)), mask, zero])
        )

    def _gathering_reader(self, column: Index, strides: list[Index]) -> Callable[[Index], Any]:
        lanes = self.tiles.lanes
        index_vector = ir.VectorType.get([lanes], ir.IndexType.get())
        last = _broadcast(subtract(self.columns, 1), index_vector)
        numbers = emit(
            "arith.addi", [index_vector], [_broadcast(column, index_vector), emit("vector.step", [index_vector])]
        )
        flat = emit("arith.minui", [index_vector], [numbers, last])
        offsets = self._lane_offsets(flat, strides, index_vector)
        narrow = emit("arith.index_cast", [ir.VectorType.get([lanes], _i(32))], [offsets])
        type_ = self._b_vector()
        zero = emit("arith.constant", [type_], value=self._splat(0.0, type_))
        mask_type = ir.VectorType.get([lanes], _i1())
        mask = emit(
            "arith.constant", [mask_type], value=ir.DenseElementsAttr.get_splat(mask_type, ir.BoolAttr.get(True))
        )
        return lambda row: self._extend(emit("vector.gather", [type_], [self.b, as_value(row), narrow, mask, zero]))

    def _lane_offsets(self, flat: Any, strides: list[Index], type_: Any) -> Any:
        """Σ strides[d] · coordinate d of each lane's column."""
        total = None
        for position in range(len(strides) - 1, -1, -1):
            coordinate = flat
            if position:
                size = _broadcast(self.n[position], type_)
                coordinate = emit("arith.remui", [type_], [flat, size])
                flat = emit("arith.divui", [type_], [flat, size])
            term = emit("arith.muli", [type_], [coordinate, _broadcast(strides[position], type_)])
            total = term if total is None else emit("arith.addi", [type_], [total, term])
        return total

    # --- the register tile --------------------------------------------------------------------------

    def _tile(
        self, bases: list[Index], panel: Any, row: Any, column: Index, pc: Index, depth: Index, is_first: Any
    ) -> None:
        t = self.tiles
        rows = self._row_numbers(row)
        a_rows = [add(bases[0], self._row_offset(self.contraction.a, r)) for r in rows]
        c_rows = [add(bases[2], self._row_offset(self.contraction.c, r)) for r in rows]
        places = [(c_row, add(column, v * t.lanes)) for c_row in c_rows for v in range(t.vectors)]
        masks = None
        if not _divides(t.nr, self.columns):
            masks = [self._mask(add(column, v * t.lanes)) for v in range(t.vectors)]
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
        if _divides(t.mr, self.rows):
            return [add(row, i) for i in range(t.mr)]
        last = subtract(self.rows, 1)
        return [minimum(add(row, i), last) for i in range(t.mr)]

    def _row_offset(self, access: LinearAccess, row: Index) -> Index:
        offset: Index = 0
        for position, d in zip(unflatten(row, self.m), self.contraction.m, strict=True):
            offset = add(offset, multiply(position, access.strides[d]))
        return offset

    def _rank_one_update(self, acc: Sequence[Any], a_rows: list[Index], panel: Any, k: Index, kp: Index) -> list[Any]:
        t = self.tiles
        stride = self.contraction.a.strides[self.contraction.k[-1]]
        step = multiply(k, stride)
        b = [
            emit("vector.load", [self.vector], [self.packed, panel, as_value(kp), as_value(v * t.lanes)])
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

    # --- vectors ------------------------------------------------------------------------------------

    def _mask(self, column: Index) -> Any:
        """The lanes from `column` on that are columns of C."""
        type_ = ir.VectorType.get([self.tiles.lanes], _i1())
        return emit("vector.create_mask", [type_], [as_value(subtract(self.columns, column))])

    def _b_vector(self) -> Any:
        return ir.VectorType.get([self.tiles.lanes], self.b.type.element_type)

    def _extend(self, value: Any) -> Any:
        return value if value.type == self.vector else emit("arith.extf", [self.vector], [value])

    def _splat(self, value: float, type_: Any = None) -> Any:
        type_ = type_ or self.vector
        return ir.DenseElementsAttr.get_splat(type_, ir.FloatAttr.get(type_.element_type, value))


@contextmanager
def loops(extents: Sequence[Index]) -> Iterator[list[Index]]:
    """Nested loops from 0; yields their variables, 0 for a loop of one."""
    with ExitStack() as stack:
        yield [0 if e == 1 else stack.enter_context(for_loop(0, e)).iv for e in extents]


def _base(access: LinearAccess, fixed: dict[int, Index]) -> Index:
    offset = access.offset
    for d, position in fixed.items():
        offset = add(offset, multiply(position, access.strides[d]))
    return offset


def _divides(step: int, size: Index) -> bool:
    return isinstance(size, int) and remainder(size, step) == 0


def _broadcast(value: Index, type_: Any) -> Any:
    return emit("vector.broadcast", [type_], [as_value(value)])


def _i(width: int) -> Any:
    return ir.IntegerType.get_signless(width)


def _i1() -> Any:
    return _i(1)


def _equal() -> Any:
    return ir.IntegerAttr.get(_i(64), 0)
