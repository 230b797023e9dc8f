"""Whole-graph linalg → kernels and the Plan.

    build_op_graph   roles and kinds of ops            op_graph.py, linalg_info.py
    Grouping         which ops share a kernel          grouping.py, sizes by dim_trace.py
    order_groups     a topological order, few live bytes
    Outliner         a module per group, deduplicated  outline.py
    read_plan        slots, launches, outputs          here

Reshapes are other shapes of the same slot, a returned input is the input's slot, equal outputs share one.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from mlirdev.graph import Graph
from mlirdev.passes.dim_trace import DimTrace, element_type, nbytes, tensor_shape
from mlirdev.passes.grouping import Group, Grouping
from mlirdev.passes.kernel_source import KernelSource
from mlirdev.passes.op_graph import OpGraph, Role, build_op_graph
from mlirdev.passes.outline import Outlined, Outliner, sym_arguments
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
        scalars = [a for a in ops.arguments if a not in syms and a not in self._tensors]
        kinds = graph.scalars if graph else [_scalar_kind(a.type) for a in scalars]
        self._scalars = {argument: index for index, argument in enumerate(scalars)}
        self._kinds = dict(zip(scalars, kinds, strict=True))
        self._trace = DimTrace(ops, self._input_shapes(), syms)
        self._slots: list[Slot] = []
        self._slot_of: dict[ir.Value, int] = {}

    def _input_shapes(self) -> dict[ir.Value, tuple[PlanDim, ...]]:
        if self._graph is None:
            return {}
        return {value: spec.shape for value, spec in zip(self._tensors, self._graph.inputs, strict=True)}

    def read(self) -> Formed:
        groups = Grouping(self._ops, self._trace).form()
        results = self._results(groups)
        outliner = Outliner(self._ops, self._trace, self._kinds)
        inputs = tuple(map(self._add_slot, self._tensors))
        launches = []
        for group in order_groups(groups, self._weights(results), self._reads(groups)):
            if results[group.number] and all(0 in tensor_shape(v.type) for v in results[group.number]):
                # Nothing to compute: slots without elements.
                for value in results[group.number]:
                    self._add_slot(value)
                continue
            launches.append(self._launch(outliner.outline(group, results[group.number])))
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
            dtype = element_type(value.type)
            if self._graph is not None and value in self._tensors:
                dtype = self._graph.inputs[self._tensors.index(value)].dtype
            self._slots.append(Slot(self._trace.shape(value), dtype))
        return self._slot_of[value]

    def _launch(self, kernel: Outlined) -> Launch:
        outside = kernel.outside
        args: list[LaunchArg] = [SlotArg(self._slot_of[self._ops.base(value)]) for value in outside.tensors]
        args += [ScalarArg(self._scalars[value]) for value in outside.scalars]
        args += [DimArg(dim) for dim in outside.dims]
        results = tuple(map(self._add_slot, outside.results))
        return Launch(kernel.source.key, tuple(args), results, kernel.nodes)

    def _results(self, groups: list[Group]) -> dict[int, list[ir.Value]]:
        """Per group, its members' results that another group or the caller reads."""
        needed = {self._ops.base(value) for value in self._ops.returned}
        for group in groups:
            needed |= _read_from_outside(self._ops, group)
        return {g.number: [r for node in g.ops for r in node.results if r in needed] for g in groups}

    def _weights(self, results: dict[int, list[ir.Value]]) -> dict[ir.Value, int]:
        """The bytes of every temporary, for the order."""
        kept = {self._ops.base(value) for value in self._ops.returned}
        made = (value for values in results.values() for value in values)
        return {v: 0 if v in kept else nbytes(self._trace.shape(v), element_type(v.type)) for v in made}

    def _reads(self, groups: list[Group]) -> dict[int, set[ir.Value]]:
        return {group.number: _read_from_outside(self._ops, group) for group in groups}


def _read_from_outside(ops: OpGraph, group: Group) -> set[ir.Value]:
    """Other groups' results that a group reads, through views and free ops."""
    found: set[ir.Value] = set()
    seen: set[ir.Value] = set()
    pending = [value for node in group.ops for value in node.reads]
    while pending:
        value = pending.pop()
        node = ops.definer.get(value)
        if node is None or value in seen:
            continue
        seen.add(value)
        if node.role is not Role.ROOT:
            pending.extend(node.reads)
        elif node.group != group.number:
            found.add(value)
    return found


def order_groups(groups: list[Group], weights: dict[ir.Value, int], reads: dict[int, set[ir.Value]]) -> list[Group]:
    """A topological order; among the groups that are ready, the one that adds the fewest live bytes, then the first."""
    owner = {result: group.number for group in groups for node in group.ops for result in node.results}
    readers: dict[ir.Value, int] = {}
    for values in reads.values():
        for value in values:
            readers[value] = readers.get(value, 0) + 1
    made = {g.number: [r for node in g.ops for r in node.results if r in weights] for g in groups}
    waiting = {g.number: {owner[v] for v in reads[g.number]} for g in groups}
    by_number = {g.number: g for g in groups}
    order: list[Group] = []
    done: set[int] = set()
    while waiting:
        ready = [number for number, before in waiting.items() if before <= done]

        def cost(number: int) -> tuple[int, int]:
            freed = sum(weights[v] for v in reads[number] if readers[v] == 1)
            return sum(weights[v] for v in made[number]) - freed, number

        chosen = min(ready, key=cost)
        for value in reads[chosen]:
            readers[value] -= 1
        del waiting[chosen]
        done.add(chosen)
        order.append(by_number[chosen])
    return order


def _scalar_kind(type_: ir.Type) -> str:
    return "float" if isinstance(type_, ir.F64Type) else "int"
