"""Kernels and their launches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mlirdev.explore import units
from mlirdev.explore.facts import launch_facts
from mlirdev.explore.names import resolve_kernel
from mlirdev.explore.record import Record
from mlirdev.explore.roofline import KernelFacts, kernel_facts
from mlirdev.explore.view import Prose, Table, View


def kernels(record: Record) -> View:
    """Every kernel: time, launches, work, and what bounds it."""
    found = kernel_facts(record)
    return View(found, [kernel_table(found)])


def kernel(record: Record, given: str) -> View:
    """One kernel with its lines."""
    name = resolve_kernel(record, given)
    found = next(facts for facts in kernel_facts(record) if facts.name == name)
    return View(found, [_kernel(found, record.folder), Prose("Lines", found.lines or ["it was never launched"])])


def launches(record: Record, given: str = "") -> View:
    """Every launch, or those of one kernel."""
    name = resolve_kernel(record, given) if given else ""
    found = [launch for launch in launch_facts(record) if not name or launch.kernel == name]
    rows = [
        (
            str(launch.run),
            str(launch.index),
            launch.kernel or f"on the CPU: {launch.op}",
            str(launch.stream),
            units.seconds(launch.at),
            units.seconds(launch.seconds),
            str(launch.threads),
            ", ".join(launch.lines),
        )
        for launch in found
    ]
    columns = ("run", "launch", "kernel", "stream", "at", "time", "threads", "lines")
    return View(found, [Table("Launches", columns, rows, frozenset({"kernel", "lines"}))])


def kernel_table(found: Sequence[KernelFacts], title: str = "Kernels") -> Table:
    """A row a kernel."""
    rows = [
        (
            facts.name,
            units.seconds(facts.seconds),
            units.share(facts.share),
            f"{facts.launches:,}",
            units.seconds(facts.median_s),
            units.count(facts.flops),
            units.nbytes(facts.nbytes),
            units.rate(facts.gflops),
            units.rate(facts.gbps),
            facts.bound,
            units.share(facts.of_bound),
            _marks(facts),
        )
        for facts in found
    ]
    columns = (
        "kernel", "time", "of all", "launches", "median", "flops", "bytes", "GFLOP/s", "GB/s", "bound", "reached",
        "marks",
    )  # fmt: skip
    return Table(title, columns, rows, frozenset({"kernel", "bound", "marks"}))


def _marks(facts: KernelFacts) -> str:
    marks = {
        "from cache": facts.from_cache,
        "differs from the cached object": facts.differs,
        "run-time sizes": facts.dynamic,
    }
    return ", ".join(mark for mark, holds in marks.items() if holds)


def _kernel(facts: KernelFacts, folder: Path) -> Prose:
    reached = "" if facts.of_bound is None else f", {units.share(facts.of_bound)} of what the processor allows"
    said = {
        "kind": facts.type,
        "signature": facts.signature,
        "time": f"{units.seconds(facts.seconds)}, launched {units.times(facts.launches)}, "
        f"{units.seconds(facts.median_s)} each",
        "work": f"{units.count(facts.flops)} flops, {units.nbytes(facts.nbytes)}; "
        f"{units.rate(facts.gflops)} GFLOP/s, {units.rate(facts.gbps)} GB/s",
        "bound": facts.bound + reached,
        "threads": str(facts.threads),
        "compiled in": f"{units.seconds(facts.compile_s)}, {units.nbytes(facts.object_bytes)} of machine code",
        "graphs": ", ".join(facts.graphs),
        "marks": _marks(facts),
        "passes": f"mlirdev show {folder} passes {facts.name}",
    }
    return Prose(facts.name, [f"  {name:12} {text}" for name, text in said.items() if text])
