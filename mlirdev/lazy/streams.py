"""Streams and events where recordings meet them (decision 19): whatever looks at a stream's history or orders
it launches first what is recorded for that stream, with a cause; nothing adds a wait that the user didn't ask for.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from mlirdev.events import Sync, emit
from mlirdev.lazy import setup
from mlirdev.lazy.device import device
from mlirdev.lazy.flush import flush_stream
from mlirdev.lazy.lines import here, source_line
from mlirdev.lazy.trace import current_stream, set_stream
from mlirdev.runtime import Event, Stream


def current() -> Stream:
    """The stream that this thread records on."""
    setup.ensure()
    return current_stream()


def default() -> Stream:
    setup.ensure()
    return device().default_stream


def new() -> Stream:
    """A stream of the device's pool."""
    setup.ensure()
    return device().new_stream()


def by_number(number: int) -> Stream:
    """The stream of this number. Raises ValueError if there is none."""
    setup.ensure()
    streams = device().streams
    if not 0 <= number < len(streams):
        raise ValueError(f"the device has no stream {number}; it has streams 0 to {len(streams) - 1}")
    return streams[number]


def record_on(stream: Stream) -> None:
    """Record on `stream` in this thread from now on."""
    setup.ensure()
    set_stream(stream)


@contextlib.contextmanager
def recording_on(stream: Stream) -> Iterator[None]:
    """Record on `stream` in this thread, inside a `with`."""
    before = current()
    set_stream(stream)
    try:
        yield
    finally:
        set_stream(before)


def record_event(event: Event, stream: Stream) -> None:
    flush_stream(stream, "event")
    event.record(stream)


def wait_event(stream: Stream, event: Event) -> None:
    """What `stream` records from now on runs behind the event. What comes before the event was launched
    when it was recorded."""
    flush_stream(stream, "event")
    stream.wait_event(event)


def wait_stream(stream: Stream, other: Stream) -> None:
    flush_stream(stream, "event")
    flush_stream(other, "event")
    stream.wait_stream(other)


def query(stream: Stream) -> bool:
    flush_stream(stream, "query")
    return stream.query()


def synchronize(stream: Stream) -> None:
    flush_stream(stream, "synchronize")
    start = time.perf_counter()
    stream.synchronize()
    _tell("synchronize", start)


def synchronize_event(event: Event) -> None:
    start = time.perf_counter()
    event.synchronize()
    _tell("event", start)


def synchronize_device() -> None:
    """Launch what is recorded for any stream, and wait for all of it."""
    setup.ensure()
    device().check()
    for stream in device().streams:
        flush_stream(stream, "synchronize")
    start = time.perf_counter()
    device().synchronize()
    _tell("synchronize", start)


def _tell(cause: str, start: float) -> None:
    emit(Sync(where=source_line(here()), cause=cause, seconds=time.perf_counter() - start))
