"""In which order a plan's groups run: after what they read, and so that few bytes are live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

Value = TypeVar("Value")


def order_groups(
    reads: Mapping[int, set[Value]], results: Mapping[int, Sequence[Value]], weights: Mapping[Value, int]
) -> list[int]:
    """The groups' numbers, topologically; among those that are ready, the one that adds the fewest live bytes, then the
    first. `reads` are other groups' results; `weights` are in bytes, 0 for what stays live anyway."""
    owner = {value: number for number, made in results.items() for value in made}
    readers: dict[Value, set[int]] = {}
    for number, values in reads.items():
        for value in values:
            readers.setdefault(value, set()).add(number)
    waiting = {number: {owner[value] for value in values} for number, values in reads.items()}
    followers: dict[int, list[int]] = {}
    for number, before in waiting.items():
        for other in before:
            followers.setdefault(other, []).append(number)

    def cost(number: int) -> tuple[int, int]:
        freed = sum(weights[value] for value in reads[number] if len(readers[value]) == 1)
        return sum(weights[value] for value in results[number]) - freed, number

    ready = {number: cost(number) for number, before in waiting.items() if not before}
    order: list[int] = []
    while ready:
        chosen = min(ready, key=ready.__getitem__)
        del ready[chosen]
        order.append(chosen)
        for value in reads[chosen]:
            readers[value].discard(chosen)
            # Its last reader would free it now.
            ready.update((number, cost(number)) for number in readers[value] if number in ready)
        for follower in followers.get(chosen, ()):
            waiting[follower].discard(chosen)
            if not waiting[follower]:
                ready[follower] = cost(follower)
    return order
