"""The run in short, and what went wrong or cost time without being asked for."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from mlirdev import schema
from mlirdev.explore import units
from mlirdev.explore.causes import Compile, OnCpu, Wait, on_cpu, waits
from mlirdev.explore.figures import key_figures
from mlirdev.explore.record import Record
from mlirdev.explore.summary import Summary, summarise
from mlirdev.explore.view import Prose, Table, View
from mlirdev.explore.views.kernels import kernel_table

_SHOWN_KERNELS = 10


def summary(record: Record) -> View:
    """What ran, six key figures, where time went, compiles and why, waits and ops on the CPU; failures first."""
    found = summarise(record)
    parts: list[Prose | Table] = [*_failure_parts(record), _program(found), _figures(found), _spans(found)]
    parts.append(_compiles(found.compiles))
    if found.waits:
        parts.append(_waits(found.waits))
    if found.on_cpu:
        parts.append(_on_cpu(found.on_cpu))
    if found.kernels:
        parts.append(kernel_table(found.kernels[:_SHOWN_KERNELS], _kernels_title(found)))
    return View(found, parts)


def failures(record: Record) -> View:
    """Passes and compiles that failed."""
    parts = _failure_parts(record) or [Prose("", ("nothing failed",))]
    return View(record.failures, parts)


def syncs(record: Record) -> View:
    """Waits for the device."""
    found = waits(record)
    return View(found, [_waits(found) if found else Prose("", ("the program never waited for the device",))])


def fallbacks(record: Record) -> View:
    """Ops that ran on the CPU."""
    found = on_cpu(record)
    return View(found, [_on_cpu(found) if found else Prose("", ("no op ran on the CPU",))])


def _program(found: Summary) -> Prose:
    program, counts = found.program, found.counts
    lines = [
        f"{program.started}; {units.seconds(program.wall_s)}, of which recording took "
        f"{units.seconds(program.recording_s)}",
        f"{program.processor or 'processor not known'}, {program.threads} threads, target {program.target or '–'}",
        ", ".join(f"{name} {version}" for name, version in program.versions.items()),
        f"{counts.graphs:,} graphs in {counts.runs:,} runs ({counts.hits:,} of graphs known before); "
        f"{counts.kernels:,} kernels ({counts.kernels_from_cache:,} from the disk cache) in {counts.launches:,} "
        f"launches; {counts.copies:,} copies",
    ]
    if not program.whole:
        lines.append("the program ended without closing the record: its end is missing")
    if program.error:
        lines.append(f"it ended with: {program.error}")
    return Prose(" ".join(program.argv), [line for line in lines if line])


def _figures(found: Summary) -> Table:
    rows = [(figure.title, figure.value, figure.note) for figure in key_figures(found)]
    return Table("Key figures", ("figure", "value", "note"), rows, frozenset({"figure", "note"}))


def _spans(found: Summary) -> Table:
    wall = found.program.wall_s
    shares = [units.share(span.seconds / wall if wall else None) for span in found.spans]
    rows = [
        (span.what, span.where, units.seconds(span.seconds), share, span.note)
        for span, share in zip(found.spans, shares, strict=True)
    ]
    columns = ("what", "where", "time", "of all", "note")
    return Table("Where time went", columns, rows, frozenset({"what", "where", "note"}))


def _compiles(compiles: Sequence[Compile]) -> Table:
    rows = [
        (
            compiled.graph,
            compiled.where,
            f"{compiled.nodes:,}",
            f"{compiled.kernels:,}",
            units.seconds(compiled.seconds),
            "disk" if compiled.from_disk else "compiled",
            compiled.reason,
        )
        for compiled in compiles
    ]
    columns = ("graph", "line", "nodes", "kernels", "waited", "from", "why")
    return Table("Compiles", columns, rows, frozenset({"graph", "line", "from", "why"}))


def _waits(found: Sequence[Wait]) -> Table:
    rows = [
        (
            wait.where,
            wait.cause,
            units.times(wait.times),
            units.seconds(wait.seconds),
            "the program asked for it" if wait.explicit else wait.remedy,
        )
        for wait in found
    ]
    columns = ("line", "cause", "times", "time", "remedy")
    return Table("Waits for the device", columns, rows, frozenset({"line", "cause", "remedy"}))


def _on_cpu(found: Sequence[OnCpu]) -> Table:
    rows = [(op.where, op.op, units.times(op.times), op.reason or op.cause, op.remedy) for op in found]
    columns = ("line", "op", "times", "reason", "remedy")
    return Table("Ops that ran on the CPU", columns, rows, frozenset({"line", "op", "reason", "remedy"}))


def _failure_parts(record: Record) -> list[Prose | Table]:
    return [_failure(failure, record.folder / failure.owner) for failure in record.failures]


def _failure(failure: schema.Failure, folder: Path) -> Prose:
    illegal = ", ".join(f"{name} × {count}" for name, count in failure.illegal.items())
    said = {
        "message": failure.message,
        "op": failure.op,
        "not lowered": illegal,
        "before it": str(folder / failure.before) if failure.before else "",
        "go on": f"cd {shlex.quote(str(folder))} && {failure.command}" if failure.command else "",
        "reproducer": f"mlirdev repro {failure.reproducer}" if failure.reproducer else "",
    }
    lines = [f"  {name}: {text}" for name, text in said.items() if text]
    return Prose(f"FAILED: pass {failure.name} of stage {failure.stage} in {failure.owner}", lines)


def _kernels_title(found: Summary) -> str:
    rest = len(found.kernels) - _SHOWN_KERNELS
    return f"Kernels, the {_SHOWN_KERNELS} longest of {len(found.kernels)}" if rest > 0 else "Kernels"
