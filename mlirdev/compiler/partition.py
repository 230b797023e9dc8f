"""A graph with nodes that only the host can run: split into native parts and host nodes, joined again as one plan.

    level 0: native part ─► host nodes ─► level 1: native part ─► host nodes ─► …

A native node belongs to the first level after the host nodes that it needs, so the parts are as few and
as large as they can be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from mlirdev.graph import Arg, Graph, Node, Ref
from mlirdev.plan import HostLaunch, Launch, LaunchArg, Plan, Slot, SlotArg


@dataclass(frozen=True)
class NativePart:
    """A graph of its own. `nodes` are its nodes' positions in the whole graph; `inputs` and `outputs`
    the whole graph's value numbers of its inputs and outputs."""

    graph: Graph
    nodes: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class HostPart:
    """One node that runs on the host."""

    node: int


Part = NativePart | HostPart


def split(graph: Graph, host: frozenset[int]) -> list[Part]:
    """The parts of a graph in the order they run; `host` are the positions of the nodes for the host."""
    producer = _producers(graph)
    level: list[int] = []
    for position, node in enumerate(graph.nodes):
        needs = [producer[v] for v in node.operands() if v in producer]
        after_host = 0 if position in host else 1
        level.append(max((level[p] + (after_host if p in host else 0) for p in needs), default=0))
    parts: list[Part] = []
    for current in range(max(level, default=-1) + 1):
        members = [p for p, at in enumerate(level) if at == current]
        native = [p for p in members if p not in host]
        if native:
            parts.append(_native_part(graph, native))
        parts.extend(HostPart(p) for p in members if p in host)
    return parts


def join(graph: Graph, parts: Iterable[Part], plans: Mapping[int, Plan]) -> Plan:
    """One plan for the whole graph; `plans[i]` is the plan of the i-th part, where that is native."""
    slots = [Slot(spec.shape, spec.dtype) for spec in graph.inputs]
    slot_of = {value: value for value in range(len(graph.inputs))}
    launches: list[Launch | HostLaunch] = []
    for position, part in enumerate(parts):
        if isinstance(part, HostPart):
            launches.append(_host_launch(graph, part.node, slots, slot_of))
        else:
            launches.extend(_native_launches(part, plans[position], slots, slot_of))
    return Plan(
        slots=tuple(slots),
        inputs=tuple(range(len(graph.inputs))),
        outputs=tuple(slot_of[value] for value in graph.outputs),
        launches=tuple(launches),
        scalars=graph.scalars,
        syms=graph.syms,
        kernels=tuple(dict.fromkeys(launch.kernel for launch in launches if isinstance(launch, Launch))),
    )


def single_node(graph: Graph, position: int) -> Graph:
    """The graph of this node alone, for probing and for verdicts that hold wherever the node occurs."""
    return _native_part(graph, [position]).graph


def subgraph(graph: Graph, nodes: Sequence[int]) -> NativePart:
    """The nodes at these positions, in order, as a graph; what they read from others becomes its inputs."""
    return _native_part(graph, sorted(nodes))


def _producers(graph: Graph) -> dict[int, int]:
    return {
        first + i: position
        for position, (node, first) in enumerate(zip(graph.nodes, graph.first_result, strict=True))
        for i in range(len(node.results))
    }


def _native_part(graph: Graph, nodes: list[int]) -> NativePart:
    inside = {graph.first_result[p] + i for p in nodes for i in range(len(graph.nodes[p].results))}
    inputs = tuple(dict.fromkeys(v for p in nodes for v in graph.nodes[p].operands() if v not in inside))
    members = set(nodes)
    wanted = set(graph.outputs) | {v for p, node in enumerate(graph.nodes) if p not in members for v in node.operands()}
    alone = len(nodes) == 1
    outputs = tuple(v for v in sorted(inside) if alone or v in wanted)
    number = {value: i for i, value in enumerate((*inputs, *sorted(inside)))}
    part = Graph(
        inputs=tuple(graph.specs[v] for v in inputs),
        scalars=graph.scalars,
        nodes=tuple(_renumber(graph.nodes[p], number) for p in nodes),
        outputs=tuple(number[v] for v in outputs),
        syms=graph.syms,
    )
    return NativePart(part, tuple(nodes), inputs, outputs)


def _renumber(node: Node, number: Mapping[int, int]) -> Node:
    def arg(a: Arg) -> Arg:
        if isinstance(a, Ref):
            return Ref(number[a.value])
        return tuple(map(arg, a)) if isinstance(a, tuple) else a

    return Node(node.op, tuple(map(arg, node.args)), node.results)


def _host_launch(graph: Graph, position: int, slots: list[Slot], slot_of: dict[int, int]) -> HostLaunch:
    node, first = graph.nodes[position], graph.first_result[position]
    operands = tuple(slot_of[v] for v in node.operands())
    for i, spec in enumerate(node.results):
        slot_of[first + i] = len(slots)
        slots.append(Slot(spec.shape, spec.dtype))
    return HostLaunch(position, operands, tuple(slot_of[first + i] for i in range(len(node.results))))


def _native_launches(part: NativePart, plan: Plan, slots: list[Slot], slot_of: dict[int, int]) -> Iterable[Launch]:
    moved = {slot: slot_of[value] for slot, value in zip(plan.inputs, part.inputs, strict=True)}
    for i, slot in enumerate(plan.slots):
        if i not in moved:
            moved[i] = len(slots)
            slots.append(slot)
    for value, slot_number in zip(part.outputs, plan.outputs, strict=True):
        slot_of[value] = moved[slot_number]

    def arg(a: LaunchArg) -> LaunchArg:
        return SlotArg(moved[a.slot], a.offset) if isinstance(a, SlotArg) else a

    for launch in plan.launches:
        assert isinstance(launch, Launch), "a native part's plan launches kernels only"
        yield replace(
            launch,
            args=tuple(map(arg, launch.args)),
            results=tuple(moved[r] for r in launch.results),
            nodes=tuple(part.nodes[n] for n in launch.nodes),
            made=tuple(part.nodes[n] if n >= 0 else n for n in launch.made),
        )
