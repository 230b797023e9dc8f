"""The Timeline: which launch ran when on a stream, told to whoever listens.

While somebody listens, a plan's kernels are called one by one so that each can be timed; else they are one
native call, and nothing here is on its way.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mlirdev.plan import HostLaunch, Launch


@dataclass(frozen=True, slots=True)
class LaunchRan:
    """`begin` and `end` are nanoseconds of `time.perf_counter_ns`, `cpu` those that the thread had the processor."""

    stream: int
    launch: Launch | HostLaunch
    begin: int
    end: int
    cpu: int = 0


Listener = Callable[[LaunchRan], None]
_listeners: list[Listener] = []


def subscribe(listener: Listener) -> Callable[[], None]:
    """Call `listener`, on the stream's thread, with every launch from the next plan on; the result ends it."""
    _listeners.append(listener)
    return lambda: _listeners.remove(listener)


class Timeline:
    """A stream's."""

    def __init__(self, stream: int) -> None:
        self._stream = stream

    @property
    def listening(self) -> bool:
        return bool(_listeners)

    @contextlib.contextmanager
    def time(self, launch: Launch | HostLaunch) -> Iterator[None]:
        cpu, begin = time.thread_time_ns(), time.perf_counter_ns()
        yield
        end = time.perf_counter_ns()
        ran = LaunchRan(self._stream, launch, begin, end, time.thread_time_ns() - cpu)
        for listener in list(_listeners):
            listener(ran)
