"""Graphs, what is in one, and their runs."""

from __future__ import annotations

from mlirdev.explore import units
from mlirdev.explore.facts import GraphDetail, GraphFacts, graph_detail, graph_facts
from mlirdev.explore.names import resolve_graph
from mlirdev.explore.record import Record
from mlirdev.explore.view import Prose, Table, View


def graphs(record: Record) -> View:
    """Every graph: size, runs, hits, time, and why it was compiled."""
    found = graph_facts(record)
    rows = [
        (
            graph.name,
            f"{graph.nodes:,}",
            f"{graph.kernels:,}",
            f"{graph.runs:,}",
            f"{graph.hits:,}",
            units.seconds(graph.seconds),
            units.seconds(graph.compile_s),
            graph.where,
            graph.reason,
        )
        for graph in found
    ]
    columns = ("graph", "nodes", "kernels", "runs", "hits", "kernel time", "compile", "line", "why")
    return View(found, [Table("Graphs", columns, rows, frozenset({"graph", "line", "why"}))])


def graph(record: Record, given: str) -> View:
    """One graph: its nodes with line and kernel, its plan."""
    detail = graph_detail(record, resolve_graph(record, given))
    return View(detail, [_head(detail.facts, detail), _nodes(detail), _plan(detail), _slots(detail)])


def runs(record: Record) -> View:
    """Every launch of a graph."""
    found = list(record.runs.values())
    rows = [
        (
            str(run.number),
            run.graph,
            "hit" if run.hit else "miss",
            run.cause,
            str(run.where or ""),
            units.seconds(run.at),
            units.seconds(run.record_s),
            units.seconds(run.launch_s),
            str(run.stream),
            ", ".join(map(str, run.syms)),
        )
        for run in found
    ]
    columns = ("run", "graph", "found", "cause", "line", "at", "recording", "launch", "stream", "sizes")
    return View(found, [Table("Runs", columns, rows, frozenset({"graph", "found", "cause", "line", "sizes"}))])


def _head(facts: GraphFacts, detail: GraphDetail) -> Prose:
    found = "from the disk cache" if facts.from_disk else f"compiled in {units.seconds(facts.compile_s)}"
    outputs = ", ".join(f"%{output}" for output in detail.outputs)
    said = {
        "inputs": ", ".join(f"%{i}: {spec}" for i, spec in enumerate(detail.inputs)),
        "outputs": outputs,
        "runs": f"{facts.runs:,}, {facts.hits:,} hits; {units.seconds(facts.seconds)} in kernels",
        "found": found + (", with run-time sizes" if facts.syms else ""),
        "why": facts.reason,
        "nearest": facts.nearest,
        "line": facts.where,
    }
    return Prose(facts.name, [f"  {name:8} {text}" for name, text in said.items() if text])


def _nodes(detail: GraphDetail) -> Table:
    rows = [
        (
            str(node.number),
            node.text,
            ", ".join(node.kernels) or node.fate,
            ", ".join(node.lines),
        )
        for node in detail.nodes
    ]
    columns = ("node", "text", "kernels", "lines")
    return Table("Nodes", columns, rows, frozenset({"text", "kernels", "lines"}))


def _plan(detail: GraphDetail) -> Table:
    rows = [
        (
            str(number),
            launch.kernel or "on the CPU",
            _listed(list(dict.fromkeys(launch.nodes))),
            _listed(launch.reads),
            _listed(launch.writes),
        )
        for number, launch in enumerate(detail.launches)
    ]
    columns = ("launch", "kernel", "nodes", "reads slots", "writes slots")
    return Table("Plan", columns, rows, frozenset({"kernel", "nodes", "reads slots", "writes slots"}))


def _slots(detail: GraphDetail) -> Table:
    rows = [
        (str(number), slot.spec, slot.role, units.nbytes(slot.nbytes) if slot.nbytes else "run-time")
        for number, slot in enumerate(detail.slots)
    ]
    return Table("Memory slots", ("slot", "spec", "role", "size"), rows, frozenset({"spec", "role"}))


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))
