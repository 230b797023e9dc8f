"""A Stream: tasks that run one after the other, in the order in which they were enqueued.

    submit(task) ─► tape ─► the stream's worker thread, natively
            └─ the stream is idle and the caller waits ─► run on the caller's thread

A worker is started by the first task that nobody waits for; it is native code and takes the GIL for Python
callables only (see `tape`). What needs Python afterwards, errors above all, is seen to by `reap()`: by
whoever next enqueues, asks, waits, or reads a buffer, in stream order. Every task has a ticket, its
position in the stream's history.

While a thread runs a task itself, tasks of other threads are held back, and put on the tape after it.
Waiting in a circle is impossible: a task can wait only for tasks that existed before it was enqueued.
"""

from __future__ import annotations

import importlib
import signal
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from mlirdev.runtime import tape as tapes
from mlirdev.runtime.event import Event, Mark
from mlirdev.runtime.latch import Latch, new_semaphore, sem_post
from mlirdev.runtime.tape import Tape
from mlirdev.runtime.task import Call, Task, Wait
from mlirdev.runtime.timeline import Timeline

if TYPE_CHECKING:
    from mlirdev.runtime.device import Device


class Stream:
    """See the module's docstring. Made by `Device.new_stream()`; safe to use from any thread."""

    def __init__(self, device: Device, number: int) -> None:
        self.device = device
        self.number = number
        self.timeline = Timeline(number)
        self._lock = device.lock
        self._turn_over = threading.Condition(self._lock)
        self._runner = 0  # the ident of the thread that runs a task itself,
        self._running: Task | None = None  # and that task
        self._held: deque[Task] = deque()
        self._in_flight: deque[Task] = deque()  # on the tape, oldest first
        self._last: Task | None = None
        self.ticket = 0  # the ticket of the last task enqueued so far
        self._done = 0  # how many were seen to be through
        self._reaping = False
        self._work = 0  # the worker's semaphore
        self._tapes: deque[Tape] = deque()
        self._worker = 0

    def __repr__(self) -> str:
        return f"Stream({self.number}, {self.ticket - self._done} tasks pending)"

    def enqueue(self, function: Callable[[], None]) -> None:
        """Run a Python callable after everything enqueued before; returns at once."""
        self.submit(Call(function))

    def run(self, function: Callable[[], None]) -> None:
        """Like `enqueue`, but wait for it; on an idle stream it runs on this thread."""
        self.submit(Call(function), wait=True)

    def submit(self, task: Task, wait: bool = False) -> None:
        """Enqueue a task; with `wait`, return when it is through (its failure is noted, not raised)."""
        self.device.check()
        with InterruptsDeferred():
            self.start(task, wait)
        if wait:
            self.finish(task)

    def start(self, task: Task, here: bool) -> None:
        """Enqueue a task, or with `here` run it on this thread if the stream is idle."""
        if here and self._run_here(task):
            return
        with self._lock:
            self.reap()
            if self._runner:
                self._held.append(task)
            else:
                self._write(task)
            self._last = task
            self.ticket += 1

    def run_at_once(self, function: Callable[[], None]) -> bool:
        """Run what takes no time now, if everything enqueued so far is through; nothing starts meanwhile."""
        self.device.check()
        with self._lock:
            self.reap()
            if self._in_flight or self._runner:
                return False
            function()
            return True

    def query(self) -> bool:
        """Is everything enqueued so far through?"""
        self.device.check()
        with self._lock:
            self.reap()
            return self._done == self.ticket

    def synchronize(self) -> None:
        """Wait for everything enqueued so far; raise the first failure on this stream that nobody has seen."""
        self.device.check()
        self.wait_for(self.ticket)
        self.device.failures.raise_first(self)

    def is_done(self, ticket: int) -> bool:
        with self._lock:
            self.reap()
            return self._done >= ticket

    def wait_for(self, ticket: int) -> None:
        """Return when the task of this ticket is through. Raises nothing of what tasks raised."""
        while not self.is_done(ticket):
            self.finish(self._task_at(ticket))

    def runs_here(self) -> bool:
        """Is the calling thread in the middle of a task of this stream?"""
        return threading.get_ident() in (self._runner, self._worker)

    def _task_at(self, ticket: int) -> Task:
        """The task of this ticket, or one before it that isn't through."""
        with self._lock:
            if self._in_flight:
                return self._in_flight[min(len(self._in_flight), ticket - self._done) - 1]
            assert self._last is not None
            return self._running or self._last

    def reap(self, until: Task | None = None) -> None:
        """See to the tasks that are through, in order, up to `until`."""
        if not self._in_flight or not self._in_flight[0].is_through():
            return
        with self._lock:
            if self._reaping:
                return
            self._reaping = True
            while self._in_flight and self._in_flight[0].is_through():
                task = self._in_flight[0]
                self._settle(task)
                self._in_flight.popleft()
                self._done += 1
                if task is until:
                    break
            self._reaping = False

    # --- events --------------------------------------------------------------------------------------

    def record_event(self, event: Event | None = None) -> Event:
        """An event that is complete when everything enqueued so far is through."""
        event = event or Event()
        event.record(self)
        return event

    def mark(self) -> Mark:
        """The point behind everything enqueued so far."""
        self.device.check()
        with self._lock:
            self.reap()
            return Mark(self, self.ticket, self._last if self.ticket > self._done else None)

    def wait_event(self, event: Event) -> None:
        """Run what is enqueued from now on only after the event's last record so far. The caller doesn't wait."""
        mark = event.mark
        if mark is None or mark.stream is self or mark.query():
            return
        latch = mark.task.latch if mark.task is not None else None
        self.submit(Call(mark.wait) if latch is None else Wait(latch))

    def wait_stream(self, stream: Stream) -> None:
        """Run what is enqueued from now on only after what is enqueued on `stream` so far."""
        self.wait_event(stream.record_event())

    # --- running -------------------------------------------------------------------------------------

    def _run_here(self, task: Task) -> bool:
        """Run a task on this thread, if nothing is before it."""
        with self._lock:
            self.reap()
            if self._in_flight or self._runner:
                return False
            self._runner = threading.get_ident()
            self._running = self._last = task
            self.ticket += 1
        task.run()
        with self._lock:
            self._settle(task)
            self._done += 1
            self._runner, self._running = 0, None
            self._turn_over.notify_all()
            while self._held:
                self._write(self._held.popleft())
        return True

    def _write(self, task: Task) -> None:
        """Put a task on the tape."""
        parts = task.parts()
        room = tapes.entries(parts)
        tape = self._tapes[-1] if self._tapes else None
        if tape is None or not tape.has_room(room) or tape.runall is not self.device.runall:
            tape = self._next_tape(room)
        task.latch = Latch()
        tape.append(parts, task.latch.address)
        self._in_flight.append(task)
        sem_post(self._work)

    def _next_tape(self, room: int) -> Tape:
        if not self._work:
            self._work = new_semaphore()
        tape = Tape(self._work, self.device.runall, room + 1)
        self._tapes.append(tape)
        if self._worker:
            # The worker leaves the tape it is on, and finds this one behind it.
            sem_post(self._work)
        else:
            self._start_worker()
        return tape

    def _start_worker(self) -> None:
        worker = threading.Thread(target=self._play_tapes, name=f"mlirdev-stream-{self.number}", daemon=True)
        try:
            worker.start()
        except RuntimeError:  # no more threads: the caller hears of it, and the next task tries again
            self._tapes.clear()
            raise
        self._worker = worker.ident or 0

    def _play_tapes(self) -> None:
        # A signal would end a native wait early. The four that report a fault of the thread's own stay.
        signals = signal.valid_signals() - {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL}
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        while True:
            self._tapes[0].play()
            self._tapes.popleft()

    def _settle(self, task: Task) -> None:
        error = task.settle()
        if error is not None:
            self.device.failures.add(self, error)

    def finish(self, task: Task) -> None:
        """Return when a task that was enqueued is through."""
        while not task.done:
            if self.runs_here():
                raise RuntimeError(f"a task on {self!r} waits for its own stream, which would never end")
            if task.latch is not None:
                task.latch.wait()
                self.reap()
                continue
            with self._lock:
                while self._runner and task.latch is None and not task.done:
                    self._turn_over.wait()


# The functions below signal.py's wrappers, which spend 20 µs on turning handlers into enums.
_fast_signal = importlib.import_module("_signal")


class InterruptsDeferred:
    """On the main thread, holds Ctrl-C back until the block is left: a task is done whole or not at all."""

    __slots__ = ("_arrived", "_handler")

    def __enter__(self) -> None:
        self._arrived = False
        self._handler = None
        if threading.get_ident() == threading.main_thread().ident:
            # None: a handler that isn't Python's, which can't be put back.
            self._handler = _fast_signal.getsignal(signal.SIGINT)
            if self._handler is not None:
                _fast_signal.signal(signal.SIGINT, self._note)

    def __exit__(self, *_: object) -> None:
        if self._handler is not None:
            _fast_signal.signal(signal.SIGINT, self._handler)
            if self._arrived:
                signal.raise_signal(signal.SIGINT)

    def _note(self, number: int, frame: object) -> None:
        self._arrived = True
