"""Sizes become inputs: two recordings that differ in sizes alone share one graph.

The positions of `Graph.ints` whose values differed turn into `Sym`s; positions that always varied together
share one. There is no symbolic algebra: a view's size `B*T` is simply another position.
"""

from __future__ import annotations

from dataclasses import replace

from mlirdev.graph import Dim, Graph, Sym


def match(known: Graph, graph: Graph) -> tuple[int, ...] | None:
    """The values of `known`'s syms under which it equals `graph`, or None. Their skeletons must be equal."""
    values: dict[int, Dim] = {}
    for ours, theirs in zip(known.ints, graph.ints, strict=True):
        if isinstance(ours, Sym):
            if values.setdefault(ours.index, theirs) != theirs:
                return None
        elif ours != theirs:
            return None
    return tuple(int(values[i]) for i in range(known.syms))  # type: ignore[arg-type]  # recorded sizes are ints


def generalise(known: Graph, graph: Graph) -> tuple[Graph, tuple[int, ...]]:
    """The graph that covers both, and the values of its syms for `graph`. Their skeletons must be equal."""
    numbers: dict[tuple[Dim, Dim], int] = {}
    pairs = iter(zip(known.ints, graph.ints, strict=True))

    def widen(_: Dim) -> Dim:
        pair = next(pairs)
        return pair[1] if pair[0] == pair[1] else Sym(numbers.setdefault(pair, len(numbers)))

    wide = graph.map_sizes(widen)
    syms = tuple(int(size) for _, size in numbers)  # type: ignore[arg-type]  # recorded sizes are ints
    return replace(wide, syms=len(numbers)), syms
