"""Launching a whole trace.

    tuple(code), inputs' layouts, live outputs ─► known? ─► Launchable ─► Executable.run
                                                    └ no ─► Graph (dead nodes dropped) ─► compiler

The outputs are the values that a cell still holds: cells die with their storages, so this is exact.
A flush that fails or is interrupted leaves its trace closed but whole; whoever needs a value tries again.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any

import torch

from mlirdev import compiler
from mlirdev.events import Fallback, Flush, SourceLine, emit
from mlirdev.graph import Graph
from mlirdev.guards import check_fallback
from mlirdev.lazy.layouts import Layout
from mlirdev.lazy.lines import here, source_line
from mlirdev.lazy.trace import Entry, Trace, recorder, renew
from mlirdev.options import options
from mlirdev.runtime import Buffer

_lock = threading.RLock()


@dataclass(frozen=True)
class Launchable:
    """What a key stands for: the executable, and which inputs, scalars and nodes of the trace it takes."""

    executable: compiler.Executable
    syms: tuple[int, ...]
    inputs: tuple[int, ...]
    scalars: tuple[int, ...]
    nodes: tuple[int, ...]


_launchables: dict[Any, Launchable] = {}


def flush(trace: Trace, cause: str) -> None:
    """Launch everything recorded in `trace`; afterwards its live cells have buffers."""
    with _lock:
        if trace.done:
            return
        renew(trace)
        if trace not in recorder.parked:
            recorder.parked.append(trace)
        _launch(trace, cause)
        trace.done = True
        recorder.parked.remove(trace)
        _clear(trace)


def _launch(trace: Trace, cause: str) -> None:
    start = time.perf_counter()
    cells = trace.cells()
    outputs = tuple(sorted({cell.number for cell in cells if cell.number >= 0}))
    if not outputs:
        return
    key = (tuple(trace.code), tuple([layout for _, layout in trace.inputs]), outputs, options.target, options.pipeline, options.compile)
    launchable = _launchables.get(key)
    hit = launchable is not None
    if launchable is None:
        launchable = _launchables[key] = _prepare(trace, outputs)
    if launchable.executable.host and options.compile != "reference":
        _report_host_nodes(trace, launchable)
    buffers = _run(trace, launchable)
    by_number = dict(zip(outputs, buffers, strict=True))
    for cell in cells:
        cell.buffer = by_number[cell.number]
    emit(
        Flush(
            where=source_line(here()),
            cause=cause,
            nodes=len(launchable.nodes),
            outputs=len(outputs),
            hit=hit,
            graph=launchable.executable.name,
            launches=launchable.executable.launches,
            launch_s=time.perf_counter() - start,
        )
    )


def _report_host_nodes(trace: Trace, launchable: Launchable) -> None:
    """Warn, or raise where fallbacks are forbidden, and tell which nodes of the plan run on the CPU."""
    for node, reason in launchable.executable.host.items():
        op, at = launchable.executable.graph.nodes[node].op, 2 * launchable.nodes[node]
        where = source_line((trace.wheres[at], trace.wheres[at + 1]))
        check_fallback(op, reason, where)
        emit(Fallback(where=where, op=op, cause="no_lowering", reason=reason))


def _run(trace: Trace, launchable: Launchable) -> list[Buffer]:
    inputs = [trace.inputs[i][0] for i in launchable.inputs]
    scalars = [trace.scalars[i] for i in launchable.scalars]
    for buffer in inputs:
        buffer.check()
    return launchable.executable.run(
        trace.stream, inputs, scalars, launchable.syms, torch.get_num_threads(), _describe
    )


def _describe(launch: Any, word: tuple[int, int, int, int]) -> Exception:
    return IndexError(f"index {word[2]} is out of bounds for dimension of size {word[3]}")


def _prepare(trace: Trace, outputs: tuple[int, ...]) -> Launchable:
    graph, inputs, scalars, nodes = build_graph(trace, outputs)
    where = where_of_node(trace, 0)
    executable, syms = compiler.executable_for(graph, where)
    return Launchable(executable, syms, inputs, scalars, nodes)


@dataclass(frozen=True)
class _Recorded:
    """A node of the trace: its place among the nodes, first value, operands' numbers and first scalar."""

    index: int
    entry: Entry
    first: int
    operands: tuple[int, ...]
    scalar: int


def recorded_nodes(trace: Trace) -> list[_Recorded]:
    """The trace's nodes, read out of its flat lists."""
    nodes, code = [], trace.code
    at = value = scalar = 0
    while at < len(code):
        entry: Entry = code[at]
        end = at + 1 + entry.arity
        nodes.append(_Recorded(len(nodes), entry, value, tuple(code[at + 1 : end]), scalar))
        at, value, scalar = end, value + len(entry.outputs), scalar + len(entry.scalars)
    return nodes


def build_graph(
    trace: Trace, outputs: tuple[int, ...]
) -> tuple[Graph, tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The Graph that computes `outputs`, and which of the trace's inputs, scalars and nodes are in it."""
    live = _needed(recorded_nodes(trace), outputs)
    inputs = sorted({-1 - n for node in live for n in node.operands if n < 0})
    numbers = {-1 - i: k for k, i in enumerate(inputs)}
    graph_nodes, scalars, kinds = [], [], []
    count = len(inputs)
    for node in live:
        graph_nodes.append(node.entry.node(lambda k, node=node: numbers[node.operands[k]], len(scalars)))
        for i in range(len(node.entry.outputs)):
            numbers[node.first + i] = count + i
        count += len(node.entry.outputs)
        scalars += range(node.scalar, node.scalar + len(node.entry.scalars))
        kinds += node.entry.scalars
    specs = tuple(trace.inputs[i][1].spec for i in inputs)
    graph = Graph(specs, tuple(kinds), tuple(graph_nodes), tuple(numbers[o] for o in outputs))
    return graph, tuple(inputs), tuple(scalars), tuple(node.index for node in live)


def _needed(nodes: list[_Recorded], outputs: tuple[int, ...]) -> list[_Recorded]:
    wanted, kept = set(outputs), []
    for node in reversed(nodes):
        if wanted.isdisjoint(range(node.first, node.first + len(node.entry.outputs))):
            continue
        wanted.update(node.operands)
        kept.append(node)
    return kept[::-1]


def _clear(trace: Trace) -> None:
    """Let go of everything: cells may refer to a launched trace for long."""
    trace.code, trace.scalars, trace.log, trace.holders, trace.inputs, trace.known = [], [], [], [], [], {}


def where_of_node(trace: Trace, index: int) -> SourceLine | None:
    return source_line((trace.log[3 * index], trace.log[3 * index + 1]))


def check(trace: Trace) -> None:
    """A trace has grown past its checkpoint."""
    if options.mode != "lazy":
        flush(trace, "mode")
        return
    trace.checkpoint = trace.count + 256
    if trace.nodes >= 2 * options.max_nodes:
        flush(trace, "limit")
