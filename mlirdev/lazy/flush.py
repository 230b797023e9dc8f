"""Launching a whole trace.

    tuple(code), inputs' layouts, live outputs ─► known? ─► Launchable ─► Executable.run
                                                    └ no ─► cut (graphs.py) ─► compiler

The outputs are the values that a cell still holds: cells die with their storages, so this is exact.
A flush that fails or is interrupted leaves its trace closed but whole; whoever needs a value tries again.

An input that nobody but the trace refers to any more, since its storage got another value or died, is lent to the
outputs: they may be written over it. Whoever could still want its old value (a clone, a saved tensor, another trace,
a copy or another stream's work in flight) holds its buffer, and is counted.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from sys import getrefcount
from typing import Any

import torch

from mlirdev import compiler
from mlirdev.events import Fallback, Flush, SourceLine, emit
from mlirdev.guards import check_fallback
from mlirdev.lazy.dynamic import marked_dims, varying_dims
from mlirdev.lazy.graphs import cut
from mlirdev.lazy.launchables import Launchable, launchables
from mlirdev.lazy.lines import here, source_line
from mlirdev.lazy.private import NeedsValueError
from mlirdev.lazy.trace import Cell, Trace, recorder, renew
from mlirdev.options import options
from mlirdev.plan import ERROR_DIVISION, ERROR_INDEX, ERROR_VALUE, VALUE_CHECKS, HostLaunch, Launch
from mlirdev.runtime import Buffer

_lock = threading.RLock()


def flush(trace: Trace, cause: str) -> None:
    """Launch everything recorded in `trace`; afterwards the cells that held its values have buffers."""
    if trace.private:
        raise NeedsValueError(cause)
    # First of all: a forked child must neither wait for locks of its parent's threads nor talk to its workers.
    trace.stream.device.check()
    with _lock:
        if trace.done:
            return
        if trace not in recorder.parked:
            recorder.parked.append(trace)
            renew(trace)
        buffers = _launch(trace, cause)
        trace.done = True
        # Cells of other threads that took a value over while it was being launched: see Cell.assign.
        _hand_out(buffers, trace, trace.late_cells())
        recorder.parked.remove(trace)
        trace.clear()


def flush_stream(stream: Any, cause: str) -> None:
    """Launch what is pending on a stream, and what an earlier flush of it left behind."""
    for trace in [t for t in recorder.parked if t.stream is stream]:
        flush(trace, cause)
    current = recorder.traces.get(stream)
    if current is not None and current.count:
        flush(current, cause)


def _launch(trace: Trace, cause: str) -> dict[int, Buffer]:
    """Launch; the memory of the values that cells hold, by number."""
    start = time.perf_counter()
    cells = trace.cells()
    if trace.made is not None:  # what came behind the launch was interrupted; it must not run twice
        _hand_out(trace.made, trace, cells)
        return trace.made
    if not cells:
        return {}
    layouts = tuple([layout for _, layout in trace.inputs])
    key = (tuple(trace.code), layouts, options.code)
    launchable = launchables.find(key, _numbers(cells))
    if launchable is None and launchables.knows(key):
        # Autograd's thread may be about to drop the last of what it saved: let it, then look again.
        del cells
        time.sleep(0)
        cells = trace.cells()
        launchable = launchables.find(key, _numbers(cells))
    hit = launchable is not None
    if launchable is None:
        launchable = launchables.add(key, _prepare(trace, _numbers(cells)))
    lines = Lines(partial(_where, trace.log), launchable.cut.nodes)
    report_host_nodes(launchable.executable, lines)
    buffers = _run(trace, launchable, lines, wait=_is_waited_for(cause))
    for number, dims in launchable.varying:
        buffers[number].varying = dims
    _hand_out(buffers, trace, cells)
    emit(_event(trace, launchable, cause, hit, start, lines))
    return buffers


def _is_waited_for(cause: str) -> bool:
    """Whether the caller waits for this launch alone, so that it may as well run on the caller's thread."""
    return cause == "value" or (cause == "synchronize" and recorder.one_stream)


def _hand_out(buffers: dict[int, Buffer], trace: Trace, cells: list[tuple[Cell, int]]) -> None:
    """Give each cell its value's memory, but where another thread gave it another value meanwhile."""
    for cell, number in cells:
        buffer = buffers.get(number)
        # Atomic from here on: see trace.py.
        if cell.trace is trace and cell.number == number:
            cell.buffer = buffer


def _numbers(cells: list[tuple[Cell, int]]) -> tuple[int, ...]:
    """The values that the cells hold."""
    return tuple(sorted({number for _, number in cells}))


def _event(trace: Trace, launchable: Launchable, cause: str, hit: bool, start: float, lines: Lines) -> Flush:
    return Flush(
        where=source_line(here()),
        cause=cause,
        nodes=trace.nodes,
        outputs=len(launchable.cut.graph.outputs),
        hit=hit,
        graph=launchable.executable.name,
        launches=launchable.executable.launches,
        record_s=start - trace.started,
        launch_s=time.perf_counter() - start,
        lines=lines.all,
    )


def _prepare(trace: Trace, outputs: tuple[int, ...]) -> Launchable:
    part = cut(trace, outputs)
    marked = marked_dims([trace.inputs[i][0] for i in part.inputs], part.graph.inputs)
    executable, syms = compiler.executable_for(part.graph, trace.where(part.nodes[0]), marked=marked)
    varying = [(o, varying_dims(executable.graph.specs[v])) for o, v in zip(outputs, part.graph.outputs, strict=True)]
    return Launchable(executable, syms, part, outputs, tuple((o, dims) for o, dims in varying if dims))


def _run(trace: Trace, launchable: Launchable, lines: Lines, wait: bool) -> dict[int, Buffer]:
    def launched(outputs: list[Buffer]) -> None:
        trace.made = dict(zip(launchable.outputs, outputs, strict=True))

    executable, syms = launchable.executable, launchable.syms
    inputs = [trace.inputs[i][0] for i in launchable.cut.inputs]
    scalars = [trace.scalars[i] for i in launchable.cut.scalars]
    threads = torch.get_num_threads()
    free = _free(trace, inputs, executable.may_lend(syms, threads))
    errors = lines.kernel_error, wait, lines.host_error
    executable.run(trace.stream, inputs, scalars, syms, threads, *errors, free, launched)
    assert trace.made is not None
    return trace.made


def _free(trace: Trace, inputs: list[Buffer], candidates: tuple[int, ...]) -> tuple[int, ...]:
    """Which of the candidates' buffers nobody refers to but the trace and `inputs`."""
    stream = trace.stream
    return tuple(
        [i for i in candidates if getrefcount(inputs[i]) == _REFERENCES and inputs[i].may_be_handed_over(stream)]
    )


def _count_references() -> int:
    """What `getrefcount` says of a buffer that only a trace and a list of inputs refer to."""
    inputs = [object()]
    trace_inputs = [(inputs[0], None)]
    assert trace_inputs
    return getrefcount(inputs[0])


_REFERENCES = _count_references()


def _where(log: list[Any], node: int) -> SourceLine | None:
    """`Trace.where` for a trace that may have been cleared, by its log."""
    return source_line((log[3 * node], log[3 * node + 1]))


class Lines:
    """Turns what goes wrong in a launch into the user's error, with the line of the op: `where` knows that of each
    recorded node, of which the graph's are `nodes`."""

    def __init__(self, where: Callable[[int], SourceLine | None], nodes: tuple[int, ...]) -> None:
        self._where = where
        self._nodes = nodes

    def kernel_error(self, launch: Launch, word: tuple[int, int, int, int]) -> Exception:
        """The error of a kernel's error word."""
        code, ordinal, value, bound = word
        node = launch.nodes[ordinal] if 0 <= ordinal < len(launch.nodes) else None
        return _error(code, value, bound, None if node is None else self.of(node))

    def host_error(self, launch: HostLaunch, error: BaseException) -> BaseException:
        """The error that PyTorch raised when it ran an op on the CPU."""
        where = self.of(launch.node)
        if where is not None and len(error.args) == 1 and isinstance(error.args[0], str):
            error.args = (f"{error.args[0]} (recorded at {where})",)
        return error

    def of(self, node: int) -> SourceLine | None:
        """The line of the graph's node of this number."""
        return self._where(self._nodes[node])

    def all(self) -> list[SourceLine | None]:
        """The lines of all of the graph's nodes, in order."""
        return list(map(self._where, self._nodes))


def report_host_nodes(executable: compiler.Executable, lines: Lines) -> None:
    """Warn, or raise where fallbacks are forbidden, and tell which nodes of the plan run on the CPU; not in a run with
    the reference executor, where all do."""
    if options.compile == "reference":
        return
    for node, reason in executable.host.items():
        where, op = lines.of(node), executable.graph.nodes[node].op
        check_fallback(op, reason, where)
        emit(Fallback(where=where, op=op, cause="no_lowering", reason=reason))


def _error(code: int, value: int, bound: int, where: SourceLine | None) -> Exception:
    at = f" (recorded at {where})" if where else ""
    if code == ERROR_INDEX:
        return IndexError(f"index {value} is out of bounds for a dimension of size {bound}{at}")
    if code == ERROR_DIVISION:
        return RuntimeError(f"ZeroDivisionError{at}")  # in eager's words
    if code >= ERROR_VALUE:
        return RuntimeError(VALUE_CHECKS[code - ERROR_VALUE].format(value, bound) + at)
    return RuntimeError(f"a check failed on the device: {value} against {bound}{at}")
