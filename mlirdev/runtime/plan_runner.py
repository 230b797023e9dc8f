"""The PlanRunner: launches one Plan, many times, with little work per launch.

    Plan + syms + threads ── bind, once ──► Binding: memory plan, segments, a gather table
    launch() ─► outputs and arena allocated ─► frame filled ─► PlanTask enqueued

Everything that kernels read besides tensors lies in one int64 array, the frame:

    [error words, one per launch | times of each native run | thread count | scalars | dims | table]

The table holds the packed arguments of every launch, and pointers to them. These are addresses, each some
base (an input, an output, the arena, the frame itself) plus a fixed offset, so a launch computes them all in
one numpy gather and add. A run of consecutive kernels is one native call, with the GIL released once; kernels
take turns with host launches only where the plan has any.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import TypeAlias

import numpy as np

from mlirdev.metrics import counters
from mlirdev.plan import HostLaunch, Launch, Plan, Signature
from mlirdev.runtime.binding import Binding, Frame, NativeRun
from mlirdev.runtime.buffer import Buffer
from mlirdev.runtime.stream import InterruptsDeferred, Stream
from mlirdev.runtime.tape import RUNALL_TYPE, Part, RunAll
from mlirdev.runtime.task import Task

Scalar: TypeAlias = "float | int | bool"
# A piece of memory: its address and size in bytes.
Span: TypeAlias = tuple[int, int]
ErrorWord: TypeAlias = tuple[int, int, int, int]
# Runs a graph node on the host: (node, operands, results, scalars, syms).
HostFunction: TypeAlias = Callable[[int, Sequence[Span], Sequence[Span], Sequence[Scalar], tuple[int, ...]], None]
# Makes the user's error of a launch whose error word was set, and of what a host launch raised.
Describe: TypeAlias = Callable[[Launch, ErrorWord], Exception]
DescribeHost: TypeAlias = Callable[[HostLaunch, BaseException], BaseException]
# Looks at a run launch by launch: called as it starts, with where each slot lies, it says what to call behind every
# launch. What that raises fails the run.
Inspect: TypeAlias = Callable[[Callable[[int], Span]], Callable[[Launch | HostLaunch], None]]

# For how many sizes a plan stays bound.
_BINDINGS_KEPT = 256


def unchanged(launch: HostLaunch, error: BaseException) -> BaseException:
    """What a host launch raised, as it is."""
    return error


def ignored(outputs: list[Buffer]) -> None:
    """For a caller who needn't know when a plan was launched."""


def _made(inputs: Sequence[Buffer], new: Sequence[Buffer], lenders: Sequence[int | None]) -> list[Buffer]:
    """The outputs that aren't inputs: in new memory, or in that of the inputs that lend it."""
    fresh = iter(new)
    return [next(fresh) if lender is None else inputs[lender].hand_over() for lender in lenders]


def _give_back(inputs: Sequence[Buffer], made: Sequence[Buffer], lenders: Sequence[int | None]) -> None:
    for lender, buffer in zip(lenders, made, strict=True):
        if lender is not None:
            inputs[lender].take_back(buffer)


class PlanRunner:
    """See the module's docstring.

    `addresses` are the kernels' entries, by key; `runall` that of `void(void** fns, void** argvs, i64 n)`;
    `stamp` (0: none) that of `void(i64*)`, which writes the monotonic clock in nanoseconds. With `apart` no two values
    share a buffer. Whoever owns their machine code must outlive the runner's launches. Safe to use from any thread.
    """

    def __init__(
        self,
        plan: Plan,
        signatures: Mapping[str, Signature],
        addresses: Mapping[str, int],
        runall: int,
        host: HostFunction,
        stamp: int = 0,
        apart: bool = False,
    ) -> None:
        self.plan = plan
        self.host = host
        self.runall = _runall(runall)
        self._signatures = signatures
        self._addresses = addresses
        self._stamp = stamp
        self._apart = apart
        self._scalars = struct.Struct("=" + "".join("d" if kind == "float" else "q" for kind in plan.scalars))
        self._bound = lru_cache(maxsize=_BINDINGS_KEPT)(self._bind)

    def launch(
        self,
        stream: Stream,
        inputs: Sequence[Buffer],
        scalars: Sequence[Scalar],
        syms: tuple[int, ...],
        threads: int,
        describe: Describe,
        wait: bool = False,
        describe_host: DescribeHost = unchanged,
        free: tuple[int, ...] = (),
        launched: Callable[[list[Buffer]], None] = ignored,
        inspect: Inspect | None = None,
    ) -> list[Buffer]:
        """Enqueue the plan on `stream` and return its outputs at once (with `wait`, when it has run).

        Reserves all memory first: OutOfMemoryError comes before anything is written. What fails later, an
        index out of range or a host launch, poisons the outputs and is raised by whoever waits or reads.

        `free` are the positions of inputs, among `may_lend`, that nobody else needs: outputs are written over them.
        From the moment on that `launched` is called with the outputs, they are gone; an error before that has changed
        nothing.
        """
        binding = self._bound(threads, syms)
        lending = binding.lending(free)
        lenders = lending.lenders
        new = stream.device.allocator.allocate_all(lending.sizes, stream)
        arena = new.pop() if binding.arena_bytes else None
        frame = binding.take_frame()
        self._scalars.pack_into(frame.bytes, 8 * binding.scalars_at, *scalars)
        stream.device.runall = self.runall
        with InterruptsDeferred():
            made = _made(inputs, new, lenders)
            try:
                buffers = [*inputs, *made]
                outputs = binding.outputs(buffers)
                bases = [frame.address, arena.address if arena else 0, *[b.address for b in buffers]]
                binding.fill(frame, bases)
                task = PlanTask(self, binding, frame, bases, inputs, made, scalars, describe, describe_host, stream)
                task.inspect = inspect
                stream.start(task, wait)
            except BaseException:
                _give_back(inputs, made, lenders)
                raise
            launched(outputs)
        if wait:
            stream.finish(task)
        return outputs

    def may_lend(self, syms: tuple[int, ...], threads: int) -> tuple[int, ...]:
        """The positions of inputs whose memory an output could take."""
        return self._bound(threads, syms).may_lend

    def _bind(self, threads: int, syms: tuple[int, ...]) -> Binding:
        return Binding(self.plan, self._signatures, self._addresses, syms, threads, self._stamp, self._apart)


class PlanTask(Task):
    """One launch. Holds no memory of its own stream, which may be reused behind it; that of other streams
    is kept until it is through."""

    __slots__ = (
        "_bases",
        "_binding",
        "_describe",
        "_describe_host",
        "_error",
        "_foreign",
        "_frame",
        "_number",
        "_read",
        "_runner",
        "_scalars",
        "_timeline",
        "_written",
        "inspect",
    )

    def __init__(
        self,
        runner: PlanRunner,
        binding: Binding,
        frame: Frame,
        bases: list[int],
        inputs: Sequence[Buffer],
        made: Sequence[Buffer],
        scalars: Sequence[Scalar],
        describe: Describe,
        describe_host: DescribeHost,
        stream: Stream,
    ) -> None:
        super().__init__()
        self._runner = runner  # also keeps the machine code alive
        self._binding = binding
        self._frame = frame
        self._bases = bases
        self._scalars = scalars
        self._describe = describe
        self._describe_host = describe_host
        self._error: BaseException | None = None
        self._timeline = stream.timeline
        self.inspect: Inspect | None = None
        self._read = [b.fate for b in inputs if not b.fate.is_good]  # what is good stays so
        self._written = [b.fate for b in made]
        self._foreign = [b for b in inputs if b.stream is not stream]
        for fate in self._written:
            fate.expect(self)
        self._number = self._announce(stream) if self._timeline.listening else 0

    def _announce(self, stream: Stream) -> int:
        binding = self._binding
        addresses, allocated = binding.addresses(self._bases), stream.device.allocator.allocated()
        return self._timeline.enqueue_plan(self._runner.plan, binding.syms, binding.threads, addresses, allocated)

    def parts(self) -> Sequence[Part]:
        if self._timeline.listening or self.inspect is not None:
            return (self.run,)
        # Kernels run even behind a failure: they check every access, and nobody gets to see what they make of it.
        return [
            segment.entries(self._binding, self._frame)
            if isinstance(segment, NativeRun)
            else partial(self._on_host, segment, 0)
            for segment in self._binding.segments
        ]

    def run(self) -> None:
        try:
            self._run_segments()
        except BaseException as error:  # a listener's, at most
            self._error = error

    def _run_segments(self) -> None:
        index = 0
        inspect = None if self.inspect is None or self._failure() else self.inspect(self._span)
        for segment in self._binding.segments:
            if not isinstance(segment, NativeRun):
                self._on_host(segment, index)
                if inspect is not None:
                    inspect(segment)
                index += 1
                continue
            if self._timeline.listening or inspect is not None:
                self._run_one_by_one(segment, index, inspect)
            else:
                self._run_native(segment, 0, len(segment.functions))
            index += len(segment.launches)

    def _run_native(self, run: NativeRun, first: int, count: int) -> None:
        argvs = self._frame.address + 8 * (self._binding.argvs_at + run.first + first)
        self._runner.runall(run.functions_at + 8 * first, argvs, count)

    def _span(self, slot: int) -> Span:
        return self._binding.span(slot, self._bases)

    def _run_one_by_one(self, run: NativeRun, index: int, inspect: Callable[[Launch], None] | None) -> None:
        """Time every launch by itself, for the timeline's listeners, and have it looked at; the first is the plan's of
        this index."""
        skipped = (len(run.functions) - len(run.launches)) // 2  # the stamp
        self._run_native(run, 0, skipped)
        for number, launch in enumerate(run.launches):
            with self._timeline.time(launch, self._number, index + number):
                self._run_native(run, skipped + number, 1)
            if inspect is not None and self._failure() is None:
                inspect(launch)
        self._run_native(run, skipped + len(run.launches), skipped)

    def finish(self) -> BaseException | None:
        poison = self._poison_read()
        error = self._failure()
        if error is None:
            self._count()
        for fate in self._written:
            fate.settle(error)
        if error is None:  # else there may be error words in it
            self._binding.give_frame(self._frame)
        self._read = self._written = []
        self._foreign = []
        return None if error is poison else error

    def _count(self) -> None:
        """Tell the metrics, and take the time of the end where it was stamped."""
        spent, end = self._frame.spent()
        self.nanoseconds = end or self.nanoseconds
        counters.add(execute_s=spent / 1e9)

    def _on_host(self, launch: HostLaunch, index: int) -> None:
        if self._failure() is not None:
            return
        operands, results = self._binding.spans(launch, self._bases)
        try:
            with self._timeline.time(launch, self._number, index):
                self._runner.host(launch.node, operands, results, self._scalars, self._binding.syms)
        except BaseException as error:
            self._error = self._describe_host(launch, error)

    def _failure(self) -> BaseException | None:
        """Why the outputs can't be what they should be, as far as is known by now."""
        if self._error is None:
            self._error = self._poison_read() or self._kernel_error()
        return self._error

    def _poison_read(self) -> BaseException | None:
        return next((fate.error for fate in self._read if fate.error is not None), None)

    def _kernel_error(self) -> BaseException | None:
        """The error of the program's first node for which an error word is set: launches may run in another order."""
        if not self._frame.has_errors():
            return None
        launches = [launch for s in self._binding.segments if isinstance(s, NativeRun) for launch in s.launches]
        failed = [
            (launches[i], _error_word(self._frame.errors[i])) for i in np.flatnonzero(self._frame.errors.any(axis=1))
        ]
        launch, word = min(failed, key=lambda pair: _node_of(*pair))
        try:
            return self._describe(launch, word)
        except Exception as error:  # the outputs must be poisoned, be it with this
            return error


def _error_word(words: np.ndarray) -> ErrorWord:
    code, ordinal, value, bound = (int(word) for word in words)
    return code, ordinal, value, bound


def _node_of(launch: Launch, word: ErrorWord) -> int:
    """The graph node that an error word is about; one that is unknown comes last."""
    ordinal = word[1]
    return launch.nodes[ordinal] if 0 <= ordinal < len(launch.nodes) else sys.maxsize


_runalls: dict[int, RunAll] = {}


def _runall(address: int) -> RunAll:
    """The same callable for the same address: streams change tapes when theirs isn't the device's any more."""
    return _runalls.setdefault(address, RUNALL_TYPE(address))
