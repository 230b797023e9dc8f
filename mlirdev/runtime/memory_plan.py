"""Where a plan's temporaries and workspaces lie: a pure function of the plan and its syms.

Each temporary lives from the launch that writes it to the last that reads it, a workspace for one launch. Memory is
reused as soon as a life has ended, and by the very launch that ends it where its kernel reads each element before it
writes it. What is large lies where an output will be, as long as that isn't written yet; all else in one arena. Pieces
are placed from the largest to the smallest, each into the smallest gap that fits ("greedy by size, best fit"), which
comes close to the lower bound.

Outputs have memory of their own, or that of inputs that nobody needs any more: see `lending`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from mlirdev.plan import Launch, Plan
from mlirdev.runtime.host_memory import ALIGNMENT
from mlirdev.runtime.liveness import InPlace, first_writes, in_place_pairs, last_uses

# Where something lies: in the memory of an output, by its slot, or in the arena; and how many bytes from the start.
ARENA = -1
Place = tuple[int, int]

# Small pieces stay together in the arena, which then stays in the cache.
_LEAST_IN_OUTPUT = 1 << 16


@dataclass(frozen=True)
class MemoryPlan:
    """The places of each temporary slot and of launch i's workspace, and the arena's bytes."""

    places: dict[int, Place]
    workspaces: dict[int, Place]
    nbytes: int


@dataclass(frozen=True, slots=True)
class Life:
    """From which launch to which so many bytes are needed. `output` is the slot that this memory must be, where the
    last launch writes an output over it."""

    first: int
    last: int
    nbytes: int
    output: int = ARENA


@dataclass(frozen=True, slots=True)
class _Host:
    """An output whose memory is nobody's before it is written; `guests` are lives and offsets."""

    slot: int
    nbytes: int
    written: int
    guests: list[tuple[Life, int]] = field(default_factory=list)

    def offset_for(self, life: Life) -> int | None:
        """Where a life fits between the guests of its time."""
        if life.last >= self.written or life.nbytes > self.nbytes:
            return None
        offset = 0
        for guest, start in sorted(self.guests, key=lambda pair: pair[1]):
            if guest.last < life.first or life.last < guest.first:
                continue
            if offset + life.nbytes <= start:
                break
            offset = max(offset, start + guest.nbytes)
        return offset if offset + life.nbytes <= self.nbytes else None


def plan_memory(
    plan: Plan,
    workspaces: Mapping[str, int],
    syms: tuple[int, ...] = (),
    in_place: InPlace | None = None,
    hosts: Collection[int] = (),
) -> MemoryPlan:
    """Place everything. `workspaces` gives each kernel's workspace in bytes; `hosts` are the outputs whose memory is
    free until they are written."""
    owner, lives = _lives(plan, syms, in_place or {}, hosts)
    groups = list(lives)
    users = _with_workspace(plan, workspaces)
    scratch = [Life(i, i, _aligned(workspaces[_kernel(plan, i)])) for i in users]
    places, nbytes = _place_all([*lives.values(), *scratch], _hosts(plan, syms, hosts))
    place_of = dict(zip(groups, places, strict=False))
    return MemoryPlan(
        places={slot: place_of[group] for slot, group in owner.items()},
        workspaces=dict(zip(users, places[len(groups) :], strict=True)),
        nbytes=nbytes,
    )


def plan_workspaces(plan: Plan, workspaces: Mapping[str, int]) -> MemoryPlan:
    """An arena of workspaces alone, each of which ends where the arena does."""
    sizes = {i: _aligned(workspaces[_kernel(plan, i)]) for i in _with_workspace(plan, workspaces)}
    largest = max(sizes.values(), default=0)
    return MemoryPlan({}, {i: (ARENA, largest - size) for i, size in sizes.items()}, largest)


def temporaries(plan: Plan) -> list[int]:
    """The slots that are neither an input's nor an output's."""
    external = {*plan.inputs, *plan.outputs}
    return [slot for slot in last_uses(plan) if slot not in external]


def _hosts(plan: Plan, syms: tuple[int, ...], slots: Collection[int]) -> list[_Host]:
    """The outputs that may have guests, the smallest first."""
    written = first_writes(plan)
    found = [_Host(slot, plan.slots[slot].nbytes(syms), written[slot]) for slot in slots if slot in written]
    return sorted((h for h in found if h.nbytes >= _LEAST_IN_OUTPUT), key=lambda h: (h.nbytes, h.slot))


def _place_all(lives: list[Life], hosts: list[_Host]) -> tuple[list[Place], int]:
    """A place for each life, and the bytes of the arena."""
    places: list[Place] = [(ARENA, 0)] * len(lives)
    by_slot = {host.slot: host for host in hosts}
    for i, life in enumerate(lives):
        if life.output != ARENA:
            places[i] = (life.output, 0)
            if life.output in by_slot:
                by_slot[life.output].guests.append((life, 0))
    left = []
    for i in sorted(range(len(lives)), key=lambda i: -lives[i].nbytes):
        if lives[i].output != ARENA:
            continue
        place = _place_in_output(lives[i], hosts)
        if place is None:
            left.append(i)
        else:
            places[i] = place
    left.sort()
    offsets, nbytes = place_in_arena([lives[i] for i in left])
    for i, offset in zip(left, offsets, strict=True):
        places[i] = (ARENA, offset)
    return places, nbytes


def _place_in_output(life: Life, hosts: list[_Host]) -> Place | None:
    if life.nbytes < _LEAST_IN_OUTPUT:
        return None
    for host in hosts:
        offset = host.offset_for(life)
        if offset is not None:
            host.guests.append((life, offset))
            return host.slot, offset
    return None


def place_in_arena(lives: list[Life]) -> tuple[list[int], int]:
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


def _lives(
    plan: Plan, syms: tuple[int, ...], in_place: InPlace, hosts: Collection[int]
) -> tuple[dict[int, int], dict[int, Life]]:
    """The slots that are neither inputs nor outputs, each with the first of those that share its memory, one written
    over the other; and the life of that memory."""
    first, last = first_writes(plan), last_uses(plan)
    owner = {slot: slot for slot in temporaries(plan)}
    lives = {s: Life(first.get(s, last[s]), last[s], _aligned(plan.slots[s].nbytes(syms))) for s in owner}
    for i, launch in enumerate(plan.launches):
        taken: set[int] = set()
        for result, operand in in_place_pairs(launch, in_place):
            if operand not in owner or last[operand] != i or taken.intersection((result, operand)):
                continue
            if plan.slots[result].nbytes(syms) != plan.slots[operand].nbytes(syms):
                continue
            group = owner[operand]
            if result in owner:
                lives[group] = Life(lives[group].first, last[result], lives[group].nbytes)
                del lives[result]
                owner[result] = group
            elif result in hosts:
                lives[group] = Life(lives[group].first, i, lives[group].nbytes, result)
            else:
                continue
            taken.update((result, operand))
    return owner, lives


def _with_workspace(plan: Plan, workspaces: Mapping[str, int]) -> list[int]:
    """The launches that have one."""
    return [i for i, launch in enumerate(plan.launches) if isinstance(launch, Launch) and workspaces[launch.kernel]]


def _kernel(plan: Plan, index: int) -> str:
    launch = plan.launches[index]
    assert isinstance(launch, Launch)
    return launch.kernel


def _aligned(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT
