"""The schedule of a contraction: B in packed panels, a register tile of C, K in blocks.

    for batch, jc: n by NC, ic: m by RC        a task: a block of C, independent of all others
      for outer k, for pc: k by KC
        pack B[pc, jc] → Bp[NC/NR][KC][NR]     zero-padded, so that edges need no special code
        for i: RC by MC                        rows of A that stay in the cache
          pack A[i, pc] → Ap[MC/MR][KC][MR]    where A isn't contiguous along k
          for jb: NC by NR, for i: MC by MR    MR × NR accumulators in registers
            prefetch C[i, j]
            for k: acc[i, j] += A[i, k] · Bp[k, j]
            C[i, j] (+)= acc[i, j]
      epilogue on C[ic, jc]                    while it is in the cache

Where k is one block, the epilogue follows each MC rows. Tiles and the sizes of tasks: contraction_tiles.py.

A is read in place otherwise. Rows past the last one are clamped to it: they compute and store the same values twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from torch_mlir import ir

from mlirdev.passes.build import (
    Index,
    add,
    as_value,
    divide,
    divide_up,
    for_loop,
    insert_into,
    minimum,
    multiply,
    product,
    subtract,
    unflatten,
)
from mlirdev.passes.contraction import Contraction
from mlirdev.passes.contraction_tiles import plan_gemm
from mlirdev.passes.linear import LinearAccess
from mlirdev.passes.ops import constant, emit
from mlirdev.passes.packing import Packer, create_mask, divides, is_one, splat
from mlirdev.target import Target

Span = tuple[Index, Index]  # from the first one until before the end
ElementReader = Callable[[Index], Iterable[Any]]  # scalars of A, one per row of the tile, given k
Epilogue = Callable[[list[Index], Span, Span], None]  # batch coordinates, rows, columns


class Gemm:
    """Writes one contraction at the current insertion point. `zero_init`: C's old contents don't count."""

    def __init__(self, contraction: Contraction, target: Target, zero_init: bool, epilogue: Epilogue | None) -> None:
        self.contraction = contraction
        self.zero_init = zero_init
        self.epilogue = epilogue
        self.m, self.n, self.k = (contraction.extents(d) for d in (contraction.m, contraction.n, contraction.k))
        self.rows, self.columns, self.depth = product(self.m), product(self.n), product(self.k)
        self.element = contraction.c.element_type
        # Where A's rows aren't runs along k, a tile would read a cache line per row or, worse, per k.
        self.packs_a = not is_one(contraction.a.strides[contraction.k[-1]]) and not _is_at_most(self.rows, 8)
        sizes = product(contraction.extents(contraction.batch)), self.rows, self.columns, self.depth
        self.tiles = plan_gemm(sizes, self.element.width, target, whole_tiles=self.packs_a)
        self.vector = ir.VectorType.get([self.tiles.lanes], self.element)

    def emit(self) -> None:
        t, c = self.tiles, self.contraction
        self.a, self.b, self.c = c.a.flat(), c.b.flat(), c.c.flat()
        # A row more than needed: the last run of a row may be written beyond its end.
        self.packed_b = self._alloc(t.panels * t.b_panel + t.nr + t.lanes)
        self.packed_a = self._alloc(t.mc // t.mr * t.a_panel) if self.packs_a else None
        self.zero = splat(self.vector, 0.0)
        sizes = [*c.extents(c.batch), divide_up(self.columns, t.nc), divide_up(self.rows, t.rc)]
        with for_loop(0, product(sizes), parallel=True) as task:
            *batch, column, row = unflatten(task.iv, sizes)
            first_column, first_row = multiply(column, t.nc), multiply(row, t.rc)
            rows = first_row, minimum(add(first_row, t.rc), self.rows)
            columns = first_column, minimum(add(first_column, t.nc), self.columns)
            with loops(c.extents(c.outer_k)) as outer, for_loop(0, self.depth, t.kc) as pc:
                fixed = {**dict(zip(c.batch, batch, strict=True)), **dict(zip(c.outer_k, outer, strict=True))}
                self._block(fixed, [*outer, pc.iv], rows, columns, batch)
            if self.epilogue and not self._is_one_block:
                self.epilogue(batch, rows, columns)

    def _alloc(self, size: int) -> Any:
        segments = ir.DenseI32ArrayAttr.get([0, 0])
        return emit("memref.alloc", [ir.MemRefType.get([size], self.element)], operandSegmentSizes=segments)

    def _packer_of_b(self) -> Packer:
        t, c = self.tiles, self.contraction
        k_strides, strides = ([c.b.strides[d] for d in dims] for dims in (c.k, c.n))
        return Packer(self.b, k_strides, self.k, strides, self.n, self.packed_b, t.nr, t.lanes, t.b_panel)

    def _packer_of_a(self) -> Packer:
        t, c = self.tiles, self.contraction
        k_strides, strides = ([c.a.strides[d] for d in dims] for dims in (c.k, c.m))
        return Packer(self.a, k_strides, self.k, strides, self.m, self.packed_a, t.mr, t.mr, t.a_panel)

    @property
    def _is_one_block(self) -> bool:
        return all(is_one(count) for count in self._step_counts())

    def _block(
        self, fixed: dict[int, Index], steps: list[Index], rows: Span, columns: Span, batch: list[Index]
    ) -> None:
        """One K block of one task."""
        t = self.tiles
        pc = steps[-1]
        depth = minimum(subtract(self.depth, pc), t.kc) if not divides(t.kc, self.depth) else t.kc
        bases = [base_of(access, fixed) for access in (self.contraction.a, self.contraction.b, self.contraction.c)]
        panels = divide_up(subtract(columns[1], columns[0]), t.nr)
        self._packer_of_b().pack(bases[1], columns[0], panels, pc, depth)
        is_first = self._is_first(steps)
        with for_loop(*rows, t.mc) as ic:
            last = minimum(add(ic.iv, t.mc), rows[1])
            if self.packs_a:
                tiles = divide_up(subtract(last, ic.iv), t.mr)
                self._packer_of_a().pack(bases[0], ic.iv, tiles, pc, depth)
            with for_loop(0, panels) as jb, for_loop(ic.iv, last, t.mr) as row:
                column = add(columns[0], multiply(jb.iv, t.nr))
                self._tile(
                    bases, multiply(jb.iv, t.b_panel), (subtract(row.iv, ic.iv), row.iv), column, pc, depth, is_first
                )
            if self.epilogue and self._is_one_block:
                self.epilogue(batch, (ic.iv, last), columns)

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
        self,
        bases: list[Index],
        panel: Any,
        row: tuple[Index, Index],
        column: Index,
        pc: Index,
        depth: Index,
        is_first: Any,
    ) -> None:
        """A register tile; `row` is its first one in the packed block and in C."""
        t, c = self.tiles, self.contraction
        rows = self._row_numbers(row[1])
        c_rows = [add(bases[2], c.offset(c.c, c.m, r)) for r in rows]
        places = [(c_row, add(column, v * t.lanes)) for c_row in c_rows for v in range(t.vectors)]
        masks = None
        if not divides(t.nr, self.columns):
            masks = [create_mask(t.lanes, subtract(self.columns, add(column, v * t.lanes))) for v in range(t.vectors)]
        for c_row, j in places:
            prefetch(self.c, add(c_row, j))
        read_a = self._packed_reader(row, rows) if self.packs_a else self._reader(bases[0], rows, pc)
        with for_loop(0, depth, t.unroll, [self.zero] * len(places)) as k:
            acc = k.carried
            for u in range(t.unroll):
                at = add(k.iv, u)
                acc = self._rank_one_update(acc, read_a(at), add(panel, multiply(at, t.nr)))
            k.yields = acc
        results = self._added_to_c(k.results, places, masks, is_first)
        for number, ((c_row, j), value) in enumerate(zip(places, results, strict=True)):
            self._store(value, add(c_row, j), masks[number % t.vectors] if masks else None)

    def _reader(self, base: Index, rows: list[Index], pc: Index) -> ElementReader:
        """A's elements of these rows, given k in the block."""
        c = self.contraction
        starts = [add(base, c.offset(c.a, c.m, row)) for row in rows]
        stride = c.a.strides[c.k[-1]]
        return lambda k: (self._element(self.a, add(start, multiply(add(pc, k), stride))) for start in starts)

    def _packed_reader(self, row: tuple[Index, Index], rows: list[Index]) -> ElementReader:
        t = self.tiles
        panel = multiply(divide(row[0], t.mr), t.a_panel)
        is_whole = divides(t.mr, self.rows)
        starts = [add(panel, i if is_whole else subtract(r, row[1])) for i, r in enumerate(rows)]
        return lambda k: (self._element(self.packed_a, add(start, multiply(k, t.mr))) for start in starts)

    def _element(self, memref: Any, at: Index) -> Any:
        element = emit("memref.load", [memref.type.element_type], [memref, as_value(at)])
        return element if element.type == self.element else emit("arith.extf", [self.element], [element])

    def _row_numbers(self, row: Any) -> list[Index]:
        t = self.tiles
        if divides(t.mr, self.rows):
            return [add(row, i) for i in range(t.mr)]
        last = subtract(self.rows, 1)
        return [minimum(add(row, i), last) for i in range(t.mr)]

    def _rank_one_update(self, acc: Sequence[Any], elements: Iterable[Any], packed_row: Index) -> list[Any]:
        t = self.tiles
        b = [
            emit("vector.load", [self.vector], [self.packed_b, as_value(add(packed_row, v * t.lanes))])
            for v in range(t.vectors)
        ]
        updated = []
        for i, element in enumerate(elements):
            wide = emit("vector.broadcast", [self.vector], [element])
            for v in range(t.vectors):
                updated.append(emit("vector.fma", [self.vector], [wide, b[v], acc[i * t.vectors + v]]))
        return updated

    def _added_to_c(
        self, sums: list[Any], places: list[tuple[Index, Index]], masks: list[Any] | None, is_first: Any
    ) -> list[Any]:
        """The sums, added to what C holds where this isn't the first block along k. All of C is read before any is
        written: clamped rows are one place several times."""
        if is_first is None:
            return sums
        old = self._initial(places, masks, is_first)
        return [emit("arith.addf", [self.vector], [x, y]) for x, y in zip(old, sums, strict=True)]

    def _initial(self, places: list[tuple[Index, Index]], masks: list[Any] | None, is_first: Any) -> list[Any]:
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


def prefetch(memref: Any, at: Index) -> None:
    """Ask for a cache line that will be read and written soon."""
    attributes = {"isWrite": "false", "localityHint": "3 : i32", "isDataCache": "true"}
    emit("memref.prefetch", [], [memref, as_value(at)], **{n: ir.Attribute.parse(v) for n, v in attributes.items()})


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


def _is_at_most(size: Index, most: int) -> bool:
    return isinstance(size, int) and size <= most


def _i(width: int) -> Any:
    return ir.IntegerType.get_signless(width)


def _i1() -> Any:
    return _i(1)


def _equal() -> Any:
    return ir.IntegerAttr.get(_i(64), 0)
