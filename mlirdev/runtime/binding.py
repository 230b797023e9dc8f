"""A plan bound to its syms and a number of threads: all that doesn't change from launch to launch.

See `plan_runner` for the frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import TypeAlias

import numpy as np

from mlirdev.plan import (
    ABI_ERROR,
    ABI_PARAMS,
    ABI_THREADS,
    ABI_WORKSPACE,
    DimArg,
    HostLaunch,
    Launch,
    LaunchArg,
    Plan,
    ScalarArg,
    Signature,
    evaluate,
)
from mlirdev.runtime.buffer import Buffer
from mlirdev.runtime.lending import lend
from mlirdev.runtime.memory_plan import ARENA, plan_memory, plan_workspaces, temporaries

ERROR_WORDS = 4  # of i64, one group per kernel launch

# For how many sets of free inputs it is remembered which output takes whose memory.
_LENDERS_KEPT = 16

# The bases that every launch has; those of the inputs and of the outputs made follow.
_FRAME, _ARENA, _INPUTS = 0, 1, 2

# An address: a base's number and a fixed offset in bytes.
_Place: TypeAlias = tuple[int, int]


class Frame:
    """One launch's integers; pooled, as a launch may be in flight while the next one is prepared."""

    __slots__ = ("address", "bases", "bytes", "errors", "integers", "table", "times")

    def __init__(self, integers: np.ndarray, launches: int, times_at: int, threads_at: int, table_at: int) -> None:
        self.integers = integers
        self.bytes = integers.data.cast("B")
        self.address = int(integers.ctypes.data)
        self.errors = integers[: ERROR_WORDS * launches].reshape(launches, ERROR_WORDS)
        self.times = integers[times_at:threads_at]
        self.table = integers[table_at:]
        self.bases: list[int] = []  # what the table was computed from

    def has_errors(self) -> bool:
        """Did a launch set its error word?"""
        return bool(np.count_nonzero(self.errors))

    def spent(self) -> tuple[int, int]:
        """Nanoseconds that the native runs took together, and when the last one ended (0: not stamped)."""
        times: list[int] = self.times.tolist()
        return sum(times[1::2]) - sum(times[::2]), times[-1] if times else 0


@dataclass(frozen=True, eq=False)
class NativeRun:
    """Consecutive kernel launches: one native call on `functions`, a table of entry addresses, with a stamp of the
    time before and behind them where there is one. `first` is the place of its arguments in the argvs."""

    launches: tuple[Launch, ...]
    first: int
    functions: np.ndarray
    functions_at: int

    def entries(self, binding: Binding, frame: Frame) -> tuple[np.ndarray, np.ndarray]:
        """The functions and each one's argument."""
        start = binding.argvs_at + self.first
        return self.functions, frame.integers[start : start + len(self.functions)]


@dataclass(frozen=True)
class Lending:
    """Where the outputs made lie, given which inputs are free: `lenders` are the positions of the inputs whose memory
    they take, None for new memory; `sizes` that of the latter in bytes, and last the arena's, if there is one."""

    lenders: tuple[int | None, ...]
    sizes: tuple[int, ...]


class Binding:
    """See the module's docstring. With `apart` each temporary has memory of its own, as an output has."""

    def __init__(
        self,
        plan: Plan,
        signatures: Mapping[str, Signature],
        addresses: Mapping[str, int],
        syms: tuple[int, ...],
        threads: int,
        stamp: int,
        apart: bool = False,
    ) -> None:
        self.syms = syms
        self.threads = threads
        self.launches = sum(isinstance(launch, Launch) for launch in plan.launches)
        self._plan = plan
        self._made = [slot for slot in dict.fromkeys(plan.outputs) if slot not in plan.inputs]
        self._in_place = {} if apart else {key: s.in_place for key, s in signatures.items()}
        lent = lend(plan, range(len(plan.inputs)), syms, self._in_place)
        self.may_lend = tuple(lent.values())
        self._takers = frozenset(lent)
        # What may be written over an input must leave it alone until then.
        hosts = [slot for slot in self._made if slot not in lent]
        sizes = {key: s.scratch_bytes(threads) for key, s in signatures.items()}
        memory = plan_workspaces(plan, sizes) if apart else plan_memory(plan, sizes, syms, self._in_place, hosts)
        self._made += temporaries(plan) if apart else ()
        self.arena_bytes = memory.nbytes
        bases = {slot: _INPUTS + number for number, slot in enumerate((*plan.inputs, *self._made))}
        self._places: dict[int, _Place] = {slot: (base, 0) for slot, base in bases.items()}
        self._outputs = [bases[slot] - _INPUTS for slot in plan.outputs]
        bases[ARENA] = _ARENA
        self._places.update((slot, (bases[area], offset)) for slot, (area, offset) in memory.places.items())
        self.segments = _segments(plan, addresses, stamp)
        self._lay_out({i: (bases[area], offset) for i, (area, offset) in memory.workspaces.items()})
        self._frames: list[Frame] = []
        self.lending = lru_cache(maxsize=_LENDERS_KEPT)(self._find_lending)

    def _find_lending(self, free: tuple[int, ...]) -> Lending:
        lent = lend(self._plan, free, self.syms, self._in_place, self._takers)
        sizes = [self._plan.slots[slot].nbytes(self.syms) for slot in self._made if slot not in lent]
        if self.arena_bytes:
            sizes.append(self.arena_bytes)
        return Lending(tuple(lent.get(slot) for slot in self._made), tuple(sizes))

    def outputs(self, buffers: Sequence[Buffer]) -> list[Buffer]:
        """The plan's outputs in order, of the inputs and the outputs made; some may be inputs, or one another."""
        return [buffers[place] for place in self._outputs]

    def spans(self, launch: HostLaunch, bases: Sequence[int]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Address and bytes of each operand and result of a host launch."""
        return [self.span(s, bases) for s in launch.operands], [self.span(s, bases) for s in launch.results]

    def addresses(self, bases: Sequence[int]) -> tuple[int, ...]:
        """Where each slot is; 0 for one that nothing reads or writes."""
        places = [self._places.get(slot) for slot in range(len(self._plan.slots))]
        return tuple(bases[place[0]] + place[1] if place else 0 for place in places)

    def take_frame(self) -> Frame:
        """A frame with everything but scalars and table filled in."""
        try:
            return self._frames.pop()
        except IndexError:
            integers = np.zeros(self._frame_size, dtype=np.int64)
            frame = Frame(integers, self.launches, self._times_at, self._threads_at, self._table_at)
            frame.integers[self._threads_at] = self.threads
            frame.integers[self._dims_at : self._dims_at + len(self._dims)] = self._dims
            return frame

    def give_frame(self, frame: Frame) -> None:
        """Take back a frame whose launch has run without an error."""
        self._frames.append(frame)

    def fill(self, frame: Frame, bases: list[int]) -> None:
        """Compute all addresses, unless they are those of the frame's last launch. `bases`: frame, arena, inputs,
        outputs made."""
        if frame.bases != bases:
            frame.bases = bases
            table = frame.table
            np.array(bases, dtype=np.int64).take(self._index, out=table, mode="clip")  # in range: nothing to clip
            table += self._offset

    # --- laying out ------------------------------------------------------------------------------

    def _lay_out(self, workspaces: Mapping[int, _Place]) -> None:
        """Fix where everything lies in the frame, and the table's bases and offsets."""
        kernels = [(i, x) for i, x in enumerate(self._plan.launches) if isinstance(x, Launch)]
        dims = [evaluate(a.dim, self.syms) for _, x in kernels for a in x.args if isinstance(a, DimArg)]
        self._dims = list(dict.fromkeys(dims))
        self._times_at = ERROR_WORDS * self.launches
        self._threads_at = self._times_at + 2 * sum(isinstance(s, NativeRun) for s in self.segments)
        self.scalars_at = self._threads_at + 1
        self._dims_at = self.scalars_at + len(self._plan.scalars)
        self._table_at = self._dims_at + len(self._dims)
        table: list[_Place] = []
        argvs: list[_Place] = []
        for number, (i, launch) in enumerate(kernels):
            argvs.append((_FRAME, 8 * (self._table_at + len(table))))
            head: list[_Place] = [(_FRAME, 0)] * ABI_PARAMS
            head[ABI_ERROR] = (_FRAME, 8 * ERROR_WORDS * number)
            head[ABI_THREADS] = (_FRAME, 8 * self._threads_at)
            head[ABI_WORKSPACE] = workspaces.get(i, (_ARENA, 0))
            table += [*head, *(self._arg(a) for a in launch.args), *(self._places[r] for r in launch.results)]
        self.argvs_at = self._table_at + len(table)
        table += self._with_stamps(argvs)
        self._index = np.array([base for base, _ in table], dtype=np.intp)
        self._offset = np.array([offset for _, offset in table], dtype=np.int64)
        self._frame_size = self._table_at + len(table)

    def _with_stamps(self, argvs: list[_Place]) -> list[_Place]:
        """The native runs' arguments: the launches' own, between those of each run's two stamps."""
        result: list[_Place] = []
        for number, run in enumerate(s for s in self.segments if isinstance(s, NativeRun)):
            mine, argvs = argvs[: len(run.launches)], argvs[len(run.launches) :]
            times = [(_FRAME, 8 * (self._times_at + 2 * number + k)) for k in (0, 1)]
            result += [times[0], *mine, times[1]] if len(run.functions) > len(run.launches) else mine
        return result

    def _arg(self, arg: LaunchArg) -> _Place:
        if isinstance(arg, ScalarArg):
            return _FRAME, 8 * (self.scalars_at + arg.index)
        if isinstance(arg, DimArg):
            return _FRAME, 8 * (self._dims_at + self._dims.index(evaluate(arg.dim, self.syms)))
        base, offset = self._places[arg.slot]
        return base, offset + arg.offset

    def span(self, slot: int, bases: Sequence[int]) -> tuple[int, int]:
        """Address and bytes of a slot."""
        base, offset = self._places[slot]
        return bases[base] + offset, self._plan.slots[slot].nbytes(self.syms)


def _segments(plan: Plan, addresses: Mapping[str, int], stamp: int) -> list[NativeRun | HostLaunch]:
    """The launches in order, consecutive kernels gathered into native runs."""
    segments: list[NativeRun | HostLaunch] = []
    stamps = [stamp] if stamp else []
    first = 0
    for native, group in groupby(plan.launches, key=lambda launch: isinstance(launch, Launch)):
        if not native:
            segments += [launch for launch in group if isinstance(launch, HostLaunch)]
            continue
        run = tuple(launch for launch in group if isinstance(launch, Launch))
        functions = np.array([*stamps, *(addresses[x.kernel] for x in run), *stamps], dtype=np.int64)
        segments.append(NativeRun(run, first, functions, int(functions.ctypes.data)))
        first += len(functions)
    return segments
