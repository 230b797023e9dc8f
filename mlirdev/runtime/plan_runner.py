"""The PlanRunner: launches one Plan, many times, with little work per launch.

    Plan + syms ── bind, once ──► Binding: memory plan, segments, a gather table
    launch() ─► outputs and arena allocated ─► frame filled ─► task enqueued ─► native runs and host launches

Everything that kernels read besides tensors lies in one int64 array, the frame:

    [error words, one per launch | thread count | scalars | dims | packed arguments of every launch | pointers to them]

The last two parts are addresses, each some base (an input, an output, the arena, the frame itself) plus a
fixed offset, so a launch computes them all in one numpy gather and add. A run of consecutive kernels is one
native call, with the GIL released once; kernels take turns with host launches only where the plan has any.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from mlirdev.plan import Launch, Plan, Signature
from mlirdev.runtime.binding import Binding, Frame, NativeRun
from mlirdev.runtime.buffer import Buffer, Fate
from mlirdev.runtime.stream import Stream

# A piece of memory: its address and size in bytes.
Span: TypeAlias = tuple[int, int]
ErrorWord: TypeAlias = tuple[int, int, int, int]
Scalars: TypeAlias = Sequence[float | int | bool]
# Runs graph node `node` on the host: (node, operands, results, scalars, syms).
HostFunction: TypeAlias = Callable[[int, Sequence[Span], Sequence[Span], Scalars, tuple[int, ...]], None]
# Makes the user's error of a launch whose error word was set.
Describe: TypeAlias = Callable[[Launch, ErrorWord], Exception]

_RunAll = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


class PlanRunner:
    """See the module's docstring.

    `addresses` are the kernels' entries, by key; `runall` that of `void(void** fns, void** argvs, i64 n)`;
    whoever owns their machine code must outlive the runner's launches. Safe to use from any thread.
    """

    def __init__(
        self,
        plan: Plan,
        signatures: Mapping[str, Signature],
        addresses: Mapping[str, int],
        runall: int,
        host: HostFunction,
    ) -> None:
        self.plan = plan
        self._signatures = signatures
        self._addresses = addresses
        self._runall = _RunAll(runall)
        self._host = host
        self._scalars = struct.Struct("=" + "".join("d" if kind == "float" else "q" for kind in plan.scalars))
        self._bindings: dict[tuple[int, ...], Binding] = {}

    def launch(
        self,
        stream: Stream,
        inputs: Sequence[Buffer],
        scalars: Scalars,
        syms: tuple[int, ...],
        threads: int,
        describe: Describe,
        wait: bool = False,
    ) -> list[Buffer]:
        """Enqueue the plan on `stream` and return its outputs at once (with `wait`, when it has run).

        Reserves all memory first: OutOfMemoryError comes before anything is written. What fails later, an
        index out of range or a host launch, poisons the outputs and is raised by whoever waits or reads.
        """
        binding = self._bindings.get(syms) or self._bind(syms)
        made = [stream.device.allocator.allocate(nbytes, stream) for nbytes in binding.made_bytes]
        arena = stream.device.allocator.allocate(binding.arena_bytes, stream)
        outputs = binding.outputs(inputs, made)
        frame = binding.take_frame()
        frame.integers[binding.threads_at] = threads
        self._scalars.pack_into(frame.bytes, 8 * binding.scalars_at, *scalars)
        addresses = [frame.address, arena.address, *(b.address for b in inputs), *(b.address for b in made)]
        binding.fill(frame, addresses)
        # Memory of this stream may be reused behind this task; that of other streams is kept until it has run.
        foreign = [b for b in inputs if b.stream is not stream]
        read, written = [b.fate for b in inputs], [b.fate for b in made]

        def task() -> None:
            failed = next((fate.error for fate in read if fate.error is not None), None)
            if failed is None:
                failed = self._run(binding, frame, addresses, scalars, describe)
                if failed is not None:
                    stream.device.failures.add(stream, failed)
            if failed is None:
                binding.give_frame(frame)
            else:
                _poison(written, failed)
            foreign.clear()

        if wait:
            stream.run(task)
        else:
            stream.enqueue(task)
        return outputs

    def _bind(self, syms: tuple[int, ...]) -> Binding:
        binding = Binding(self.plan, self._signatures, self._addresses, syms)
        # Two threads may bind at once; the first one's is kept.
        return self._bindings.setdefault(syms, binding)

    def _run(
        self, binding: Binding, frame: Frame, addresses: list[int], scalars: Scalars, describe: Describe
    ) -> BaseException | None:
        """Run every segment; the error that stopped it, if any."""
        try:
            for segment in binding.segments:
                if not isinstance(segment, NativeRun):
                    operands, results = binding.spans(segment, addresses)
                    self._host(segment.node, operands, results, scalars, binding.syms)
                    continue
                argvs = frame.address + 8 * (binding.argvs_at + segment.first)
                self._runall(segment.functions_at, argvs, len(segment.launches))
                if frame.errors.any():
                    return describe(*_first_error(binding, frame))
        except BaseException as error:
            return error
        return None


def _poison(fates: list[Fate], error: BaseException) -> None:
    for fate in fates:
        fate.error = error


def _first_error(binding: Binding, frame: Frame) -> tuple[Launch, ErrorWord]:
    """The first launch whose error word is set, and the word."""
    launches = [launch for s in binding.segments if isinstance(s, NativeRun) for launch in s.launches]
    number = int(frame.errors.any(axis=1).argmax())
    code, node, value, bound = (int(word) for word in frame.errors[number])
    return launches[number], (code, node, value, bound)
