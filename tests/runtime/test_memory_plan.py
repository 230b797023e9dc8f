"""The memory plan: no two live pieces overlap, and dead ones are reused."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mlirdev.dtypes import DType
from mlirdev.graph import Sym
from mlirdev.plan import HostLaunch, Launch, Plan, Slot, SlotArg
from mlirdev.runtime import plan_memory
from mlirdev.runtime.lending import lend
from mlirdev.runtime.memory_plan import ARENA, Life, place_in_arena


def slot(length: int | Sym) -> Slot:
    return Slot((length,), DType.f32)


def chain(count: int, length: int = 100) -> Plan:
    launches = tuple(Launch("k", (SlotArg(i),), (i + 1,)) for i in range(count))
    return Plan((slot(length),) * (count + 1), (0,), (count,), launches)


def test_a_chain_needs_two_temporaries() -> None:
    memory = plan_memory(chain(50), {"k": 0})
    assert memory.nbytes == 2 * 448
    assert set(memory.places) == set(range(1, 50))


def test_outputs_and_inputs_are_not_in_the_arena() -> None:
    assert plan_memory(chain(1), {"k": 0}).nbytes == 0


def test_workspaces_live_for_one_launch() -> None:
    memory = plan_memory(chain(10), {"k": 1000})
    assert memory.nbytes == 2 * 448 + 1024
    assert set(memory.workspaces) == set(range(10))


def test_sizes_follow_the_syms() -> None:
    plan = Plan((slot(Sym(0)),) * 3, (0,), (2,), (Launch("k", (SlotArg(0),), (1,)), HostLaunch(0, (1,), (2,))), syms=1)
    assert plan_memory(plan, {"k": 0}, (16,)).nbytes == 64
    assert plan_memory(plan, {"k": 0}, (17,)).nbytes == 128


def test_a_result_that_nobody_reads_still_has_memory() -> None:
    plan = Plan((slot(4),) * 3, (0,), (2,), (Launch("k", (SlotArg(0),), (1, 2)),))
    assert plan_memory(plan, {"k": 0}).nbytes == 64


def test_a_result_over_an_operand_that_dies_needs_no_more_memory() -> None:
    memory = plan_memory(chain(50), {"k": 0}, (), {"k": ((0, 0),)})
    assert memory.nbytes == 448
    assert set(memory.places.values()) == {(ARENA, 0)}


def test_not_over_an_operand_that_is_read_later_or_in_another_way() -> None:
    in_place = {"k": ((0, 0),), "two": ((0, 0),)}
    later = (
        Launch("k", (SlotArg(0),), (1,)),
        Launch("k", (SlotArg(1),), (2,)),
        Launch("two", (SlotArg(1), SlotArg(2)), (3,)),
    )
    plan = Plan((slot(100),) * 4, (0,), (3,), later)
    assert plan_memory(plan, {"k": 0, "two": 0}, (), in_place).nbytes == 2 * 448
    for second in (SlotArg(1), SlotArg(1, 64)):
        launches = (
            Launch("k", (SlotArg(0),), (1,)),
            Launch("two", (SlotArg(1), second), (2,)),
            HostLaunch(0, (2,), (3,)),
        )
        plan = Plan((slot(100),) * 4, (0,), (3,), launches)
        assert plan_memory(plan, {"k": 0, "two": 0}, (), in_place).nbytes == 2 * 448


LARGE = 1 << 14  # elements: 64 KiB


def test_large_temporaries_lie_in_outputs_that_come_later() -> None:
    launches = (
        Launch("k", (SlotArg(0),), (1,)),
        Launch("k", (SlotArg(1),), (2,)),
        Launch("k", (SlotArg(2),), (3,)),
        Launch("k", (SlotArg(2),), (4,)),
    )
    plan = Plan((slot(LARGE),) * 5, (0,), (3, 4), launches)
    memory = plan_memory(plan, {"k": 0}, hosts=(3, 4))
    # Slot 2 is read by the launch that makes 4, so nothing is left for it.
    assert memory.places == {1: (3, 0), 2: (ARENA, 0)}
    assert plan_memory(plan, {"k": 0}, hosts=()).nbytes == 2 * 4 * LARGE
    # Written over by the last output in place, it lies there.
    over = plan_memory(plan, {"k": 0}, (), {"k": ((0, 0),)}, (3, 4))
    assert over.places == {1: (4, 0), 2: (4, 0)}
    assert over.nbytes == 0


lives = st.tuples(st.integers(0, 30), st.integers(0, 8), st.integers(0, 20)).map(
    lambda t: Life(t[0], t[0] + t[1], 64 * t[2])
)


@given(st.lists(lives, max_size=40))
def test_no_two_live_pieces_overlap(pieces: list[Life]) -> None:
    offsets, nbytes = place_in_arena(pieces)
    in_use = np.zeros((40, nbytes), dtype=bool)
    for piece, offset in zip(pieces, offsets, strict=True):
        area = in_use[piece.first : piece.last + 1, offset : offset + piece.nbytes]
        assert area.shape[1] == piece.nbytes
        assert not area.any()
        area[:] = True
    peak = max((sum(p.nbytes for p in pieces if p.first <= t <= p.last) for t in range(40)), default=0)
    assert nbytes <= 2 * peak


def updates(count: int) -> Plan:
    """Launch i makes output i of input i."""
    launches = tuple(Launch("k", (SlotArg(i),), (count + i,)) for i in range(count))
    return Plan((slot(100),) * (2 * count), tuple(range(count)), tuple(range(count, 2 * count)), launches)


def test_outputs_are_written_over_the_inputs_of_launches_before() -> None:
    assert lend(updates(4), range(4)) == {5: 0, 6: 1, 7: 2}
    assert lend(updates(4), [1, 3]) == {6: 1}
    assert lend(updates(4), []) == {}


def test_outputs_are_written_over_the_inputs_of_their_own_launch() -> None:
    assert lend(updates(4), range(4), (), {"k": ((0, 0),)}) == {4: 0, 5: 1, 6: 2, 7: 3}
    assert lend(updates(4), [1, 3], (), {"k": ((0, 0),)}) == {5: 1, 7: 3}
    assert lend(updates(4), range(4), (), {"k": ((0, 0),)}, takers=[6]) == {6: 2}


def test_an_input_that_is_an_output_or_read_later_lends_nothing() -> None:
    plan = updates(2)
    given_out = Plan(plan.slots, plan.inputs, (*plan.outputs, 0), plan.launches)
    assert lend(given_out, [0, 1]) == {}
    read_at_the_end = Plan(plan.slots, plan.inputs, plan.outputs, (*plan.launches, HostLaunch(0, (0,), ())))
    assert lend(read_at_the_end, [0, 1]) == {}


def test_sizes_must_be_equal() -> None:
    launches = (Launch("k", (SlotArg(0),), (2,)), Launch("k", (SlotArg(1),), (3,)))
    plan = Plan((slot(Sym(0)), slot(8), slot(8), slot(Sym(0))), (0, 1), (2, 3), launches, syms=1)
    assert lend(plan, [0, 1], (4,)) == {3: 0}
    assert lend(plan, [0, 1], (8,)) == {3: 0}
    wider = Plan((slot(Sym(0)), slot(8), slot(8), slot(9)), (0, 1), (2, 3), launches, syms=1)
    assert lend(wider, [0, 1], (8,)) == {}


def test_an_input_that_nobody_reads_is_free_from_the_start() -> None:
    plan = Plan((slot(4),) * 3, (0, 1), (2,), (Launch("k", (SlotArg(0),), (2,)),))
    assert lend(plan, [1]) == {2: 1}


@given(st.data())
def test_nothing_is_read_after_it_was_written_over(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 6))
    slots = tuple(slot(data.draw(st.sampled_from([4, 8]))) for _ in range(3 * count))
    launches = []
    for i in range(count, 3 * count):
        read = data.draw(st.lists(st.integers(0, i - 1), max_size=3))
        launches.append(Launch(f"{len(read)}", tuple(map(SlotArg, read)), (i,)))
    in_place = {str(n): tuple((0, k) for k in range(n)) if data.draw(st.booleans()) else () for n in range(4)}
    outputs = tuple(data.draw(st.lists(st.integers(0, 3 * count - 1), max_size=6)))
    plan = Plan(slots, tuple(range(count)), outputs, tuple(launches))
    lent = lend(plan, data.draw(st.sets(st.integers(0, count - 1))), (), in_place)
    assert len(set(lent.values())) == len(lent)
    for output, position in lent.items():
        assert output in outputs
        assert output not in plan.inputs
        assert position not in outputs
        assert slots[output] == slots[position]
        written = next(i for i, launch in enumerate(launches) if output in launch.results)
        maker, *after = launches[written:]
        assert all(SlotArg(position) not in launch.args for launch in after)
        assert maker.args.count(SlotArg(position)) <= bool(in_place[maker.kernel])


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_what_is_live_overlaps_nothing(data: st.DataObject) -> None:
    """Random plans, in place or not, with outputs as hosts: run on memory, each value is whole when it is read."""
    count = data.draw(st.integers(1, 12))
    slots = [slot(data.draw(st.sampled_from([4, LARGE, 2 * LARGE]))) for _ in range(count + 1)]
    launches = []
    for i in range(1, count + 1):
        read = data.draw(st.lists(st.integers(0, i - 1), max_size=3))
        launches.append(Launch(f"{len(read)}", tuple(map(SlotArg, read)), (i,)))
    in_place = {str(n): tuple((0, k) for k in range(n)) for n in range(4)} if data.draw(st.booleans()) else {}
    outputs = tuple(dict.fromkeys([count, *data.draw(st.lists(st.integers(1, count), max_size=4))]))
    plan = Plan(tuple(slots), (0,), outputs, tuple(launches))
    hosts = [o for o in outputs if data.draw(st.booleans())]
    memory = plan_memory(plan, {str(n): 640 if n == 2 else 0 for n in range(4)}, (), in_place, hosts)
    owner: dict[tuple[int, int], int] = {}  # of each 64 bytes: the value that was written there last

    def span(place: tuple[int, int], nbytes: int) -> list[tuple[int, int]]:
        return [(place[0], place[1] + at) for at in range(0, nbytes, 64)]

    def places(s: int) -> list[tuple[int, int]]:
        return span(memory.places.get(s, (s + 1000 if s == 0 or s not in hosts else s, 0)), slots[s].nbytes(()))

    owner.update(dict.fromkeys(places(0), 0))
    for i, launch in enumerate(launches):
        scratch = span(memory.workspaces[i], 640) if i in memory.workspaces else []
        operands = [arg.slot for arg in launch.args if isinstance(arg, SlotArg)]
        owner.update(dict.fromkeys(scratch, -1))
        for s in operands:
            assert all(owner[at] == s for at in places(s))
        for s in launch.results:
            meeting = [o for o in operands if set(places(o)) & set(places(s))]
            assert len(meeting) <= bool(in_place)
            assert not set(scratch) & set(places(s))
            owner.update(dict.fromkeys(places(s), s))
    for s in outputs:
        assert all(owner[at] == s for at in places(s))
