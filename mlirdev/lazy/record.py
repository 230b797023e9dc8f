"""Recording one node: the long way, for any op; dispatch.py has shorter ones for the common shapes."""

from __future__ import annotations

import weakref
from collections.abc import Sequence

from mlirdev.lazy.lines import getframe, is_grad_enabled, note, where_of
from mlirdev.lazy.trace import Cell, Entry, current_trace, enter, new_cell, recorder


def record(entry: Entry, cells: Sequence[Cell], scalars: Sequence[float | int | bool] = ()) -> tuple[Cell, ...]:
    """Record a node whose operands are these cells' values now; a cell per result."""
    results = tuple(new_cell(layout) for layout in entry.outputs)
    code, at = where_of(getframe(1))
    log = (code, at, tuple([weakref.ref(cell) for cell in results]))
    while True:
        trace = current_trace()
        if not trace.open:
            trace = recorder.gate(trace, entry.op)
        words = (entry, *[enter(trace, cell) for cell in cells])
        number = trace.count
        after = number
        for cell in results:
            cell.trace, cell.number = trace, after
            after += 1
        # Atomic from here on (see trace.py), unless somebody recorded or flushed meanwhile.
        if trace.count == number and not trace.closed:
            trace.count = after
            trace.code += words
            trace.scalars += scalars
            trace.log += log
            break
    if is_grad_enabled():
        note(code, at, trace.stream)
    if after > trace.checkpoint:
        recorder.check(trace)
    return results
