"""The timeline in columns: what a page can draw without an object for each of 100,000 launches."""

from __future__ import annotations

from dataclasses import dataclass, field

from mlirdev import schema
from mlirdev.explore.record import Record

# Above this, a kind of span is cut off: 300,000 launches are some 2 MB in the page.
MOST = 300_000


@dataclass(frozen=True)
class Spans:
    """Things of one kind that took time, in columns: entry k of each belongs together. `what` and `where` are indices
    into the timeline's names and places (-1: no place), `run` is a run's number (-1: none), `lane` the stream."""

    what: list[int] = field(default_factory=list)
    where: list[int] = field(default_factory=list)
    at: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    lane: list[int] = field(default_factory=list)
    run: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Timeline:
    """All of a run. `recorded` is what the host recorded and `launched` what it launched, by graph; `compiled` what it
    waited for, `lowered` the stages of graphs and kernels ("kernels/NAME llvm") by compile worker; `launches` are
    kernels, or ops on the CPU, by stream. `memory` is in use from `memory_at` on. `cut`
    says what was left out."""

    seconds: float
    names: list[str]
    places: list[str]
    recorded: Spans
    compiled: Spans
    launched: Spans
    lowered: Spans
    launches: Spans
    copies: Spans
    waits: Spans
    memory_at: list[float]
    memory: list[int]
    cut: str


class _Columns:
    """Fills columns, and numbers names and places."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self.places: dict[str, int] = {}
        self.left_out = 0

    def add(
        self, to: Spans, what: str, where: schema.Place | None, at: float, seconds: float, lane: int, run: int
    ) -> None:
        if len(to.at) >= MOST:
            self.left_out += 1
            return
        to.what.append(self.names.setdefault(what, len(self.names)))
        to.where.append(self.places.setdefault(str(where), len(self.places)) if where else -1)
        to.at.append(round(at, 8))
        to.seconds.append(round(seconds, 9))
        to.lane.append(lane)
        to.run.append(run)

    @property
    def cut(self) -> str:
        return f"{self.left_out:,} later launches are left out; trace.json has them all" if self.left_out else ""


def timeline(record: Record, seconds: float) -> Timeline:
    """The record in order of time; `seconds` is how long it is."""
    columns = _Columns()
    recorded, compiled, launched = Spans(), Spans(), Spans()
    known: set[str] = set()
    for run in sorted(record.runs.values(), key=lambda run: run.at):
        # Its first run waits until a graph is compiled; later ones may be no hits, of a graph whose sizes vary.
        compile_s = 0.0 if run.graph in known else min(record.graphs[run.graph].seconds, run.launch_s)
        known.add(run.graph)
        start = max(0.0, run.at - run.record_s)
        columns.add(recorded, run.graph, run.where, start, run.at - start, run.stream, run.number)
        if compile_s:
            columns.add(compiled, run.graph, run.where, run.at, compile_s, run.stream, run.number)
        columns.add(
            launched, run.graph, run.where, run.at + compile_s, run.launch_s - compile_s, run.stream, run.number
        )
    lowered, launches = _lowered(record, columns), _launches(record, columns)
    copies, waits = _copies(record, columns), _waits(record, columns)
    return Timeline(
        seconds=seconds,
        names=list(columns.names),
        places=list(columns.places),
        recorded=recorded,
        compiled=compiled,
        launched=launched,
        lowered=lowered,
        launches=launches,
        copies=copies,
        waits=waits,
        memory_at=[round(sample.at, 8) for sample in record.memory],
        memory=[sample.allocated for sample in record.memory],
        cut=columns.cut,
    )


def _lowered(record: Record, columns: _Columns) -> Spans:
    """A span for the passes of each stage of a graph or kernel, from the first to the last that took time."""
    found: dict[tuple[int, str, str], tuple[float, float]] = {}
    for owner, passes in record.passes.items():
        for step in passes:
            if step.worker and step.seconds:
                start, _ = found.setdefault((step.worker, owner, step.stage), (step.at, step.at))
                found[step.worker, owner, step.stage] = start, step.at + step.seconds
    numbers = {worker: number for number, worker in enumerate(sorted({worker for worker, _, _ in found}))}
    spans = Spans()
    for (worker, owner, stage), (start, end) in sorted(found.items(), key=lambda item: item[1]):
        columns.add(spans, f"{owner} {stage}", None, start, end - start, numbers[worker], -1)
    return spans


def _launches(record: Record, columns: _Columns) -> Spans:
    spans = Spans()
    for launch in sorted(record.launches, key=lambda launch: launch.at):
        planned = record.planned(launch)
        places = record.places(launch)
        what = planned.kernel or f"{record.ops(launch)} on the CPU"
        where = places[-1] if places else None
        columns.add(spans, what, where, launch.at, launch.seconds, launch.stream, launch.run)
    return spans


def _copies(record: Record, columns: _Columns) -> Spans:
    spans = Spans()
    for copy in sorted(record.copies, key=lambda copy: copy.at):
        columns.add(spans, f"{copy.way}, {copy.nbytes:,} bytes", copy.where, copy.at, copy.seconds, copy.stream, -1)
    return spans


def _waits(record: Record, columns: _Columns) -> Spans:
    spans = Spans()
    for wait in sorted(record.syncs, key=lambda wait: wait.at):
        # A wait is told of when it is over.
        columns.add(spans, wait.cause, wait.where, wait.at, wait.seconds, 0, -1)
    return spans
