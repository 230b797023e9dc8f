"""The Timeline: what ran when on a stream, told to whoever listens.

    a plan or a copy is enqueued ─► PlanEnqueued, CopyEnqueued     on the caller's thread, before any of it runs
    a launch or the copy has run ─► LaunchRan, CopyRan             on the thread that ran it

While somebody listens, a plan's kernels are called one by one so that each can be timed; else they are one
native call, and nothing here is on its way.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from mlirdev.plan import HostLaunch, Launch, Plan


@dataclass(frozen=True, slots=True)
class PlanEnqueued:
    """A plan is about to run on a stream, with these sizes and threads. `number` is its own, `addresses` are those of
    its slots, `allocated` the device's memory in use."""

    number: int
    stream: int
    plan: Plan
    syms: tuple[int, ...]
    threads: int
    addresses: tuple[int, ...]
    allocated: int


@dataclass(frozen=True, slots=True)
class LaunchRan:
    """`begin` and `end` are nanoseconds of `time.perf_counter_ns`, `cpu` those that the thread had the processor. It is
    launch number `index` of the plan that was enqueued as `plan`."""

    stream: int
    launch: Launch | HostLaunch
    begin: int
    end: int
    cpu: int = 0
    plan: int = 0
    index: int = 0


@dataclass(frozen=True, slots=True)
class CopyEnqueued:
    """Bytes are about to be copied: `way` is h2d, d2h or d2d."""

    number: int
    stream: int
    way: str
    nbytes: int
    allocated: int


@dataclass(frozen=True, slots=True)
class CopyRan:
    """The copy that was enqueued as `number` took place; times as in LaunchRan."""

    number: int
    begin: int
    end: int


Happened: TypeAlias = PlanEnqueued | LaunchRan | CopyEnqueued | CopyRan
_followers: list[Callable[[Happened], None]] = []
_numbers = itertools.count()


def follow(listener: Callable[[Happened], None]) -> Callable[[], None]:
    """Call `listener` with all that happens from the next plan or copy on; the result ends it."""
    _followers.append(listener)
    return lambda: _followers.remove(listener)


def subscribe(listener: Callable[[LaunchRan], None]) -> Callable[[], None]:
    """Call `listener`, on the stream's thread, with every launch from the next plan on; the result ends it."""

    def launches(happened: Happened) -> None:
        if isinstance(happened, LaunchRan):
            listener(happened)

    return follow(launches)


class Timeline:
    """A stream's."""

    def __init__(self, stream: int) -> None:
        self._stream = stream

    @property
    def listening(self) -> bool:
        return bool(_followers)

    def enqueue_plan(
        self, plan: Plan, syms: tuple[int, ...], threads: int, addresses: tuple[int, ...], allocated: int
    ) -> int:
        """Tell of a plan; its number."""
        number = next(_numbers)
        _tell(PlanEnqueued(number, self._stream, plan, syms, threads, addresses, allocated))
        return number

    @contextmanager
    def time(self, launch: Launch | HostLaunch, plan: int = 0, index: int = 0) -> Iterator[None]:
        """Tell of a launch, what is done inside."""
        cpu, begin = time.thread_time_ns(), time.perf_counter_ns()
        yield
        end = time.perf_counter_ns()
        _tell(LaunchRan(self._stream, launch, begin, end, time.thread_time_ns() - cpu, plan, index))

    def timed_copy(self, move: Callable[[], None], way: str, nbytes: int, allocated: int) -> Callable[[], None]:
        """Tell of a copy, now and when `move` has done it; what to call in its place."""
        number = next(_numbers)
        _tell(CopyEnqueued(number, self._stream, way, nbytes, allocated))

        def timed() -> None:
            begin = time.perf_counter_ns()
            move()
            _tell(CopyRan(number, begin, time.perf_counter_ns()))

        return timed


def _tell(happened: Happened) -> None:
    for listener in list(_followers):
        listener(happened)
