"""One kernel group → one module of its own, and the launch arguments that fit it.

The members are cloned in program order, with the free ops and views that they read. What comes from outside becomes
parameters: tensors first, then scalars, then run-time sizes, each in order of first use, so that equal groups of
different layers give equal text. Ops are numbered: the k-th op's location is "nk", whoever called.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from torch_mlir import ir
from torch_mlir.dialects import arith, func

from mlirdev.errors import InternalError
from mlirdev.graph import Sym
from mlirdev.passes.dim_trace import DimTrace, element_type, tensor_shape
from mlirdev.passes.grouping import Group
from mlirdev.passes.kernel_source import KernelSource, kernel_key
from mlirdev.passes.op_graph import OpGraph, OpNode, Role, inner_ops
from mlirdev.plan import BufferParam, DimParam, Param, PlanDim, ScalarParam, Signature

NODE_NAME = re.compile(r'"n(\d+)"')


@dataclass(eq=False, slots=True)
class Outside:
    """What a kernel takes from outside, in order of first use; `results` are what it gives."""

    tensors: dict[ir.Value, None] = field(default_factory=dict)
    scalars: dict[ir.Value, None] = field(default_factory=dict)
    dims: dict[PlanDim, None] = field(default_factory=dict)
    results: list[ir.Value] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Outlined:
    """A kernel and what one launch of it takes. `nodes[k]` is the graph node behind the kernel's k-th op."""

    source: KernelSource
    outside: Outside
    nodes: tuple[int, ...]


class Outliner:
    """Outlines the groups of one OpGraph; `scalar_kinds` are the kinds of the function's scalar arguments. Equal
    kernels are printed once."""

    def __init__(self, graph: OpGraph, trace: DimTrace, scalar_kinds: dict[ir.Value, str]) -> None:
        self._graph = graph
        self._trace = trace
        self._scalar_kinds = scalar_kinds
        self.sources: dict[str, KernelSource] = {}

    def outline(self, group: Group, results: list[ir.Value]) -> Outlined:
        """The kernel of a group, `results` being its members' results that are needed outside."""
        outside = self._collect(group, results)
        signature = self._signature(outside)
        module = self._emit(group, outside)
        nodes = source_nodes(module)
        key = kernel_key(module_text(module), signature)
        if key not in self.sources:
            # An equal kernel was verified before.
            verify(module)
            number_locations(module)
            self.sources[key] = KernelSource(key, group.kind, module_text(module, locations=True), signature)
        return Outlined(self.sources[key], outside, nodes)

    # --- what comes from outside --------------------------------------------------------------------

    def _collect(self, group: Group, results: list[ir.Value]) -> Outside:
        outside, seen = Outside(results=results), set[ir.Value]()
        for node in group.ops:
            for value in node.reads:
                self._need(value, group, outside, seen)
        for value in (*outside.tensors, *results):
            shape = self._trace.shape(value)
            static = tensor_shape(value.type)
            outside.dims.update((dim, None) for dim, size in zip(shape, static, strict=True) if size is None)
        return outside

    def _need(self, value: ir.Value, group: Group, outside: Outside, seen: set[ir.Value]) -> None:
        if value in seen:
            return
        seen.add(value)
        node = self._graph.definer.get(value)
        dim = self.size_of(value)
        if dim is not None:
            outside.dims[dim] = None
        elif node is None and value in self._scalar_kinds:
            outside.scalars[value] = None
        elif node is None or self._is_outside(value, node, group):
            outside.tensors[value] = None
        elif node.group != group.number or node.role is not Role.ROOT:
            for read in node.reads:
                self._need(read, group, outside, seen)

    def _is_outside(self, value: ir.Value, node: OpNode, group: Group) -> bool:
        """Whether a value is memory when the kernel starts: another group's result or an input, or a reshape of one."""
        base = self._graph.base(value)
        definer = self._graph.definer.get(base)
        return definer is None or (definer.role is Role.ROOT and definer.group != group.number)

    def size_of(self, value: ir.Value) -> PlanDim | None:
        """A run-time size that a kernel takes as a DimParam: an index or i64 that comes from syms alone."""
        if not (isinstance(value.type, ir.IndexType) or _is_i64(value.type)):
            return None
        dim = self._trace.dim(value)
        return None if isinstance(dim, int) else dim

    def _signature(self, outside: Outside) -> Signature:
        buffers = [_buffer(value) for value in outside.tensors]
        scalars = [ScalarParam(self._scalar_kinds[value]) for value in outside.scalars]
        params: list[Param] = [*buffers, *scalars, *(DimParam() for _ in outside.dims)]
        first = len(buffers) + len(scalars)
        position = {dim: first + i for i, dim in enumerate(outside.dims)}
        dims: list[int] = []
        for value in (*outside.tensors, *outside.results):
            for dim, size in zip(self._trace.shape(value), tensor_shape(value.type), strict=True):
                if size is None:
                    dims.append(position[dim])
        return Signature(tuple(params), tuple(map(_buffer, outside.results)), tuple(dims))

    # --- the module ---------------------------------------------------------------------------------

    def _emit(self, group: Group, outside: Outside) -> ir.Module:
        with ir.Location.unknown():
            module = ir.Module.create()
            index = ir.IndexType.get()
            inputs = [value.type for value in (*outside.tensors, *outside.scalars)] + [index] * len(outside.dims)
            with ir.InsertionPoint(module.body):
                function = func.FuncOp("kernel", (inputs, [value.type for value in outside.results]))
            block = function.add_entry_block()
            arguments = list(block.arguments)
            known = dict(zip((*outside.tensors, *outside.scalars), arguments, strict=False))
            sizes = dict(zip(outside.dims, arguments[len(known) :], strict=True))
            with ir.InsertionPoint(block):
                cloner = _Cloner(self, known, sizes)
                for node in group.ops:
                    cloner.clone(node)
                func.ReturnOp([cloner.known[value] for value in outside.results])
        return module

    def definer(self, value: ir.Value) -> OpNode:
        """The op that makes a value that isn't an argument."""
        return self._graph.definer[value]


class _Cloner:
    """Clones ops at the insertion point; `known` maps the whole graph's values to the kernel's."""

    def __init__(self, outliner: Outliner, known: dict[ir.Value, ir.Value], sizes: dict[PlanDim, ir.Value]) -> None:
        self._outliner = outliner
        self._sizes = sizes
        self.known = known

    def clone(self, node: OpNode) -> None:
        if node.results and node.results[0] in self.known:
            return
        operands = [self._value(value) for value in node.operands]
        for value in node.captured:
            self._value(value)
        copy = node.op.clone()
        for position, value in enumerate(operands):
            copy.operands[position] = value
        if node.captured:
            self._remap_captured(copy, node)
        self.known.update(zip(node.results, copy.results, strict=True))

    def _value(self, value: ir.Value) -> ir.Value:
        if value not in self.known:
            size = self._outliner.size_of(value)
            if size is None:
                self.clone(self._outliner.definer(value))
            else:
                argument = self._sizes[size]
                is_index = isinstance(value.type, ir.IndexType)
                self.known[value] = argument if is_index else arith.index_cast(value.type, argument)
        return self.known[value]

    def _remap_captured(self, copy: ir.Operation, node: OpNode) -> None:
        captured = set(node.captured)
        for inner in inner_ops(copy):
            for position, value in enumerate(inner.operands):
                if value in captured:
                    inner.operands[position] = self.known[value]


def _buffer(value: ir.Value) -> BufferParam:
    return BufferParam(tensor_shape(value.type), element_type(value.type))


def _is_i64(type_: ir.Type) -> bool:
    return isinstance(type_, ir.IntegerType) and type_.width == 64


def verify(module: ir.Module) -> None:
    """Raise InternalError for IR that isn't valid; later stages could end the process on it."""
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        raise InternalError(f"an outlined kernel isn't valid IR: {error}") from error


# --- locations --------------------------------------------------------------------------------------


def source_nodes(module: ir.Module) -> tuple[int, ...]:
    """The graph node behind each of the kernel's ops, in order. An op without one (a constant made by folding) takes
    its neighbour's; empty if no op has one."""
    function = module.body.operations[0].operation
    return _filled([location_node(op) for op in inner_ops(function)])


def location_node(op: ir.Operation) -> int:
    """The graph node in an op's location, or -1."""
    match = NODE_NAME.search(str(op.location))
    return int(match[1]) if match else -1


def number_locations(module: ir.Module) -> None:
    """Let the k-th op's location, and its body arguments', be "nk"."""
    for number, op in enumerate(inner_ops(module.body.operations[0].operation)):
        op.location = location = ir.Location.name(f"n{number}")
        for region in op.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    argument.set_location(location)


def _filled(nodes: list[int]) -> tuple[int, ...]:
    known = [node for node in nodes if node >= 0]
    if not known:
        return ()
    last, filled = known[0], []
    for node in nodes:
        last = node if node >= 0 else last
        filled.append(last)
    return tuple(filled)


def module_text(module: ir.Module, locations: bool = False) -> str:
    """The module as text that parses again, all constants in full."""
    asm = module.operation.get_asm
    text = str(asm(use_local_scope=True, enable_debug_info=locations, assume_verified=True))
    if "dense_resource<" not in text:
        return text
    # Printed in local scope, the data of such a constant would be left out.
    return str(asm(enable_debug_info=locations, assume_verified=True))


def sym_arguments(arguments: tuple[ir.Value, ...], count: int) -> dict[ir.Value, Sym]:
    """The last `count` arguments of the function, which are its syms."""
    first = len(arguments) - count
    return {value: Sym(i) for i, value in enumerate(arguments[first:])}
