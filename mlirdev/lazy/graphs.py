"""A trace as a Graph: functional, with what nobody needs left out."""

from __future__ import annotations

from dataclasses import dataclass

from mlirdev.graph import Graph, Node
from mlirdev.lazy.trace import Entry, Trace


@dataclass(frozen=True)
class Cut:
    """The graph of a trace's live part, and the positions in the trace of its inputs, scalars and nodes."""

    graph: Graph
    inputs: tuple[int, ...]
    scalars: tuple[int, ...]
    nodes: tuple[int, ...]


@dataclass(frozen=True)
class _Recorded:
    """A node of the trace: its place among the nodes, first value, operands' numbers and first scalar."""

    index: int
    entry: Entry
    first: int
    operands: tuple[int, ...]
    scalar: int


def cut(trace: Trace, outputs: tuple[int, ...]) -> Cut:
    """What computes the values `outputs`."""
    live = _needed(_recorded(trace), outputs)
    inputs = sorted({-1 - n for node in live for n in node.operands if n < 0})
    numbers = {-1 - i: k for k, i in enumerate(inputs)}
    nodes: list[Node] = []
    scalars: list[int] = []
    kinds: list[str] = []
    count = len(inputs)
    for node in live:
        operands = [numbers[n] for n in node.operands]
        nodes.append(node.entry.node(operands.__getitem__, len(scalars)))
        for i in range(len(node.entry.outputs)):
            numbers[node.first + i] = count + i
        count += len(node.entry.outputs)
        scalars += range(node.scalar, node.scalar + len(node.entry.scalars))
        kinds += node.entry.scalars
    specs = tuple(trace.inputs[i][1].spec for i in inputs)
    graph = Graph(specs, tuple(kinds), tuple(nodes), tuple(numbers[o] for o in outputs))
    return Cut(graph, tuple(inputs), tuple(scalars), tuple(node.index for node in live))


def _recorded(trace: Trace) -> list[_Recorded]:
    """The trace's nodes, read out of its flat lists."""
    nodes: list[_Recorded] = []
    at = value = scalar = 0
    while at < len(trace.code):
        entry: Entry = trace.code[at]
        end = at + 1 + entry.arity
        nodes.append(_Recorded(len(nodes), entry, value, tuple(trace.code[at + 1 : end]), scalar))
        at, value, scalar = end, value + len(entry.outputs), scalar + len(entry.scalars)
    return nodes


def _needed(nodes: list[_Recorded], outputs: tuple[int, ...]) -> list[_Recorded]:
    wanted, kept = set(outputs), []
    for node in reversed(nodes):
        if wanted.isdisjoint(range(node.first, node.first + len(node.entry.outputs))):
            continue
        wanted.update(node.operands)
        kept.append(node)
    return kept[::-1]
