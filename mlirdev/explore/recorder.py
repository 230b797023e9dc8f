"""What happens while a program runs, turned into lines of the record.

    events ─────────────────────────┐
    the runtime's timeline ─────────┴─► Recorder ─► write(line)

A run is known by three things that come apart: the plan is enqueued, its launches run, perhaps on another thread, and
the flush behind it tells why and for which lines. They find each other by the plan's number, and by the thread that
enqueues and flushes.
"""

from __future__ import annotations

import linecache
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from mlirdev import events, schema
from mlirdev.compiler import Executable, executables
from mlirdev.explore import described
from mlirdev.explore.described import NOWHERE, place
from mlirdev.explore.failures import failure_line
from mlirdev.guards import EXPLICIT_SYNCS
from mlirdev.plan import HostLaunch, Launch, SlotArg
from mlirdev.runtime import timeline

# A change of memory is written at most so often, but for a new peak.
_MEMORY_EVERY_S = 0.002
# Launches behind these are counted, without a line each: these are some 200 MB.
_MAX_LAUNCHES = 1_000_000
# A longer file of source isn't kept.
_MAX_SOURCE = 1 << 20


@dataclass
class _OpenRun:
    """A plan that was enqueued. Its launches wait in `waiting` until the flush has told what it is."""

    number: int
    enqueued: timeline.PlanEnqueued
    known: bool = False
    left: int = 0
    waiting: list[schema.Launch] = field(default_factory=list)


class _Here(threading.local):
    """Of this thread: the plan that it enqueued, and whether its graph was compiled for that, or read from disk."""

    run: _OpenRun | None = None
    missed = False


class Recorder:
    """Turns what is told into lines. `begin` is the record's, of time.perf_counter(); `folder` is where passes are
    kept; `seconds` is what it took."""

    def __init__(self, write: Callable[[schema.AnyLine], None], folder: Path, begin: float) -> None:
        self._write = write
        self._folder = folder
        self._begin = begin
        self._lock = threading.RLock()
        self._here = _Here()
        self._runs: dict[int, _OpenRun] = {}
        self._run_count = self._launch_count = 0
        self._copies: dict[int, tuple[timeline.CopyEnqueued, schema.Place | None]] = {}
        self._line_ids: dict[tuple[str, tuple[events.SourceLine | None, ...]], int] = {}
        self._compiled: dict[str, events.GraphCompiled] = {}
        self._memory = (0.0, -1, 0)  # when it was last written, how much then, the peak
        self._sources: set[str] = set()
        self.graphs: dict[str, Executable] = {}
        self.kernels: dict[str, schema.Kernel] = {}
        self.fresh: dict[str, events.KernelCompiled] = {}
        self.failed: set[str] = set()  # the owners of passes of which one failed
        self.seconds = 0.0
        self._stop = [events.subscribe(self._on_event), timeline.follow(self._on_timeline)]

    def stop(self) -> None:
        """Listen no more."""
        for stop in self._stop:
            stop()

    def now(self) -> float:
        return time.perf_counter() - self._begin

    # --- events ----------------------------------------------------------------------------------

    def _on_event(self, event: events.Event) -> None:
        start = time.perf_counter()
        with self._lock:
            handler = _HANDLERS.get(type(event))
            if handler is not None:
                handler(self, event)
            self.seconds += time.perf_counter() - start

    def _flushed(self, event: events.Flush) -> None:
        run = self._here.run
        if run is None:  # it was enqueued before recording began
            return
        # A known graph with sizes that are new to it is a hit, though its launch had to be prepared.
        hit, self._here.run, self._here.missed = not self._here.missed, None, False
        self._know(event.graph)
        lines = self._lines(event.graph, event.lines() if event.lines else ())
        self._write(
            schema.Run(
                number=run.number,
                graph=event.graph,
                cause=event.cause,
                hit=hit,
                lines=lines,
                at=self.now() - event.launch_s,
                record_s=event.record_s,
                launch_s=event.launch_s,
                stream=run.enqueued.stream,
                thread=threading.current_thread().name,
                where=self._place(event.where),
                syms=list(run.enqueued.syms),
            )
        )
        for launch in run.waiting:
            self._write(launch)
        run.waiting, run.known = [], True
        self._done_with(run)

    def _graph_compiled(self, event: events.GraphCompiled) -> None:
        self._here.missed = True
        self._compiled[event.graph] = event
        self._know(event.graph)

    def _know(self, name: str) -> None:
        """Write the line of a graph, and of its kernels, the first time."""
        executable = executables.named(name)
        if executable is None or self.graphs.get(name) is executable:
            return
        self.graphs[name] = executable
        compiled = self._compiled.get(name)
        if compiled is not None:
            self._place(compiled.where)
        self._write(described.graph_line(executable, compiled, self.now()))
        for kernel in described.kernel_lines(executable):
            if kernel.name not in self.kernels:
                self.write_kernel(kernel)

    def write_kernel(self, kernel: schema.Kernel) -> None:
        """Write the line of a kernel; one that wasn't compiled before our eyes came from a cache."""
        fresh = self.fresh.get(kernel.name)
        told: dict[str, Any] = {"from_cache": True}
        if fresh is not None:
            told = {"seconds": fresh.seconds, "object_bytes": fresh.nbytes}
        self.kernels[kernel.name] = msgspec.structs.replace(kernel, **told)
        self._write(self.kernels[kernel.name])

    def _kernel_compiled(self, event: events.KernelCompiled) -> None:
        self.fresh[event.name] = event

    def _synced(self, event: events.Sync) -> None:
        at, explicit = self.now() - event.seconds, event.cause in EXPLICIT_SYNCS
        self._write(schema.Sync(event.cause, at, event.seconds, explicit, self._place(event.where)))

    def _fell_back(self, event: events.Fallback) -> None:
        self._write(schema.Fallback(event.op, event.cause, event.reason, self.now(), self._place(event.where)))

    def _compile_failed(self, event: events.CompileFailed) -> None:
        if event.owner and event.error is not None:
            self.failed.add(event.owner)
            self._write(failure_line(self._folder, event.owner, event.error, event.reproducer))

    # --- the timeline ----------------------------------------------------------------------------

    def _on_timeline(self, happened: timeline.Happened) -> None:
        start = time.perf_counter()
        with self._lock:
            if isinstance(happened, timeline.LaunchRan):
                self._launched(happened)
            elif isinstance(happened, timeline.PlanEnqueued):
                self._enqueued(happened)
            elif isinstance(happened, timeline.CopyEnqueued):
                self._copies[happened.number] = happened, self._place(_where_now())
                self._allocated(happened.allocated)
            else:
                self._copied(happened)
            self.seconds += time.perf_counter() - start

    def _enqueued(self, plan: timeline.PlanEnqueued) -> None:
        run = self._here.run
        if run is not None:  # its flush failed: nobody will tell what it was
            self._runs.pop(run.enqueued.number, None)
        run = _OpenRun(self._run_count, plan, left=len(plan.plan.launches))
        self._run_count += 1
        self._runs[plan.number] = self._here.run = run
        self._allocated(plan.allocated)

    def _launched(self, ran: timeline.LaunchRan) -> None:
        run = self._runs.get(ran.plan)
        if run is None:
            return
        run.left -= 1
        self._launch_count += 1
        if self._launch_count > _MAX_LAUNCHES:
            self._done_with(run)
            return
        kernel = ran.launch if isinstance(ran.launch, Launch) else None
        flops, nbytes = described.dynamic(kernel.cost, run.enqueued.syms) if kernel else (0, 0)
        line = schema.Launch(
            run=run.number,
            index=ran.index,
            stream=ran.stream,
            at=ran.begin / 1e9 - self._begin,
            seconds=(ran.end - ran.begin) / 1e9,
            threads=run.enqueued.threads if kernel else 1,
            addresses=_addresses(ran.launch, run.enqueued.addresses),
            flops=flops,
            nbytes=nbytes,
        )
        if not run.known:
            run.waiting.append(line)
            return
        self._write(line)
        self._done_with(run)

    def _done_with(self, run: _OpenRun) -> None:
        """Forget a run that is known and whose launches have all run."""
        if run.known and not run.left:
            self._runs.pop(run.enqueued.number, None)

    @property
    def left_out(self) -> int:
        return max(0, self._launch_count - _MAX_LAUNCHES)

    def _copied(self, ran: timeline.CopyRan) -> None:
        if ran.number not in self._copies:
            return
        copy, where = self._copies.pop(ran.number)
        at, seconds = ran.begin / 1e9 - self._begin, (ran.end - ran.begin) / 1e9
        self._write(schema.Copy(copy.way, copy.nbytes, at, seconds, copy.stream, where))

    def _allocated(self, allocated: int) -> None:
        at, (last, before, peak) = self.now(), self._memory
        if allocated != before and (at - last > _MEMORY_EVERY_S or allocated > peak):
            self._memory = at, allocated, max(peak, allocated)
            self._write(schema.Memory(at, allocated))

    # --- lines of the program ----------------------------------------------------------------------

    def _lines(self, graph: str, lines: Sequence[events.SourceLine | None]) -> int:
        """The id of these lines of a graph's nodes, written the first time."""
        key = graph, tuple(lines)
        if key not in self._line_ids:
            number = self._line_ids[key] = len(self._line_ids)
            found = [self._place(line) or NOWHERE for line in lines]
            places = {one: i for i, one in enumerate(dict.fromkeys(found))}
            self._write(schema.Lines(number, graph, list(places), [places[one] for one in found]))
        return self._line_ids[key]

    def _place(self, where: events.SourceLine | None) -> schema.Place | None:
        """A place, whose file's text is written the first time."""
        if where is not None and where.file not in self._sources:
            self._sources.add(where.file)
            text = "".join(linecache.getlines(where.file))
            if 0 < len(text) <= _MAX_SOURCE:
                self._write(schema.Source(where.file, text))
        return place(where)


_HANDLERS: dict[type[events.Event], Callable[[Recorder, Any], None]] = {
    events.Flush: Recorder._flushed,
    events.GraphCompiled: Recorder._graph_compiled,
    events.KernelCompiled: Recorder._kernel_compiled,
    events.Sync: Recorder._synced,
    events.Fallback: Recorder._fell_back,
    events.CompileFailed: Recorder._compile_failed,
}


def _addresses(launch: Launch | HostLaunch, slots: Sequence[int]) -> list[int]:
    """Where what a launch reads and writes begins."""
    if isinstance(launch, HostLaunch):
        return [slots[slot] for slot in (*launch.operands, *launch.results)]
    reads = [slots[arg.slot] + arg.offset for arg in launch.args if isinstance(arg, SlotArg)]
    return [*reads, *(slots[slot] for slot in launch.results)]


def _where_now() -> events.SourceLine | None:
    """The line of the program that is running."""
    from mlirdev.lazy.lines import here, source_line

    return source_line(here())
