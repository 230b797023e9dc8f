"""The memory plan: no two live pieces overlap, and dead ones are reused."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mlirdev.dtypes import DType
from mlirdev.graph import Sym
from mlirdev.plan import HostLaunch, Launch, Plan, Slot, SlotArg
from mlirdev.runtime import plan_memory
from mlirdev.runtime.memory_plan import _Life, place


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
