"""When a trace is launched though nobody needs a value: it has grown long, or ops aren't recorded at all.

A never-ending trace would hold all its values' memory. So past a soft limit of nodes or bytes it is cut,
at the place where the program's loop comes round: the op that is called where the trace's first op was,
from the same call stack. Each turn of the loop then gives the same graph. At twice the limit it is cut
anywhere.

    first op: note the place ─► every CHECK_EVERY values: how long? ─► past the limit: every op asks `gate`
"""

from __future__ import annotations

import time
from types import FrameType
from typing import Any

from mlirdev.lazy.flush import flush, flush_stream
from mlirdev.lazy.lines import Where, forget_old, getframe, is_user_file, where_of
from mlirdev.lazy.trace import CHECK_EVERY, Trace, current_stream, current_trace, recorder
from mlirdev.options import options, watch


def check(trace: Trace) -> None:
    """Called after a trace's first op, then now and then; in the other modes after each op."""
    if options.mode != "lazy":
        flush(trace, "mode")
        if options.mode == "blocking":
            trace.stream.synchronize()
        return
    if trace.first is None:
        trace.first = trace.code[0].op, user_stack(getframe(1)) or (trace.log[0], trace.log[1])
        trace.started = time.perf_counter()
    trace.checkpoint = trace.count + max(1, min(CHECK_EVERY, options.max_nodes - trace.nodes))
    forget_old()
    if _length(trace) >= 1:
        # From now on each op takes the long way, past `gate`.
        trace.open = False


def gate(trace: Trace, op: str) -> Trace:
    """The trace to record `op` in, when `trace` isn't open: itself, or a new one after launching it."""
    if trace.closed:
        return current_trace()
    frame = getframe(1)
    if _length(trace) >= 2 or trace.first == (op, user_stack(frame) or where_of(frame)):
        flush(trace, "limit")
        return current_trace()
    return trace


def _length(trace: Trace) -> float:
    """How long a trace is, in units of the soft limit."""
    seen, trace.seen = trace.seen, len(trace.code)
    trace.pending_bytes += sum(entry.nbytes for entry in trace.code[seen:] if type(entry) is not int)
    return max(trace.nodes / options.max_nodes, trace.pending_bytes / (options.max_pending_mb << 20))


def user_stack(frame: FrameType | None) -> tuple[Where, ...]:
    """The places of the user's on the call stack; none on autograd's own thread."""
    stack: list[Where] = []
    while frame is not None:
        if is_user_file[frame.f_code.co_filename]:
            stack.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return tuple(stack)


def after_step(*_: Any) -> None:
    """PyTorch calls this after each optimizer's step: a training loop's turn is over."""
    stream = current_stream()
    trace = recorder.traces.get(stream)
    if trace is not None and trace.count:
        flush_stream(stream, "step")


def _mode_changed() -> None:
    for trace in recorder.traces.values():
        trace.checkpoint = 0


watch("mode", _mode_changed)
