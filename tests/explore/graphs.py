"""Graphs for the tests of what finds faults."""

from __future__ import annotations

from mlirdev.dtypes import DType
from mlirdev.graph import Graph, Node, Ref, ScalarRef, TensorSpec


def spec(*shape: int) -> TensorSpec:
    return TensorSpec(shape, DType.f32)


def chain(count: int, exp_at: int) -> Graph:
    """x = tanh(x * $0), so many nodes, with one exp among them; every tenth is an output."""
    nodes: list[Node] = []
    for i in range(count):
        if i == exp_at:
            nodes.append(Node("aten.exp.default", (Ref(i),), (spec(6, 10),)))
        elif i % 2:
            nodes.append(Node("aten.tanh.default", (Ref(i),), (spec(6, 10),)))
        else:
            nodes.append(Node("aten.mul.Tensor", (Ref(i), ScalarRef(0)), (spec(6, 10),)))
    outputs = tuple(range(10, count + 1, 10))
    return Graph((spec(6, 10),), ("float",), tuple(nodes), outputs)


def linear(rows: int = 9, columns: int = 20) -> Graph:
    """tanh(x @ w + b)"""
    return Graph(
        inputs=(spec(rows, 17), spec(17, columns), spec(columns)),
        scalars=(),
        nodes=(
            Node("aten.mm.default", (Ref(0), Ref(1)), (spec(rows, columns),)),
            Node("aten.add.Tensor", (Ref(3), Ref(2), 1), (spec(rows, columns),)),
            Node("aten.tanh.default", (Ref(4),), (spec(rows, columns),)),
        ),
        outputs=(5,),
    )
