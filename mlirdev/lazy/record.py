"""Recording nodes: the long way, for any op; quick.py has a shorter one for calls like those met before.

Each of these is a loop around the atomic step of trace.py: numbers are looked up, and if somebody else
recorded or flushed before they were used, looked up again.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from types import CodeType

from mlirdev.lazy.layouts import Layout
from mlirdev.lazy.lines import forward, getframe, is_grad_enabled, sequence_number, where_of
from mlirdev.lazy.trace import Cell, Entry, Trace, current_trace, enter, new_cell, recorder

Scalars = Sequence["float | int | bool"]


def record(entry: Entry, cells: Sequence[Cell], scalars: Scalars = ()) -> tuple[Cell, ...]:
    """Record a node whose operands are these cells' values now; a cell per result."""
    if len(entry.outputs) == 1:
        return (record_one(entry, cells, scalars),)
    results = tuple([new_cell(layout) for layout in entry.outputs])
    code, at = where_of(getframe(1))
    log = (code, at, tuple([weakref.ref(cell) for cell in results]))
    while True:
        trace = _open_trace(entry)
        words = (entry, *[cell.number if cell.trace is trace else enter(trace, cell) for cell in cells])
        number = after = trace.count
        for cell in results:
            cell.trace, cell.number = trace, after
            after += 1
        # Atomic from here on: see trace.py.
        if trace.count == number and not trace.closed:
            trace.count = after
            trace.code += words
            trace.scalars += scalars
            trace.log += log
            break
    _recorded(trace, after, log)
    return results


def record_one(entry: Entry, cells: Sequence[Cell], scalars: Scalars = ()) -> Cell:
    """`record` for an op of one result."""
    result = new_cell(entry.layout)
    code, at = where_of(getframe(1))
    log = (code, at, weakref.ref(result))
    while True:
        trace = _open_trace(entry)
        words = (entry, *[cell.number if cell.trace is trace else enter(trace, cell) for cell in cells])
        # Atomic from here on: see trace.py.
        if not trace.closed:
            result.trace, result.number = trace, trace.count
            trace.count += 1
            trace.code += words
            trace.scalars += scalars
            trace.log += log
            break
    _recorded(trace, result.number + 1, log)
    return result


def record_chain(entries: Sequence[Entry], cell: Cell) -> Cell:
    """Record nodes of one operand and one result each, one after the other; the last one's result."""
    if not entries:
        return cell
    result = new_cell(entries[-1].layout)
    code, at = where_of(getframe(1))
    log = (code, at, None) * (len(entries) - 1) + (code, at, weakref.ref(result))
    while True:
        trace = _open_trace(entries[0])
        first = cell.number if cell.trace is trace else enter(trace, cell)
        number = after = trace.count
        words: list[Entry | int] = []
        for entry in entries:
            words += (entry, first)
            first, after = after, after + 1
        # Atomic from here on: see trace.py.
        if trace.count == number and not trace.closed:
            result.trace, result.number = trace, first
            trace.count = after
            trace.code += words
            trace.log += log
            break
    _recorded(trace, after, log)
    return result


def record_inside(trace: Trace, entries: Sequence[Entry], first: int, code: CodeType | None, at: int) -> int:
    """`record_chain` on value number `first` of `trace`, for a node that is about to be recorded there: no cell holds
    the result, whose number this is. If the trace is closed meanwhile, it means nothing."""
    log = (code, at, None) * len(entries)
    while True:
        number = after = trace.count
        operand = first
        words: list[Entry | int] = []
        for entry in entries:
            words += (entry, operand)
            operand, after = after, after + 1
        # Atomic from here on: see trace.py.
        if trace.closed:
            return operand
        if trace.count == number:
            trace.count = after
            trace.code += words
            trace.log += log
            return operand


def record_each(entries: Sequence[Entry], columns: Sequence[Sequence[Cell]], scalars: Scalars = ()) -> list[Cell]:
    """Record nodes of one result each in one go: node i's operands are the i-th cells of the columns, and its numbers
    the next of `scalars`."""
    results = [new_cell(entry.layout) for entry in entries]
    code, at = where_of(getframe(1))
    log: list[object] = [code, at, None] * len(results)
    log[2::3] = [weakref.ref(cell) for cell in results]
    width = 1 + len(columns)
    while True:
        trace = _open_trace(entries[0])
        words: list[Entry | int] = [0] * (width * len(results))
        words[::width] = entries
        for place, cells in enumerate(columns, 1):
            words[place::width] = [cell.number if cell.trace is trace else enter(trace, cell) for cell in cells]
        number = after = trace.count
        for cell in results:
            cell.trace, cell.number = trace, after
            after += 1
        # Atomic from here on: see trace.py.
        if trace.count == number and not trace.closed:
            trace.count = after
            trace.code += words
            trace.scalars += scalars
            trace.log += log
            break
    _recorded(trace, after, (code, at))
    return results


def hold(trace: Trace, number: int, layout: Layout) -> Cell | None:
    """A cell for a value that `trace` has already; None if it is being launched, perhaps without that value."""
    cell = new_cell(layout)
    cell.trace, cell.number = trace, number
    trace.holders.append(weakref.ref(cell))
    return None if trace.closed else cell


def _open_trace(entry: Entry) -> Trace:
    trace = recorder.trace or current_trace()
    return trace if trace.open else recorder.gate(trace, entry.op)


def _recorded(trace: Trace, after: int, log: tuple[object, ...]) -> None:
    if is_grad_enabled():
        forward[sequence_number() - 1] = (log[0], log[1], trace.stream)  # type: ignore[assignment]
    if after > trace.checkpoint:
        recorder.check(trace)
