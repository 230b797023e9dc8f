"""`torch.mlirdev.Stream` and `Event`, as `torch.cuda`'s.

They are torch's own classes by inheritance, so that `Tensor.record_stream` and `torch.accelerator` take them;
PyTorch's Python device guard knows one stream only, so every method is ours. What a stream is lies in `runtime/`;
what it means for recordings in `lazy/streams.py`.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import torch

from mlirdev import runtime
from mlirdev.backend.devices import NAME, DeviceArg, device_index
from mlirdev.lazy import streams

_DEVICE_TYPE: int = torch._C._autograd.DeviceType.PrivateUse1.value


class Stream(torch.Stream):
    """A queue of work of its own. `priority` is accepted and has no effect; `stream_id` names a stream that exists."""

    def __new__(cls, device: DeviceArg = None, priority: int = 0, *, stream_id: int | None = None, **_: Any) -> Stream:
        device_index(device)
        native = streams.new() if stream_id is None else streams.by_number(stream_id)
        return super().__new__(cls, stream_id=native.number, device_index=0, device_type=_DEVICE_TYPE)

    @property
    def native(self) -> runtime.Stream:
        """The runtime's stream."""
        return streams.by_number(self.stream_id)

    def wait_event(self, event: torch.Event) -> None:
        """Work recorded on this stream from now on runs after `event`; the caller doesn't wait."""
        streams.wait_event(self.native, _our_event(event).native)

    def wait_stream(self, stream: torch.Stream) -> None:
        """Work recorded on this stream from now on runs after what is recorded on `stream` so far."""
        streams.wait_stream(self.native, native_stream(stream))

    def record_event(self, event: torch.Event | None = None) -> Event:
        """An event that completes when the work recorded on this stream so far is done."""
        recorded = Event() if event is None else _our_event(event)
        streams.record_event(recorded.native, self.native)
        return recorded

    def query(self) -> bool:
        """Is all work recorded on this stream so far done?"""
        return streams.query(self.native)

    def synchronize(self) -> None:
        """Wait for all work recorded on this stream so far, and raise what it raised."""
        streams.synchronize(self.native)

    def __enter__(self) -> Stream:
        context = stream(self)
        context.__enter__()
        _entered.contexts.append(context)
        return self

    def __exit__(self, *error: Any) -> None:
        _entered.contexts.pop().__exit__(*error)

    def __repr__(self) -> str:
        return f"torch.{NAME}.Stream(stream_id={self.stream_id})"

    def __reduce__(self) -> Any:
        raise TypeError("a stream can't be pickled")


class _Entered(threading.local):
    """The contexts of the streams that this thread has entered with `with`, innermost last."""

    def __init__(self) -> None:
        self.contexts: list[stream] = []


_entered = _Entered()


class Event(torch.Event):
    """A point in a stream's work. `elapsed_time` is wall time in milliseconds and wants `enable_timing=True`."""

    native: runtime.Event
    timed: bool

    def __new__(
        cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, device: DeviceArg = None
    ) -> Event:
        if interprocess:
            raise ValueError(f"{NAME} events can't be shared between processes; make one in each process")
        device_index(device)
        event = super().__new__(cls, NAME, enable_timing=enable_timing)
        event.native = runtime.Event()
        event.timed = enable_timing
        return event

    def record(self, stream: torch.Stream | None = None) -> None:
        """Complete when the work recorded on `stream` (default: the current one) so far is done."""
        streams.record_event(self.native, streams.current() if stream is None else native_stream(stream))

    def wait(self, stream: torch.Stream | None = None) -> None:
        """Work recorded on `stream` (default: the current one) from now on runs after this event."""
        streams.wait_event(streams.current() if stream is None else native_stream(stream), self.native)

    def query(self) -> bool:
        """Is the work before the last record done?"""
        return self.native.query()

    def synchronize(self) -> None:
        """Wait for the work before the last record, and raise what it raised."""
        streams.synchronize_event(self.native)

    def elapsed_time(self, end_event: torch.Event) -> float:
        """Milliseconds of wall time from this event to `end_event`."""
        if not isinstance(end_event, Event) or not (self.timed and end_event.timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        return self.native.elapsed_time(end_event.native)

    def __repr__(self) -> str:
        return f"torch.{NAME}.Event({'complete' if self.query() else 'pending'})"


class stream:
    """Context manager: this thread records on a stream. None changes nothing."""

    def __init__(self, stream: torch.Stream | None) -> None:
        self.stream = stream
        self._inner: contextlib.AbstractContextManager[None] = contextlib.nullcontext()

    def __enter__(self) -> None:
        if self.stream is not None:
            self._inner = streams.recording_on(native_stream(self.stream))
        self._inner.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._inner.__exit__(*error)


def current_stream(device: DeviceArg = None) -> Stream:
    """The stream that this thread records on."""
    device_index(device)
    return Stream(stream_id=streams.current().number)


def default_stream(device: DeviceArg = None) -> Stream:
    """The stream that every thread starts on."""
    device_index(device)
    return Stream(stream_id=streams.default().number)


def set_stream(stream: torch.Stream | None) -> None:
    """Record on `stream` in this thread from now on. None changes nothing."""
    if stream is not None:
        streams.record_on(native_stream(stream))


def get_raw_stream(device: int) -> int:
    """The current stream's number."""
    return current_stream(device).stream_id


def synchronize(device: DeviceArg = None) -> None:
    """Launch everything recorded on any stream and wait for it; raise the first failure that nobody has seen."""
    device_index(device)
    streams.synchronize_device()


def native_stream(stream: torch.Stream) -> runtime.Stream:
    """The runtime's stream of any torch.Stream on the device."""
    if not isinstance(stream, torch.Stream) or stream.device_type != _DEVICE_TYPE:
        raise ValueError(f"expected a {NAME} stream, but got {stream!r}")
    return streams.by_number(stream.stream_id)


def _our_event(event: torch.Event) -> Event:
    if not isinstance(event, Event):
        raise ValueError(f"expected a torch.{NAME}.Event, but got {event!r}")
    return event
