"""What the report's page is given: one small blob to open with, and one a graph, a kernel, an owner's passes.

    Record ─► page ─► Page                       decoded when the page opens
              graph_page, kernel_page, …         decoded when looked at

Everything is typed, and frontend/src/data/types.ts is made from these types: see `json_schema`.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import Any

import msgspec

from mlirdev import schema
from mlirdev.explore.facts import GraphDetail, GraphFacts, graph_detail, graph_facts, lines_of_nodes
from mlirdev.explore.figures import Figure, key_figures
from mlirdev.explore.graphtext import graph_text
from mlirdev.explore.links import Links
from mlirdev.explore.page_links import PageLinks
from mlirdev.explore.page_passes import Passes
from mlirdev.explore.record import Record
from mlirdev.explore.roofline import Work, launch_work
from mlirdev.explore.steps import file_number
from mlirdev.explore.summary import Summary, summarise
from mlirdev.explore.timeline import Timeline
from mlirdev.explore.trace import TRACE_FILE


@dataclass(frozen=True)
class FailureFacts:
    """A pass that failed. `before` is the number of the step whose IR it was given (-1: not kept), `lines` are the
    Python lines of the op, or of the whole owner where the op isn't known."""

    owner: str
    stage: str
    name: str
    message: str
    op: str
    lines: list[str]
    illegal: dict[str, int]
    before: int
    command: str
    reproducer: str


@dataclass(frozen=True)
class OwnerFacts:
    """Whose passes there are: "graphs/NAME" or "kernels/NAME"."""

    owner: str
    passes: int
    changed: int
    seconds: float


@dataclass(frozen=True)
class Page:
    """What the page opens with. `sources` are the files that recorded ops, `notes` say what was left out, `trace`
    is the file beside the page for Perfetto, if there is one."""

    title: str
    version: str
    summary: Summary
    figures: list[Figure]
    failures: list[FailureFacts]
    graphs: list[GraphFacts]
    owners: list[OwnerFacts]
    sources: list[str]
    options: dict[str, str]
    target: dict[str, Any]
    notes: list[str]
    trace: str


@dataclass(frozen=True)
class RunFacts:
    """A run of a graph."""

    number: int
    cause: str
    hit: bool
    at: float
    record_s: float
    launch_s: float
    stream: int
    where: str
    syms: list[int]


@dataclass(frozen=True)
class LaunchTotals:
    """A launch of a plan over all runs of its graph."""

    times: int
    seconds: float
    flops: int
    nbytes: int


@dataclass(frozen=True)
class GraphPage:
    """A graph: its nodes and plan, what each launch of the plan took (`totals`), its first `runs` (at most 1000), and
    its text beside that of the nearest graph (`text`, `nearest_text`)."""

    detail: GraphDetail
    totals: list[LaunchTotals]
    runs: list[RunFacts]
    text: str
    nearest_text: str


@dataclass(frozen=True)
class KernelUse:
    """A place where a kernel is used: launch `index` of a graph's plan, for these nodes and Python lines."""

    graph: str
    index: int
    nodes: list[int]
    ops: list[str]
    lines: list[str]
    times: int
    seconds: float


@dataclass(frozen=True)
class KernelPage:
    """A kernel in all places."""

    name: str
    key: str
    uses: list[KernelUse]


@dataclass(frozen=True)
class Blobs:
    """The page's blobs by name; `graph` stands for graph/NAME, and so on."""

    page: Page
    graph: GraphPage
    kernel: KernelPage
    passes: Passes
    links: PageLinks
    sources: dict[str, str]
    timeline: Timeline


# --- making them ----------------------------------------------------------------------------------


def page(record: Record, owners: list[str], notes: list[str]) -> Page:
    """What the page opens with; `owners` are those whose passes it has."""
    summary = summarise(record)
    known = set(owners)
    recorded = {place.file for lines in record.lines.values() for place in lines.places}
    return Page(
        title=" ".join(record.header.argv),
        version=str(record.header.versions.get("mlirdev", "")),
        summary=summary,
        figures=key_figures(summary),
        failures=[_failure(record, failure) for failure in record.failures],
        graphs=graph_facts(record),
        owners=[_owner(owner, passes) for owner, passes in record.passes.items() if owner in known],
        sources=[file for file in record.sources if file in recorded],
        options=record.header.options,
        target=record.header.target,
        notes=notes,
        trace=TRACE_FILE if (record.folder / TRACE_FILE).is_file() else "",
    )


def graph_page(links: Links, name: str) -> GraphPage:
    """All of a graph."""
    record = links.record
    graph = record.graphs[name]
    detail = graph_detail(record, name, links)
    nearest = record.graphs.get(graph.nearest)
    runs = record.runs_of.get(name, [])
    return GraphPage(
        detail=detail,
        totals=_totals(record, graph),
        runs=[_run(run) for run in runs[:1000]],
        text=graph_text(graph),
        nearest_text=graph_text(nearest) if nearest else "",
    )


def kernel_page(record: Record, name: str, uses: list[KernelUse]) -> KernelPage:
    """A kernel in all places."""
    return KernelPage(name, record.kernels[name].key, uses)


def kernel_uses(record: Record) -> dict[str, list[KernelUse]]:
    """Where each kernel is used, over all graphs, the longest first."""
    found: dict[str, list[KernelUse]] = {name: [] for name in record.kernels}
    for graph in record.graphs.values():
        totals = _totals(record, graph)
        lines = lines_of_nodes(record, graph.name)
        for index, launch in enumerate(graph.launches):
            if launch.kernel in found:
                found[launch.kernel].append(_use(graph, index, totals[index], lines))
    return {name: sorted(uses, key=lambda use: -use.seconds) for name, uses in found.items()}


def json_schema() -> dict[str, Any]:
    """The JSON Schema of `Blobs`, from which the page's own types are made."""
    _, definitions = msgspec.json.schema_components([Blobs], ref_template="#/$defs/{name}")
    for definition in definitions.values():
        # All are written, but for a record line's that have their default.
        if "kind" not in definition.get("properties", {}):
            definition["required"] = list(definition.get("properties", ()))
    return {**definitions.pop("Blobs"), "$defs": definitions}


def _failure(record: Record, failure: schema.Failure) -> FailureFacts:
    before = file_number(failure.before) if failure.before and failure.before[0].isdigit() else -1
    return FailureFacts(
        owner=failure.owner,
        stage=failure.stage,
        name=failure.name,
        message=failure.message,
        op=failure.op,
        lines=_lines_of(record, failure),
        illegal=failure.illegal,
        before=before,
        command=f"cd {shlex.quote(str(record.folder / failure.owner))} && {failure.command}" if failure.command else "",
        reproducer=failure.reproducer,
    )


def _lines_of(record: Record, failure: schema.Failure) -> list[str]:
    """The Python lines of what failed: of its ordinals where they are known, else of all that it was to compute."""
    found: dict[str, None] = {}
    for graph in record.graphs.values():
        nodes = _nodes_of(graph, failure)
        lines = lines_of_nodes(record, graph.name) if nodes else []
        found.update(dict.fromkeys(line for node in nodes for line in lines[node]))
    return list(found)


def _nodes_of(graph: schema.Graph, failure: schema.Failure) -> list[int]:
    """The nodes of a graph that a failure is about."""
    kind, _, name = failure.owner.partition("/")
    if kind == "graphs":
        return _chosen(list(range(len(graph.nodes))), failure.ordinals) if graph.name == name else []
    planned = [launch.nodes for launch in graph.launches if launch.kernel == name]
    if planned:
        return [node for nodes in planned for node in _chosen(nodes, failure.ordinals)]
    # A kernel that failed is in no plan: its nodes run on the CPU, and say for which pass.
    return [i for i, node in enumerate(graph.nodes) if failure.name and f"'{failure.name}'" in node.host]


def _chosen(nodes: list[int], ordinals: list[int]) -> list[int]:
    return [nodes[k] for k in ordinals if k < len(nodes)] or nodes


def _owner(owner: str, passes: list[schema.Pass]) -> OwnerFacts:
    changed, seconds = sum(step.changed for step in passes), sum(step.seconds for step in passes)
    return OwnerFacts(owner, len(passes), changed, seconds)


def _totals(record: Record, graph: schema.Graph) -> list[LaunchTotals]:
    launches = record.launches_of_graph.get(graph.name, {})
    found = []
    for index, planned in enumerate(graph.launches):
        ran = launches.get(index, [])
        kernel = record.kernels.get(planned.kernel)
        work = sum((launch_work(record, kernel, launch) for launch in ran), Work()) if kernel else Work()
        found.append(LaunchTotals(len(ran), sum(launch.seconds for launch in ran), work.flops, work.nbytes))
    return found


def _use(graph: schema.Graph, index: int, totals: LaunchTotals, lines: list[list[str]]) -> KernelUse:
    # Several ordinals of a kernel may stand for one node.
    nodes = list(dict.fromkeys(graph.launches[index].nodes))
    return KernelUse(
        graph=graph.name,
        index=index,
        nodes=nodes,
        ops=list(dict.fromkeys(graph.nodes[node].op for node in nodes)),
        lines=list(dict.fromkeys(line for node in nodes for line in lines[node])),
        times=totals.times,
        seconds=totals.seconds,
    )


def _run(run: schema.Run) -> RunFacts:
    where = str(run.where or "")
    return RunFacts(run.number, run.cause, run.hit, run.at, run.record_s, run.launch_s, run.stream, where, run.syms)


if __name__ == "__main__":
    print(json.dumps(json_schema(), indent=1, sort_keys=True))
