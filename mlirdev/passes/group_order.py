"""A topological order of groups that is kept while groups are merged.

Two groups can become one unless a third lies on a path from one to the other. Such a path stays within the stretch of
the order between the two, so the search for it, and the repair of the order after a merge, look at no other group
(Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", 2006).
"""

from __future__ import annotations

from collections.abc import Callable, Set


class GroupOrder:
    """`before(number)` gives the groups that a group reads from."""

    def __init__(self, before: Callable[[int], Set[int]]) -> None:
        self._before = before
        self._rank: dict[int, int] = {}
        self._at: list[int | None] = []

    def append(self, number: int) -> None:
        """Add a group that nothing reads from yet."""
        self._rank[number] = len(self._at)
        self._at.append(number)

    def merge(self, kept: int, absorbed: int) -> bool:
        """Let `kept` stand for both groups, which the caller then merges; False, and nothing done, for a cycle."""
        low, high = sorted((self._rank[kept], self._rank[absorbed]))
        needed = self._needed_between(low, high)
        if needed is None:
            return False
        stretch = [n for n in self._at[low : high + 1] if n is not None and n not in (kept, absorbed)]
        first = [n for n in stretch if n in needed]
        rest = [n for n in stretch if n not in needed]
        del self._rank[absorbed]
        moved = [*first, kept, *rest]
        # What is left over of the stretch stays empty.
        self._at[low : high + 1] = [*moved, *[None] * (high + 1 - low - len(moved))]
        self._rank.update((number, low + offset) for offset, number in enumerate(moved))
        return True

    def _needed_between(self, low: int, high: int) -> set[int] | None:
        """The groups between two ranks that the higher one needs, or None if one of them needs the lower."""
        lower, higher = self._at[low], self._at[high]
        assert higher is not None
        needed: set[int] = set()
        pending = [number for number in self._before(higher) if number != lower]
        while pending:
            number = pending.pop()
            if number == lower:
                return None
            if number not in needed and self._rank[number] > low:
                needed.add(number)
                pending.extend(self._before(number))
        return needed
