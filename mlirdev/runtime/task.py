"""Tasks: what a stream runs, in parts for its worker's tape or whole on a thread that waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from mlirdev.runtime.latch import SEM_POST, SEM_WAIT, Latch
from mlirdev.runtime.tape import Part


class Task:
    """Base of all tasks. Through when `done` is set, or its latch is open; `finish()` follows in Python."""

    __slots__ = ("done", "latch", "nanoseconds")

    def __init__(self) -> None:
        self.done = False
        self.latch: Latch | None = None  # once it is on a tape
        self.nanoseconds = 0  # when it was seen to be through

    def is_through(self) -> bool:
        return self.done or (self.latch is not None and self.latch.is_open())

    def parts(self) -> Sequence[Part]:
        """What the worker runs."""
        raise NotImplementedError

    def run(self) -> None:
        """Run the same on this thread. Doesn't raise."""
        raise NotImplementedError

    def finish(self) -> BaseException | None:
        """Look after what it left, once, with the GIL and in stream order; its failure, if it is a new one."""
        return None

    def settle(self) -> BaseException | None:
        """Mark it done; its failure, if it is a new one."""
        if not self.nanoseconds:
            self.nanoseconds = time.perf_counter_ns()
        try:
            return self.finish()
        except Exception as error:
            return error
        finally:
            self.done = True


class Call(Task):
    """Runs a Python callable."""

    __slots__ = ("_error", "_function")

    def __init__(self, function: Callable[[], None]) -> None:
        super().__init__()
        self._function: Callable[[], None] | None = function
        self._error: BaseException | None = None

    def parts(self) -> Sequence[Part]:
        return (self.run,)

    def run(self) -> None:
        assert self._function is not None
        try:
            self._function()
        except BaseException as error:
            self._error = error
        # What the function refers to needn't live as long as an event that remembers the task.
        self._function = None
        self.nanoseconds = time.perf_counter_ns()

    def finish(self) -> BaseException | None:
        return self._error


class Wait(Task):
    """Waits for a latch of another stream, natively."""

    __slots__ = ("_awaited",)

    def __init__(self, awaited: Latch) -> None:
        super().__init__()
        self._awaited = awaited

    def parts(self) -> Sequence[Part]:
        functions = np.array([SEM_WAIT, SEM_POST], dtype=np.int64)
        return ((functions, np.full(2, self._awaited.address, dtype=np.int64)),)

    def run(self) -> None:
        self._awaited.wait()
