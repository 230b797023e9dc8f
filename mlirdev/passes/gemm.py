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

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from torch_mlir import ir

from mlirdev.passes.build import (
    Index,
    add,
    alloc,
    as_value,
    divide,
    divide_up,
    for_loop,
    insert_into,
    minimum,
    multiply,
    product,
    subtract,
)
from mlirdev.passes.contraction import Contraction
from mlirdev.passes.contraction_blocks import Block, BlockedContraction, Surroundings
from mlirdev.passes.contraction_tiles import plan_gemm
from mlirdev.passes.linear import LinearAccess
from mlirdev.passes.ops import emit
from mlirdev.passes.packing import Packer, create_mask, divides, is_one, splat
from mlirdev.passes.register_tile import RegisterTile
from mlirdev.target import Target

ElementReader = Callable[[int, Index], Any]  # A's element in a row of the tile, at a k of the block

_FEW_ROWS = 8


class Gemm(BlockedContraction):
    def __init__(self, contraction: Contraction, target: Target, around: Surroundings) -> None:
        c = contraction
        self.element = c.c.element_type
        self.packs_a = _packs_left(c)
        self.tiles = plan_gemm(c.sizes, self.element.width, target, whole_tiles=self.packs_a)
        self.vector = ir.VectorType.get([self.tiles.lanes], self.element)
        self.tile = RegisterTile(self.vector, self.tiles.mr, self.tiles.vectors)
        super().__init__(contraction, around, self.tiles, self.tiles.mc)

    def prepare(self) -> None:
        t, c = self.tiles, self.contraction
        # A row more than needed: the last run of a row may be written beyond its end.
        self.packed_b = alloc([t.panels * t.b_panel + t.nr + t.lanes], self.element)
        self.packed_a = alloc([t.mc // t.mr * t.a_panel], self.element) if self.packs_a else None
        self.right = self._packer(self.b, c.b, c.n, self.packed_b, t.nr, t.lanes, t.b_panel)
        self.left = self._packer(self.a, c.a, c.m, self.packed_a, t.mr, t.mr, t.a_panel)

    def _packer(
        self, flat: Any, access: LinearAccess, dims: Sequence[int], packed: Any, nr: int, lanes: int, panel: int
    ) -> Packer:
        """Packs A or B, whose lines run along these dims."""
        c = self.contraction
        k_strides, strides = ([access.strides[d] for d in along] for along in (c.k, dims))
        return Packer(flat, k_strides, c.extents(c.k), strides, c.extents(dims), packed, nr, lanes, panel)

    def block(self, block: Block) -> None:
        t = self.tiles
        panels = divide_up(subtract(block.columns[1], block.columns[0]), t.nr)
        self.right.pack(block.bases[1], block.columns[0], panels, block.pc, block.depth)
        with for_loop(*block.rows, t.mc) as ic:
            last = minimum(add(ic.iv, t.mc), block.rows[1])
            if self.packs_a:
                tiles = divide_up(subtract(last, ic.iv), t.mr)
                self.left.pack(block.bases[0], ic.iv, tiles, block.pc, block.depth)
            part = replace(block, rows=(ic.iv, last)) if self.is_one_block else block
            with for_loop(0, panels) as jb, for_loop(ic.iv, last, t.mr) as row:
                column = add(block.columns[0], multiply(jb.iv, t.nr))
                self._tile(part, multiply(jb.iv, t.b_panel), (subtract(row.iv, ic.iv), row.iv), column)
            if self.is_one_block:
                self.finish(part)

    # --- the register tile --------------------------------------------------------------------------

    def _tile(self, block: Block, panel: Index, row: tuple[Index, Index], column: Index) -> None:
        """A register tile; `row` is its first one in the packed rows and in C."""
        t = self.tiles
        rows = self._row_numbers(row[1])
        c_rows = [self.row_start(block, r) for r in rows]
        places = [(c_row, add(column, v * t.lanes)) for c_row in c_rows for v in range(t.vectors)]
        masks = None
        if not divides(t.nr, self.columns):
            masks = [create_mask(t.lanes, subtract(self.columns, add(column, v * t.lanes))) for v in range(t.vectors)]
        for c_row, j in places:
            prefetch(self.c, add(c_row, j))
        read_a = self._packed_reader(row, rows) if self.packs_a else self._reader(block, rows)

        def read_b(k: Index, v: int) -> Any:
            at = add(add(panel, multiply(k, t.nr)), v * t.lanes)
            return emit("vector.load", [self.vector], [self.packed_b, as_value(at)])

        multiple = math.gcd(self.depth, t.kc) if isinstance(self.depth, int) else 1
        sums = self.tile.accumulate(block.depth, self.tile.zeros(), read_a, read_b, multiple)
        results = self._added_to_c(sums, places, masks, block.is_first)
        for number, ((c_row, j), value) in enumerate(zip(places, results, strict=True)):
            self._store(value, add(c_row, j), masks[number % t.vectors] if masks else None)

    def _reader(self, block: Block, rows: list[Index]) -> ElementReader:
        """A's elements of these rows, given k in the block."""
        c = self.contraction
        starts = [add(block.bases[0], c.offset(c.a, c.m, row)) for row in rows]
        stride = c.a.strides[c.k[-1]]
        return lambda i, k: self._element(self.a, add(starts[i], multiply(add(block.pc, k), stride)))

    def _packed_reader(self, row: tuple[Index, Index], rows: list[Index]) -> ElementReader:
        t = self.tiles
        panel = multiply(divide(row[0], t.mr), t.a_panel)
        is_whole = divides(t.mr, self.rows)
        starts = [add(panel, i if is_whole else subtract(r, row[1])) for i, r in enumerate(rows)]
        return lambda i, k: self._element(self.packed_a, add(starts[i], multiply(k, t.mr)))

    def _element(self, memref: Any, at: Index) -> Any:
        element = emit("memref.load", [memref.type.element_type], [memref, as_value(at)])
        return element if element.type == self.element else emit("arith.extf", [self.element], [element])

    def _row_numbers(self, row: Any) -> list[Index]:
        t = self.tiles
        if divides(t.mr, self.rows):
            return [add(row, i) for i in range(t.mr)]
        last = subtract(self.rows, 1)
        return [minimum(add(row, i), last) for i in range(t.mr)]

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
            emit("scf.yield", [], self.tile.zeros())
        with insert_into(choice.regions[1]):
            old = []
            for number, (c_row, j) in enumerate(places):
                operands = [self.c, as_value(add(c_row, j))]
                if masks:
                    operands += [masks[number % self.tiles.vectors], splat(self.vector, 0.0)]
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


def _packs_left(c: Contraction) -> bool:
    """Whether A is packed: where its rows aren't runs along k, a tile would read a cache line for each k, and where its
    elements are narrow, extend each for every tile of columns. A few rows are left where they are."""
    rows = product(c.extents(c.m))
    has_few_rows = isinstance(rows, int) and rows <= _FEW_ROWS
    return not has_few_rows and (not is_one(c.a.strides[c.k[-1]]) or c.a.element_type != c.c.element_type)
