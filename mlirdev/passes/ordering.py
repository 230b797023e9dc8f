"""In which order a plan's groups run: after what they read, and so that few bytes are live at a time.

No simple rule is best for every graph, so three orders are made, and the one that needs the fewest bytes is taken:

    forward    of the groups that are ready, the one that adds the fewest live bytes
    backward   the same from the end: what is needed is made as late as it can be
    recorded   the program's order

A value that replaces an input takes that one's memory if nobody reads it any more, else memory of its own: so a
parameter is better updated by the last that reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

Value = TypeVar("Value", bound=Hashable)


def order_groups(
    reads: Mapping[int, set[Value]],
    results: Mapping[int, Sequence[Value]],
    weights: Mapping[Value, int],
    kept: Collection[Value] = (),
) -> list[int]:
    """The groups' numbers, topologically. `reads` are the values that a group reads: other groups' results, and inputs,
    which are there from the start and needn't stay. `weights` are in bytes, 0 for what doesn't matter; what is `kept`
    stays from when it is made."""
    problem = _Problem(reads, results, weights, set(kept))
    orders = (problem.forward(), problem.backward(), problem.recorded())
    return min(orders, key=problem.peak)


class _Problem:
    """The groups with what they need and give."""

    def __init__(
        self,
        reads: Mapping[int, set[Any]],
        results: Mapping[int, Sequence[Any]],
        weights: Mapping[Any, int],
        kept: set[Any],
    ) -> None:
        self._reads, self._results, self._weights, self._kept = reads, results, weights, kept
        owner = {value: number for number, made in results.items() for value in made}
        self._readers: dict[Any, set[int]] = {}
        for number, values in reads.items():
            for value in values:
                self._readers.setdefault(value, set()).add(number)
        self._before = {n: {owner[v] for v in reads[n] if v in owner} for n in reads}
        self._behind: dict[int, set[int]] = {n: set() for n in reads}
        for number, before in self._before.items():
            for other in before:
                self._behind[other].add(number)

    def forward(self) -> list[int]:
        readers = {value: set(numbers) for value, numbers in self._readers.items()}

        def cost(number: int) -> tuple[int, int]:
            freed = self._size(v for v in self._reads[number] - self._kept if len(readers[v]) == 1)
            return self._size(self._results[number]) - freed, number

        def settle(number: int) -> set[int]:
            for value in self._reads[number]:
                readers[value].discard(number)
            # Its last reader would free it now.
            return set().union(*(readers[value] for value in self._reads[number]))

        return _greedy(self._before, self._behind, cost, settle)

    def backward(self) -> list[int]:
        needed = set(self._kept)

        def cost(number: int) -> tuple[int, int]:
            more = self._size(self._reads[number] - needed)
            return more - self._size(v for v in self._results[number] if v in needed), -number

        def settle(number: int) -> set[int]:
            new = self._reads[number] - needed
            needed.update(new)
            return set().union(*(self._readers[value] for value in new))

        return _greedy(self._behind, self._before, cost, settle)[::-1]

    def recorded(self) -> list[int]:
        return _greedy(self._before, self._behind, lambda number: (0, number), lambda number: set())

    def peak(self, order: Sequence[int]) -> int:
        """The most bytes that are live while a group runs: what it makes, and what it or a later one reads."""
        left = {value: len(numbers) for value, numbers in self._readers.items()}
        made = {value for values in self._results.values() for value in values}
        live = self._size(value for value in self._readers if value not in made)
        peak = live
        for number in order:
            live += self._size(self._results[number])
            peak = max(peak, live)
            for value in self._reads[number] - self._kept:
                left[value] -= 1
                live -= 0 if left[value] else self._weights[value]
        return peak

    def _size(self, values: Iterable[Any]) -> int:
        return sum(self._weights[value] for value in values)


def _greedy(
    before: Mapping[int, set[int]],
    behind: Mapping[int, set[int]],
    cost: Callable[[int], tuple[int, int]],
    settle: Callable[[int], set[int]],
) -> list[int]:
    """A topological order: always the cheapest of what is ready. `settle` takes note of a choice, and says whose costs
    have changed."""
    waiting = {number: len(others) for number, others in before.items()}
    ready = {number: cost(number) for number, count in waiting.items() if not count}
    order: list[int] = []
    while ready:
        chosen = min(ready, key=ready.__getitem__)
        del ready[chosen]
        order.append(chosen)
        ready.update((number, cost(number)) for number in settle(chosen) if number in ready)
        for other in behind[chosen]:
            waiting[other] -= 1
            if not waiting[other]:
                ready[other] = cost(other)
    return order
