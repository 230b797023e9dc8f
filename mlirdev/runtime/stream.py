"""A Stream: tasks that run one after the other, in the order in which they were enqueued.

    enqueue(task) ─► queue ─► whoever has the turn: the stream's worker thread, or a thread that waits

Every task has a ticket, its position in the stream's history; `_done` counts the tasks that are through.
A worker thread is started by the first task that nobody waits for. A thread that waits doesn't sleep
while the queue stands still: it takes the turn and runs the tasks itself, up to the ticket it waits for,
since a hand-over between threads costs more than a small plan.

Waiting in a circle is impossible: a task can wait only for tickets that existed before it was enqueued.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from mlirdev.runtime.event import Event, Mark

if TYPE_CHECKING:
    from mlirdev.runtime.device import Device

Task = Callable[[], None]


class Stream:
    """See the module's docstring. Made by `Device.new_stream()`; safe to use from any thread."""

    def __init__(self, device: Device, number: int) -> None:
        self.device = device
        self.number = number
        # Reentrant: a finaliser that the garbage collector runs inside may use the stream again.
        self._lock = threading.RLock()
        self._has_work = threading.Condition(self._lock)
        self._progress = threading.Condition(self._lock)
        self._queue: deque[Task] = deque()
        self._taken = 0
        self._done = 0
        self._runner = 0  # the ident of the thread that has the turn
        self._worker: threading.Thread | None = None

    def __repr__(self) -> str:
        return f"Stream({self.number}, {self.ticket - self._done} tasks pending)"

    @property
    def ticket(self) -> int:
        """The ticket of the last task enqueued so far."""
        return self._taken + len(self._queue)

    def enqueue(self, task: Task) -> int:
        """Run `task` after everything enqueued before; returns at once, with the task's ticket."""
        self.device.check()
        with self._lock:
            self._queue.append(task)
            if self._worker is None:
                self._start_worker()
            if not self._runner:
                self._has_work.notify()
            return self.ticket

    def run(self, task: Task) -> None:
        """Like `enqueue`, but wait for the task; on an idle stream it runs on this thread."""
        self.device.check()
        with self._lock:
            self._queue.append(task)
            ticket = self.ticket
        self.wait_for(ticket)

    def is_done(self, ticket: int) -> bool:
        return self._done >= ticket

    def wait_for(self, ticket: int) -> None:
        """Return when the task of this ticket is through. Raises nothing of what tasks raised."""
        while self._done < ticket:
            if self._runner == threading.get_ident():
                raise RuntimeError(f"a task on {self!r} waits for its own stream, which would never end")
            if self._help(ticket):
                continue
            with self._lock:
                while self._runner and self._done < ticket:
                    self._progress.wait()

    def settle(self, ticket: int) -> bool:
        """Wait as `wait_for` does, but from inside a task of this stream only look."""
        if self._runner != threading.get_ident():
            self.wait_for(ticket)
        return self._done >= ticket

    def query(self) -> bool:
        """Is everything enqueued so far through?"""
        self.device.check()
        return self._done >= self.ticket

    def synchronize(self) -> None:
        """Wait for everything enqueued so far; raise the first failure on this stream that nobody has seen."""
        self.device.check()
        self.wait_for(self.ticket)
        self.device.failures.raise_first(self)

    def record_event(self, event: Event | None = None) -> Event:
        """An event that is complete when everything enqueued so far is through."""
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Run what is enqueued from now on only after the event's last record so far. The caller doesn't wait."""
        mark = event.mark
        if mark is None or mark.stream is self or mark.query():
            return
        self.enqueue(mark.wait)

    def wait_stream(self, stream: Stream) -> None:
        """Run what is enqueued from now on only after what is enqueued on `stream` so far."""
        self.wait_event(stream.record_event())

    def mark(self) -> Mark:
        """A point behind everything enqueued so far."""
        mark = Mark(self)
        mark.place()
        return mark

    def place(self, reach: Task) -> int:
        """Enqueue an event's mark, which on an idle stream is reached at once; returns its ticket."""
        self.device.check()
        with self._lock:
            idle = not self._runner and not self._queue
        if not idle:
            return self.enqueue(reach)
        reach()
        return self._done

    # --- running tasks -----------------------------------------------------------------------------

    def _start_worker(self) -> None:
        name = f"mlirdev-stream-{self.number}"
        self._worker = threading.Thread(target=self._work, name=name, daemon=True)
        self._worker.start()

    def _work(self) -> None:
        while True:
            with self._lock:
                while self._runner or not self._queue:
                    self._has_work.wait()
                self._runner = threading.get_ident()
            self._run_queue(None)

    def _help(self, ticket: int) -> bool:
        """Run tasks up to `ticket` on this thread; False if another thread has the turn."""
        with _deferred_interrupts():
            with self._lock:
                if self._runner:
                    return False
                self._runner = threading.get_ident()
            self._run_queue(ticket)
        return True

    def _run_queue(self, ticket: int | None) -> None:
        """With the turn: run tasks up to `ticket`, or until the queue is empty; then give up the turn."""
        while self._queue and (ticket is None or self._done < ticket):
            task = self._queue.popleft()
            self._taken += 1
            try:
                task()
            except BaseException as error:
                self.device.failures.add(self, error)
            # What the task refers to dies here, and not only when the next one comes.
            del task
            with self._lock:
                self._done += 1
                self._progress.notify_all()
        with self._lock:
            self._runner = 0
            self._progress.notify_all()
            if self._queue:
                self._has_work.notify()


@contextlib.contextmanager
def _deferred_interrupts() -> Iterator[None]:
    """On the main thread, hold Ctrl-C back until the block is left: a task is done whole or not at all."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):
        yield
        return
    arrived: list[Any] = []
    signal.signal(signal.SIGINT, lambda number, frame: arrived.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if arrived:
        signal.raise_signal(signal.SIGINT)
