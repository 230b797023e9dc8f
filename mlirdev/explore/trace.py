"""The record's timeline as a trace that Chrome and Perfetto open: OUT/trace.json.

    host              recording, compiling, launching and waiting, a track per thread of the program
    compile workers   every pass, a track per worker
    device            launches, a track per stream; copies, another; the memory in use
    arrows            from a run to its first launch

Times are in microseconds, as the format wants.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from mlirdev import schema
from mlirdev.explore.record import Record

TRACE_FILE = "trace.json"
HOST, WORKERS, DEVICE = 1, 2, 3
_PROCESSES = {HOST: "host", WORKERS: "compile workers", DEVICE: "device"}

Event = dict[str, Any]


def write_trace(record: Record) -> Path:
    """Write trace.json into the record's folder; the file."""
    file = record.folder / TRACE_FILE
    encode = msgspec.json.Encoder().encode
    with file.open("wb") as out:
        out.write(b'{"displayTimeUnit":"ms","traceEvents":[')
        for number, event in enumerate(trace_events(record)):
            out.write((b",\n" if number else b"\n") + encode(event))
        out.write(b"\n]}\n")
    return file


def trace_events(record: Record) -> Iterator[Event]:
    """The events in the trace format, those of each track in order."""
    tracks = _Tracks()
    events = [
        *_host(record, tracks),
        *_passes(record, tracks),
        *_launches(record, tracks),
        *_copies(record, tracks),
        *_memory(record),
    ]
    yield from tracks.names()
    yield from events


class _Tracks:
    """Numbers a process's tracks in the order in which they are met."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, str], int] = {}

    def __call__(self, process: int, name: str) -> dict[str, int]:
        number = self._numbers.setdefault((process, name), len(self._numbers) + 1)
        return {"pid": process, "tid": number}

    def names(self) -> Iterator[Event]:
        for process, name in _PROCESSES.items():
            yield {"ph": "M", "name": "process_name", "pid": process, "args": {"name": name}}
        for (process, name), number in self._numbers.items():
            yield {"ph": "M", "name": "thread_name", "pid": process, "tid": number, "args": {"name": name}}


def _span(name: str, kind: str, track: dict[str, int], at: float, seconds: float, **args: Any) -> Event:
    said = {key: value for key, value in args.items() if value not in (None, "", [], 0)}
    return {"ph": "X", "name": name, "cat": kind, **track, "ts": at * 1e6, "dur": seconds * 1e6, "args": said}


def _host(record: Record, tracks: _Tracks) -> Iterator[Event]:
    for run in record.runs.values():
        track = tracks(HOST, run.thread or "program")
        where = _said(run.where)
        if run.record_s:
            yield _span(f"record {run.graph}", "record", track, run.at - run.record_s, run.record_s)
        name = f"launch {run.graph}" if run.hit else f"compile and launch {run.graph}"
        yield _span(name, "launch", track, run.at, run.launch_s, cause=run.cause, where=where, run=run.number)
        yield {"ph": "s", "name": "run", "cat": "run", "id": run.number, **track, "ts": run.at * 1e6}
    main = tracks(HOST, next((run.thread for run in record.runs.values()), "") or "program")
    for sync in record.syncs:
        yield _span(f"wait: {sync.cause}", "wait", main, sync.at, sync.seconds, where=_said(sync.where))
    for fallback in record.fallbacks:
        args = {"cause": fallback.cause, "reason": fallback.reason, "where": _said(fallback.where)}
        name = f"on the CPU: {fallback.op}"
        yield {"ph": "i", "s": "t", "name": name, "cat": "fallback", **main, "ts": fallback.at * 1e6, "args": args}


def _passes(record: Record, tracks: _Tracks) -> Iterator[Event]:
    steps = [step for passes in record.passes.values() for step in passes if step.worker and step.seconds]
    workers = {worker: number for number, worker in enumerate(dict.fromkeys(s.worker for s in steps))}
    for step in sorted(steps, key=lambda step: step.at):
        track = tracks(WORKERS, f"worker {workers[step.worker]}")
        name = f"{step.stage}/{step.name}"
        yield _span(name, "pass", track, step.at, step.seconds, owner=step.owner, changed=step.changed)


def _launches(record: Record, tracks: _Tracks) -> Iterator[Event]:
    reached: set[int] = set()
    for launch in record.launches:
        track = tracks(DEVICE, f"stream {launch.stream}")
        planned = record.planned(launch)
        name = planned.kernel or record.ops(launch)
        kernel = record.kernels.get(planned.kernel)
        args = {
            "run": launch.run,
            "where": ", ".join(map(str, record.places(launch))),
            "threads": launch.threads,
            "flops": launch.flops or (kernel.flops if kernel else 0),
            "bytes": launch.nbytes or (kernel.nbytes if kernel else 0),
        }
        kind = "kernel" if planned.kernel else "on the CPU"
        yield _span(name, kind, track, launch.at, launch.seconds, **args)
        if launch.run not in reached:
            reached.add(launch.run)
            arrow = {"ph": "f", "bp": "e", "name": "run", "cat": "run", "id": launch.run}
            yield {**arrow, **track, "ts": launch.at * 1e6}


def _copies(record: Record, tracks: _Tracks) -> Iterator[Event]:
    for copy in record.copies:
        track = tracks(DEVICE, f"copies of stream {copy.stream}")
        yield _span(copy.way, "copy", track, copy.at, copy.seconds, bytes=copy.nbytes, where=_said(copy.where))


def _memory(record: Record) -> Iterator[Event]:
    for memory in record.memory:
        args = {"allocated": memory.allocated}
        yield {"ph": "C", "name": "memory", "pid": DEVICE, "ts": memory.at * 1e6, "args": args}


def _said(where: schema.Place | None) -> str:
    return str(where) if where else ""
