"""A record as plain text, equal in two runs of one program: for golden files in a CI.

No times, no addresses, no caches, nothing of the machine but what its target makes of kernels; files by name alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import PurePath

from mlirdev import schema
from mlirdev.explore.record import Record


def record_text(record: Record, passes: bool = True) -> str:
    """The record: graphs with their plans, kernels, runs, copies, waits, ops on the CPU, failures. Without `passes` it
    is the same for every target that forms the same kernels."""
    parts = [
        *(_graph(record, graph) for graph in record.graphs.values()),
        *(_kernel(record, record.kernels[name], passes) for name in sorted(record.kernels)),
        _runs(record),
        _counted("copy", (f"{copy.way} {copy.nbytes} bytes{_at(copy.where)}" for copy in record.copies)),
        _counted("wait", (f"{sync.cause}{_at(sync.where)}" for sync in record.syncs)),
        _counted("on the CPU", (f"{f.op} ({f.cause}){_at(f.where)}: {f.reason}" for f in record.fallbacks)),
        *(_failure(failure) for failure in record.failures),
    ]
    return "\n".join("\n".join(lines) + "\n" for lines in map(list, parts) if lines)


def _graph(record: Record, graph: schema.Graph) -> Iterator[str]:
    yield f"graph {graph.name}: {', '.join(graph.inputs) or 'no inputs'}{_at(graph.where)}"
    if graph.reason:
        yield f"  because: {graph.reason}"
    lines = next((lines for lines in record.lines.values() if lines.graph == graph.name), None)
    for number, node in enumerate(graph.nodes):
        where = _at(lines.places[lines.file_lines[number]]) if lines else ""
        yield f"  {node.text}  // n{number}{where}{f'; on the CPU: {node.host}' if node.host else ''}"
    yield f"  return {', '.join(f'%{value}' for value in graph.outputs)}"
    for number, slot in enumerate(graph.slots):
        yield f"  slot {number}: {slot.spec} {slot.role}"
    for launch in graph.launches:
        nodes = ", ".join(f"n{node}" for node in dict.fromkeys(launch.nodes))
        yield f"  launch {launch.kernel or 'on the CPU'} {launch.reads} -> {launch.writes}  // {nodes}"


def _kernel(record: Record, kernel: schema.Kernel, passes: bool) -> Iterator[str]:
    work = f"{kernel.flops} operations, {kernel.nbytes} bytes" if kernel.nbytes else "work by run-time sizes"
    yield f"kernel {kernel.name}: {kernel.signature}; {work}"
    for step in record.passes.get(f"kernels/{kernel.name}", []) if passes else []:
        yield f"  {step.stage}/{step.name}{'' if step.changed else '  (no change)'}"


def _runs(record: Record) -> Iterator[str]:
    for run in record.runs.values():
        how = f"{run.cause} {'hit' if run.hit else 'miss'}{f' sizes {run.syms}' if run.syms else ''}"
        yield f"run {run.graph} {how} on stream {run.stream}{_at(run.where)}"


def _counted(what: str, things: Iterable[str]) -> Iterator[str]:
    for thing, count in Counter(things).items():
        yield f"{what} {count} × {thing}"


def _failure(failure: schema.Failure) -> Iterator[str]:
    yield f"failure of {failure.owner} in {failure.stage}/{failure.name}: {failure.message.splitlines()[0]}"
    if failure.illegal:
        yield f"  left: {', '.join(f'{count} {name}' for name, count in sorted(failure.illegal.items()))}"


def _at(place: schema.Place | None) -> str:
    return f" at {PurePath(place.file).name}:{place.line}" if place else ""
