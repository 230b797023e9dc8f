"""An Event: a point in a stream's history that can be asked for, waited for, and timed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlirdev.runtime.stream import Stream


class Mark:
    """One recording of an event: reached when the stream comes to it."""

    __slots__ = ("_ticket", "nanoseconds", "stream")

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.nanoseconds: int | None = None
        self._ticket = 0

    def place(self) -> None:
        """Put the mark behind everything enqueued on its stream so far."""
        self._ticket = self.stream.place(self.reach)

    def reach(self) -> None:
        self.nanoseconds = time.perf_counter_ns()

    def query(self) -> bool:
        return self.nanoseconds is not None

    def wait(self) -> None:
        if not self.query():
            self.stream.wait_for(self._ticket)


class Event:
    """As `torch.cuda.Event`: recording again replaces the point; an event never recorded counts as complete."""

    def __init__(self) -> None:
        self.mark: Mark | None = None

    def record(self, stream: Stream) -> None:
        """Complete when everything enqueued on `stream` so far is through."""
        self.mark = stream.mark()

    def wait(self, stream: Stream) -> None:
        """What is enqueued on `stream` from now on runs after this event; the caller doesn't wait."""
        stream.wait_event(self)

    def query(self) -> bool:
        """Has everything before the last record completed?"""
        return self.mark is None or self.mark.query()

    def synchronize(self) -> None:
        """Wait for the last record; raise the first failure on its stream that nobody has seen."""
        if self.mark is None:
            return
        self.mark.stream.device.check()
        self.mark.wait()
        self.mark.stream.device.failures.raise_first(self.mark.stream)

    def elapsed_time(self, end: Event) -> float:
        """Wall time in milliseconds from this event to `end`, both recorded and complete."""
        if self.mark is None or end.mark is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        if self.mark.nanoseconds is None or end.mark.nanoseconds is None:
            raise RuntimeError(
                "Both events must be completed before calculating elapsed time; call synchronize() on them first."
            )
        return (end.mark.nanoseconds - self.mark.nanoseconds) / 1e6
