"""A record, read: everything that `--explore` wrote, by name.

record.jsonl, */passes.jsonl ─► load_record ─► Record ─► show, diff, the report, the trace
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import msgspec

from mlirdev import schema
from mlirdev.dump import COMMENTS
from mlirdev.errors import OptionError


@dataclass
class Record:
    """See the module's docstring. Lists are in the order in which things happened; `passes` are by owner, a graph's
    "graphs/NAME" or a kernel's "kernels/NAME"; `is_whole` is false where the program ended without closing it."""

    folder: Path
    header: schema.Header
    graphs: dict[str, schema.Graph] = field(default_factory=dict)
    kernels: dict[str, schema.Kernel] = field(default_factory=dict)
    passes: dict[str, list[schema.Pass]] = field(default_factory=dict)
    failures: list[schema.Failure] = field(default_factory=list)
    lines: dict[int, schema.Lines] = field(default_factory=dict)
    runs: dict[int, schema.Run] = field(default_factory=dict)
    launches: list[schema.Launch] = field(default_factory=list)
    copies: list[schema.Copy] = field(default_factory=list)
    memory: list[schema.Memory] = field(default_factory=list)
    syncs: list[schema.Sync] = field(default_factory=list)
    fallbacks: list[schema.Fallback] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    end: schema.End | None = None

    @property
    def is_whole(self) -> bool:
        return self.end is not None

    def text(self, of: schema.Pass) -> str:
        """The IR after a pass, without the comment at the file's head."""
        return without_head(self.folder / of.owner / of.file)

    @cached_property
    def runs_of(self) -> dict[str, list[schema.Run]]:
        """The runs of each graph."""
        found: dict[str, list[schema.Run]] = defaultdict(list)
        for run in self.runs.values():
            found[run.graph].append(run)
        return dict(found)

    @cached_property
    def launches_of(self) -> dict[str, list[schema.Launch]]:
        """The launches of each kernel."""
        found: dict[str, list[schema.Launch]] = defaultdict(list)
        for launch in self.launches:
            found[self.planned(launch).kernel].append(launch)
        return dict(found)

    @cached_property
    def launches_of_graph(self) -> dict[str, dict[int, list[schema.Launch]]]:
        """The launches of each graph by their number in its plan."""
        found: dict[str, dict[int, list[schema.Launch]]] = defaultdict(lambda: defaultdict(list))
        for launch in self.launches:
            found[self.runs[launch.run].graph][launch.index].append(launch)
        return {graph: dict(by_index) for graph, by_index in found.items()}

    @cached_property
    def graphs_of_kernel(self) -> dict[str, list[str]]:
        """The graphs whose plans launch each kernel."""
        found: dict[str, dict[str, None]] = defaultdict(dict)
        for graph in self.graphs.values():
            for launch in graph.launches:
                found[launch.kernel][graph.name] = None
        return {kernel: list(graphs) for kernel, graphs in found.items()}

    @cached_property
    def places_of_kernel(self) -> dict[str, list[schema.Place]]:
        """The Python lines that each kernel was launched for, those of most launches first."""
        found: dict[str, Counter[schema.Place]] = defaultdict(Counter)
        for launch in self.launches:
            found[self.planned(launch).kernel].update(self.places(launch))
        return {kernel: [place for place, _ in counts.most_common()] for kernel, counts in found.items()}

    def planned(self, launch: schema.Launch) -> schema.PlanLaunch:
        """The plan's entry for a launch."""
        return self.graphs[self.runs[launch.run].graph].launches[launch.index]

    def ops(self, launch: schema.Launch) -> str:
        """The ops that a launch computes, each once."""
        graph = self.graphs[self.runs[launch.run].graph]
        return ", ".join(dict.fromkeys(graph.nodes[node].op for node in self.planned(launch).nodes))

    def places(self, launch: schema.Launch) -> list[schema.Place]:
        """The Python lines of a launch's nodes, each once, in the order of the nodes."""
        lines = self.lines[self.runs[launch.run].lines]
        found = [lines.places[lines.file_lines[node]] for node in self.planned(launch).nodes]
        return list(dict.fromkeys(found))


def load_record(folder: Path) -> Record:
    """The record in this folder. Raises OptionError where there is none, or one that this version can't read."""
    path = folder / schema.RECORD_FILE
    if not path.is_file():
        raise OptionError(
            f"{folder} holds no {schema.RECORD_FILE}; make a record with: mlirdev run --explore {folder} …"
        )
    lines = _read(path)
    header = next(lines, None)
    if not isinstance(header, schema.Header):
        raise OptionError(f"{path} doesn't start with a header, so it is no record, or its program ended at once")
    if header.version != schema.VERSION:
        raise OptionError(f"{path} is of version {header.version}, this mlirdev reads {schema.VERSION}; make it again")
    record = Record(folder, header)
    for line in lines:
        _add(record, line)
    for file in sorted(folder.glob(f"*/*/{schema.PASSES_FILE}")):
        for line in _read(file):
            _add(record, line)
    return record


def without_head(path: Path) -> str:
    """A stage file's text without the comment at its head."""
    comment = COMMENTS.get(path.suffix, "//")
    lines = path.read_text().splitlines(keepends=True)
    start = next((i for i, line in enumerate(lines) if not line.startswith(comment)), len(lines))
    return "".join(lines[start:])


def _read(path: Path) -> Iterator[schema.AnyLine]:
    """The lines of a file; a last one that was cut off in the middle is left out."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                yield schema.decode(line)
            except msgspec.DecodeError as error:
                if line.endswith(b"\n"):
                    raise OptionError(f"{path}, line {number}: {error}; the file is damaged, make it again") from error


def _add(record: Record, line: schema.AnyLine) -> None:
    if type(line) in _NAMED:
        where, key = _NAMED[type(line)]
        getattr(record, where)[getattr(line, key)] = line
    elif type(line) in _LISTED:
        getattr(record, _LISTED[type(line)]).append(line)
    elif isinstance(line, schema.Pass):
        record.passes.setdefault(line.owner, []).append(line)
    elif isinstance(line, schema.Source):
        record.sources[line.file] = line.text
    elif isinstance(line, schema.Header):
        record.header = line
    elif isinstance(line, schema.End):
        record.end = line


# Lines that have a name or number: the Record's dict that they go to, and what is their key.
_NAMED: dict[type, tuple[str, str]] = {
    schema.Graph: ("graphs", "name"),
    schema.Kernel: ("kernels", "name"),
    schema.Lines: ("lines", "id"),
    schema.Run: ("runs", "number"),
}
# Lines that come one after the other: the Record's list.
_LISTED: dict[type, str] = {
    schema.Failure: "failures",
    schema.Launch: "launches",
    schema.Copy: "copies",
    schema.Memory: "memory",
    schema.Sync: "syncs",
    schema.Fallback: "fallbacks",
}
