"""explain(): what cost time without being asked for, in words, each with the user's line and a remedy.

Keeps what the events said since the start or `clear()`: each compile (the last thousand), and how often each line
waited for the device or ran an op on the CPU.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field
from typing import TypeVar

from mlirdev import events
from mlirdev.guards import EXPLICIT_SYNCS, FALLBACK_REMEDIES, SYNC_REMEDIES
from mlirdev.report import Report, Section

_Key = TypeVar("_Key")

_KEPT_COMPILES = 1000
_KEPT_LINES = 10_000


@dataclass
class _Tally:
    """Repeats of one thing at one line."""

    times: int = 0
    seconds: float = 0.0


@dataclass
class _Kept:
    """What is remembered since the start or the last `clear()`."""

    compiles: deque[events.GraphCompiled] = field(default_factory=lambda: deque(maxlen=_KEPT_COMPILES))
    compiles_seen: int = 0
    syncs: dict[tuple[str, str], _Tally] = field(default_factory=dict)
    fallbacks: dict[tuple[str, str, str, str], _Tally] = field(default_factory=dict)
    workers: list[events.WorkerLost] = field(default_factory=list)


_kept = _Kept()
_lock = threading.Lock()


def explain() -> Report:
    """Each compile with what differed from the nearest cached graph, each implicit wait and each fallback: with the
    user's line, how often, and the remedy. Prints in words, and shows inline in a notebook."""
    with _lock:
        sections = (_compiles(), _syncs(), _fallbacks(), _workers())
    said = tuple(section for section in sections if section.rows)
    return Report(said or (Section("Nothing was compiled, no wait and no fallback yet.", (), ()),))


def clear() -> None:
    """Forget what was kept."""
    global _kept
    with _lock:
        _kept = _Kept()


def _compiles() -> Section:
    rows = tuple(compile_sentence(event) for event in _kept.compiles)
    dropped = _kept.compiles_seen - len(_kept.compiles)
    title = f"Compiled graphs: {_kept.compiles_seen}" + (f" (the last {len(rows)} are shown)" if dropped else "")
    return Section(title, (), rows)


def compile_sentence(event: events.GraphCompiled) -> tuple[str, ...]:
    """A compile in words: what and where, then why, if it wasn't the first of its kind."""
    if event.from_disk:
        done = f"{event.kernels} kernels, all from the disk cache"
    else:
        done = f"{event.kernels_compiled} of {event.kernels} kernels compiled"
    kind = "generalised graph" if event.generalised else "graph"
    first = f"{_at(event.where)}{kind} {event.graph[:12]} ({event.nodes} nodes): {done}, {event.seconds:.2f} s"
    return (first, f"because: {event.reason}") if event.reason else (first,)


def _syncs() -> Section:
    rows = tuple(
        (f"{line}{cause}: {_times(tally)}, {tally.seconds:.3f} s", f"remedy: {_sync_remedy(cause)}")
        for (cause, line), tally in _by_cost(_kept.syncs)
    )
    return Section("Implicit waits for the device", (), rows)


def _sync_remedy(cause: str) -> str:
    return SYNC_REMEDIES.get(cause, "move it out of the loop")


def _fallbacks() -> Section:
    rows = tuple(
        (f"{line}{op}: on the CPU {_times(tally)}, since {reason}", f"remedy: {FALLBACK_REMEDIES[cause]}")
        for (op, line, cause, reason), tally in _by_cost(_kept.fallbacks)
    )
    return Section("Ops that ran on the CPU", (), rows)


def _workers() -> Section:
    rows = tuple(
        (f"{_at(lost.where)}graph {lost.graph[:12]}", f"run it again with: mlirdev repro {lost.reproducer}")
        for lost in _kept.workers
    )
    return Section("Compile workers that died or hung", (), rows)


def _by_cost(tallies: dict[_Key, _Tally]) -> list[tuple[_Key, _Tally]]:
    return sorted(tallies.items(), key=lambda item: (-item[1].seconds, -item[1].times))


def _times(tally: _Tally) -> str:
    return "once" if tally.times == 1 else f"{tally.times} times"


def _at(where: events.SourceLine | None) -> str:
    return f"{where}: " if where else ""


def _listen(event: events.Event) -> None:
    with _lock:
        if isinstance(event, events.GraphCompiled):
            _kept.compiles.append(event)
            _kept.compiles_seen += 1
        elif isinstance(event, events.Sync) and event.cause not in EXPLICIT_SYNCS:
            _count(_kept.syncs, (event.cause, _at(event.where)), event.seconds)
        elif isinstance(event, events.Fallback):
            _count(_kept.fallbacks, (event.op, _at(event.where), event.cause, event.reason or event.cause), 0.0)
        elif isinstance(event, events.WorkerLost) and len(_kept.workers) < _KEPT_LINES:
            _kept.workers.append(event)


def _count(tallies: dict[_Key, _Tally], key: _Key, seconds: float) -> None:
    if key not in tallies and len(tallies) >= _KEPT_LINES:
        return
    tally = tallies.setdefault(key, _Tally())
    tally.times += 1
    tally.seconds += seconds


events.subscribe(_listen)
