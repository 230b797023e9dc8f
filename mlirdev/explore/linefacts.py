"""The user's lines as typed values: time by line, and what became of one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

from mlirdev import schema
from mlirdev.errors import OptionError
from mlirdev.explore.facts import LaunchFacts, launch_facts
from mlirdev.explore.irtext import LOCATION
from mlirdev.explore.links import Links, Use
from mlirdev.explore.names import resolve
from mlirdev.explore.record import Record


@dataclass(frozen=True)
class SourceLine:
    """A line of a file: `nodes` of graphs that it recorded, launches that compute them, and their seconds, each
    launch's shared by the lines of its nodes."""

    line: int
    text: str
    nodes: int
    launches: int
    seconds: float


@dataclass(frozen=True)
class SourceFacts:
    """A file of the user's program."""

    file: str
    seconds: float
    lines: list[SourceLine]


@dataclass(frozen=True)
class LineNode:
    """A node that a line recorded. `fate` says in words why no kernel computes it, where none does."""

    graph: str
    node: int
    text: str
    kernels: list[str]
    fate: str


@dataclass(frozen=True)
class StageLines:
    """The lines of a kernel's stage, from 1, that compute for a line of the program; their text without locations."""

    kernel: str
    number: int
    file: str
    lines: list[int]
    texts: list[str]


@dataclass(frozen=True)
class LineFacts:
    """What became of a line: nodes, lines of kernels at the ends of MLIR and LLVM, and as machine code, launches."""

    file: str
    line: int
    text: str
    seconds: float
    nodes: list[LineNode]
    stages: list[StageLines]
    launches: list[LaunchFacts]


def source_facts(record: Record, file: str) -> SourceFacts:
    """A file's lines with what they cost."""
    seconds, launches = _costs(record)
    nodes: dict[tuple[str, int], int] = defaultdict(int)
    for place, graphs in Links(record).nodes_of_place.items():
        nodes[place.file, place.line] += sum(map(len, graphs.values()))
    lines = [
        SourceLine(n, text, nodes[file, n], launches[file, n], seconds[file, n])
        for n, text in enumerate(_source(record, file), 1)
    ]
    return SourceFacts(file, sum(line.seconds for line in lines), lines)


def line_facts(record: Record, file: str, line: int) -> LineFacts:
    """What became of a line. Raises OptionError for one that recorded nothing."""
    links = Links(record)
    nodes = _nodes_of(links, file, line)
    if not any(nodes.values()):
        raise OptionError(_nothing(links, file, line))
    source = _source(record, file)
    wanted = {f"{file}:{line}"}
    return LineFacts(
        file=file,
        line=line,
        text=source[line - 1] if line <= len(source) else "",
        seconds=_costs(record)[0][file, line],
        nodes=[_line_node(links, graph, node) for graph, found in nodes.items() for node in found],
        stages=_stages(links, nodes),
        launches=[launch for launch in launch_facts(record) if wanted & set(launch.lines)],
    )


def resolve_file(record: Record, given: str) -> str:
    """The file of the record that `given` is, or is the end of: "train.py" of "/home/me/train.py"."""
    files = _files(record)
    if given in files:
        return given
    parts = PurePath(given).parts
    found = [file for file in files if PurePath(file).parts[-len(parts) :] == parts]
    return found[0] if len(found) == 1 else resolve("file", given, found or files)


def _files(record: Record) -> list[str]:
    """The files that recorded something, or whose text the record has."""
    places = (place.file for lines in record.lines.values() for place in lines.places)
    return list(dict.fromkeys([*record.sources, *places]))


def _source(record: Record, file: str) -> list[str]:
    return record.sources.get(file, "").splitlines()


def _costs(record: Record) -> tuple[dict[tuple[str, int], float], dict[tuple[str, int], int]]:
    """Seconds and launches by file and line."""
    seconds: dict[tuple[str, int], float] = defaultdict(float)
    launches: dict[tuple[str, int], int] = defaultdict(int)
    for launch in record.launches:
        lines = record.lines[record.runs[launch.run].lines]
        nodes = set(record.planned(launch).nodes)
        places = [lines.places[lines.file_lines[node]] for node in nodes]
        for place in places:
            seconds[place.file, place.line] += launch.seconds / len(nodes)
        for key in {(place.file, place.line) for place in places}:
            launches[key] += 1
    return seconds, launches


def _nodes_of(links: Links, file: str, line: int) -> dict[str, list[int]]:
    """The nodes that a line recorded, by graph."""
    found: dict[str, set[int]] = defaultdict(set)
    for place, graphs in links.nodes_of_place.items():
        if (place.file, place.line) == (file, line):
            for graph, nodes in graphs.items():
                found[graph].update(nodes)
    return {graph: sorted(nodes) for graph, nodes in found.items()}


def _nothing(links: Links, file: str, line: int) -> str:
    lines = sorted({place.line for place in links.nodes_of_place if place.file == file})
    if not lines:
        return f"{file} has no line that recorded something"
    near = sorted(sorted(lines, key=lambda other: abs(other - line))[:5])
    return f"{file}:{line} recorded nothing; lines near it that did: {', '.join(map(str, near))}"


def _line_node(links: Links, graph: str, node: int) -> LineNode:
    fate = links.fate(graph, node)
    kernels = list(dict.fromkeys(links.planned(use).kernel for use in fate.uses))
    return LineNode(graph, node, links.record.graphs[graph].nodes[node].text, kernels, fate.after)


def _stages(links: Links, nodes: dict[str, list[int]]) -> list[StageLines]:
    """The lines at the ends of a kernel's stages, over all of its uses for these nodes."""
    ordinals: dict[str, set[int]] = defaultdict(set)
    for graph, found in nodes.items():
        for index, launch in enumerate(links.record.graphs[graph].launches):
            if launch.kernel:
                ordinals[launch.kernel].update(links.ordinals(Use(graph, index), found))
    return [
        stage
        for kernel, of in ordinals.items()
        for number, last in _ends(links.record.passes.get(f"kernels/{kernel}", ()))
        if (stage := _stage_lines(links, kernel, number, last, of)).lines
    ]


def _ends(passes: Iterable[schema.Pass]) -> list[tuple[int, schema.Pass]]:
    """A kernel as it was formed, and the last of each language: LLVM dialect, LLVM IR, assembly; with their numbers."""
    numbered = list(enumerate(passes))
    last = {PurePath(of.file).suffix: (number, of) for number, of in numbered}
    return [*numbered[:1], *(end for end in last.values() if end[0])]


def _stage_lines(links: Links, kernel: str, number: int, of: schema.Pass, ordinals: set[int]) -> StageLines:
    texts = links.record.text(of).split("\n")
    lines = [n for n, found in enumerate(links.lines(of), 1) if ordinals & set(found or ())]
    return StageLines(kernel, number, of.file, lines, [LOCATION.sub("", texts[n - 1]) for n in lines])
