"""What the compiler and the runtime know, as lines of the record: graphs with their plans, kernels, places."""

from __future__ import annotations

from mlirdev import events, schema
from mlirdev.compiler import Executable
from mlirdev.compiler.partition import NativePart, split
from mlirdev.graph import TensorSpec
from mlirdev.plan import BufferParam, Cost, HostLaunch, Launch, Plan, Signature, Slot, SlotArg

# Where nobody knows.
NOWHERE = schema.Place("(unknown)", 0)


def place(where: events.SourceLine | None) -> schema.Place | None:
    """A source line as the record has it."""
    return None if where is None else schema.Place(where.file, where.line, where.function)


def graph_line(executable: Executable, compiled: events.GraphCompiled | None, at: float) -> schema.Graph:
    """A graph; `compiled` is what was told of its compile, None if that was before recording began."""
    graph, plan = executable.graph, executable.plan
    told = compiled or events.GraphCompiled()
    nodes = [
        schema.GraphNode(
            op=node.op,
            text=graph.node_text(position),
            operands=list(node.operands()),
            results=list(map(spec_text, node.results)),
            host=executable.host.get(position, ""),
        )
        for position, node in enumerate(graph.nodes)
    ]
    return schema.Graph(
        name=executable.name,
        inputs=list(map(spec_text, graph.inputs)),
        nodes=nodes,
        outputs=list(graph.outputs),
        slots=slots(plan),
        launches=launches(executable),
        syms=graph.syms,
        generalised=graph.syms > 0,
        from_disk=told.from_disk,
        reason=told.reason,
        nearest=told.nearest,
        seconds=told.seconds,
        stages=told.stages,
        where=place(told.where),
        at=at,
        parts=parts(executable),
    )


def parts(executable: Executable) -> list[list[int]]:
    """The graph's nodes in each piece that was compiled by itself, where the host runs nodes in between."""
    if not executable.host or executable.target is None:
        return []
    pieces = split(executable.graph, frozenset(executable.host))
    return [list(piece.nodes) for piece in pieces if isinstance(piece, NativePart)]


def owners(executable: Executable) -> list[str]:
    """What the passes of a graph belong to: the graph, or each of its parts if there are several; nothing where the
    CPU runs all of it."""
    pieces = parts(executable)
    if len(pieces) > 1:
        return [f"graphs/{executable.name}.{number}" for number in range(len(pieces))]
    runs_all = executable.target is None or len(executable.host) == len(executable.graph.nodes)
    return [] if runs_all else [f"graphs/{executable.name}"]


def slots(plan: Plan) -> list[schema.PlanSlot]:
    """A plan's memory."""
    roles = {**dict.fromkeys(plan.outputs, "output"), **dict.fromkeys(plan.inputs, "input")}
    return [
        schema.PlanSlot(spec_text(slot), roles.get(i, "temporary"), slot.nbytes(()) if _is_static(slot) else 0)
        for i, slot in enumerate(plan.slots)
    ]


def launches(executable: Executable) -> list[schema.PlanLaunch]:
    """A plan's launches."""
    return [_launch(launch, executable.compiled.names) for launch in executable.plan.launches]


def _launch(launch: Launch | HostLaunch, names: dict[str, str]) -> schema.PlanLaunch:
    if isinstance(launch, HostLaunch):
        return schema.PlanLaunch("", [launch.node], list(launch.operands), list(launch.results))
    reads = [arg.slot for arg in launch.args if isinstance(arg, SlotArg)]
    return schema.PlanLaunch(names[launch.kernel], list(launch.nodes), reads, list(launch.results))


def kernel_lines(executable: Executable) -> list[schema.Kernel]:
    """A graph's kernels, as far as the graph's plan tells."""
    signatures, names = executable.compiled.signatures, executable.compiled.names
    costs = {launch.kernel: launch.cost for launch in executable.plan.launches if isinstance(launch, Launch)}
    return [
        schema.Kernel(names[key], key, names[key].rpartition("-")[0], signature_text(signatures[key]), *static(cost))
        for key, cost in costs.items()
    ]


def static(cost: Cost) -> tuple[int, int]:
    """Operations and bytes of each launch; zeros where they depend on its sizes."""
    return cost.at(()) if cost.is_static else (0, 0)


def dynamic(cost: Cost, syms: tuple[int, ...]) -> tuple[int, int]:
    """Operations and bytes of a launch with these sizes; zeros where all have the same."""
    return (0, 0) if cost.is_static else cost.at(syms)


def signature_text(signature: Signature) -> str:
    """How a kernel is called, in short: "f32[16,?], float -> f32[]"."""
    params = ", ".join(
        spec_text(p) if isinstance(p, BufferParam) else getattr(p, "kind", "size") for p in signature.params
    )
    return f"{params} -> {', '.join(map(spec_text, signature.results))}"


def spec_text(spec: TensorSpec | Slot | BufferParam) -> str:
    """A tensor's dtype and shape: "f32[2,3]"."""
    return f"{spec.dtype.value}[{','.join('?' if d is None else str(d) for d in spec.shape)}]"


def _is_static(slot: Slot) -> bool:
    return all(isinstance(size, int) for size in slot.shape)
