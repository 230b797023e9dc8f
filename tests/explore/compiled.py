"""A record of graphs that are compiled here, in this process: real stages, and a program made up around them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mlirdev import schema
from mlirdev.compiler import stages
from mlirdev.dump import SUFFIXES, slug
from mlirdev.explore.irtext import language_of, op_counts
from mlirdev.explore.record import Record
from mlirdev.graph import Graph
from mlirdev.graph_text import parse_graph
from mlirdev.plan import HostLaunch, Launch
from mlirdev.target import load_target

HEADER = schema.Header(schema.VERSION, ["model.py"], "2026-01-01T00:00:00Z", {}, {}, {})


class StageFiles:
    """An Observer that writes what it sees into a record."""

    def __init__(self, record: Record, owner: str) -> None:
        self._record, self._owner = record, owner
        (record.folder / owner).mkdir(parents=True)
        self._passes = record.passes.setdefault(owner, [])
        self._text = ""

    def begin(self, stage: str, coming: object, legal: object, text: Callable[[], str]) -> None:
        self._write(stage, "input", text())

    def __call__(self, stage: str, pass_name: str, text: Callable[[], str], seconds: float) -> None:
        self._write(stage, pass_name, text())

    def _write(self, stage: str, name: str, text: str) -> None:
        number = len(self._passes)
        file = f"{number:03d}-{stage}-{slug(name)}{SUFFIXES.get(stage, '.mlir')}"
        (self._record.folder / self._owner / file).write_text(text)
        changed, self._text = text != self._text, text
        ops = op_counts(text, language_of(file))
        self._passes.append(schema.Pass(self._owner, number, stage, name, file, changed=changed, ops=ops))


def record_of(folder: Path, *texts: str) -> Record:
    """The record of graphs g_0, g_1, … of these texts. Node k of each comes from line 10 + k of model.py, and each is
    launched once. Kernels are called by their kind and number, such as row-0."""
    record = Record(folder, HEADER)
    target = load_target("host")
    keys: dict[str, str] = {}
    for number, text in enumerate(texts):
        graph, name = parse_graph(text), f"g_{number}"
        front = stages.front(graph, target, StageFiles(record, f"graphs/{name}"))
        assert isinstance(front, stages.Front)
        for key, source in front.kernels.items():
            if key not in keys:
                keys[key] = kernel = f"{source.kind}-{len(keys)}"
                record.kernels[kernel] = schema.Kernel(kernel, key, source.kind)
                stages.back(source, key, target, StageFiles(record, f"kernels/{kernel}"))
        record.graphs[name] = _graph_line(name, graph, front, keys)
        places = [schema.Place("model.py", 10 + k, "forward") for k in range(len(graph.nodes))]
        record.lines[number] = schema.Lines(number, name, places, list(range(len(places))))
        record.runs[number] = schema.Run(number, name, "value", False, number, float(number))
        record.launches += [schema.Launch(number, k, 0, float(k), 1e-5) for k in range(len(front.plan.launches))]
    return record


def _graph_line(name: str, graph: Graph, front: stages.Front, keys: dict[str, str]) -> schema.Graph:
    lines = [line for line in str(graph).split("\n") if "  // n" in line]
    nodes = [
        schema.GraphNode(node.op, line, list(node.operands()), list(map(str, node.results)))
        for node, line in zip(graph.nodes, lines, strict=True)
    ]
    launches = [_launch_line(launch, keys) for launch in front.plan.launches]
    return schema.Graph(name, list(map(str, graph.inputs)), nodes, list(graph.outputs), [], launches)


def _launch_line(launch: Launch | HostLaunch, keys: dict[str, str]) -> schema.PlanLaunch:
    if isinstance(launch, HostLaunch):
        return schema.PlanLaunch("", [launch.node], [], [])
    return schema.PlanLaunch(keys[launch.kernel], list(launch.nodes), [], list(launch.results))


def save(record: Record) -> Path:
    """Write the record's lines beside its stages; its folder."""
    lines: list[schema.AnyLine] = [record.header, *record.graphs.values(), *record.kernels.values()]
    lines += [*record.lines.values(), *record.runs.values(), *record.launches]
    lines += [schema.Source(file, text) for file, text in record.sources.items()]
    lines.append(schema.End(1.0, {}))
    (record.folder / schema.RECORD_FILE).write_bytes(b"".join(map(schema.encode, lines)))
    for owner, passes in record.passes.items():
        (record.folder / owner / schema.PASSES_FILE).write_bytes(b"".join(map(schema.encode, passes)))
    return record.folder
