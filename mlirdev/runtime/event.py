"""An Event: a point in a stream's history that can be asked for, waited for, and timed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlirdev.runtime.stream import Stream
    from mlirdev.runtime.task import Task


class Mark:
    """One recording of an event: the end of `task`, or, of a stream that was idle, the time of recording."""

    __slots__ = ("_nanoseconds", "stream", "task", "ticket")

    def __init__(self, stream: Stream, ticket: int, task: Task | None) -> None:
        self.stream = stream
        self.ticket = ticket
        self.task = task
        self._nanoseconds = time.perf_counter_ns() if task is None else 0

    @property
    def nanoseconds(self) -> int:
        """When it was reached."""
        return self.task.nanoseconds if self.task is not None else self._nanoseconds

    def query(self) -> bool:
        return self.task is None or self.stream.is_done(self.ticket)

    def wait(self) -> None:
        if self.task is not None:
            self.stream.wait_for(self.ticket)


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
        if not self.query() or not end.query():
            raise RuntimeError(
                "Both events must be completed before calculating elapsed time; call synchronize() on them first."
            )
        return (end.mark.nanoseconds - self.mark.nanoseconds) / 1e6
