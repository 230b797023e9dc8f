"""The recording: the one mutable thing.

    storage ──► Cell ──number──► value of a Trace ──► Entry (interned: op + everything in the key)
                     └─buffer──► memory, once the value was launched

A Trace is a few flat, append-only lists; recording an op extends them and makes one Cell. Values are
numbered in the order of recording; an input (memory that exists already) is -1, -2, … `code` holds, per
node, its Entry and then its operands' numbers, so `tuple(code)` is the key of the whole recording.

Threads. There is no lock on the way of an op: CPython switches threads (and runs signal handlers) only
after a call or a jump back, so statements without a call in them, from `if trace.open` to the last
append, are atomic. A flush closes its trace first; who finds it closed starts again with the next one.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mlirdev.errors import InternalError
from mlirdev.events import SourceLine
from mlirdev.graph import Arg, Node, Ref, ScalarRef, TensorSpec, walk_args
from mlirdev.lazy.layouts import Layout
from mlirdev.lazy.lines import source_line, stream_of_backward

if TYPE_CHECKING:
    from mlirdev.runtime.buffer import Buffer
    from mlirdev.runtime.stream import Stream

# How often a trace looks at its size: every so many values.
CHECK_EVERY = 256


class Entry:
    """An op with everything about it that is part of the key: interned, so identity is equality.

    `template` is the Graph node's arguments with operands and scalars numbered from 0. `outputs` are the
    layouts of the node's results, in order: those that it makes, of the overload's `slots`. `moving` are the places of
    the arguments that hold operands or scalars.
    """

    __slots__ = ("arity", "layout", "moving", "nbytes", "op", "outputs", "results", "scalars", "slots", "template")

    def __init__(
        self,
        op: str,
        template: tuple[Arg, ...],
        arity: int,
        scalars: tuple[str, ...],
        slots: tuple[Layout | None, ...],
    ) -> None:
        self.op = op
        self.template = template
        self.moving = tuple(i for i, a in enumerate(template) if any(map(_moves, walk_args((a,)))))
        self.arity = arity
        self.scalars = scalars
        self.slots = slots
        self.outputs = tuple(layout for layout in slots if layout is not None)
        self.layout = self.outputs[0]  # the single result's, for the short way
        self.results: tuple[TensorSpec, ...] = tuple(o.spec for o in self.outputs)
        self.nbytes = sum(o.nbytes for o in self.outputs)

    def returned(self, cells: tuple[Cell, ...]) -> tuple[Cell | None, ...]:
        """What the overload returns, given its node's results: None where the op makes none (output_mask)."""
        if len(cells) == len(self.slots):
            return cells
        made = iter(cells)
        return tuple(None if slot is None else next(made) for slot in self.slots)

    def node(self, operand: Callable[[int], int], scalar: int) -> Node:
        """The Graph node: operand k is value `operand(k)`, scalar k is number `scalar + k`."""
        args = list(self.template)
        for i in self.moving:
            args[i] = _fill(args[i], operand, scalar)
        return Node(self.op, tuple(args), self.results)

    def __repr__(self) -> str:
        return f"Entry({self.op}: {', '.join(map(str, self.results))})"


def _moves(arg: Arg) -> bool:
    return isinstance(arg, Ref | ScalarRef)


def _fill(arg: Arg, operand: Callable[[int], int], scalar: int) -> Arg:
    if isinstance(arg, Ref):
        return Ref(operand(arg.value))
    if isinstance(arg, ScalarRef):
        return ScalarRef(scalar + arg.index)
    return tuple(_fill(a, operand, scalar) for a in arg) if isinstance(arg, tuple) else arg


class Cell:
    """A place that holds a value: value `number` of `trace`, and its memory in `buffer` once it was launched.

    With a buffer, `trace` and `number` only say that this trace knows it as an input; without one the
    value is pending there. A storage's cell changes its value when the storage is written; its `layout`
    is the storage's own.
    """

    __slots__ = ("__weakref__", "buffer", "layout", "number", "trace")

    layout: Layout
    trace: Trace | None
    number: int
    buffer: Buffer | None

    def snapshot(self) -> Cell:
        """Another cell with the same value, which keeps it when this one is written."""
        copy = new_cell(self.layout)
        copy.assign(self)
        return copy

    def assign(self, value: Cell) -> None:
        """Hold `value`'s value from now on."""
        self.trace, self.number, self.buffer = value.trace, value.number, value.buffer
        if value.buffer is None and value.trace is not None:
            value.trace.holders.append(weakref.ref(self))
            # Another thread may be launching: it looks for holders before, and once more when `done` is set.
            if value.trace.done:
                self.buffer = value.buffer


def new_cell(layout: Layout) -> Cell:
    """A cell for a value that is about to be recorded."""
    cell = Cell()
    cell.layout = layout
    cell.buffer = None
    return cell


def cell_of_buffer(layout: Layout, buffer: Buffer) -> Cell:
    cell = Cell()
    cell.layout, cell.trace, cell.number, cell.buffer = layout, None, 0, buffer
    return cell


class Trace:
    """One stream's recording since its last flush."""

    __slots__ = ("checkpoint", "closed", "code", "count", "done", "first", "holders", "inputs", "log", "made",
                 "open", "pending_bytes", "private", "scalars", "seen", "started", "stream", "views")  # fmt: skip

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.open = True  # the short ways may record into it
        self.closed = False  # nobody may
        self.done = False  # was launched
        self.made: dict[int, Buffer] | None = None  # its values' memory, once they can't be unmade
        self.private = False  # is never launched: see private.py
        self.count = 0  # values
        self.code: list[Any] = []  # Entry, operand numbers, Entry, …
        self.scalars: list[float | int | bool] = []
        # Code object, instruction (lines.py) and weak reference to the result's cell (or a tuple of them), per node.
        self.log: list[Any] = []
        self.holders: list[weakref.ref[Cell]] = []  # more cells that may be pending here
        self.inputs: list[tuple[Buffer, Layout]] = []
        self.views: dict[Any, int] = {}  # views read so far (views.py), by value and geometry
        # See limits.py. The first op's check notes where the trace begins.
        self.checkpoint = 0
        self.first: Any = None
        self.started = 0.0
        self.pending_bytes = 0
        self.seen = 0  # how much of `code` pending_bytes counts

    @property
    def nodes(self) -> int:
        return len(self.log) // 3

    def where(self, node: int) -> SourceLine | None:
        """The user's line that recorded a node."""
        return source_line((self.log[3 * node], self.log[3 * node + 1]))

    def clear(self) -> None:
        """Let go of everything: cells may refer to a launched trace for long."""
        self.code, self.scalars, self.log, self.holders, self.inputs = [], [], [], [], []
        self.views = {}
        self.first = self.made = None

    def cells(self) -> list[tuple[Cell, int]]:
        """The cells whose value is pending here, with its number: what a launch must produce. Each once."""
        references = list(self.holders)
        for entry in self.log[2::3]:
            if type(entry) is tuple:
                references += entry
            elif entry is not None:
                references.append(entry)
        return self._pending(references)

    def late_cells(self) -> list[tuple[Cell, int]]:
        """The same of those that took a value over; others can't have come since the trace was closed."""
        return self._pending(list(self.holders))

    def _pending(self, references: list[weakref.ref[Cell]]) -> list[tuple[Cell, int]]:
        found = {}
        for reference in references:
            cell = reference()
            # Their numbers are read with their trace: another thread may give a cell another value meanwhile.
            if cell is not None and cell.trace is self and cell.buffer is None:
                found[cell] = cell.number
        return [*found.items()]

    def input(self, buffer: Buffer, layout: Layout) -> int:
        """The number of a new input. Which memory it is doesn't matter: that two values share some may be chance
        (both are ones, say), and must not make another graph."""
        self.inputs += ((buffer, layout),)  # no call before its length is read, as above
        return -len(self.inputs)


class _Current(threading.local):
    stream: Stream | None = None
    private: Trace | None = None


class Recorder:
    """Which trace an op goes to. `trace` is the default stream's as long as there is no other stream and nobody
    records privately, so that the common case is one attribute; else None, and `current_trace` looks."""

    def __init__(self) -> None:
        self.trace: Trace | None = None
        self.traces: dict[Stream, Trace] = {}
        self.parked: list[Trace] = []  # closed, not launched yet: their flush failed or was interrupted
        self.default_stream: Stream | None = None
        self.one_stream = True  # nobody has recorded on another than the default one
        self.private = 0  # how many threads record privately
        self.current = _Current()
        self.backward_streams: set[Stream] = set()  # streams of their own, on which backward ops were recorded
        # Set by setup.py, since what they call lies above this module.
        self.flush: Callable[[Trace, str], None] = _not_started
        self.check: Callable[[Trace], None] = _not_started
        self.gate: Callable[[Trace, str], Trace] = _not_started


def _not_started(*_: Any) -> Any:
    raise InternalError("recording began before mlirdev.lazy.setup.ensure()")


recorder = Recorder()


def start(stream: Stream) -> None:
    """Record on `stream` by default."""
    recorder.default_stream = stream
    recorder.trace = recorder.traces[stream] = Trace(stream)


def current_stream() -> Stream:
    """The stream that this thread records on: its own, or in a backward pass that of the forward op."""
    stream = recorder.current.stream or _stream_of_backward() or recorder.default_stream
    assert stream is not None, "the device isn't initialised"
    return stream


def _stream_of_backward() -> Stream | None:
    stream: Stream | None = stream_of_backward()
    if stream is not None and stream is not recorder.default_stream:
        recorder.backward_streams.add(stream)
    return stream


def set_stream(stream: Stream) -> None:
    """Record on `stream` in this thread from now on."""
    recorder.current.stream = stream
    if stream is not recorder.default_stream:
        recorder.one_stream = False
        choose_trace()


def choose_trace() -> None:
    """Have `recorder.trace` be what it should be."""
    default = recorder.default_stream
    if default is None or not recorder.one_stream or recorder.private:
        recorder.trace = None
        return
    # Another thread may put a new trace in its place, before it is seen here.
    while recorder.trace is not recorder.traces[default]:
        recorder.trace = recorder.traces[default]


def trace_of(stream: Stream) -> Trace:
    """The open trace of a stream."""
    trace = recorder.traces.get(stream)
    return trace if trace is not None else recorder.traces.setdefault(stream, Trace(stream))


def current_trace() -> Trace:
    return recorder.trace or recorder.current.private or trace_of(current_stream())


def renew(trace: Trace) -> None:
    """Close a trace and put an empty one in its place."""
    trace.open, trace.closed = False, True
    if recorder.traces.get(trace.stream) is not trace:
        return
    fresh = recorder.traces[trace.stream] = Trace(trace.stream)
    if recorder.trace is trace:
        recorder.trace = fresh


def enter(trace: Trace, cell: Cell) -> int:
    """The number of a cell's value in `trace`. A value that is pending in another trace is launched first:
    the order between streams is the user's events, so nothing waits here, but where autograd chose the stream:
    as on CUDA it orders a backward op behind what it reads, and what reads gradients behind the pass."""
    if cell.trace is trace:
        return cell.number
    if cell.buffer is None:
        if cell.trace is None:
            raise InternalError("a storage without a value")
        recorder.flush(cell.trace, "cross_stream")
    buffer = cell.buffer
    assert buffer is not None
    if buffer.stream is not trace.stream:
        order(trace.stream, buffer.stream)
    layout = cell.layout
    number = trace.input(buffer, layout if layout.stride is None else layout.dense)
    cell.trace, cell.number = trace, number
    return number


def order(stream: Stream, source: Stream) -> None:
    """Let what `stream` runs from now on come behind what `source` writes, where autograd chose one of the two."""
    if source in recorder.backward_streams or stream_of_backward() is not None:
        stream.wait_stream(source)
