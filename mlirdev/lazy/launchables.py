"""The table from recordings to executables.

key: code, inputs' layouts, options ──► variants, by the live outputs ──► Launchable
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mlirdev import compiler
from mlirdev.graph import TensorSpec
from mlirdev.lazy.graphs import Cut

# How much larger the outputs of a variant that is taken for another may be: an eighth.
_SPARE = 8
# How many recordings are remembered; one that was forgotten costs a look into the graph cache, no compile.
_KEPT = 1024


@dataclass(frozen=True)
class Launchable:
    """What a recording with certain live outputs runs. `outputs` are numbers of the trace's values, sorted; `varying`
    those among them with the dims that aren't fixed in the executable."""

    executable: compiler.Executable
    syms: tuple[int, ...]
    cut: Cut
    outputs: tuple[int, ...]
    varying: tuple[tuple[int, tuple[int, ...]], ...] = ()


class Launchables:
    """See the module's docstring."""

    def __init__(self) -> None:
        self._table: dict[Any, dict[tuple[int, ...], Launchable]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._table.values()))

    def __iter__(self) -> Iterator[Launchable]:
        return (launchable for variants in self._table.values() for launchable in variants.values())

    def knows(self, key: Any) -> bool:
        """Was this code launched before, with whatever outputs?"""
        return key in self._table

    def find(self, key: Any, outputs: tuple[int, ...]) -> Launchable | None:
        """The variant with these outputs, or with few more: to compile anew for a value that happened to be
        dropped earlier than last time would cost far more than computing it."""
        variants = self._table.get(key, {})
        exact = variants.get(outputs)
        if exact is not None:
            return exact
        return next((v for v in variants.values() if _covers(v, frozenset(outputs))), None)

    def add(self, key: Any, launchable: Launchable) -> Launchable:
        self._table.setdefault(key, {})[launchable.outputs] = launchable
        if len(self._table) > _KEPT:  # each new length of a cache that grows is a recording of its own
            del self._table[next(iter(self._table))]
        return launchable


def _covers(variant: Launchable, wanted: frozenset[int]) -> bool:
    """Does the variant make all that is wanted, and little else?"""
    if not wanted.issubset(variant.outputs):
        return False
    specs = variant.cut.graph.specs
    sizes = dict(zip(variant.outputs, [_nbytes(specs[o]) for o in variant.cut.graph.outputs], strict=True))
    needed = sum(sizes[number] for number in wanted)
    return sum(sizes.values()) - needed <= needed // _SPARE


def _nbytes(spec: TensorSpec) -> int:
    return math.prod(spec.shape) * spec.dtype.itemsize  # type: ignore[arg-type]  # recorded graphs have no Syms


launchables = Launchables()
