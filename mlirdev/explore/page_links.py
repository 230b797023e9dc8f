"""What the page needs to go from a Python line to the instruction and back: the relation of `links.py` as plain data.

    places ─ ways (of a graph) ─ nodes ─ launches of its plan ─ ordinals of a kernel ─ `Passes.marks`

Numbers in it are places in the lists beside them.
"""

from __future__ import annotations

from collections import defaultdict

import msgspec

from mlirdev import schema
from mlirdev.explore.links import Links
from mlirdev.explore.record import Record


class Spot(msgspec.Struct, frozen=True):
    """A line of the user's program; `seconds` are those of launches, each shared by the lines of its nodes in
    proportion to their number."""

    file: str
    line: int
    function: str
    seconds: float


class Way(msgspec.Struct, frozen=True):
    """A way in which the program reached a graph: of each of its nodes, the place."""

    id: int
    graph: str
    places: list[int]


class PlannedLaunch(msgspec.Struct, frozen=True):
    """A launch of a plan: `kernel` is empty on the host, `nodes[k]` is the node behind ordinal k."""

    kernel: str
    nodes: list[int]


class GraphLinks(msgspec.Struct, frozen=True):
    """A graph's nodes as texts, its plan, and the fate, in words, of each node that no launch computes."""

    nodes: list[str]
    launches: list[PlannedLaunch]
    fates: dict[int, str]


class RunLinks(msgspec.Struct, frozen=True):
    """A run, with the seconds of each launch of its plan: null where it didn't come to that."""

    number: int
    graph: str
    way: int
    cause: str
    at: float
    seconds: list[float | None]


class PageLinks(msgspec.Struct, frozen=True):
    """See the module's docstring."""

    places: list[Spot]
    ways: list[Way]
    graphs: dict[str, GraphLinks]
    runs: list[RunLinks]


def page_links(links: Links) -> PageLinks:
    """The relation of a record."""
    record = links.record
    places = {place: n for n, place in enumerate(dict.fromkeys(p for way in record.lines.values() for p in way.places))}
    ways = [
        Way(way.id, way.graph, [places[way.places[index]] for index in way.file_lines]) for way in record.lines.values()
    ]
    seconds = _seconds(record, ways, len(places))
    return PageLinks(
        [Spot(place.file, place.line, place.function, seconds[n]) for place, n in places.items()],
        ways,
        {name: _graph(links, graph) for name, graph in record.graphs.items()},
        _runs(record),
    )


def _graph(links: Links, graph: schema.Graph) -> GraphLinks:
    fates = {node: links.fate(graph.name, node) for node in range(len(graph.nodes))}
    return GraphLinks(
        [node.text for node in graph.nodes],
        [PlannedLaunch(launch.kernel, launch.nodes) for launch in graph.launches],
        {node: fate.after for node, fate in fates.items() if fate.after},
    )


def _runs(record: Record) -> list[RunLinks]:
    seconds: dict[int, dict[int, float]] = defaultdict(dict)
    for launch in record.launches:
        seconds[launch.run][launch.index] = launch.seconds
    return [
        RunLinks(
            run.number,
            run.graph,
            run.lines,
            run.cause,
            run.at,
            [seconds[run.number].get(index) for index in range(len(record.graphs[run.graph].launches))],
        )
        for run in record.runs.values()
    ]


def _seconds(record: Record, ways: list[Way], count: int) -> list[float]:
    """The seconds of each place."""
    places_of = {way.id: way.places for way in ways}
    total = [0.0] * count
    for launch in record.launches:
        places = places_of[record.runs[launch.run].lines]
        nodes = set(record.planned(launch).nodes)
        for node in nodes:
            total[places[node]] += launch.seconds / len(nodes)
    return total
