"""Why a graph missed the cache, in words: what differs from the nearest cached graph."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from difflib import SequenceMatcher

from mlirdev.graph import Graph, Node, format_arg

# How the sentences begin that say: nothing to compare with; sizes alone differ.
FIRST_GRAPH = "the first graph of this program"
SIZES = "sizes: "


def nearest(graph: Graph, cached: Iterable[Graph]) -> Graph | None:
    """The cached graph that shares the most with this one; the latest among equals."""
    best, best_score = None, -1.0
    for other in cached:
        score = _similarity(graph, other)
        if score >= best_score:
            best, best_score = other, score
    return best


def describe(graph: Graph, other: Graph | None, grew: bool = False) -> str:
    """One line on what differs first, for a person; `grew`: the sizes of inputs, and what follows from them."""
    if other is None:
        return FIRST_GRAPH
    if grew:
        return _sizes(replace(graph, nodes=()), replace(other, nodes=()))
    if graph.skeleton == other.skeleton:
        return _sizes(graph, other)
    if len(graph.nodes) != len(other.nodes) or [n.op for n in graph.nodes] != [n.op for n in other.nodes]:
        return _ops(graph, other)
    for position, (ours, theirs) in enumerate(zip(graph.nodes, other.nodes, strict=True)):
        if ours != theirs:
            return f"n{position} {ours.op}: {_node(ours)} was {_node(theirs)}"
    if graph.inputs != other.inputs:
        return f"inputs: {_specs(graph)} were {_specs(other)}"
    return f"which values stay alive: {len(graph.outputs)} outputs were {len(other.outputs)}"


def describe_marks(marked: Iterable[tuple[int, int]], graph: Graph) -> str:
    """Which sizes were known to vary before they did, in words; nothing where none were."""
    dims = [
        f"dim {dim} of {graph.inputs[value]}" for value, dim in marked if graph.inputs[value].shape[dim] not in (0, 1)
    ]
    return f"; marked as varying: {', '.join(dict.fromkeys(dims))}" if dims else ""


def _similarity(graph: Graph, other: Graph) -> float:
    longest = max(len(graph.nodes), len(other.nodes), 1)
    same = sum(a.op == b.op for a, b in zip(graph.nodes, other.nodes, strict=False))
    return same / longest


def _sizes(graph: Graph, other: Graph) -> str:
    changes = {f"{theirs} is now {ours}" for ours, theirs in zip(graph.ints, other.ints, strict=True) if ours != theirs}
    return SIZES + ", ".join(sorted(changes)) if changes else "the same graph"


def _ops(graph: Graph, other: Graph) -> str:
    ours, theirs = [n.op for n in graph.nodes], [n.op for n in other.nodes]
    for tag, i1, i2, j1, j2 in SequenceMatcher(a=theirs, b=ours, autojunk=False).get_opcodes():
        if tag != "equal":
            before, now = ", ".join(theirs[i1:i2][:3]) or "nothing", ", ".join(ours[j1:j2][:3]) or "nothing"
            return f"ops: from n{j1} on {now} in place of {before} ({len(ours)} nodes were {len(theirs)})"
    return "the same ops"


def _node(node: Node) -> str:
    return f"({', '.join(map(format_arg, node.args))}) -> {', '.join(map(str, node.results))}"


def _specs(graph: Graph) -> str:
    return ", ".join(map(str, graph.inputs))
