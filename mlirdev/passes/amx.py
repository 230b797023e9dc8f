"""The schedule of a bf16 contraction on a processor with matrix tiles (x86's AMX), accumulating in f32.

    for batch, jc: n by NC, ic: m by RC            a task: a block of C, independent of all others
      for outer k, for pc: k by KC
        pack B[pc, jc] → Bp[NC/16][KC/2][16][2]    a tile is 16 pairs of k, a pair's two side by side, of 16 columns
        pack A[ic, pc] → Ap[RC/16][KC/32][16][32]  a tile is 32 k of 16 rows; not where A consists of such tiles
        for ib: RC by 32, for jb: NC by 32         2 × 2 tiles of C in tile registers
          for k by 32: C tiles += A tiles · B tiles
          C[ib, jb] (+)= tiles                     through scratch at C's edges
      epilogue on C[ic, jc]                        where k is one block, on every 32 rows instead

Packed tiles are 1 KiB of memory in a row, filled with zeros beyond the edges, so that products need no masks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from mlirdev.passes.contraction_tiles import plan_tiles
from mlirdev.passes.ops import call_intrinsic, constant, emit
from mlirdev.passes.pack_tiles import SIDE, TILE, K, Operand, has_packer, pack_left, pack_right
from mlirdev.passes.packing import as_one, create_mask, divides, splat
from mlirdev.target import Target

_LEAST_ROWS = 16
_LEAST_DEPTH = 32
_PAIR = 2 * SIDE


def suits(contraction: Contraction, target: Target) -> bool:
    """Whether a contraction is of this kind, and the target has the tiles."""
    c = contraction
    if not target.has("amx-bf16"):
        return False
    types = [str(access.element_type) for access in (c.a, c.b, c.c)]
    if types != ["bf16", "bf16", "f32"] or not all(has_packer(operand) for operand in _operands(c)):
        return False
    rows, columns, depth = (product(c.extents(dims)) for dims in (c.m, c.n, c.k))
    least = ((rows, _LEAST_ROWS), (columns, SIDE), (depth, _LEAST_DEPTH))
    return all(not isinstance(size, int) or size >= few for size, few in least)


def _operands(c: Contraction) -> tuple[Operand, Operand]:
    """A by its rows and B by its columns."""
    k = c.extents(c.k)
    a, b = ([access.strides[d] for d in c.k] for access in (c.a, c.b))
    rows, columns = ([access.strides[d] for d in dims] for access, dims in ((c.a, c.m), (c.b, c.n)))
    return Operand(a, k, rows, c.extents(c.m)), Operand(b, k, columns, c.extents(c.n))


@dataclass(frozen=True)
class Tiles:
    """Two strips of tiles: the first tile's place, how far it is to the next one along k and to the other strip, in
    elements, and from row to row in bytes."""

    memref: Any
    first: Index
    step: int
    strip: Index
    row: Index


class Amx(BlockedContraction):
    def __init__(self, contraction: Contraction, target: Target, around: Surroundings) -> None:
        super().__init__(contraction, around, plan_tiles(contraction.sizes), _PAIR)

    def prepare(self) -> None:
        s, bf16, f32 = self.sizes, ir.BF16Type.get(), ir.F32Type.get()
        # A tile more than needed keeps strips from lying at the same place in the cache.
        self.strip = s.kc * SIDE + TILE
        self.packed_b = alloc([s.nc // SIDE * self.strip], bf16)
        self.tiles_of_a = self.a if self._reads_a_in_place else alloc([s.rc // SIDE * self.strip], bf16)
        self.scratch = None if self._is_whole else alloc([_PAIR * _PAIR], f32)
        target = self.c if self._is_whole else self.scratch
        self.addresses = {memref: address_of(memref) for memref in (self.tiles_of_a, self.packed_b, target)}

    @property
    def _is_whole(self) -> bool:
        """Whether tiles can be loaded from C, and stored to it, without going beyond its edges."""
        divides_c = divides(_PAIR, self.rows) and divides(_PAIR, self.columns)
        return self.is_local or (divides_c and self._row_stride is not None)

    @property
    def _reads_a_in_place(self) -> bool:
        """Whether A consists of whole tiles, as far as is known."""
        left, _ = _operands(self.contraction)
        is_whole = divides(_PAIR, self.rows) and divides(K, self.depth) and divides(K, self.sizes.kc)
        return is_whole and left.is_along_k and as_one(left.strides, left.sizes) is not None

    @property
    def _row_stride(self) -> Index | None:
        c = self.contraction
        return self.sizes.nc if self.is_local else as_one([c.c.strides[d] for d in c.m], c.extents(c.m))

    def block(self, block: Block) -> None:
        left, right = _operands(self.contraction)
        steps = block.pc, block.depth
        pack_right(right, self.b, block.bases[1], self.packed_b, block.columns, steps, self.strip)
        if not self._reads_a_in_place:
            pack_left(left, self.a, block.bases[0], self.tiles_of_a, block.rows, steps, self.strip)
        write = self._write_whole if self._is_whole else self._write_part
        with for_loop(*block.rows, _PAIR) as row:
            rows = row.iv, minimum(add(row.iv, _PAIR), block.rows[1])
            part = replace(block, rows=rows) if self.is_one_block else block
            a = self._tiles_of_rows(block, left, row.iv)
            with for_loop(*block.columns, _PAIR) as column:
                b = self._packed(self.packed_b, subtract(column.iv, block.columns[0]))
                write(part, row.iv, column.iv, a, b)
            if self.is_one_block:
                self.finish(part)

    # --- a square of four tiles ---------------------------------------------------------------------

    def _write_whole(self, block: Block, row: Index, column: Index, a: Tiles, b: Tiles) -> None:
        """Tiles that are loaded from C and stored to it."""
        stride = self._row_stride
        assert stride is not None
        start = add(self.row_start(block, row), column)
        places = [add(add(start, multiply(multiply(stride, SIDE), i)), SIDE * j) for i in range(2) for j in range(2)]
        pointers = [self._place(self.c, at, 4) for at in places]
        tiles = self._products(block, self._initial(block, pointers, multiply(stride, 4)), a, b)
        for pointer, tile in zip(pointers, tiles, strict=True):
            store_tile(tile, pointer, multiply(stride, 4))

    def _initial(self, block: Block, places: Sequence[Any], stride: Index) -> list[Any]:
        if block.is_first is None:
            return [zero_tile() for _ in places]
        choice = ir.Operation.create(
            "scf.if", results=[tile_type()] * len(places), operands=[block.is_first], regions=2
        )
        with insert_into(choice.regions[0]):
            emit("scf.yield", [], [zero_tile() for _ in places])
        with insert_into(choice.regions[1]):
            emit("scf.yield", [], [load_tile(place, stride) for place in places])
        return list(choice.results)

    def _write_part(self, block: Block, row: Index, column: Index, a: Tiles, b: Tiles) -> None:
        """Tiles that go to scratch, and from there to as much of C as there is."""
        tiles = self._products(block, [zero_tile() for _ in range(4)], a, b)
        for number, tile in enumerate(tiles):
            at = number // 2 * SIDE * _PAIR + number % 2 * SIDE
            store_tile(tile, self._place(self.scratch, at, 4), _PAIR * 4)
        vector = ir.VectorType.get([SIDE], ir.F32Type.get())
        zero = splat(vector, 0.0)
        masks = [create_mask(SIDE, subtract(self.columns, add(column, start))) for start in (0, SIDE)]
        with for_loop(0, minimum(subtract(self.rows, row), _PAIR)) as i:
            to = add(self.row_start(block, add(row, i.iv)), column)
            for start, mask in zip((0, SIDE), masks, strict=True):
                from_ = as_value(add(multiply(i.iv, _PAIR), start))
                value = emit("vector.load", [vector], [self.scratch, from_])
                at = as_value(add(to, start))
                if block.is_first is not None:
                    # Masked off where C's old contents don't count.
                    kept = emit("arith.select", [mask.type], [block.is_first, _none(mask.type), mask])
                    old = emit("vector.maskedload", [vector], [self.c, at, kept, zero])
                    value = emit("arith.addf", [vector], [old, value])
                emit("vector.maskedstore", [], [self.c, at, mask, value])

    def _tiles_of_rows(self, block: Block, left: Operand, row: Index) -> Tiles:
        """A's tiles from a row on."""
        if self._reads_a_in_place:
            stride = as_one(left.strides, left.sizes)
            assert stride is not None
            first = add(add(block.bases[0], multiply(row, stride)), block.pc)
            return Tiles(self.tiles_of_a, first, K, multiply(stride, SIDE), multiply(stride, 2))
        return self._packed(self.tiles_of_a, subtract(row, block.rows[0]))

    def _packed(self, memref: Any, line: Index) -> Tiles:
        return Tiles(memref, multiply(divide(line, SIDE), self.strip), TILE, self.strip, 2 * K)

    def _products(self, block: Block, initial: Sequence[Any], a: Tiles, b: Tiles) -> list[Any]:
        with for_loop(0, divide_up(block.depth, K), carried=initial) as k:
            left, right = (
                [
                    load_tile(
                        self._place(x.memref, add(add(x.first, multiply(k.iv, x.step)), multiply(x.strip, n)), 2), x.row
                    )
                    for n in range(2)
                ]
                for x in (a, b)
            )
            k.yields = [multiply_tiles(k.carried[2 * i + j], left[i], right[j]) for i in range(2) for j in range(2)]
        return k.results

    def _place(self, memref: Any, at: Index, size: int) -> Any:
        """The pointer to an element of this many bytes."""
        i64 = ir.IntegerType.get_signless(64)
        address = add(self.addresses[memref], multiply(at, size))
        number = emit("arith.index_cast", [i64], [as_value(address)])
        return emit("llvm.inttoptr", [ir.Type.parse("!llvm.ptr")], [number])


# --- tile instructions: 16 rows of 64 bytes -----------------------------------------------------------


def tile_type() -> Any:
    return ir.Type.parse("!llvm.x86_amx")


def address_of(memref: Any) -> Any:
    return emit("memref.extract_aligned_pointer_as_index", [ir.IndexType.get()], [memref])


def zero_tile() -> Any:
    return _intrinsic("tilezero", [tile_type()], _shape(2))


def load_tile(place: Any, stride: Index) -> Any:
    return _intrinsic("tileloadd64", [tile_type()], [*_shape(2), place, _i64(stride)])


def store_tile(tile: Any, place: Any, stride: Index) -> None:
    _intrinsic("tilestored64", [], [*_shape(2), place, _i64(stride), tile])


def multiply_tiles(total: Any, a: Any, b: Any) -> Any:
    return _intrinsic("tdpbf16ps", [tile_type()], [*_shape(3), total, a, b])


def _intrinsic(name: str, types: Sequence[Any], operands: Sequence[Any]) -> Any:
    return call_intrinsic(f"llvm.x86.{name}.internal", types, operands)


def _shape(count: int) -> list[Any]:
    """16 rows, and their 64 bytes once or, for a product, twice."""
    i16 = ir.IntegerType.get_signless(16)
    return [constant(i16, SIDE), *(constant(i16, 2 * K) for _ in range(count - 1))]


def _i64(value: Index) -> Any:
    return emit("arith.index_cast", [ir.IntegerType.get_signless(64)], [as_value(value)])


def _none(type_: Any) -> Any:
    attribute = ir.DenseElementsAttr.get_splat(type_, ir.BoolAttr.get(False))
    return emit("arith.constant", [type_], value=attribute)
