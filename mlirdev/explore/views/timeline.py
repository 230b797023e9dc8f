"""What happened when: host and streams beside each other, and the device's memory."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from mlirdev import schema
from mlirdev.explore import units
from mlirdev.explore.record import Record
from mlirdev.explore.summary import summarise
from mlirdev.explore.view import Prose, Table, View

_WIDTH = 80
_BLOCKS = " ▁▂▃▄▅▆▇█"
_HEIGHTS = 8
_SHOWN = 40


@dataclass(frozen=True)
class Slice:
    """Something that took time, on the lane where it did: "host", "stream 0", "copies"."""

    lane: str
    what: str
    at: float
    seconds: float
    detail: str
    where: str


@dataclass(frozen=True)
class Timeline:
    """All slices in order of their start, and the record's length."""

    seconds: float
    slices: list[Slice]


@dataclass(frozen=True)
class MemoryFacts:
    """The device's memory over time: what was in use from each moment on, and the most."""

    seconds: float
    peak_bytes: int
    peak_at: float | None
    samples: list[schema.Memory]


def timeline(record: Record) -> View:
    """A bar a lane, a full block where it was busy throughout, and the longest slices; --json has them all."""
    wall = summarise(record).program.wall_s
    slices = sorted(_slices(record), key=lambda slice_: slice_.at)
    lanes: dict[str, list[Slice]] = defaultdict(list)
    for slice_ in slices:
        lanes[f"{slice_.lane} {slice_.what}" if slice_.lane == "host" else slice_.lane].append(slice_)
    widest = max(map(len, lanes), default=0)
    bars = [f"  {lane:{widest}} │{_bar(of, wall)}│" for lane, of in sorted(lanes.items())]
    ruler = f"  {'':{widest}}  0{units.seconds(wall):>{_WIDTH - 1}}"
    return View(Timeline(wall, slices), [Prose("Timeline", [*bars, ruler]), _table(slices)])


def memory(record: Record) -> View:
    """A curve of the memory in use, and its changes."""
    summary = summarise(record)
    wall, peak = summary.program.wall_s, summary.peak_memory
    facts = MemoryFacts(wall, peak.nbytes, peak.at, record.memory)
    if not record.memory:
        return View(facts, [Prose("", ("the record has no memory in use",))])
    curve = [in_use / max(peak.nbytes, 1) for in_use in _curve(record.memory, wall)]
    when = f" at {units.seconds(peak.at)}" if peak.at is not None else ""
    title = f"Memory of the device, at most {units.nbytes(peak.nbytes)}{when}"
    rows = [(units.seconds(sample.at), units.nbytes(sample.allocated)) for sample in record.memory]
    drawn = [f"  │{''.join(map(_block, curve))}│", f"   0{units.seconds(wall):>{_WIDTH - 1}}"]
    return View(facts, [Prose(title, drawn), Table("", ("at", "in use"), rows)])


def _slices(record: Record) -> list[Slice]:
    found = []
    for run in record.runs.values():
        where = str(run.where or "")
        found.append(Slice("host", "record", run.at - run.record_s, run.record_s, run.graph, where))
        found.append(Slice("host", "launch" if run.hit else "compile", run.at, run.launch_s, run.graph, where))
    for launch in record.launches:
        kernel = record.planned(launch).kernel or "on the CPU"
        places = ", ".join(map(str, record.places(launch)))
        found.append(Slice(f"stream {launch.stream}", "kernel", launch.at, launch.seconds, kernel, places))
    for copy in record.copies:
        detail = f"{copy.way} {units.nbytes(copy.nbytes)}"
        found.append(Slice("copies", "copy", copy.at, copy.seconds, detail, str(copy.where or "")))
    for sync in record.syncs:
        found.append(Slice("host", "wait", sync.at, sync.seconds, sync.cause, str(sync.where or "")))
    return found


def _bar(slices: Sequence[Slice], wall: float) -> str:
    """How busy a lane was in each stretch of time, as blocks."""
    busy = [0.0] * _WIDTH
    stretch = wall / _WIDTH or 1.0
    for slice_ in slices:
        start, end = max(slice_.at, 0.0) / stretch, (slice_.at + slice_.seconds) / stretch
        for i in range(min(int(start), _WIDTH - 1), min(int(end), _WIDTH - 1) + 1):
            busy[i] += max(0.0, min(end, i + 1) - max(start, i))
    return "".join(map(_block, busy))


def _block(share: float) -> str:
    """A share as a block; something is never drawn as nothing."""
    return _BLOCKS[min(_HEIGHTS, max(round(share * _HEIGHTS), int(share > 0)))]


def _curve(samples: Sequence[schema.Memory], wall: float) -> list[int]:
    """The most memory in use in each stretch of time."""
    starts = [sample.at for sample in samples]
    highest = []
    for column in range(_WIDTH):
        first = max(bisect.bisect_right(starts, column * wall / _WIDTH) - 1, 0)
        after = max(bisect.bisect_left(starts, (column + 1) * wall / _WIDTH), first + 1)
        highest.append(max(sample.allocated for sample in samples[first:after]))
    return highest


def _table(slices: Sequence[Slice]) -> Table:
    longest = sorted(slices, key=lambda slice_: -slice_.seconds)[:_SHOWN]
    rows = [
        (units.seconds(slice_.at), slice_.lane, slice_.what, units.seconds(slice_.seconds), slice_.detail, slice_.where)
        for slice_ in sorted(longest, key=lambda slice_: slice_.at)
    ]
    title = f"The longest {len(longest)} of {len(slices):,}, in order of time"
    columns = ("at", "lane", "what", "time", "of", "lines")
    return Table(title, columns, rows, frozenset({"lane", "what", "of", "lines"}))
