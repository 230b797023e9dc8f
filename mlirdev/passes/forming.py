"""Whole-graph linalg → kernels and the Plan.

    build_op_graph   roles and kinds of ops            op_graph.py, linalg_info.py
    Grouping         which ops share a kernel          grouping.py, sizes by dim_trace.py
    order_groups     a topological order, few live bytes   ordering.py
    Outliner         a module per group, deduplicated  outline.py
    Costs            operations and bytes              cost.py
    read_plan        slots, launches, outputs          here

Reshapes are other shapes of the same slot, slices start further on in it, a returned input is the input's slot, equal
outputs share one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torch_mlir import ir

from mlirdev.graph import Graph
from mlirdev.passes.cost import Costs
from mlirdev.passes.dim_trace import DimTrace, element_type, nbytes, tensor_shape
from mlirdev.passes.grouping import Group, Grouping
from mlirdev.passes.kernel_source import KernelSource
from mlirdev.passes.op_graph import OpGraph, OpNode, Role, build_op_graph
from mlirdev.passes.ordering import order_groups
from mlirdev.passes.outline import Outlined, Outliner, location_node, sym_arguments
from mlirdev.plan import DimArg, Launch, LaunchArg, Plan, PlanDim, ScalarArg, Slot, SlotArg
from mlirdev.target import Target


@dataclass(frozen=True, slots=True)
class Formed:
    """Kernels by key, and the Plan that launches them."""

    kernels: dict[str, KernelSource]
    plan: Plan


def form_groups(module: ir.Module, target: Target, graph: Graph | None = None) -> Formed:
    """Form kernel groups from `module`, whose @main is linalg on tensors after the graph pipeline; it isn't changed.

    `graph` is the Graph that it came from: it says which sizes are which sym, and the kinds of scalars. Without it
    every size must be static, an i64 argument is an int and an f64 a float.
    """
    with module.context:
        return _Reader(build_op_graph(module), graph).read()


class _Reader:
    """Reads groups, kernels and plan off one OpGraph."""

    def __init__(self, ops: OpGraph, graph: Graph | None) -> None:
        self._ops = ops
        self._graph = graph
        self._tensors = [a for a in ops.arguments if isinstance(a.type, ir.RankedTensorType)]
        syms = sym_arguments(ops.arguments, graph.syms if graph else 0)
        scalars = [a for a in ops.arguments if a not in syms and not isinstance(a.type, ir.RankedTensorType)]
        kinds = graph.scalars if graph else [_scalar_kind(a.type) for a in scalars]
        self._scalars = {argument: index for index, argument in enumerate(scalars)}
        self._kinds = dict(zip(scalars, kinds, strict=True))
        self._trace = DimTrace(ops, self._input_shapes(), syms)
        # A Graph tells unsigned from signed, MLIR's signless integers don't.
        inputs = graph.inputs if graph else ()
        self._input_dtypes = {value: spec.dtype for value, spec in zip(self._tensors, inputs, strict=False)}
        self._costs = Costs(ops, self._trace)
        self._slots: list[Slot] = []
        self._slot_of: dict[ir.Value, int] = {}

    def _input_shapes(self) -> dict[ir.Value, tuple[PlanDim, ...]]:
        if self._graph is None:
            return {}
        return {value: spec.shape for value, spec in zip(self._tensors, self._graph.inputs, strict=True)}

    def read(self) -> Formed:
        groups = Grouping(self._ops, self._trace).form()
        reads = {group.number: _read_by(self._ops, group) for group in groups}
        results = self._results(groups, reads)
        outliner = Outliner(self._ops, self._trace, self._kinds)
        inputs = tuple(map(self._add_slot, self._tensors))
        launches = []
        by_number = {group.number: group for group in groups}
        for number in self._order(reads, results):
            made = results[number]
            if made and all(0 in tensor_shape(value.type) for value in made):
                # Nothing to compute: slots without elements.
                for value in made:
                    self._add_slot(value)
            else:
                launches.append(self._launch(by_number[number], outliner.outline(by_number[number], made)))
        outputs = tuple(self._slot_of[self._ops.base(value)] for value in self._ops.returned)
        syms = self._graph.syms if self._graph else 0
        kernels = outliner.sources
        plan = Plan(
            tuple(self._slots), inputs, outputs, tuple(launches), tuple(self._kinds.values()), syms, tuple(kernels)
        )
        return Formed(kernels, plan)

    def _add_slot(self, value: ir.Value) -> int:
        if value not in self._slot_of:
            self._slot_of[value] = len(self._slots)
            dtype = self._input_dtypes.get(value) or element_type(value.type)
            self._slots.append(Slot(self._trace.shape(value), dtype))
        return self._slot_of[value]

    def _launch(self, group: Group, kernel: Outlined) -> Launch:
        outside = kernel.outside
        places = map(self._ops.place, outside.tensors)
        args: list[LaunchArg] = [SlotArg(self._slot_of[base], offset) for base, offset in places]
        args += [ScalarArg(self._scalars[value]) for value in outside.scalars]
        args += [DimArg(dim) for dim in outside.dims]
        results = tuple(map(self._add_slot, outside.results))
        made = tuple(map(self._node_made, outside.results))
        cost = self._costs.of(group, outside.tensors, outside.results)
        return Launch(kernel.source.key, tuple(args), results, kernel.nodes, made, cost)

    def _node_made(self, value: ir.Value) -> int:
        """The graph node whose result a value is: that of its op, if ops of other nodes use it. Else -1."""
        definer = self._ops.definer[value]
        node = location_node(definer.op)
        return node if any(user != node for user in self._using_nodes(definer)) else -1

    def _using_nodes(self, definer: OpNode) -> Iterator[int]:
        """The graph nodes of the ops that use an op's results, through views; -1 for the caller."""
        for user in definer.users:
            if user.role in (Role.VIEW, Role.SLICE):
                yield from self._using_nodes(user)
            else:
                yield -1 if user.role is Role.RETURN else location_node(user.op)

    def _results(self, groups: list[Group], reads: dict[int, set[ir.Value]]) -> dict[int, list[ir.Value]]:
        """Per group, its members' results that another group or the caller reads."""
        needed = {self._ops.base(value) for value in self._ops.returned}.union(*reads.values())
        return {g.number: [r for node in g.ops for r in node.results if r in needed] for g in groups}

    def _order(self, reads: dict[int, set[ir.Value]], results: dict[int, list[ir.Value]]) -> list[int]:
        """The groups' numbers in the order in which they run. What counts are temporaries, and inputs that a returned
        result may take the place of, with these."""
        kept = {self._ops.base(value) for value in self._ops.returned}
        replaced = dict(self._replaced(reads, results, kept))
        made = [value for values in results.values() for value in values]
        weights = dict.fromkeys([*made, *self._tensors], 0)
        weights.update((v, self._nbytes(v)) for v in (*made, *replaced.values()) if v not in kept or v in replaced)
        return order_groups(reads, results, weights, replaced)

    def _replaced(
        self, reads: dict[int, set[ir.Value]], results: dict[int, list[ir.Value]], kept: set[ir.Value]
    ) -> Iterator[tuple[ir.Value, ir.Value]]:
        """Results that are returned, each with an input of the same type that its group reads and nobody returns."""
        for number, values in results.items():
            inputs = [value for value in self._tensors if value in reads[number] and value not in kept]
            for value in values:
                same = next((i for i in inputs if value in kept and i.type == value.type), None)
                if same is not None:
                    inputs.remove(same)
                    yield value, same

    def _nbytes(self, value: ir.Value) -> int:
        return nbytes(self._trace.shape(value), element_type(value.type))


def _read_by(ops: OpGraph, group: Group) -> set[ir.Value]:
    """The inputs and other groups' results that a group reads, through views and free ops."""
    found: set[ir.Value] = set()
    seen: set[ir.Value] = set()
    pending = [value for node in group.ops for value in node.reads]
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        node = ops.definer.get(value)
        if node is not None and node.role is not Role.ROOT:
            pending.extend(node.reads)
        elif node is None or node.group != group.number:
            found.add(value)
    return {value for value in found if isinstance(value.type, ir.RankedTensorType)}


def _scalar_kind(type_: ir.Type) -> str:
    return "float" if isinstance(type_, ir.F64Type) else "int"
