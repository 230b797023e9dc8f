"""The order of a plan's groups."""

from __future__ import annotations

import random

from mlirdev.passes.ordering import order_groups


def test_dependencies_come_first() -> None:
    reads = {0: {"c"}, 1: set(), 2: {"b"}, 3: {"b", "c"}}
    results = {0: ["a"], 1: ["b"], 2: ["c"], 3: []}
    assert order_groups(reads, results, dict.fromkeys("abc", 1)) in ([1, 2, 0, 3], [1, 2, 3, 0])


def test_program_order_where_nothing_else_decides() -> None:
    assert order_groups({n: set() for n in range(5)}, {n: [] for n in range(5)}, {}) == [0, 1, 2, 3, 4]


def test_what_frees_runs_before_what_allocates() -> None:
    # 0 and 2 make a large value each; 1 and 3 read them for the last time and make nothing that counts.
    reads = {0: set(), 2: set(), 1: {"a"}, 3: {"b"}}
    results = {0: ["a"], 2: ["b"], 1: ["x"], 3: ["y"]}
    assert order_groups(reads, results, {"a": 100, "b": 100, "x": 0, "y": 0}) == [0, 1, 2, 3]


def test_last_reader_of_a_large_value_is_preferred() -> None:
    reads = {0: set(), 1: {"a"}, 2: {"a"}, 3: set()}
    results = {0: ["a"], 1: ["b"], 2: ["c"], 3: ["d"]}
    weights = {"a": 100, "b": 10, "c": 20, "d": 150}
    assert order_groups(reads, results, weights) == [0, 1, 2, 3]


def test_random_graphs_are_ordered_soundly() -> None:
    for seed in range(20):
        rng = random.Random(seed)
        reads = {n: {rng.randrange(n) for _ in range(rng.randrange(4))} if n else set() for n in range(40)}
        results = {n: [n] for n in range(40)}
        weights = {n: rng.randrange(100) for n in range(40)}
        order = order_groups(reads, results, weights)
        assert sorted(order) == list(range(40))
        assert all(order.index(value) < order.index(n) for n, values in reads.items() for value in values)


def test_what_is_needed_late_is_made_late() -> None:
    # 0 to 2 make a value each of nothing; 3 and 4 reduce two of them, 5 the third. Each step looks equally good from
    # the start; from the end, each value is made for its reader.
    reads = {0: set(), 1: set(), 2: set(), 3: {"a"}, 4: {"b", "x"}, 5: {"c", "y"}}
    results = {0: ["a"], 1: ["b"], 2: ["c"], 3: ["x"], 4: ["y"], 5: ["z"]}
    weights = {"a": 10, "b": 20, "c": 30, "x": 25, "y": 1, "z": 1}
    order = order_groups(reads, results, weights)
    assert order == [0, 3, 1, 4, 2, 5]


def test_an_update_comes_after_the_other_readers_of_the_old_value() -> None:
    # 0 makes the new parameter of the old one, which 1 reads as well.
    reads, results = {0: {"old"}, 1: {"old"}}, {0: ["new"], 1: ["x"]}
    assert order_groups(reads, results, {"old": 100, "new": 100, "x": 10}, {"new"}) == [1, 0]
    # But not if what the update frees is larger.
    reads[0] = {"old", "large"}
    weights = {"old": 100, "new": 100, "x": 1000, "large": 1000}
    assert order_groups(reads, results, weights, {"new"}) == [0, 1]
