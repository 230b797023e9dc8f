"""Where a plan's temporaries and workspaces lie in its one arena: a pure function of the plan and its syms.

Each temporary lives from the launch that writes it to the last that reads it, a workspace for one launch.
Memory is reused as soon as a life has ended; an operand that dies doesn't lend its memory to a result of
the same launch, as kernels take their buffers not to overlap. Placed from the largest to the smallest, each
into the smallest gap that fits ("greedy by size, best fit"), which comes close to the lower bound.

Outputs have memory of their own, or that of inputs that nobody needs any more (`lend`): a training step writes the
parameters of one layer over those of the layer before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
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
    lives = _lives(plan, syms)
    slots = list(lives)
    users = _with_workspace(plan, workspaces)
    scratch = [_Life(i, i, _aligned(workspaces[_kernel(plan, i)])) for i in users]
    offsets, nbytes = place([*lives.values(), *scratch])
    return MemoryPlan(
        offsets=dict(zip(slots, offsets, strict=False)),
        workspaces=dict(zip(users, offsets[len(slots) :], strict=True)),
        nbytes=nbytes,
    )


def plan_workspaces(plan: Plan, workspaces: Mapping[str, int]) -> MemoryPlan:
    """An arena of workspaces alone, each of which ends where the arena does."""
    sizes = {i: _aligned(workspaces[_kernel(plan, i)]) for i in _with_workspace(plan, workspaces)}
    largest = max(sizes.values(), default=0)
    return MemoryPlan(offsets={}, workspaces={i: largest - size for i, size in sizes.items()}, nbytes=largest)


def lend(plan: Plan, free: Collection[int], syms: tuple[int, ...] = ()) -> dict[int, int]:
    """Which outputs are written over which inputs: {output's slot: input's position}.

    `free` are the positions of inputs that nobody needs but this launch of the plan. Such an input's memory goes, once
    the last launch that reads it has run, to an output of the same size that is written later.
    """
    last = {plan.inputs[position]: -1 for position in free}
    for slot in plan.outputs:
        last.pop(slot, None)
    for i, launch in enumerate(plan.launches):
        last.update((slot, i) for slot in reads(launch) if slot in last)
    ends: defaultdict[int, list[int]] = defaultdict(list)
    for slot, end in last.items():
        ends[end].append(slot)
    return _matched(plan, ends, syms)


def _matched(plan: Plan, ends: Mapping[int, list[int]], syms: tuple[int, ...]) -> dict[int, int]:
    """Outputs with inputs of the same size, of which those in `ends[i]` are read by launch i last."""
    positions = {slot: position for position, slot in enumerate(plan.inputs)}
    made = set(plan.outputs).difference(plan.inputs)
    given: dict[int, int] = {}
    dead: defaultdict[int, list[int]] = defaultdict(list)
    for i in range(-1, len(plan.launches)):
        for slot in plan.launches[i].results if i >= 0 else ():
            if slot in made and slot not in given and dead[plan.slots[slot].nbytes(syms)]:
                given[slot] = positions[dead[plan.slots[slot].nbytes(syms)].pop()]
        for slot in ends.get(i, ()):
            dead[plan.slots[slot].nbytes(syms)].append(slot)
    return given


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


def temporaries(plan: Plan) -> list[int]:
    """The slots that are neither an input's nor an output's."""
    external = {*plan.inputs, *plan.outputs}
    used = dict.fromkeys(slot for launch in plan.launches for slot in (*reads(launch), *launch.results))
    return [slot for slot in used if slot not in external]


def _lives(plan: Plan, syms: tuple[int, ...]) -> dict[int, _Life]:
    """The life of each temporary slot."""
    external = {*plan.inputs, *plan.outputs}
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for i, launch in enumerate(plan.launches):
        for slot in (*reads(launch), *launch.results):
            if slot not in external:
                first.setdefault(slot, i)
                last[slot] = i
    return {slot: _Life(first[slot], last[slot], _aligned(plan.slots[slot].nbytes(syms))) for slot in first}


def _with_workspace(plan: Plan, workspaces: Mapping[str, int]) -> list[int]:
    """The launches that have one."""
    return [i for i, launch in enumerate(plan.launches) if isinstance(launch, Launch) and workspaces[launch.kernel]]


def _kernel(plan: Plan, index: int) -> str:
    launch = plan.launches[index]
    assert isinstance(launch, Launch)
    return launch.kernel


def _aligned(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT
