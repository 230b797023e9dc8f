"""The heart of matrix products: a tile of accumulators that stays in registers.

for k: acc[i, v] += a(i, k) · b(k, v)      a number spread over a vector, times a vector
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mlirdev.passes.build import Index, add, for_loop
from mlirdev.passes.ops import emit
from mlirdev.passes.packing import divides, splat

# The steps of k that are written out where their number is a multiple.
UNROLL = 4


@dataclass(frozen=True)
class RegisterTile:
    """`rows` × `vectors` accumulators of type `vector`."""

    vector: Any
    rows: int
    vectors: int

    def zeros(self) -> list[Any]:
        return [splat(self.vector, 0.0)] * (self.rows * self.vectors)

    def accumulate(
        self,
        depth: Index,
        initial: Sequence[Any],
        number: Callable[[int, Index], Any],
        vector: Callable[[Index, int], Any],
        multiple: int = 1,
    ) -> list[Any]:
        """The accumulators, row by row, after all k; `multiple` is known to divide a run-time depth."""
        unroll = UNROLL if divides(UNROLL, depth) or divides(UNROLL, multiple) else 1
        with for_loop(0, depth, unroll, initial) as k:
            acc = k.carried
            for step in range(unroll):
                acc = self.step(acc, add(k.iv, step), number, vector)
            k.yields = acc
        return k.results

    def step(
        self, acc: Sequence[Any], k: Index, number: Callable[[int, Index], Any], vector: Callable[[Index, int], Any]
    ) -> list[Any]:
        """The accumulators after one k."""
        right = [vector(k, v) for v in range(self.vectors)]
        updated: list[Any] = []
        for i in range(self.rows):
            wide = emit("vector.broadcast", [self.vector], [number(i, k)])
            before = acc[i * self.vectors : (i + 1) * self.vectors]
            updated += [emit("vector.fma", [self.vector], [wide, x, y]) for x, y in zip(right, before, strict=True)]
        return updated
