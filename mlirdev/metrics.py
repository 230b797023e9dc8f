"""What laziness did, in numbers: how many graphs, compiles, launches, waits and fallbacks, and the time they took.

    events (flush, compile, wait, fallback) ──► Counters ◄── Counters.add(...), once per flush or plan, from any layer
    gauges, read when asked for (live nodes, bytes) ─────────► snapshot() ──► report()

A leaf: no layer is imported here. Counting is always on; it costs one locked addition per flush, never one per op.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from mlirdev import events
from mlirdev.compile_time import STAGES
from mlirdev.report import Report, Section

# Every counter with what it counts, in the order of the report.
COUNTERS: dict[str, str] = {
    "ops_recorded": "operator calls recorded",
    "spec_misses": "output specs that weren't in the cache",
    "graphs_run": "graphs launched",
    "graph_cache_hits": "graphs found compiled in this process",
    "graph_disk_hits": "graphs whose plan and kernels were all on disk",
    "compiles": "graphs compiled",
    "kernels_compiled": "kernels compiled",
    "kernel_cache_hits": "kernels of compiled graphs that were compiled already",
    "launches": "kernels launched",
    "workers_lost": "compile workers that died or hung",
    "record_s": "seconds spent recording",
    "compile_s": "seconds waited for compiling",
    "launch_overhead_s": "seconds from flush to enqueued plan, for graphs found compiled",
    "execute_s": "seconds that kernels ran",
}

# Every gauge with what it measures.
GAUGES: dict[str, str] = {
    "live_nodes": "nodes recorded and not launched yet",
    "peak_bytes": "most device memory in use at once",
}


class Counters:
    """Sums by name. `add` may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.clear()

    def clear(self) -> None:
        with self._lock:
            self._sums: dict[str, float] = {name: 0.0 if name.endswith("_s") else 0 for name in COUNTERS}
            self._fallbacks: dict[str, int] = {}
            self._syncs: dict[str, int] = {}
            self._stages: dict[str, float] = dict.fromkeys(STAGES, 0.0)

    def add(self, **amounts: float) -> None:
        """Add to several counters at once: `counters.add(launches=12, execute_s=0.003)`."""
        with self._lock:
            for name, amount in amounts.items():
                self._sums[name] += amount

    def fallback(self, op: str) -> None:
        with self._lock:
            self._fallbacks[op] = self._fallbacks.get(op, 0) + 1

    def sync(self, cause: str) -> None:
        with self._lock:
            self._syncs[cause] = self._syncs.get(cause, 0) + 1

    def compiling(self, seconds: dict[str, float]) -> None:
        """Add seconds of compiling, by stage."""
        with self._lock:
            for stage, amount in seconds.items():
                self._stages[stage] += amount

    def copy(self) -> dict[str, Any]:
        with self._lock:
            by_kind = {"fallbacks": dict(self._fallbacks), "syncs": dict(self._syncs)}
            return {**self._sums, **by_kind, "compile_stages": dict(self._stages)}


counters = Counters()
_gauges: dict[str, tuple[Callable[[], int], Callable[[], None] | None]] = {}


def gauge(name: str, read: Callable[[], int], reset: Callable[[], None] | None = None) -> None:
    """Give the gauge `name` its reading; `reset` is called by `reset()`, for peaks."""
    if name not in GAUGES:
        raise KeyError(f"no gauge '{name}'; there are: {', '.join(GAUGES)}")
    _gauges[name] = (read, reset)


def snapshot() -> dict[str, Any]:
    """Every metric by name, now. `fallbacks` is a dict by op, `syncs` one by cause and `compile_stages` one of seconds
    of work by stage, over all workers; seconds end in `_s`, bytes in `_bytes`."""
    readings = {name: _gauges[name][0]() if name in _gauges else 0 for name in GAUGES}
    return {**counters.copy(), **readings}


def reset() -> None:
    """Set every counter to zero and every peak to what is in use now."""
    counters.clear()
    for _, reset_gauge in _gauges.values():
        if reset_gauge:
            reset_gauge()


def report() -> Report:
    """The metrics in words. Prints as a table, and shows as one in a notebook."""
    now = snapshot()
    described = {**COUNTERS, **GAUGES}
    rows = tuple((name, format_value(name, now[name]), described[name]) for name in described)
    sections = [Section("Metrics", ("metric", "value", "what it is"), rows)]
    if any(now["compile_stages"].values()):
        stages = tuple((stage, f"{now['compile_stages'][stage]:.3f} s", what) for stage, what in STAGES.items())
        sections.append(
            Section("Compiling: seconds of work, over all workers", ("stage", "seconds", "what it is"), stages)
        )
    if now["fallbacks"]:
        sections.append(Section("Fallbacks to the CPU", ("op", "times"), _by_count(now["fallbacks"])))
    if now["syncs"]:
        sections.append(Section("Waits for the device", ("cause", "times"), _by_count(now["syncs"])))
    return Report(tuple(sections))


def format_value(name: str, value: float) -> str:
    """A metric's value as a person reads it."""
    if name.endswith("_s"):
        return f"{value:.3f} s"
    if name.endswith("_bytes"):
        return f"{value / 2**20:,.1f} MiB" if value >= 2**20 else f"{value / 2**10:,.1f} KiB"
    return f"{value:,}"


def _by_count(counts: dict[str, int]) -> tuple[tuple[str, ...], ...]:
    return tuple((name, f"{count:,}") for name, count in sorted(counts.items(), key=lambda item: -item[1]))


class _Missed(threading.local):
    """Whether this thread has compiled or loaded a graph since its last flush: then that flush wasn't a hit."""

    graph = False


_missed = _Missed()


def _listen(event: events.Event) -> None:
    if isinstance(event, events.Flush):
        hit, _missed.graph = not _missed.graph, False
        counters.add(
            ops_recorded=event.nodes,
            graphs_run=1,
            graph_cache_hits=int(hit),
            launches=event.launches,
            record_s=event.record_s,
            launch_overhead_s=event.launch_s if hit else 0.0,
        )
    elif isinstance(event, events.GraphCompiled):
        _missed.graph = True
        counters.add(
            compiles=int(not event.from_disk),
            graph_disk_hits=int(event.from_disk),
            kernels_compiled=event.kernels_compiled,
            kernel_cache_hits=event.kernels - event.kernels_compiled,
            compile_s=event.seconds,
        )
        counters.compiling(event.stages)
    elif isinstance(event, events.SpecMiss):
        counters.add(spec_misses=1)
    elif isinstance(event, events.Fallback):
        counters.fallback(event.op)
    elif isinstance(event, events.Sync):
        counters.sync(event.cause)
    elif isinstance(event, events.WorkerLost):
        counters.add(workers_lost=1)


events.subscribe(_listen)
