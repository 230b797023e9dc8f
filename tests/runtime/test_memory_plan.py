"""The memory plan: no two live pieces overlap, and dead ones are reused."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mlirdev.dtypes import DType
from mlirdev.graph import Sym
from mlirdev.plan import HostLaunch, Launch, Plan, Slot, SlotArg
from mlirdev.runtime import plan_memory
from mlirdev.runtime.memory_plan import _Life, lend, place


def slot(length: int | Sym) -> Slot:
    return Slot((length,), DType.f32)


def chain(count: int, length: int = 100) -> Plan:
    launches = tuple(Launch("k", (SlotArg(i),), (i + 1,)) for i in range(count))
    return Plan((slot(length),) * (count + 1), (0,), (count,), launches)


def test_a_chain_needs_two_temporaries() -> None:
    memory = plan_memory(chain(50), {"k": 0})
    assert memory.nbytes == 2 * 448
    assert set(memory.offsets) == set(range(1, 50))


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


lives = st.tuples(st.integers(0, 30), st.integers(0, 8), st.integers(0, 20)).map(
    lambda t: _Life(t[0], t[0] + t[1], 64 * t[2])
)


@given(st.lists(lives, max_size=40))
def test_no_two_live_pieces_overlap(pieces: list[_Life]) -> None:
    offsets, nbytes = place(pieces)
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
        launches.append(Launch("k", tuple(map(SlotArg, read)), (i,)))
    outputs = tuple(data.draw(st.lists(st.integers(0, 3 * count - 1), max_size=6)))
    plan = Plan(slots, tuple(range(count)), outputs, tuple(launches))
    lent = lend(plan, data.draw(st.sets(st.integers(0, count - 1))))
    assert len(set(lent.values())) == len(lent)
    for output, position in lent.items():
        assert output in outputs
        assert output not in plan.inputs
        assert position not in outputs
        assert slots[output] == slots[position]
        written = next(i for i, launch in enumerate(launches) if output in launch.results)
        assert all(SlotArg(position) not in launch.args for launch in launches[written:])
