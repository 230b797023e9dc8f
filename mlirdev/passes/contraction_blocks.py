"""What blocked schedules of contractions have in common: tasks, blocks along k, and the epilogue of a task.

for batch, jc: n by NC, ic: m by RC        a task: a block of C, independent of all others
  for outer k, for pc: k by KC
    the products of this block             the schedule's own
  epilogue on C[ic, jc]                    while it is in the cache
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from torch_mlir import ir

from mlirdev.passes.build import (
    Index,
    add,
    alloc,
    as_value,
    compare,
    divide_up,
    for_loop,
    minimum,
    multiply,
    product,
    subtract,
    unflatten,
)
from mlirdev.passes.contraction import Contraction
from mlirdev.passes.contraction_tiles import TaskSizes
from mlirdev.passes.linear import LinearAccess
from mlirdev.passes.loop_emission import load
from mlirdev.passes.ops import constant, emit
from mlirdev.passes.packing import divides, is_one

Span = tuple[Index, Index]  # from the first one until before the end
CReader = Callable[[Index, Index], Any]  # C's element at a row and column
Epilogue = Callable[[list[Index], Span, Span, CReader | None], None]  # batch coordinates, rows, columns


@dataclass(frozen=True)
class Block:
    """One block along k of a task: rows and columns of C, k from `pc` for `depth` steps. `bases` is where A, B and C
    start; `is_first` says (at run time) whether C is overwritten, None that it always is."""

    batch: list[Index]
    rows: Span
    columns: Span
    bases: tuple[Index, Index, Index]
    pc: Index
    depth: Index
    is_first: Any


@dataclass(frozen=True)
class Surroundings:
    """What a contraction stands in. `zero_init`: C's old contents don't count; `is_kept`: C itself is wanted, not only
    what the epilogue makes of it."""

    zero_init: bool
    epilogue: Epilogue | None
    is_kept: bool


class BlockedContraction(ABC):
    """Writes one contraction at the current insertion point. `part`: the rows of a task that are finished together
    where k is one block."""

    def __init__(self, contraction: Contraction, around: Surroundings, sizes: TaskSizes, part: int) -> None:
        c = self.contraction = contraction
        self.zero_init = around.zero_init
        self.epilogue = around.epilogue
        self.is_local = around.epilogue is not None and around.zero_init and not around.is_kept
        self.sizes = sizes
        self.part = part
        self.rows, self.columns, self.depth = (product(c.extents(dims)) for dims in (c.m, c.n, c.k))

    @abstractmethod
    def prepare(self) -> None:
        """Write what stands before all tasks."""

    @abstractmethod
    def block(self, block: Block) -> None:
        """Write the products of a block, and, where that is the only one, the epilogue after them."""

    def emit(self) -> None:
        c, sizes = self.contraction, self.sizes
        self.a, self.b = c.a.flat(), c.b.flat()
        height = self.part if self.is_one_block else sizes.rc
        self.c = alloc([height * sizes.nc], c.c.element_type) if self.is_local else c.c.flat()
        self.prepare()
        counts = [*c.extents(c.batch), divide_up(self.columns, sizes.nc), divide_up(self.rows, sizes.rc)]
        with for_loop(0, product(counts), parallel=True) as task:
            *batch, column, row = unflatten(task.iv, counts)
            rows, columns = _span(row, sizes.rc, self.rows), _span(column, sizes.nc, self.columns)
            with loops(c.extents(c.outer_k)) as outer, for_loop(0, self.depth, sizes.kc) as pc:
                block = self._block(batch, rows, columns, outer, pc.iv)
                self.block(block)
            if not self.is_one_block:
                self.finish(block)

    @property
    def is_one_block(self) -> bool:
        return all(is_one(count) for count in self._step_counts())

    def finish(self, block: Block) -> None:
        """Write the epilogue on the rows and columns of a block."""
        if self.epilogue is None:
            return

        def read(row: Index, column: Index) -> Any:
            return load(self.c, [as_value(add(self.row_start(block, row), column))])

        self.epilogue(block.batch, block.rows, block.columns, read if self.is_local else None)

    def row_start(self, block: Block, row: Index) -> Index:
        """Where column 0 of a row of C is, or would be, in `c`."""
        c = self.contraction
        if not self.is_local:
            return add(block.bases[2], c.offset(c.c, c.m, row))
        return subtract(multiply(subtract(row, block.rows[0]), self.sizes.nc), block.columns[0])

    def _block(self, batch: list[Index], rows: Span, columns: Span, outer: list[Index], pc: Index) -> Block:
        c, kc = self.contraction, self.sizes.kc
        fixed = {**dict(zip(c.batch, batch, strict=True)), **dict(zip(c.outer_k, outer, strict=True))}
        bases = base_of(c.a, fixed), base_of(c.b, fixed), base_of(c.c, fixed)
        depth = kc if divides(kc, self.depth) else minimum(subtract(self.depth, pc), kc)
        return Block(batch, rows, columns, bases, pc, depth, self._is_first([*outer, pc]))

    def _is_first(self, steps: list[Index]) -> Any:
        """Whether this is the first block along k: then C is overwritten. None: always."""
        i1 = ir.IntegerType.get_signless(1)
        if not self.zero_init:
            return constant(i1, 0)
        result = None
        for step, count in zip(steps, self._step_counts(), strict=True):
            if is_one(count):
                continue
            here = compare("eq", step, 0)
            result = here if result is None else emit("arith.andi", [i1], [result, here])
        return result

    def _step_counts(self) -> list[Index]:
        counts = self.contraction.extents(self.contraction.outer_k)
        blocks = divide_up(self.depth, self.sizes.kc) if isinstance(self.depth, int) else -1
        return [*counts, blocks]


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


def _span(number: Index, step: int, size: Index) -> Span:
    """The piece of this number of a size cut into pieces of `step`."""
    first = multiply(number, step)
    return first, minimum(add(first, step), size)
