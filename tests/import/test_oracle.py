"""torch-mlir's own importer as the oracle: for an op that goes straight to torch-mlir, both build the same op."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch_mlir import ir
from torch_mlir.extras.fx_importer import FxImporter

from mlirdev.dtypes import DType
from mlirdev.graph import Graph, Node, Ref, TensorSpec
from mlirdev.importer import new_context

builder = importlib.import_module("mlirdev.import.builder")

UNARY = ["exp", "log", "log2", "sqrt", "rsqrt", "tanh", "erf", "sin", "cos", "atan", "expm1"]
BINARY = ["eq", "ne", "lt", "le", "gt", "ge", "mul", "div"]
# Op name, operand shapes, arguments after the operands.
CALLS: list[tuple[str, list[tuple[int, ...]], tuple[Any, ...]]] = [
    *[
        (f"aten.{name}.default", [(2, 3)], ())
        for name in ["exp", "log", "log2", "sqrt", "rsqrt", "tanh", "erf", "sin", "cos", "atan", "expm1"]
    ],
    *[(f"aten.{name}.Tensor", [(2, 3), (1, 3)], ()) for name in BINARY],
    ("aten.add.Tensor", [(2, 3), (2, 3)], (1,)),
    ("aten.sub.Tensor", [(4, 1), (1, 5)], (1,)),
    ("aten.mm.default", [(2, 3), (3, 4)], ()),
    ("aten.bmm.default", [(5, 2, 3), (5, 3, 4)], ()),
    ("aten.convolution.default", [(1, 4, 8, 8), (6, 4, 3, 3), (6,)], ((2, 2), (1, 1), (1, 1), False, (0, 0), 1)),
    ("aten.sum.dim_IntList", [(3, 4)], ((1,), True, None)),
    ("aten.permute.default", [(2, 3, 4)], ((2, 0, 1),)),
]


def overload_of(op: str) -> torch._ops.OpOverload:
    _, packet, overload = op.split(".")
    found: torch._ops.OpOverload = getattr(getattr(torch.ops.aten, packet), overload)
    return found


def oracle(op: str, shapes: list[tuple[int, ...]], rest: tuple[Any, ...]) -> tuple[ir.Module, torch.Tensor]:
    """What FxImporter makes of the call, and the call's result as a fake tensor."""
    mode = FakeTensorMode()
    graph = torch.fx.Graph()
    operands = []
    for i, shape in enumerate(shapes):
        node = graph.placeholder(f"x{i}")
        node.meta["val"] = mode.from_tensor(torch.empty(shape))
        operands.append(node)
    overload = overload_of(op)
    keywords = {"alpha": rest[0]} if op in ("aten.add.Tensor", "aten.sub.Tensor") else {}
    if op == "aten.sum.dim_IntList":
        rest, keywords = rest[:2], {"dtype": rest[2]}
    values = () if keywords and "alpha" in keywords else tuple(list(a) if isinstance(a, tuple) else a for a in rest)
    with mode:
        result = overload(*(n.meta["val"] for n in operands), *values, **keywords)
    call = graph.call_function(overload, (*operands, *values), keywords)
    call.meta["val"] = result
    graph.output((call,))
    importer = FxImporter(context=new_context(), config_check=False)
    importer.import_stateless_graph(graph)
    return importer.module, result


def ours(op: str, shapes: list[tuple[int, ...]], rest: tuple[Any, ...], result: torch.Tensor) -> ir.Module:
    dtype = DType.i1 if result.dtype is torch.bool else DType.f32
    specs = tuple(TensorSpec(shape, DType.f32) for shape in shapes)
    arguments = (*(Ref(i) for i in range(len(shapes))), *rest)
    node = Node(op, arguments, (TensorSpec(tuple(result.shape), dtype),))
    graph = Graph(specs, (), (node,), (len(shapes),))
    context = new_context()
    with context, ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            built = builder.TorchBuilder(graph)
            built.emitter = None  # nothing of ours may stand in for the op
            built._node = lambda node: direct(built, node)
            built.build([0])
    return module


def direct(built: Any, node: Node) -> list[ir.Value]:
    """The builder's way for an op without a lowering of ours."""
    operands = [built.operand(argument) for argument in node.args]
    made: list[ir.Value] = built.create(
        builder.torch_op(node.op), [built.tensor_type(s) for s in node.results], operands
    )
    return made


def signature(module: ir.Module) -> list[str]:
    """Every op on tensors: its name with the types of its operands and results."""
    lines: list[str] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name.startswith("torch.aten."):
            operands = ", ".join(str(v.type) for v in op.operands)
            lines.append(f"{op.name}({operands}) -> {', '.join(str(v.type) for v in op.results)}")
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return lines


@pytest.mark.parametrize(("op", "shapes", "rest"), CALLS, ids=[call[0] for call in CALLS])
def test_the_torch_dialect_is_as_torch_mlir_imports_it(
    op: str, shapes: list[tuple[int, ...]], rest: tuple[Any, ...]
) -> None:
    theirs, result = oracle(op, shapes, rest)
    module = ours(op, shapes, rest, result)
    assert module.operation.verify()
    assert signature(module) == signature(theirs)
    assert signature(module)
