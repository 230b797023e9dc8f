"""Tiles of the contraction schedules, as a table by vector width, and how a shape is cut into tasks by them."""

from __future__ import annotations

from dataclasses import dataclass

from mlirdev.passes.build import Index, divide_up
from mlirdev.target import Target


@dataclass(frozen=True)
class TaskSizes:
    """Rows and columns of C per task, and how much of k per block."""

    rc: int
    nc: int
    kc: int


@dataclass(frozen=True)
class Tiles:
    """A register tile of `mr` rows and `vectors` vectors of C; `kc_bytes` of k per block; `rc` rows and `nc` columns of
    C per task at most, and `mc` rows of A at a time."""

    vector_bits: int
    mr: int
    vectors: int
    kc_bytes: int
    rc: int
    nc: int
    mc: int


# The first row whose vectors the target has. 32 vector registers hold 8 × 2 accumulators with room to spare, 16 hold
# 6 × 2. A block of k of a register tile's columns is two thirds of a first-level cache, all of a task's a quarter of a
# second-level one.
GEMM = (
    Tiles(512, mr=8, vectors=2, kc_bytes=2048, rc=512, nc=512, mc=128),
    Tiles(256, mr=6, vectors=2, kc_bytes=1536, rc=384, nc=384, mc=96),
    Tiles(0, mr=6, vectors=2, kc_bytes=1536, rc=384, nc=192, mc=96),
)

# Of matrix tiles: rows and columns of C per task, and k per block. A task's B is packed once and takes a quarter of a
# large second-level cache; A is mostly read where it lies.
MATRIX_TILES = TaskSizes(rc=1024, nc=256, kc=1024)

# Threads share tasks: so many are made where a shape allows.
_LEAST_TASKS = 8
# Packing for matrix tiles takes as long as multiplying by them: it is repeated less.
_LEAST_TILE_TASKS = 4
# Smaller tasks would spend their time packing.
_LEAST_ROWS = 128
_LEAST_COLUMNS = 64


@dataclass(frozen=True)
class GemmPlan(TaskSizes):
    """Tiles for one shape. A panel of packed B is `kc` rows of `nr` elements, one of packed A `kc` rows of `mr`, and a
    row more keeps panels from lying at the same place in the cache."""

    lanes: int
    mr: int
    vectors: int
    mc: int

    @property
    def nr(self) -> int:
        return self.lanes * self.vectors

    @property
    def b_panel(self) -> int:
        return (self.kc + 1) * self.nr

    @property
    def a_panel(self) -> int:
        return (self.kc + 1) * self.mr

    @property
    def panels(self) -> int:
        return self.nc // self.nr


def plan_gemm(sizes: tuple[Index, Index, Index, Index], bits: int, target: Target, *, whole_tiles: bool) -> GemmPlan:
    """The plan of a batch × m × n × k product of elements of this many bits; sizes may be run-time. `whole_tiles`: a
    register tile has no fewer rows than the table says."""
    _, m, n, k = sizes
    row, lanes = register_tile(target), target.lanes(bits)
    vectors = 1 if isinstance(n, int) and n <= lanes else row.vectors
    mr = row.mr if whole_tiles else tile_height(m, row.mr)
    kc = row.kc_bytes * 8 // bits
    kc = _even_share(k, kc, lanes)
    rc, nc = _task(sizes, (row.rc, row.nc), (mr, lanes * vectors))
    return GemmPlan(rc, nc, kc, lanes, mr, vectors, min(row.mc // mr * mr, rc))


def register_tile(target: Target) -> Tiles:
    """The row of the table for a target."""
    return next(row for row in GEMM if row.vector_bits <= target.vector_width)


def plan_tiles(sizes: tuple[Index, Index, Index, Index]) -> TaskSizes:
    """Task sizes of a batch × m × n × k product by matrix tiles, in whole pairs of 16 × 16 × 32."""
    kc = _even_share(sizes[3], MATRIX_TILES.kc, 32)
    rc, nc = _task(sizes, (MATRIX_TILES.rc, MATRIX_TILES.nc), (32, 32), _LEAST_TILE_TASKS)
    return TaskSizes(rc, nc, kc)


def tile_height(m: Index, most: int) -> int:
    """The tile height that wastes least on the last rows."""
    if not isinstance(m, int):
        return most
    if m <= most:
        return max(m, 1)
    return min(range(most, most - 3, -1), key=lambda rows: divide_up(m, rows) * rows)


def _task(
    sizes: tuple[Index, Index, Index, Index], most: tuple[int, int], tile: tuple[int, int], least: int = _LEAST_TASKS
) -> tuple[int, int]:
    """Rows and columns of a task, multiples of a tile's, as even as that allows: no more than `most`, and less where
    there would be fewer tasks than `least`."""
    batch, m, n, _ = sizes
    rc, nc = _even_share(m, most[0], tile[0]), _even_share(n, most[1], tile[1])
    known = batch if isinstance(batch, int) else 1
    while isinstance(m, int) and isinstance(n, int) and known * divide_up(m, rc) * divide_up(n, nc) < least:
        may_be_narrower, may_be_lower = nc > _LEAST_COLUMNS, rc > _LEAST_ROWS
        if may_be_narrower and (nc >= rc or not may_be_lower):
            nc = _even_share(n, nc - tile[1], tile[1])
        elif may_be_lower:
            rc = _even_share(m, rc - tile[0], tile[0])
        else:
            break
    return rc, nc


def _even_share(size: Index, most: int, step: int) -> int:
    """A multiple of `step`, about `most`, that cuts a size into equal pieces."""
    if isinstance(size, int):
        most = divide_up(max(size, 1), divide_up(max(size, 1), max(most, 1)))
    return int(divide_up(most, step)) * step
