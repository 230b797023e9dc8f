"""Graphs, their nodes, runs and launches as typed values; kernels have theirs in roofline.py, passes in steps.py."""

from __future__ import annotations

from dataclasses import dataclass

from mlirdev import schema
from mlirdev.explore.links import Links
from mlirdev.explore.record import Record


@dataclass(frozen=True)
class GraphFacts:
    """A graph over the whole run. `seconds` are those of its kernels in all runs, `compile_s` what the program waited
    when it wasn't known, for `reason`; `where` is the line that launched it first."""

    name: str
    nodes: int
    host_nodes: int
    kernels: int
    launches: int
    runs: int
    hits: int
    misses: int
    seconds: float
    compile_s: float
    from_disk: bool
    generalised: bool
    syms: int
    where: str
    reason: str
    nearest: str


@dataclass(frozen=True)
class NodeFacts:
    """A node of a graph. `kernels` compute it (several, where it was recomputed), `lines` are the Python lines that
    recorded it, `host` says why it runs on the CPU, if it does, `fate` why no kernel computes it, where none does."""

    number: int
    op: str
    text: str
    results: list[str]
    kernels: list[str]
    lines: list[str]
    host: str
    fate: str


@dataclass(frozen=True)
class GraphDetail:
    """A graph with all that is in it. `launches` name their kernel, or are empty for a node on the CPU."""

    facts: GraphFacts
    inputs: list[str]
    outputs: list[int]
    nodes: list[NodeFacts]
    slots: list[schema.PlanSlot]
    launches: list[schema.PlanLaunch]
    stages: dict[str, float]


@dataclass(frozen=True)
class LaunchFacts:
    """A launch that has run: number `index` of its run's plan. `kernel` is empty for `op` on the CPU."""

    run: int
    index: int
    graph: str
    kernel: str
    op: str
    stream: int
    at: float
    seconds: float
    threads: int
    lines: list[str]


def graph_facts(record: Record) -> list[GraphFacts]:
    """Every graph, in the order in which they were compiled."""
    return [_graph(record, graph) for graph in record.graphs.values()]


def graph_detail(record: Record, name: str, links: Links | None = None) -> GraphDetail:
    """One graph with its nodes and plan; `links` are those of the record, where there are some already."""
    graph = record.graphs[name]
    facts, nodes = _graph(record, graph), node_facts(record, name, links or Links(record))
    return GraphDetail(facts, graph.inputs, graph.outputs, nodes, graph.slots, graph.launches, graph.stages)


def node_facts(record: Record, name: str, links: Links) -> list[NodeFacts]:
    """A graph's nodes with their kernels and lines."""
    graph = record.graphs[name]
    kernels: list[dict[str, None]] = [{} for _ in graph.nodes]
    for launch in graph.launches:
        for node in launch.nodes:
            kernels[node][launch.kernel] = None
    lines = lines_of_nodes(record, name)
    return [
        NodeFacts(
            number=i,
            op=node.op,
            text=node.text,
            results=node.results,
            kernels=[kernel for kernel in kernels[i] if kernel],
            lines=lines[i],
            host=node.host,
            fate=links.fate(name, i).after,
        )
        for i, node in enumerate(graph.nodes)
    ]


def lines_of_nodes(record: Record, name: str) -> list[list[str]]:
    """The Python lines that recorded each node of a graph, over all ways in which the program reached it."""
    found: list[dict[str, None]] = [{} for _ in record.graphs[name].nodes]
    for lines in record.lines.values():
        if lines.graph == name:
            for node, place in enumerate(lines.file_lines):
                found[node][str(lines.places[place])] = None
    return [list(lines) for lines in found]


def launch_facts(record: Record) -> list[LaunchFacts]:
    """Every launch in the order of the record."""
    return [_launch(record, launch) for launch in record.launches]


def _graph(record: Record, graph: schema.Graph) -> GraphFacts:
    runs = record.runs_of.get(graph.name, [])
    launches = record.launches_of_graph.get(graph.name, {}).values()
    hits = sum(run.hit for run in runs)
    return GraphFacts(
        name=graph.name,
        nodes=len(graph.nodes),
        host_nodes=sum(bool(node.host) for node in graph.nodes),
        kernels=len({launch.kernel for launch in graph.launches if launch.kernel}),
        launches=len(graph.launches),
        runs=len(runs),
        hits=hits,
        misses=len(runs) - hits,
        seconds=sum(launch.seconds for ran in launches for launch in ran),
        compile_s=graph.seconds,
        from_disk=graph.from_disk,
        generalised=graph.generalised,
        syms=graph.syms,
        where=str(graph.where or (runs[0].where if runs else None) or ""),
        reason=graph.reason,
        nearest=graph.nearest,
    )


def _launch(record: Record, launch: schema.Launch) -> LaunchFacts:
    run, planned = record.runs[launch.run], record.planned(launch)
    nodes = record.graphs[run.graph].nodes
    return LaunchFacts(
        run=launch.run,
        index=launch.index,
        graph=run.graph,
        kernel=planned.kernel,
        op="" if planned.kernel else ", ".join(nodes[node].op for node in planned.nodes),
        stream=launch.stream,
        at=launch.at,
        seconds=launch.seconds,
        threads=launch.threads,
        lines=[str(place) for place in record.places(launch)],
    )
