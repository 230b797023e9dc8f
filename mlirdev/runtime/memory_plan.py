"""Where a plan's temporaries and workspaces lie in its one arena: a pure function of the plan and its syms.

Each temporary lives from the launch that writes it to the last that reads it, a workspace for one launch.
Memory is reused as soon as a life has ended; an operand that dies doesn't lend its memory to a result of
the same launch, as kernels take their buffers not to overlap. Placed from the largest to the smallest, each
into the smallest gap that fits ("greedy by size, best fit"), which comes close to the lower bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mlirdev.plan import HostLaunch, Launch, Plan, SlotArg
from mlirdev.runtime.host_memory import ALIGNMENT


@dataclass(frozen=True)
class MemoryPlan:
    """`offsets[slot]` of each temporary slot and `workspaces[i]` of launch i are bytes from the start of an
    arena of `nbytes`."""

    offsets: dict[int, int]
    workspaces: dict[int, int]
    nbytes: int


@dataclass(frozen=True, slots=True)
class _Life:
    first: int
    last: int
    nbytes: int


def plan_memory(plan: Plan, workspaces: Mapping[str, int], syms: tuple[int, ...] = ()) -> MemoryPlan:
    """Plan the arena. `workspaces` gives each kernel's workspace in bytes."""
    lives = _temporaries(plan, syms)
    slots = list(lives)
    users = [i for i, launch in enumerate(plan.launches) if isinstance(launch, Launch) and workspaces[launch.kernel]]
    scratch = [_Life(i, i, _aligned(workspaces[_kernel(plan, i)])) for i in users]
    offsets, nbytes = place([*lives.values(), *scratch])
    return MemoryPlan(
        offsets=dict(zip(slots, offsets, strict=False)),
        workspaces=dict(zip(users, offsets[len(slots) :], strict=True)),
        nbytes=nbytes,
    )


def reads(launch: Launch | HostLaunch) -> list[int]:
    """The slots that a launch reads."""
    if isinstance(launch, HostLaunch):
        return list(launch.operands)
    return [arg.slot for arg in launch.args if isinstance(arg, SlotArg)]


def place(lives: list[_Life]) -> tuple[list[int], int]:
    """An offset for each life so that none that overlap in time overlap in memory, and the bytes needed."""
    count = len(lives)
    first = np.array([life.first for life in lives], dtype=np.int64)
    last = np.array([life.last for life in lives], dtype=np.int64)
    size = np.array([life.nbytes for life in lives], dtype=np.int64)
    offset = np.zeros(count, dtype=np.int64)
    order = np.argsort(-size, kind="stable")
    for rank, item in enumerate(order):
        placed = order[:rank]
        rivals = placed[(first[placed] <= last[item]) & (last[placed] >= first[item])]
        offset[item] = _best_gap(offset[rivals], size[rivals], int(size[item]))
    return [int(o) for o in offset], int((offset + size).max()) if count else 0


def _best_gap(starts: np.ndarray, sizes: np.ndarray, wanted: int) -> int:
    """The start of the smallest gap of at least `wanted` bytes between the pieces, else the end of the last."""
    if not len(starts):
        return 0
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.maximum.accumulate((starts + sizes)[order])
    gap_starts = np.concatenate(([0], ends[:-1]))
    gaps = starts - gap_starts
    fits = np.flatnonzero(gaps >= wanted)
    if not len(fits):
        return int(ends[-1])
    return int(gap_starts[fits[np.argmin(gaps[fits])]])


def _temporaries(plan: Plan, syms: tuple[int, ...]) -> dict[int, _Life]:
    """The life of each slot that is neither an input nor an output."""
    external = {*plan.inputs, *plan.outputs}
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for i, launch in enumerate(plan.launches):
        for slot in (*reads(launch), *launch.results):
            if slot not in external:
                first.setdefault(slot, i)
                last[slot] = i
    return {slot: _Life(first[slot], last[slot], _aligned(plan.slots[slot].nbytes(syms))) for slot in first}


def _kernel(plan: Plan, index: int) -> str:
    launch = plan.launches[index]
    assert isinstance(launch, Launch)
    return launch.kernel


def _aligned(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT
