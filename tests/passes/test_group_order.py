"""Merging groups while keeping them in a topological order, against a search of the whole graph."""

from __future__ import annotations

import random

from mlirdev.passes.group_order import GroupOrder


def reaches(edges: dict[int, set[int]], start: int, goal: int, around: int) -> bool:
    """Whether `start` needs `goal` through at least one group other than the two that are to be merged."""
    pending, seen = [n for n in edges[start] if n not in (goal, around)], set[int]()
    while pending:
        number = pending.pop()
        if number in seen:
            continue
        seen.add(number)
        if edges[number] & {goal, around}:
            return True
        pending.extend(edges[number])
    return False


def test_merges_agree_with_a_full_search_and_the_order_stays_sound() -> None:
    for seed in range(40):
        rng = random.Random(seed)
        edges: dict[int, set[int]] = {}
        order = GroupOrder(edges.__getitem__)
        for number in range(40):
            edges[number] = {rng.choice(list(edges)) for _ in range(rng.randrange(3))} if edges else set()
            order.append(number)
            if rng.random() < 0.6:
                try_merge(edges, order, number, rng.choice(list(edges)))
        ranks = order._rank
        assert all(ranks[before] < ranks[number] for number in edges for before in edges[number])


def try_merge(edges: dict[int, set[int]], order: GroupOrder, kept: int, absorbed: int) -> None:
    if kept == absorbed:
        return
    cyclic = reaches(edges, kept, absorbed, kept) or reaches(edges, absorbed, kept, absorbed)
    assert order.merge(kept, absorbed) is not cyclic
    if cyclic:
        return
    edges[kept] = (edges[kept] | edges.pop(absorbed)) - {kept, absorbed}
    for number, before in edges.items():
        if absorbed in before:
            edges[number] = (before - {absorbed}) | {kept}
