"""Loop fusion as a plan: consecutive nests share loops where that keeps every dependence within one iteration.

    nests, in program order ──► tree of Loops, whose leaves are the nests' bodies

Softmax of rows becomes   for i { for j {max}; for j {exp, sum}; for j {divide} }:   rows stay in the cache, and what
passes between nests shrinks to one row (`shrink`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mlirdev.passes.nests import Access, Nest


@dataclass(eq=False, slots=True)
class Loop:
    """A loop that its nests share; `level` counts the loops around it."""

    level: int
    nests: list[Nest]
    children: list[Tree] = field(default_factory=list)

    @property
    def extent(self) -> Any:
        nest = self.nests[0]
        return nest.extents[nest.order[self.level]]

    @property
    def is_parallel(self) -> bool:
        """Whether no iteration touches what another one writes, but for temporaries that shrink along this loop."""
        return self.is_parallel_apart_from(())

    def is_parallel_apart_from(self, sums: Sequence[Access]) -> bool:
        """The same where these outputs of its nests are reduced along it, and don't count."""
        summing = [nest for nest in self.nests if any(out is s for out in nest.outputs for s in sums)]
        if not all(nest.parallel[nest.order[self.level]] or nest in summing for nest in self.nests):
            return False
        conflicts = (
            (first, a, second, b)
            for first in self.nests
            for second in self.nests
            for a, b in _conflicting_accesses(first, second)
            if not (a is b and any(a is s for s in sums))
        )
        return all(_is_aligned(*conflict, self.level) for conflict in conflicts)


Tree: TypeAlias = "Loop | Nest"


def build_trees(nests: Sequence[Nest], level: int = 0) -> list[Tree]:
    """The trees that run these nests, which share the loops above `level`."""
    runs: list[list[Nest]] = []
    for nest in nests:
        _place(nest, runs, level)
    return [_tree(run, level) for run in runs]


def _tree(run: list[Nest], level: int) -> Tree:
    if len(run[0].order) == level:
        return run[0]
    return Loop(level, run, build_trees(run, level + 1))


def _place(nest: Nest, runs: list[list[Nest]], level: int) -> None:
    """Put a nest into the last run that it can share a loop with, passing only runs that it doesn't depend on."""
    is_leaf = len(nest.order) == level
    position = len(runs)
    while position > 0:
        run = runs[position - 1]
        if not is_leaf and _can_join(nest, run, level):
            run.append(nest)
            return
        if any(_conflicts(nest, other) for other in run):
            break
        position -= 1
    # A body without loops moves as far up as it can, so that it doesn't part the loops around it.
    runs.insert(position if is_leaf else len(runs), [nest])


def _can_join(nest: Nest, run: list[Nest], level: int) -> bool:
    return all(_can_share(other, nest, level) for other in run)


def _can_share(first: Nest, second: Nest, level: int) -> bool:
    """Whether the loops at `level` may run together: what one writes and the other touches must be indexed by exactly
    that loop in both."""
    if len(first.order) <= level or len(second.order) <= level or _sums_up(first, second, level):
        return False
    if first.extents[first.order[level]] != second.extents[second.order[level]]:
        return False
    return all(_is_aligned(first, a, second, b, level) for a, b in _conflicting_accesses(first, second))


def _sums_up(first: Nest, second: Nest, level: int) -> bool:
    """Whether one only reduces along the loop at `level`, while the other has loops within: together their iterations
    would depend on each other, and apart little is read twice."""
    return any(
        len(a.order) == level + 1 and not a.parallel[a.order[level]] and len(b.order) > level + 1
        for a, b in ((first, second), (second, first))
    )


def _is_aligned(first: Nest, a: Access, second: Nest, b: Access, level: int) -> bool:
    if a.memref != b.memref or a.exprs is None or b.exprs is None:
        return False
    dims = zip(a.plain_dims(), b.plain_dims(), strict=True)
    return any(pair == (first.order[level], second.order[level]) for pair in dims)


def _conflicts(first: Nest, second: Nest) -> bool:
    return next(_conflicting_accesses(first, second), None) is not None


def _conflicting_accesses(first: Nest, second: Nest) -> Iterator[tuple[Access, Access]]:
    """Pairs of accesses to one buffer, at least one of them a write."""
    for a in first.accesses:
        for b in second.accesses:
            if a.root == b.root and (a in first.outputs or b in second.outputs):
                yield a, b


def leaves(tree: Tree, path: tuple[Loop, ...] = ()) -> Iterator[tuple[Nest, tuple[Loop, ...]]]:
    """The nests of a tree, each with the loops around it."""
    if isinstance(tree, Nest):
        yield tree, path
        return
    for child in tree.children:
        yield from leaves(child, (*path, tree))


def private_dims(trees: Sequence[Tree], memref: Any) -> tuple[int, ...]:
    """The dims of a temporary that every access indexes by the same shared loop: one iteration needs one element."""
    uses = [
        (nest, path, access)
        for tree in trees
        for nest, path in leaves(tree)
        for access in nest.accesses
        if access.memref == memref
    ]
    if not uses or any(access.exprs is None for _, _, access in uses):
        return ()
    shared = uses[0][1]
    for _, path, _ in uses:
        shared = tuple(a for a, b in zip(shared, path, strict=False) if a is b)
    return tuple(
        position for position in range(len(memref.type.shape)) if _indexed_by_one_loop(uses, position, len(shared))
    )


def _indexed_by_one_loop(uses: Sequence[tuple[Nest, Any, Access]], position: int, depth: int) -> bool:
    levels = set()
    for nest, _, access in uses:
        dim = access.dim_at(position)
        levels.add(None if dim is None else nest.order.index(dim))
    level = levels.pop()
    return not levels and level is not None and level < depth
