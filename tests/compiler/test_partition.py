"""Splitting around host nodes and joining plans: every value is made once, before it is read."""

from hypothesis import given
from hypothesis import strategies as st

from mlirdev.compiler.partition import HostPart, NativePart, join, split
from mlirdev.dtypes import DType
from mlirdev.graph import Graph, Node, Ref, TensorSpec
from mlirdev.plan import HostLaunch, Launch, Plan, Slot, SlotArg

SPEC = TensorSpec((4,), DType.f32)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Graph, frozenset[int]]:
    count = draw(st.integers(1, 12))
    nodes = []
    for position in range(count):
        operands = draw(st.lists(st.integers(0, position + 1), min_size=1, max_size=3))
        nodes.append(Node("aten.op", tuple(map(Ref, operands)), (SPEC,)))
    outputs = draw(st.lists(st.integers(0, count + 1), min_size=1, max_size=3))
    host = draw(st.sets(st.integers(0, count - 1)))
    return Graph((SPEC, SPEC), (), tuple(nodes), tuple(outputs)), frozenset(host)


def one_launch_per_node(part: NativePart) -> Plan:
    """A plan as the passes would give it: one kernel for each node."""
    graph = part.graph
    launches = tuple(
        Launch(f"k{p}", tuple(SlotArg(v) for v in node.operands()), (graph.first_result[p],), (p,))
        for p, node in enumerate(graph.nodes)
    )
    slots = tuple(Slot(spec.shape, spec.dtype) for spec in graph.specs)
    return Plan(slots, tuple(range(len(graph.inputs))), graph.outputs, launches)


@given(graphs())
def test_split_then_join_runs_every_node_once_in_order(case: tuple[Graph, frozenset[int]]) -> None:
    graph, host = case
    parts = split(graph, host)
    for part in parts:
        if isinstance(part, NativePart):
            part.graph.verify()
    plan = join(graph, parts, {i: one_launch_per_node(p) for i, p in enumerate(parts) if isinstance(p, NativePart)})
    written = set(plan.inputs)
    ran = []
    for launch in plan.launches:
        reads = launch.operands if isinstance(launch, HostLaunch) else [a.slot for a in launch.args]  # type: ignore[union-attr]
        assert set(reads) <= written
        assert not written & set(launch.results)
        written |= set(launch.results)
        ran += [launch.node] if isinstance(launch, HostLaunch) else list(launch.nodes)
    assert sorted(ran) == list(range(len(graph.nodes)))
    assert {launch.node for launch in plan.launches if isinstance(launch, HostLaunch)} == host
    assert set(plan.outputs) <= written


def test_independent_work_isnt_cut_by_a_host_node() -> None:
    nodes = (Node("a", (Ref(0),), (SPEC,)), Node("host", (Ref(0),), (SPEC,)), Node("b", (Ref(1),), (SPEC,)))
    graph = Graph((SPEC,), (), nodes, (1, 2, 3))
    parts = split(graph, frozenset({1}))
    assert [type(p) for p in parts] == [NativePart, HostPart]
